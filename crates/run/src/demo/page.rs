//! What became of the demo, for people and for other tools.

use std::fmt::Write as _;

use serde::Serialize;
use sortie_detect::Outcome;
use sortie_report::{VERSION, counted, style, wrap};

use super::{AGENTS, Came, Declared, Demo, finding, matrix, totals};
use crate::shell_word;

/// How wide text is for people, unless their terminal is narrower.
pub(super) const COLUMNS: usize = 80;

/// How the demo is shown to people.
pub struct DemoView {
    /// Whether it may be coloured.
    pub color: bool,
    /// How wide the terminal is, if it is one.
    pub columns: Option<usize>,
    /// What to type to start this program.
    pub program: String,
}

impl DemoView {
    /// A matrix, two findings, and what to try next.
    pub fn page(&self, demo: &Demo) -> String {
        let mut text = self.headline(demo);
        text.push_str(&matrix::write(demo, self.color, self.columns));
        text.push_str(&totals::write(demo, self.color, self.wrapped_at()));
        for (at, found) in finding::findings(demo).iter().enumerate() {
            text.push_str(&finding::write(at + 1, found, self));
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
            counted(AGENTS.len(), "practice agent", "practice agents"),
            demo.elapsed.as_secs().max(1)
        );
        format!("{}\n\n", style::paint(self.color, style::STRONG, &headline))
    }

    /// Where everything is, and what to do with one's own agent.
    fn next(&self, demo: &Demo) -> String {
        let program = &self.program;
        let heading = |text| style::paint(self.color, style::STRONG, text);
        let code = |text: &str| style::paint(self.color, style::CODE, text);
        let folder = shell_word(&demo.folder);
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
            // Writing to memory cannot fail.
            let _ = writeln!(text, "  # {why}\n  {}", code(&format!("{program} {command}")));
        }
        text.push_str("Test only agents that are yours, or whose owners have agreed.\n");
        text
    }

    pub(super) fn wrapped_at(&self) -> usize {
        self.columns.map_or(COLUMNS, |columns| columns.min(COLUMNS))
    }

    /// Text on lines that begin with so many spaces.
    pub(super) fn indented(&self, text: &str, by: usize) -> String {
        let mut indented = String::new();
        for line in wrap(text, self.wrapped_at().saturating_sub(by)) {
            let _ = writeln!(indented, "{:by$}{line}", "");
        }
        indented
    }
}

/// Commands to try next, without the name of the program.
const START: &str = "run SRT-001 --agent 'python3 my_agent.py {mcp_url} {prompt}'";
const LISTENS: &str = "run SRT-060 --target ag_ui=http://127.0.0.1:8000/";
const LIST: &str = "library list";

impl Demo {
    /// For other tools: what a report says of each run, and what was declared.
    pub fn report(&self) -> impl Serialize + '_ {
        let runs = self.outcomes().filter_map(|(_, outcome)| {
            let agent = format!("builtin:{}", outcome.agent);
            Some(Played { agent, declared: outcome.declared, run: outcome.run.as_ref()? })
        });
        Report { version: VERSION, runs: runs.collect() }
    }
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
    run: &'d Outcome,
}

#[cfg(test)]
mod tests {
    use sortie_detect::{Failure, FailureKind, Fault, Standing};
    use sortie_oatf::model::{AttackResult, Tier};
    use sortie_practice::Behaviour;

    use super::*;
    use crate::demo::made_up;

    fn page(demo: &Demo) -> String {
        DemoView { color: false, columns: None, program: "sortie".to_owned() }.page(demo)
    }

    /// The first dozen attacks, as if they came out as declared; but for what `change` makes of them.
    fn dozen(change: impl Fn(&str, Behaviour, &mut Option<Outcome>)) -> Demo {
        let mut demo = made_up::demo(change);
        demo.rows.truncate(12);
        demo
    }

