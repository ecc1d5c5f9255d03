//! Single fields.

use sortie_syntax::NodePath;
use sortie_syntax::yaml::NodeKind;

use crate::rules::walk::Trail;
use crate::rules::{Rule, RuleReport};

/// `oatf` is the first key of the document. The specification lists this as V-002, too.
pub(super) const W_001: Rule = Rule::warning("W-001", "§11.1.2", include_str!("w001.md"))
    .titled("`oatf` is the first key")
    .check(Some(|document, report| {
        let Some(tree) = document.tree() else { return };
        let NodeKind::Mapping([first, ..]) = tree.root().kind else { return };
        if tree.key(*first) != "oatf" && tree.entry(tree.root().id, "oatf").is_some() {
            report
                .add(NodePath::root().key("oatf"), "`oatf` is not the first key")
                .at_key()
                .help("move it to the top: it is the version of the format");
        }
    }));

/// No `synthesize` in response entries and `run_agent_input`: it is reserved for a later version.
pub(super) const W_006: Rule = Rule::warning("W-006", "§7.4", include_str!("w006.md"))
    .titled("`synthesize` is reserved")
    .check(Some(|document, report| {
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
    }));

const SYNTHESIZE: &str = "synthesize";

fn warn(report: &mut RuleReport<'_>, at: Trail<'_>) {
    report
        .add(at, "`synthesize` is reserved for a later version of OATF")
        .at_key()
        .help("write the content out: other tools send nothing without it");
}

/// No `semantic` indicators: what they find depends on the model that is asked.
pub(super) const W_007: Rule = Rule::warning("W-007", "§6.4", include_str!("w007.md"))
    .titled("semantic indicators depend on a model")
    .check(Some(|document, report| {
        for (at, indicator) in document.indicators_at() {
            if indicator.semantic.is_some() {
                report.add(at.key("semantic"), "the result of this indicator depends on a model").help(
                    "where the agent's behaviour leaves a trace in a field, a `pattern` or \
                           `expression` decides the same everywhere",
                );
            }
        }
    }));
