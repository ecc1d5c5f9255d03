//! What became of `sortie demo`.

mod explained;
mod matrix;
mod totals;

use clap::ValueEnum;
use serde::Serialize;
use sortie_detect::{Run, VERSION};

use super::style;
use super::wrap::wrap;
use crate::demo::{Came, Declared, Demo, Finding};
use crate::inputs::counted;
use crate::program::quoted;

/// How wide text is for people, unless their terminal is narrower.
const COLUMNS: usize = 80;

/// A format of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoFormat {
    /// A matrix, two findings, and what to try next
    Human,
    /// One object; its schema is docs/schema/run-v1.json
    Json,
}

/// For people.
pub(crate) struct DemoView {
    pub(crate) color: bool,
    /// How wide the terminal is, if it is one.
    pub(crate) columns: Option<usize>,
    /// What to type to start this program.
    pub(crate) program: String,
}

impl DemoView {
    pub(crate) fn page(&self, demo: &Demo, findings: &[Finding<'_>]) -> String {
        let mut text = self.headline(demo);
        text.push_str(&matrix::write(demo, self.color, self.columns));
        text.push_str(&totals::write(demo, self.color, self.wrapped_at()));
        for (at, finding) in findings.iter().enumerate() {
            text.push_str(&explained::write(at + 1, finding, self));
        }
        text.push_str(&self.next(demo));
        text
    }

    fn headline(&self, demo: &Demo) -> String {
        let runs = demo.outcomes().count();
        let played = runs - demo.count(Came::NotPlayed);
        // Also those that were cut short are not whole.
        let of = if played == runs { String::new() } else { format!("{played} of ") };
        let headline = format!(
            "{} against {}: {of}{runs} runs in {} s",
            counted(demo.rows.len(), "attack", "attacks"),
            counted(crate::demo::AGENTS.len(), "practice agent", "practice agents"),
            demo.elapsed.as_secs().max(1)
        );
        format!("{}\n\n", style::paint(self.color, style::STRONG, &headline))
    }

    /// Where everything is, and what to do with one's own agent.
    fn next(&self, demo: &Demo) -> String {
        let program = &self.program;
        let heading = |text| style::paint(self.color, style::STRONG, text);
        let code = |text: &str| style::paint(self.color, style::CODE, text);
        let folder = quoted(&demo.folder);
        let mut text = format!(
            "{}\n  {folder}/AGENT/ATTACK/trace.jsonl, and all verdicts in {folder}/report.json\n\n{}\n",
            heading("Traces"),
            heading("Now your own agent")
        );
        for (why, command) in [
            ("one that you start: it is told where the attacker's MCP server is", START),
            ("one that listens, here for AG-UI", LISTENS),
            ("what else there is", LIST),
        ] {
            text.push_str(&format!("  # {why}\n  {}\n", code(&format!("{program} {command}"))));
        }
        text.push_str("Test only agents that are yours, or whose owners have agreed.\n");
        text
    }

    fn wrapped_at(&self) -> usize {
        self.columns.map_or(COLUMNS, |columns| columns.min(COLUMNS))
    }

    /// Text on lines that begin with so many spaces.
    fn indented(&self, text: &str, by: usize) -> String {
        let lines = wrap(text, self.wrapped_at().saturating_sub(by));
        lines.iter().map(|line| format!("{:by$}{line}\n", "")).collect()
    }
}

/// Commands to try next, without the name of the program.
const START: &str = "run SRT-001 --agent 'python3 my_agent.py {mcp_url} {prompt}'";
const LISTENS: &str = "run SRT-060 --target ag_ui=http://127.0.0.1:8000/";
const LIST: &str = "library list";

/// For other tools: what `sortie run` says of each run, and what was declared.
pub(crate) fn demo_report(demo: &Demo) -> impl Serialize + '_ {
    let runs = demo.outcomes().filter_map(|(_, outcome)| {
        let agent = format!("builtin:{}", outcome.agent);
        Some(Played { agent, declared: outcome.declared, run: outcome.run.as_ref()? })
    });
    Report { version: VERSION, runs: runs.collect() }
}

#[derive(Serialize)]
struct Report<'d> {
    version: u32,
    runs: Vec<Played<'d>>,
}

#[derive(Serialize)]
struct Played<'d> {
    agent: String,
    declared: Declared,
    #[serde(flatten)]
    run: &'d Run,
}