    /// The lines from the one that begins so to the next empty one.
    fn part(page: &str, from: &str) -> String {
        let lines = page.lines().skip_while(|line| !line.starts_with(from));
        lines.take_while(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect()
    }

    #[test]
    fn whatever_is_not_as_declared_stands_out_and_is_named_with_its_trace() {
        let demo = dozen(|id, agent, run| {
            let Some(run) = run else { return };
            match (id, agent) {
                ("SRT-002", Behaviour::Gullible) => run.verdict.max_tier = Some(Tier::LocalAction),
                ("SRT-010", Behaviour::Refuser) => {
                    run.verdict.result = AttackResult::Exploited.into();
                    run.verdict.max_tier = Some(Tier::BoundaryBreach);
                }
                ("SRT-010", Behaviour::QuotingRefuser) => {
                    run.verdict.result = AttackResult::Error.into();
                    run.standing = Some(Standing::Undecided);
                    let message = "the agent ended with code 2";
                    run.failure = Some(Failure::new(FailureKind::AgentCrashed, Fault::Agent, message));
                }
                _ => (),
            }
        });
        let page = page(&demo);
        assert!(page.contains("!-- 002 schema-field"), "{page}");
        assert!(page.contains("B!? 010 rug-pull-new-field"), "{page}");
        assert!(page.contains("\n! not as declared   ? undecided\n"), "{page}");
        assert_eq!(
            part(&page, "gullible "),
            "\
gullible        12 exploited (11 boundary_breach, 1 local_action): 1 not as declared
refuser         11 not_exploited, 1 exploited (1 boundary_breach): 1 not as declared
quoting-refuser 11 not_exploited, 1 error: 1 not as declared
"
        );
        assert_eq!(
            part(&page, "SRT-002"),
            "\
SRT-002 schema-field-wants-configuration with gullible
  exploited (local_action), declared exploited (boundary_breach)
  demo/gullible/SRT-002/trace.jsonl
SRT-010 rug-pull-new-field with refuser
  exploited (boundary_breach), declared not_exploited
  demo/refuser/SRT-010/trace.jsonl
SRT-010 rug-pull-new-field with quoting-refuser
  error, declared not_exploited
  the agent ended with code 2
  demo/quoting-refuser/SRT-010/trace.jsonl
"
        );
    }

    #[test]
    fn what_an_interruption_leaves_is_shown_and_blames_nobody() {
        let demo = dozen(|id, _, run| {
            if id > "SRT-010" {
                *run = None;
            }
        });
        let page = page(&Demo { interrupted: true, ..demo });
        assert!(page.contains(": 30 of 36 runs in 20 s\n"), "{page}");
        assert!(page.contains("___ 011 "), "{page}");
        assert!(page.contains("\n_ not run\n"), "{page}");
        assert_eq!(
            part(&page, "refuser "),
            "\
refuser         10 not_exploited, 2 not run: as declared so far
quoting-refuser 10 not_exploited, 2 not run: as declared so far
"
        );
        assert!(!page.contains("not as declared"), "{page}");
    }

    #[test]
    fn it_fits_where_it_is_shown() {
        let demo = made_up::demo(|_, _, _| ());
        for columns in [20, 40, 80, 100, 120, 160, 300] {
            let matrix = matrix::write(&demo, false, Some(columns));
            let lines = matrix.lines().skip_while(|line| *line != "│││").skip(1);
            let attacks =
                lines.take_while(|line| !line.is_empty()).filter(|line| line.starts_with(['B', 'L']));
            let widest = attacks.clone().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= columns.max(40), "{columns}: {widest}");
            assert_eq!(attacks.map(|line| line.matches("-- ").count()).sum::<usize>(), demo.rows.len());
        }
        let too_long: Vec<_> =
            page(&demo).lines().map(str::to_owned).filter(|line| line.chars().count() > 80).collect();
        assert_eq!(too_long, [""; 0]);
    }

    #[test]
    fn every_attack_has_a_group_that_has_a_name() {
        let demo = made_up::demo(|_, _, _| ());
        let matrix = matrix::write(&demo, false, None);
        assert!(!demo.rows.iter().any(|row| {
            let folder = row.entry.path.split('/').next().unwrap_or_default();
            matrix.lines().any(|line| line == folder)
        }));
    }
}
