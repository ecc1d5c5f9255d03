//! Mutants of one indicator, as they are thought of.

use sortie_oatf::model::Indicator;

use super::{MOST_OF_A_KIND, Mutant, Operator, What};
use crate::scene::Scene;

/// Collects the mutants of one indicator: each once, and none that is the indicator itself.
pub(super) struct Drafts<'s> {
    index: usize,
    original: &'s Indicator,
    mutants: Vec<Mutant>,
    left_out: usize,
}

/// What was changed, and the trace that would tell, for people.
pub(super) type Words = (String, String);

impl<'s> Drafts<'s> {
    pub(super) fn new(scene: &Scene<'s>) -> Self {
        Self { index: scene.index, original: scene.indicator, mutants: Vec::new(), left_out: 0 }
    }

    /// Adds a mutant that `edit` makes of the indicator. `from` and `to` are what stood there and what stands there, as far
    /// as it makes this mutant another than the others; `equivalent` is why it cannot be told from the original, if it cannot.
    pub(super) fn add(
        &mut self,
        operator: Operator,
        (from, to): (&str, &str),
        (change, wanted): Words,
        equivalent: Option<String>,
        edit: impl FnOnce(&mut Indicator),
    ) {
        let mut indicator = self.original.clone();
        edit(&mut indicator);
        let same = |known: &Mutant| matches!(&known.what, What::Indicator(known) if **known == indicator);
        if indicator == *self.original || self.mutants.iter().any(same) {
            return;
        }
        let of_a_kind = self.mutants.iter().filter(|known| known.operator == operator).count();
        if of_a_kind >= MOST_OF_A_KIND {
            self.left_out += 1;
            return;
        }
        let name = self.original.id.as_deref().unwrap_or_default();
        let mut id = id(name, operator, from, to);
        // The same change in two places, as of an operand that is written twice.
        let again = self.mutants.iter().filter(|known| known.id.starts_with(&id)).count();
        if again > 0 {
            id = format!("{id}-{}", again + 1);
        }
        self.mutants.push(Mutant {
            id,
            indicator: Some(self.index),
            operator,
            change,
            wanted,
            equivalent,
            what: What::Indicator(Box::new(indicator)),
        });
    }

    pub(super) fn finish(self) -> (Vec<Mutant>, usize) {
        (self.mutants, self.left_out)
    }
}

/// The id of a mutant. It depends on nothing but the change, so that other edits to a document leave it alone.
pub(super) fn id(indicator: &str, operator: Operator, from: &str, to: &str) -> String {
    let digest = fnv(&[operator.as_str(), from, to]);
    format!("{indicator}/{operator}/{:06x}", (digest >> 24 ^ digest) & 0x00ff_ffff)
}

/// FNV-1a of several texts, with what no text holds between them.
fn fnv(texts: &[&str]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    for text in texts {
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_stable_for_ever() {
        // Manifests hold them.
        assert_eq!(id("X-1", Operator::Widen, "contains id_rsa", "contains id_"), "X-1/widen/c6c4f4");
    }

    #[test]
    fn what_moves_from_one_text_to_the_next_is_another_change() {
        assert_ne!(fnv(&["a", "bc"]), fnv(&["ab", "c"]));
    }
}
