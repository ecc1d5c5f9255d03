//! Modes and protocols that no binding defines or no actor speaks.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use sortie_syntax::{NodePath, listed};

use crate::model::Mode;
use crate::rules::report::Shown;
use crate::rules::walk::{ACTOR_MODE, is_name};
use crate::rules::{Rule, RuleReport, execution_path};
use sortie_bindings::{AGENT, LOCAL, known_modes, known_protocols};

/// A mode that has the form of one is one that a binding defines.
///
/// Each unknown mode is reported once, wherever it is repeated.
pub(super) const W_002: Rule = Rule::warning("W-002", "SDK §3.2", include_str!("w002.md"))
    .titled("every mode is known")
    .check(Some(|document, report| {
        let execution = &document.attack.execution;
        let mut unknown = Unknown::default();
        if let Some(mode) = &execution.mode {
            unknown.look_at_mode(mode, execution_path);
        }
        for (index, actor) in execution.actors.iter().flatten().enumerate() {
            unknown.look_at_mode(&actor.mode, || execution_path().key("actors").index(index));
        }
        for list in document.phase_lists() {
            for (index, phase) in list.phases.iter().enumerate() {
                if let Some(mode) = &phase.mode {
                    unknown.look_at_mode(mode, || list.path.clone().index(index));
                }
            }
        }
        let help = format!("known modes are {}; actors of other modes are skipped", listed(known_modes()));
        unknown.report(report, ("mode", &help), nearest_mode, |mode| {
            let (protocol, _) = split(mode)?;
            let spoken = |known: &&&str| split(known).is_some_and(|(known, _)| known == protocol);
            let other = known_modes().iter().find(spoken)?;
            Some(format!("of this protocol, there is only `{other}`"))
        });
    }));

/// The unknown words of a document, each with every place it stands at.
#[derive(Default)]
struct Unknown<'d>(Vec<(&'d str, Vec<NodePath>)>);

impl<'d> Unknown<'d> {
    fn look_at_mode(&mut self, mode: &'d str, holder: impl FnOnce() -> NodePath) {
        // What does not have the form of a mode is V-034's to report.
        if !known_modes().contains(&mode) && split(mode).is_some_and(|(protocol, _)| is_name(protocol)) {
            self.add(mode, holder().key("mode"));
        }
    }

    fn add(&mut self, word: &'d str, path: NodePath) {
        match self.0.iter_mut().find(|(other, _)| *other == word) {
            Some((_, paths)) => paths.push(path),
            None => self.0.push((word, vec![path])),
        }
    }

    /// Reports every word at its first place, points at the others, and offers what was probably meant in all of them.
    fn report(
        self,
        report: &mut RuleReport<'_>,
        (what, help): (&str, &str),
        meant: impl Fn(&str) -> Option<String>,
        otherwise: impl Fn(&str) -> Option<String>,
    ) {
        for (word, paths) in self.0 {
            let [first, others @ ..] = paths.as_slice() else { continue };
            let message = format!("no binding defines the {what} `{word}`");
            let mut finding = report.add(first.clone(), message).help(help);
            for other in others {
                finding = finding.also(other, "here, too");
            }
            if let Some(meant) = meant(word) {
                finding.label(format!("did you mean `{meant}`?")).replace_all(
                    &paths,
                    format!("write `{meant}`"),
                    &meant,
                );
            } else if let Some(label) = otherwise(word) {
                finding.label(label);
            }
        }
    }
}

/// A mode as its protocol and its role.
fn split(mode: &str) -> Option<(&str, &str)> {
    mode.rsplit_once('_').filter(|(_, role)| matches!(*role, "server" | "client"))
}

fn nearest_mode(written: &str) -> Option<String> {
    let (protocol, role) = split(written)?;
    let meant = format!("{}_{role}", nearest_protocol(protocol)?);
    known_modes().contains(&meant.as_str()).then_some(meant)
}

/// A protocol that has the form of one is one that a binding defines.
///
/// Each unknown protocol is reported once, wherever it is repeated.
pub(super) const W_003: Rule = Rule::warning("W-003", "SDK §3.2", include_str!("w003.md"))
    .titled("every protocol is known")
    .check(Some(|document, report| {
        let mut unknown = Unknown::default();
        for (path, indicator) in document.indicators() {
            let Some(protocol) = indicator.protocol.as_deref() else { continue };
            // What does not have the form of a protocol is V-034's to report.
            if !known_protocols().contains(&protocol)
                && ![AGENT, LOCAL].contains(&protocol)
                && is_name(protocol)
            {
                unknown.add(protocol, path.key("protocol"));
            }
        }
        let help = format!("known protocols are {}", listed(known_protocols()));
        let meant = |protocol: &str| nearest_protocol(protocol).map(str::to_owned);
        unknown.report(report, ("protocol", &help), meant, |_| None);
    }));

/// The protocol that a slip of the pen was meant to be: letters swapped, one too many or one too few.
///
/// Another letter in place of one makes another name: `acp` is a protocol, not a misspelt `mcp`.
fn nearest_protocol(written: &str) -> Option<&'static str> {
    let letters = |name: &str| name.replace('_', "");
    let folded = letters(written);
    known_protocols().iter().copied().find(|known| {
        let known = letters(known);
        known == folded
            || strsim::osa_distance(&known, &folded) == 1
                && (known.len() != folded.len() || strsim::levenshtein(&known, &folded) == 2)
    })
}

/// The protocol of an indicator is one that an actor speaks; where it names an actor, that one.
///
/// A protocol that nobody knows is W-003's to report.
pub(super) const W_005: Rule = Rule::warning("W-005", "§6.1", include_str!("w005.md"))
    .titled("some actor speaks the protocol of each indicator")
    .check(Some(|document, report| {
        let modes = document.modes();
        if modes.is_empty() || report.may_lack(ACTOR_MODE) {
            return;
        }
        let spoken: BTreeSet<_> = modes.iter().filter_map(|mode| Mode::protocol(mode)).collect();
        let cast = LazyCell::new(|| document.cast());
        for (at, indicator) in document.indicators_at() {
            let Some(protocol) = indicator.protocol.as_deref() else { continue };
            if !known_protocols().contains(&protocol) {
                continue;
            }
            if !spoken.contains(protocol) {
                if report.leaves_out() {
                    continue;
                }
                let spoken: Vec<_> =
                    spoken.iter().map(|protocol| Shown(protocol).to_string()).take(8).collect();
                let spoken: Vec<_> = spoken.iter().map(String::as_str).collect();
                report
                    .add(at.key("protocol"), format!("no actor speaks `{protocol}`"))
                    .label("nothing to look at")
                    .help(format!("spoken here: {}", listed(&spoken)))
                    .help(
                        "the indicator never matches: look at a protocol that is spoken, or add an \
                           actor that speaks it",
                    );
                continue;
            }
            let Some(actor) = indicator.actor.as_deref() else { continue };
            let mode = cast.get(actor).and_then(|part| part.mode);
            if let Some(mode) = mode.filter(|mode| Mode::protocol(mode) != Some(protocol)) {
                report
                    .add(at.key("protocol"), format!("actor `{actor}` does not speak `{protocol}`"))
                    .label("nothing to look at")
                    .also(&at.key("actor").path(), format!("its mode is `{}`", Shown(mode)))
                    .help("the indicator never matches: name an actor that speaks the protocol, or none");
            }
        }
    }));

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
