use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::walk::EXECUTION;

/// Exactly one of `state`, `phases` and `actors`; `state` comes with `mode`.
pub(crate) const V_030: Rule = Rule {
    code: "V-030",
    spec: "§5.1",
    title: "an execution has one of three forms",
    severity: Error,
    explain: include_str!("v030.md"),
    check: Some(|document, report| {
        let execution = &document.attack.execution;
        let forms = [
            ("state", execution.state.is_some()),
            ("phases", execution.phases.is_some()),
            ("actors", execution.actors.is_some()),
        ];
        let mut given = forms.iter().filter(|(_, given)| *given).map(|(form, _)| *form);
        match (given.next(), given.next()) {
            (None, _) => {
                let damaged = forms.iter().any(|(form, _)| report.is_unreadable(&EXECUTION.key(form).path()));
                if !damaged {
                    report
                        .add(&V_030, EXECUTION, "`execution` has none of `state`, `phases` and `actors`")
                        .help(
                            "one state: `mode` and `state`; several stages: `phases`; several \
                               endpoints: `actors`",
                        );
                }
            }
            (Some(first), Some(second)) => {
                let message = format!("`execution` has both `{first}` and `{second}`");
                let mut finding = report
                    .add(&V_030, EXECUTION, message)
                    .also(&EXECUTION.key(first).path(), "one form")
                    .also(&EXECUTION.key(second).path(), "another");
                if let Some(third) = given.next() {
                    finding = finding.also(&EXECUTION.key(third).path(), "and a third");
                }
                finding.help("keep one: several stages go into `phases`, several endpoints into `actors`");
            }
            (Some("state"), None) if execution.mode.is_none() => {
                report
                    .add(&V_030, EXECUTION.key("mode"), "`state` needs a `mode` beside it")
                    .label("no `mode` here")
                    .help("say which side of which protocol is played: for example `mode: mcp_server`");
            }
            _ => {}
        }
    }),
};
