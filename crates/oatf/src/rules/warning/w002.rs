use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::{NodePath, listed};

use crate::bindings::known_modes;
use crate::rules::walk::is_name;
use crate::rules::warning::w003::nearest_protocol;
use crate::rules::{Rule, RuleReport, execution_path};

/// A mode that has the form of one is one that a binding defines.
///
/// Each unknown mode is reported once, wherever it is repeated.
pub(crate) const W_002: Rule = Rule {
    code: "W-002",
    spec: "SDK §3.2",
    title: "a mode is one that a binding defines",
    severity: Warning,
    explain: include_str!("w002.md"),
    check: Some(|document, report| {
        let execution = &document.attack.execution;
        let mut unknown = Unknown::default();
        if let Some(mode) = &execution.mode {
            unknown.look(mode, execution_path);
        }
        for (index, actor) in execution.actors.iter().flatten().enumerate() {
            unknown.look(&actor.mode, || execution_path().key("actors").index(index));
        }
        for list in document.phase_lists() {
            for (index, phase) in list.phases.iter().enumerate() {
                if let Some(mode) = &phase.mode {
                    unknown.look(mode, || list.path.clone().index(index));
                }
            }
        }
        for (mode, paths) in unknown.0 {
            add(report, mode, &paths);
        }
    }),
};

/// The unknown modes of a document, each with every place it stands at.
#[derive(Default)]
struct Unknown<'d>(Vec<(&'d str, Vec<NodePath>)>);

impl<'d> Unknown<'d> {
    fn look(&mut self, mode: &'d str, holder: impl FnOnce() -> NodePath) {
        // What does not have the form of a mode is V-034's to report.
        if known_modes().contains(&mode) || !split(mode).is_some_and(|(protocol, _)| is_name(protocol)) {
            return;
        }
        let path = holder().key("mode");
        match self.0.iter_mut().find(|(other, _)| *other == mode) {
            Some((_, paths)) => paths.push(path),
            None => self.0.push((mode, vec![path])),
        }
    }
}

/// A mode as its protocol and its role.
fn split(mode: &str) -> Option<(&str, &str)> {
    mode.rsplit_once('_').filter(|(_, role)| matches!(*role, "server" | "client"))
}

fn add(report: &mut RuleReport<'_>, mode: &str, paths: &[NodePath]) {
    let [first, others @ ..] = paths else { return };
    let mut finding = report
        .add(&W_002, first.clone(), format!("no binding defines the mode `{mode}`"))
        .help(format!("known modes are {}; actors of other modes are skipped", listed(known_modes())));
    for other in others {
        finding = finding.also(other, "here, too");
    }
    let Some((protocol, role)) = split(mode) else { return };
    let meant = nearest_protocol(protocol).map(|protocol| format!("{protocol}_{role}"));
    if let Some(meant) = meant.filter(|meant| known_modes().contains(&meant.as_str())) {
        finding.label(format!("did you mean `{meant}`?")).replace_all(
            paths,
            format!("write `{meant}`"),
            &meant,
        );
    } else if let Some(other) =
        known_modes().iter().find(|known| split(known).is_some_and(|(known, _)| known == protocol))
    {
        finding.label(format!("of this protocol, there is only `{other}`"));
    }
}
