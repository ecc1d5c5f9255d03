use sortie_syntax::DiagnosticSeverity::Warning;

use crate::rules::walk::Trail;
use crate::rules::{Rule, RuleReport};

/// No `synthesize` in response entries and `run_agent_input`: it is reserved for a later version.
pub(crate) const W_006: Rule = Rule {
    code: "W-006",
    spec: "§7.4",
    title: "`synthesize` is reserved",
    severity: Warning,
    explain: include_str!("w006.md"),
    check: Some(|document, report| {
        document.each_response_list(|list| {
            for (index, entry) in list.entries().iter().enumerate() {
                if entry.get(SYNTHESIZE).is_some() {
                    warn(report, list.at.index(index).key(SYNTHESIZE));
                }
            }
        });
        document.each_state(|state| {
            if state.value.get("run_agent_input").is_some_and(|input| input.get(SYNTHESIZE).is_some()) {
                let at = state.at.key("run_agent_input");
                warn(report, at.key(SYNTHESIZE));
            }
        });
    }),
};

const SYNTHESIZE: &str = "synthesize";

fn warn(report: &mut RuleReport<'_>, at: Trail<'_>) {
    report
        .add(&W_006, at, "`synthesize` is reserved for a later version of OATF")
        .at_key()
        .help("write the content out: tools that generate none fall back to it, or send nothing");
}
