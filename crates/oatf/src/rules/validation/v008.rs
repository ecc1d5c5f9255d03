use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// At most one phase of a list is terminal (has no `trigger`), and it is the last.
pub(crate) const V_008: Rule = Rule {
    code: "V-008",
    spec: "§11.1.7",
    title: "only the last phase has no trigger",
    severity: Error,
    explain: include_str!("v008.md"),
    check: Some(|document, report| {
        for list in document.phase_lists() {
            let Some((_, all_but_last)) = list.phases.split_last() else { continue };
            if all_but_last.iter().all(|phase| phase.trigger.is_some()) {
                continue;
            }
            let indices = (0..list.phases.len()).filter(|index| list.phases[*index].trigger.is_none());
            // A phase that could not be read may well have had a trigger.
            let terminal: Vec<_> =
                indices.filter(|index| !report.is_unreadable(&list.path.clone().index(*index))).collect();
            match terminal.as_slice() {
                [] => {}
                [only] => {
                    if only + 1 < list.phases.len() {
                        let path = list.path.index(*only);
                        report
                            .add(
                                &V_008,
                                path,
                                "a phase without `trigger` never ends, so no phase can follow it",
                            )
                            .label("nothing ends this phase")
                            .help("say with `trigger:` what ends it, or move it to the end");
                    }
                }
                several => {
                    let count = several.len();
                    let mut finding = report
                        .add(
                            &V_008,
                            list.path.clone(),
                            format!("{count} phases have no `trigger`; only the last may"),
                        )
                        .help(
                            "a phase without `trigger` never ends: say for all but the last what ends them",
                        );
                    for index in several {
                        finding = finding.also(&list.path.clone().index(*index), "nothing ends this phase");
                    }
                }
            }
        }
    }),
};
