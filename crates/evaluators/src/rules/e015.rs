use super::{Diagnostic, Rule, Span, error, found};

pub(crate) const E_015: Rule =
    error("E-015", "only evaluators of MCP servers apply to tools", include_str!("e015.md"));

pub(crate) fn no_tools(at: Span) -> Diagnostic {
    found(&E_015, "only evaluators of MCP servers apply to tools")
        .at(at)
        .label("this is one of agents")
        .help("remove it, or put the evaluator under `mcp/`")
}
