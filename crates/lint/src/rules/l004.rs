use std::collections::HashSet;

use sortie_syntax::DiagnosticSeverity::Warning;

use super::{Rule, templates};

/// An extractor is used.
pub(super) const L_004: Rule = Rule {
    code: "L-004",
    spec: "",
    title: "an extractor is used",
    severity: Warning,
    explain: include_str!("l004.md"),
    check: Some(|document, report| {
        let mut used = HashSet::new();
        templates::each_reference(document, &mut |reference| {
            used.insert((reference.actor, reference.name));
        });
        // A template anywhere else is a mistake of its own (L-005), and still a use.
        templates::each_misplaced(document, &mut |reference| {
            used.insert((reference.actor, reference.name));
        });
        let qualified_uses: HashSet<_> = used.iter().map(|(_, name)| *name).collect();
        for list in document.phase_lists() {
            let actor = list.actor.map_or("default", |(_, actor)| actor.name.as_str());
            for (path, phase) in list.iter() {
                for (index, extractor) in phase.extractors.iter().flatten().enumerate() {
                    let name = extractor.name.as_str();
                    let qualified = format!("{actor}.{name}");
                    let is_used = used.contains(&(Some(actor), name))
                        || used.contains(&(None, name))
                        || qualified_uses.contains(qualified.as_str());
                    if is_used {
                        continue;
                    }
                    report
                        .add(
                            &L_004,
                            path.clone().key("extractors").index(index).key("name"),
                            format!("nothing uses what `{name}` extracts"),
                        )
                        .label("never used")
                        .help(format!(
                            "use it in a state or an entry action as `{{{{{name}}}}}`, or remove the extractor"
                        ));
                }
            }
        }
    }),
};
