//! What a result is recognised by in another run.

use serde_json::{Value, json};
use sortie_detect::{EvidenceSource, Outcome};
use sortie_evaluators::cases::hash;

use crate::summary::decisive;

/// The fingerprints of a case.
///
/// Neither the folder of the run nor the attempt, the line or the text counts: they change while the finding stays. GitHub reads
/// `primaryLocationLineHash` alone, and combines it with the file and the rule. It is that of the case, so that an agent that gives in
/// another way does not close one alert and open another.
pub(super) fn fingerprints(run: &Outcome) -> Value {
    let case = digest(&["case", &run.id]);
    let mut fingerprints = json!({ "primaryLocationLineHash": case, "sortieCase/v1": case });
    if let Some(found) = decisive(run) {
        // The name of a judge is that of a model, which may be another one next time.
        let name = if found.by == EvidenceSource::Judge { "" } else { &found.name };
        let parts = ["evidence", &run.id, found.by.as_str(), name, &path_shape(&found.path)];
        fingerprints["sortieEvidence/v1"] = digest(&parts).into();
    }
    fingerprints
}

/// Eighty bits in hexadecimal digits. Each part goes with its length, so that two lists of parts never read the same.
fn digest(parts: &[&str]) -> String {
    let parts: Vec<_> = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    let text = parts.join(";");
    format!("{}{}", hash(&text), hash(&format!("{text}again")))
}

/// A path without positions: the same field of another element is the same finding.
fn path_shape(path: &str) -> String {
    let mut shape = String::with_capacity(path.len());
    for (at, piece) in path.split('[').enumerate() {
        if at == 0 {
            shape.push_str(piece);
            continue;
        }
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let is_position = digits > 0 && piece[digits..].starts_with(']');
        shape.push('[');
        shape.push_str(if is_position { "*" } else { "" });
        shape.push_str(if is_position { &piece[digits..] } else { piece });
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_no_part_of_the_shape_of_a_path() {
        assert_eq!(path_shape("turns[12].calls[0].name"), "turns[*].calls[*].name");
        for same in ["", "arguments.key", "a['b[0']", "a[", "a[]", "a[1"] {
            assert_eq!(path_shape(same), same);
        }
    }

    #[test]
    fn parts_cannot_be_moved_from_one_to_the_next() {
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_ne!(digest(&["a;1:b"]), digest(&["a", "b"]));
        assert_eq!(digest(&["a"]).len(), 20);
    }
}
