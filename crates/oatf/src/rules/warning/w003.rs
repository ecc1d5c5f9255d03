use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::{NodePath, listed};

use crate::bindings::known_protocols;
use crate::rules::walk::is_name;
use crate::rules::{Rule, RuleReport};

/// A protocol that has the form of one is one that a binding defines.
///
/// Each unknown protocol is reported once, wherever it is repeated.
pub(crate) const W_003: Rule = Rule {
    code: "W-003",
    spec: "SDK §3.2",
    title: "a protocol is one that a binding defines",
    severity: Warning,
    explain: include_str!("w003.md"),
    check: Some(|document, report| {
        let mut unknown: Vec<(&str, Vec<NodePath>)> = Vec::new();
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let Some(protocol) = indicator.protocol.as_deref() else { continue };
            // What does not have the form of a protocol is V-034's to report.
            if known_protocols().contains(&protocol) || !is_name(protocol) {
                continue;
            }
            let path = NodePath::root().key("attack").key("indicators").index(index).key("protocol");
            match unknown.iter_mut().find(|(other, _)| *other == protocol) {
                Some((_, paths)) => paths.push(path),
                None => unknown.push((protocol, vec![path])),
            }
        }
        for (protocol, paths) in unknown {
            add(report, protocol, &paths);
        }
    }),
};

fn add(report: &mut RuleReport<'_>, protocol: &str, paths: &[NodePath]) {
    let [first, others @ ..] = paths else { return };
    let mut finding = report
        .add(&W_003, first.clone(), format!("no binding defines the protocol `{protocol}`"))
        .help(format!("known protocols are {}", listed(known_protocols())));
    for other in others {
        finding = finding.also(other, "here, too");
    }
    if let Some(meant) = nearest_protocol(protocol) {
        finding.label(format!("did you mean `{meant}`?")).replace_all(
            paths,
            format!("write `{meant}`"),
            meant,
        );
    }
}

/// The protocol that a slip of the pen was meant to be: letters swapped, one too many or one too few.
///
/// Another letter in place of one makes another name: `acp` is a protocol, not a misspelt `mcp`.
pub(super) fn nearest_protocol(written: &str) -> Option<&'static str> {
    let letters = |name: &str| name.replace('_', "");
    let folded = letters(written);
    known_protocols().iter().copied().find(|known| {
        let known = letters(known);
        known == folded
            || strsim::osa_distance(&known, &folded) == 1
                && (known.len() != folded.len() || strsim::levenshtein(&known, &folded) == 2)
    })
}

#[cfg(test)]
mod tests {
    use super::nearest_protocol;

    #[test]
    fn slips_are_near_and_other_names_are_not() {
        assert_eq!(nearest_protocol("mpc"), Some("mcp"));
        assert_eq!(nearest_protocol("mcpp"), Some("mcp"));
        assert_eq!(nearest_protocol("agui"), Some("ag_ui"));
        assert_eq!(nearest_protocol("a2"), Some("a2a"));
        assert_eq!(nearest_protocol("acp"), None);
        assert_eq!(nearest_protocol("voice"), None);
    }
}
