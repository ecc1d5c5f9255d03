//! Weaknesses of a server, each once, and its tools that never worked.

use std::io::{self, Write};

use sortie_detect::Standing;

use super::Page;
use super::evaluator::cut;
use crate::grouping::{GroupedFinding, Grouping, UnusableTool};
use crate::text::{counted, line, style};

pub(super) fn write(out: &mut dyn Write, grouping: &Grouping<'_>, color: bool) -> io::Result<()> {
    for finding in &grouping.findings {
        writeln!(out, "{}", rendered(finding, color))?;
    }
    for tool in &grouping.unusable {
        writeln!(out, "{}", unusable(tool, color))?;
    }
    Ok(())
}

/// A weakness, as it is shown to people.
pub(crate) fn rendered(finding: &GroupedFinding<'_>, color: bool) -> String {
    let mut page = Page::new(color);
    let severity = finding.severity.map(|severity| format!(" ({severity})")).unwrap_or_default();
    page.headline(Some(Standing::Exploited), "exploited", &format!("{}{severity}", finding.title()));
    if let Some(found) = finding.evidence {
        page.entry("proof", style::ERROR, &found.name);
        if let Some(text) = &found.text {
            page.below(&format!("  {}", line(text)));
        }
    }
    if let Some(call) = finding.call {
        let params = serde_json::json!({"name": call.name, "arguments": call.arguments});
        page.entry("tools/call", style::STRONG, &cut(&params.to_string()));
    }
    if let Some(command) = &finding.command {
        page.entry("reproduce", style::STRONG, command);
    }
    if let Some(remedy) = finding.remedy {
        page.entry("remedy", style::STRONG, remedy.trim_end());
    }
    let others = if finding.cases.len() > 1 { ", the first is " } else { ": " };
    page.entry("shown by", style::STRONG, &format!("{}{others}`{}`", finding.behind(), finding.cases[0]));
    if let Some(trace) = finding.trace {
        page.entry("trace", style::STRONG, trace);
    }
    page.text
}

fn unusable(tool: &UnusableTool<'_>, color: bool) -> String {
    let mut page = Page::new(color);
    let names: Vec<_> = tool.tools.iter().map(|name| format!("`{name}`")).collect();
    let cases = counted(tool.cases, "case", "cases");
    let title = format!(
        "{}: {cases} say nothing about {}",
        names.join(", "),
        if names.len() == 1 { "it" } else { "them" }
    );
    page.headline(Some(Standing::Undecided), "undecided", &title);
    page.entry("because", style::STRONG, tool.why);
    page.text
}
