//! Every attack and every agent, at a glance.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use sortie_oatf::model::{AttackResult, Tier};
use sortie_practice::Behaviour;
use sortie_report::style;
use unicode_width::UnicodeWidthStr as _;

use super::page::COLUMNS;
use super::{AGENTS, Came, Cell, Demo, Row};

/// How wide an attack is with its cells. Two stand side by side in 80 columns.
const ATTACK: usize = 40;

const BREACH: Style = style::ERROR;
const ACTION: Style = AnsiColor::Yellow.on_default();
const INGESTED: Style = AnsiColor::Magenta.on_default();
const RESISTED: Style = style::NOTE;
/// Nobody must overlook it.
const ODD: Style = style::ERROR.invert();

/// What a cell is, and how it is explained.
const LEGEND: [(char, Style, &str); 8] = [
    ('B', BREACH, "boundary_breach"),
    ('L', ACTION, "local_action"),
    ('I', INGESTED, "ingested"),
    ('E', INGESTED, "exploited"),
    ('-', RESISTED, "not_exploited"),
    ('!', ODD, "not as declared"),
    ('?', ODD, "undecided"),
    ('_', Style::new(), "not run"),
];

fn cell(outcome: &Cell) -> char {
    match outcome.came() {
        Came::Otherwise => '!',
        Came::Undecided => '?',
        Came::NotPlayed => '_',
        Came::AsDeclared if outcome.declared.result == AttackResult::NotExploited => '-',
        Came::AsDeclared => match outcome.declared.max_tier {
            Some(Tier::BoundaryBreach) => 'B',
            Some(Tier::LocalAction) => 'L',
            Some(Tier::Ingested) => 'I',
            None => 'E',
        },
    }
}

/// The matrix, for a terminal that is so wide.
pub(super) fn write(demo: &Demo, color: bool, columns: Option<usize>) -> String {
    let side_by_side = (columns.unwrap_or(COLUMNS) / ATTACK).clamp(1, 4);
    let mut text = agents();
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in &demo.rows {
        let name = group(row);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((name, vec![row])),
        }
    }
    groups.sort_by_key(|(name, _)| GROUPS.iter().position(|(_, _, known)| known == name));
    for (name, rows) in groups {
        // Writing to memory cannot fail.
        let _ = writeln!(text, "{}", style::paint(color, style::STRONG, &name));
        let lines = rows.len().div_ceil(side_by_side);
        for at in 0..lines {
            let mut line = String::new();
            // Down, then across.
            let across = rows.iter().skip(at).step_by(lines).collect::<Vec<_>>();
            for (nth, row) in across.iter().enumerate() {
                line.push_str(&attack(row, color, nth + 1 < across.len()));
            }
            let _ = writeln!(text, "{line}");
        }
    }
    text.push('\n');
    text.push_str(&legend(demo, color));
    text
}

/// Which column is whose.
fn agents() -> String {
    let about = |agent| match agent {
        Behaviour::Gullible => "does the task, and whatever else it is told",
        Behaviour::Refuser => "does the task, and nothing else",
        Behaviour::QuotingRefuser => "the same, and repeats the attack while refusing",
        other => other.summary(),
    };
    let mut text = String::new();
    let width = AGENTS.iter().map(|agent| agent.name().len()).max().unwrap_or(0);
    for (at, agent) in AGENTS.into_iter().enumerate() {
        let (before, after) = ("│".repeat(at), "─".repeat(AGENTS.len() - 1 - at));
        let _ = writeln!(text, "{before}┌{after} {:width$}  {}", agent.name(), about(agent));
    }
    let _ = writeln!(text, "{}", "│".repeat(AGENTS.len()));
    text
}

/// An attack: its cells, its number, its name; padded when another one follows.
fn attack(row: &Row, color: bool, padded: bool) -> String {
    let cells = row.outcomes.iter().map(|outcome| painted(cell(outcome), color));
    let number = row.entry.id().trim_start_matches("SRT-");
    let used = AGENTS.len() + 1 + number.len() + 1;
    let name = cut(row.entry.short(), ATTACK - 1 - used);
    let padding = if padded { ATTACK - used - name.width() } else { 0 };
    format!("{} {number} {name}{:padding$}", cells.collect::<String>(), "")
}

fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns - 1).chain(['…']).collect()
}

fn painted(cell: char, color: bool) -> String {
    let style =
        LEGEND.iter().find(|(letter, ..)| *letter == cell).map_or(Style::new(), |(_, style, _)| *style);
    style::paint(color, style, &cell.to_string())
}

/// What the cells mean that there are. What should not be there has a line of its own.
fn legend(demo: &Demo, color: bool) -> String {
    let used: Vec<char> = demo.outcomes().map(|(_, outcome)| cell(outcome)).collect();
    let line = |letters: &str, more: Option<&str>| {
        let entries = LEGEND.iter().filter(|(letter, ..)| letters.contains(*letter) && used.contains(letter));
        let entries = entries.map(|(letter, _, words)| format!("{} {words}", painted(*letter, color)));
        let entries: Vec<_> = entries.chain(more.map(str::to_owned)).collect();
        if entries.is_empty() { String::new() } else { format!("{}\n", entries.join("   ")) }
    };
    format!("{}{}\n", line("BLIE-", Some("001 is SRT-001")), line("!?_", None))
}

/// Where documents of a folder of the library belong, by the operation that delivers them; and how that is called.
const GROUPS: [(&str, &str, &str); 9] = [
    ("mcp-server", "tools/list", "MCP server: what it says about its tools"),
    ("mcp-server", "tools/call", "MCP server: what its tools answer"),
    ("mcp-server", "", "MCP server: instructions, resources, prompts, forms, sampling"),
    ("mcp-wrap", "", "MCP server: what a real one says, changed on the way"),
    ("mcp-client", "", "MCP client"),
    ("a2a-server", "", "A2A server"),
    ("a2a-client", "", "A2A client"),
    ("ag-ui-client", "", "AG-UI client"),
    ("chains", "", "Several protocols in one attack"),
];

fn group(row: &Row) -> String {
    let folder = row.entry.path.split('/').next().unwrap_or_default();
    let delivered = &row.document.compiled.document().extension().delivered;
    let surface = delivered.first().map_or("", |first| first.surface.as_str());
    let of = |wanted: &str| GROUPS.iter().find(|(known, by, _)| *known == folder && *by == wanted);
    of(surface).or_else(|| of("")).map_or_else(|| folder.to_owned(), |(_, _, name)| (*name).to_owned())
}
