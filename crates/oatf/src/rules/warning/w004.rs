use std::ops::Range;

use crate::diagnostic::DiagnosticSeverity::Warning;
use crate::model::{Document, Phase};
use crate::rules::report::Finding;
use crate::rules::walk::{EXTRACTOR_NAMES, Reference, Scope};
use crate::rules::{Family, Rule};
use crate::suggest::nearest;
use crate::template::{Piece, pieces};

/// Every `{{name}}` and `{{actor.name}}` names an extractor that may have captured something by then: one of the same
/// or an earlier phase of the actor, or any of another actor.
pub(crate) const W_004: Rule = Rule {
    code: "W-004",
    spec: "§5.6",
    title: "templates name extractors that exist",
    severity: Warning,
    family: Family::Warning,
    explain: include_str!("w004.md"),
    check: Some(|document, report| {
        document.each_template(|at, text, scope| {
            for piece in pieces(text) {
                let Piece::Reference { name, at: range } = piece else { continue };
                if !stands_for_something(document, name, scope)
                    && !EXTRACTOR_NAMES.iter().any(|kind| report.may_lack(kind))
                {
                    let message = format!("`{{{{{name}}}}}` stands for nothing here");
                    let finding = report.add(&W_004, *at, message).within(range.clone());
                    explain(finding, document, name, range, scope);
                }
            }
        });
    }),
};

fn stands_for_something(document: &Document, name: &str, scope: Scope<'_>) -> bool {
    match Reference::parse(name) {
        Reference::Message => true,
        Reference::Actor { actor, extractor } => match document.phases_of(actor) {
            Some(phases) => extractors(phases).any(|known| known == extractor),
            None => true, // V-032 says that there is no such actor
        },
        Reference::Extractor(name) => extractors(&scope.phases[..scope.begun]).any(|known| known == name),
    }
}

fn extractors(phases: &[Phase]) -> impl Iterator<Item = &str> {
    phases.iter().flat_map(|phase| phase.extractors.iter().flatten()).map(|extractor| extractor.name.as_str())
}

fn explain(finding: Finding<'_, '_>, document: &Document, name: &str, range: Range<usize>, scope: Scope<'_>) {
    let finding = finding.help("it becomes empty text; to send the braces themselves, write `\\{{`");
    let trimmed = name.trim();
    if trimmed != name && stands_for_something(document, trimmed, scope) {
        finding
            .label("the spaces are part of the name")
            .help(format!("write `{{{{{trimmed}}}}}`"))
            .replace_within(range, "remove the spaces", format!("{{{{{trimmed}}}}}"));
        return;
    }
    if extractors(&scope.phases[scope.begun..]).any(|known| known == name) {
        finding.label("only a later phase captures this");
        return;
    }
    if matches!(name, "request" | "response") {
        finding.label("no field is named").help(format!("name one: `{{{{{name}.arguments.path}}}}`"));
        return;
    }
    let elsewhere = document.attack.execution.actors.iter().flatten().find(|actor| {
        let own = scope.actor.is_some_and(|own| own.name == actor.name);
        !own && extractors(&actor.phases).any(|known| known == name)
    });
    if let Some(actor) = elsewhere {
        let meant = format!("{{{{{}.{name}}}}}", actor.name);
        finding.label(format!("actor `{}` captures this: `{meant}`", actor.name)).replace_within(
            range,
            format!("write `{meant}`"),
            meant,
        );
        return;
    }
    let (start, wanted, nearest) = match Reference::parse(name) {
        Reference::Actor { actor, extractor } => {
            let phases = document.phases_of(actor).unwrap_or_default();
            (actor.len() + 1, extractor, nearest(extractor, extractors(phases)))
        }
        _ => (0, name, nearest(trimmed, extractors(&scope.phases[..scope.begun]))),
    };
    match nearest {
        Some(meant) => {
            let start = range.start + "{{".len() + start;
            finding.label(format!("did you mean `{meant}`?")).replace_within(
                start..start + wanted.len(),
                format!("write `{meant}`"),
                meant,
            );
        }
        None => {
            finding.label("no extractor captures this");
        }
    }
}
