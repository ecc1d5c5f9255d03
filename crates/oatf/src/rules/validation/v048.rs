use std::cell::LazyCell;

use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::nearest;

use crate::rules::Rule;
use crate::rules::walk::{ACTOR_NAME, INDICATORS, is_name};

/// `indicator.actor` is the name of an actor.
pub(crate) const V_048: Rule = Rule {
    code: "V-048",
    spec: "§6.1",
    title: "indicators name actors that exist",
    severity: Error,
    explain: include_str!("v048.md"),
    check: Some(|document, report| {
        if report.may_lack(ACTOR_NAME) {
            return;
        }
        let cast = LazyCell::new(|| document.cast());
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let Some(actor) = indicator.actor.as_deref() else { continue };
            if cast.get(actor).is_some() || report.leaves_out(&V_048) {
                continue;
            }
            let mut finding = report
                .add(
                    &V_048,
                    INDICATORS.index(index).key("actor"),
                    format!("there is no actor called `{actor}`"),
                )
                .help(format!("actors here: {}", cast.listed()));
            if let Some(meant) = nearest(actor, cast.names()).filter(|meant| is_name(meant)) {
                finding = finding
                    .label(format!("did you mean `{meant}`?"))
                    .replace_value(format!("write `{meant}`"), meant);
            }
            if document.attack.execution.actors.is_none() {
                finding.help("without `actors` there is one actor, and its name is `default`");
            }
        }
    }),
};
