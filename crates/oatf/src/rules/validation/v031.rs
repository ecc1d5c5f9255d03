use std::collections::HashMap;

use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::walk::{ACTORS, is_name};

/// Actors: at least one, named once each, `[a-z][a-z0-9_]*`, with a mode and a phase.
///
/// A missing `name`, `mode` or `phases` is found while parsing, under the same code.
pub(crate) const V_031: Rule = Rule {
    code: "V-031",
    spec: "§5.1",
    title: "actors are named once, and have a mode and a phase",
    severity: Error,
    explain: include_str!("v031.md"),
    check: Some(|document, report| {
        let Some(actors) = &document.attack.execution.actors else { return };
        if actors.is_empty() {
            report
                .add(&V_031, ACTORS, "`actors` is empty")
                .help("add an actor, with `name`, `mode` and `phases`");
            return;
        }
        let mut first_seen = HashMap::new();
        for (index, actor) in actors.iter().enumerate() {
            let at = ACTORS.index(index);
            let at = at.key("name");
            if !is_name(&actor.name) {
                report
                    .add(&V_031, at, format!("`{}` cannot be the name of an actor", actor.name))
                    .help("names start with a small letter, and go on with small letters, digits and `_`");
            }
            let first = *first_seen.entry(actor.name.as_str()).or_insert(index);
            if first != index {
                report
                    .add(&V_031, at, format!("two actors are called `{}`", actor.name))
                    .label("second use")
                    .also(&ACTORS.index(first).key("name").path(), "first used here")
                    .help("names are how other actors refer to this one: `{{name.extractor}}`");
            }
        }
    }),
};
