use std::collections::HashSet;

use sortie_oatf::model::Document;
use sortie_oatf::rules::RuleReport;
use sortie_syntax::DiagnosticSeverity::Warning;

use super::Rule;
use super::templates::{self, Reference};

/// A template can be filled where it stands.
///
/// That its name is known is W-004's to say.
pub(super) const L_005: Rule = Rule {
    code: "L-005",
    spec: "§5.6",
    title: "a template can be filled where it stands",
    severity: Warning,
    explain: include_str!("l005.md"),
    check: Some(|document, report| {
        let lists = document.phase_lists();
        let extracts = |(list, phase): (usize, usize), name: &str| {
            lists.get(list).and_then(|list| list.phases.get(phase)).is_some_and(|phase| {
                phase.extractors.iter().flatten().any(|extractor| extractor.name == name)
            })
        };
        templates::each_reference(document, &mut |reference| {
            if !reference.on_enter {
                return;
            }
            if of_message(reference.name) {
                add(
                    report,
                    &reference,
                    "entry actions run before a message is seen, so this is always empty",
                    "extract the value in an earlier phase, and use the extractor's name here",
                );
            } else if let Some((list, phase)) = reference.phase
                && extracts((list, phase), reference.name)
                && !(0..phase).any(|earlier| extracts((list, earlier), reference.name))
            {
                add(
                    report,
                    &reference,
                    "entry actions run before this phase extracts anything, so this is always empty",
                    "extract the value in an earlier phase",
                );
            }
        });
        let names = extractor_names(document);
        templates::each_misplaced(document, &mut |reference| {
            if of_message(reference.name) || names.contains(reference.name) {
                add(
                    report,
                    &reference,
                    "templates are filled in states and entry actions only, so this is taken literally",
                    "write what the value will be, or a pattern that it fits",
                );
            }
        });
    }),
};

fn add(report: &mut RuleReport<'_>, reference: &Reference<'_>, message: &str, help: &str) {
    report
        .add(&L_005, reference.path.clone(), message)
        .within(reference.at.clone())
        .label(format!("`{}` has no value here", reference.name))
        .help(help);
}

fn of_message(name: &str) -> bool {
    name.starts_with("request.") || name.starts_with("response.")
}

/// The names of all extractors, bare and with their actors: braces around anything else in an indicator may
/// well be meant, since attacks on template engines exist.
fn extractor_names(document: &Document) -> HashSet<String> {
    let mut names = HashSet::new();
    for list in document.phase_lists() {
        let actor = list.actor.map_or("default", |(_, actor)| actor.name.as_str());
        for extractor in list.phases.iter().flat_map(|phase| phase.extractors.iter().flatten()) {
            names.insert(extractor.name.clone());
            names.insert(format!("{actor}.{}", extractor.name));
        }
    }
    names
}
