//! Adds recorded runs to a manifest, and leaves the rest of it as it is.

use std::fmt::Write as _;

use sortie_oatf::Validated;
use sortie_oatf::model::AttackResult;
use sortie_syntax::yaml::{NodeKind, Tree};

use crate::manifest::{Manifest, Proof, Survivor};

/// A recorded run, and what it must give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The name of its file.
    pub trace: String,
    /// The agent that was attacked.
    pub agent: String,
    /// What happens in it.
    pub about: String,
    /// What it must give.
    pub verdict: AttackResult,
    /// The indicators that must match.
    pub matched: Vec<String>,
}

/// A manifest is written in a way that nothing can be added to, or says something else with an addition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the list of proofs is not written one below the other, so nothing can be added to it")]
pub struct NotAdded {
    /// What was to be added.
    pub lines: String,
}

/// A manifest that names these runs too, or a new one that names nothing else. Everything that stands in it stays as it is,
/// comments included.
///
/// ```
/// use sortie_oatf::load;
/// use sortie_oatf::model::AttackResult;
/// use sortie_prove::{Recorded, added};
///
/// let document = load("{oatf: '0.1', attack: {execution: {mode: mcp_server, state: {tools: []}}}}").unwrap().document;
/// let refuser = Recorded {
///     trace: "did-its-task.jsonl".into(),
///     agent: "refuser".into(),
///     about: "Does the task and nothing else.".into(),
///     verdict: AttackResult::NotExploited,
///     matched: Vec::new(),
/// };
/// assert_eq!(added(None, &[refuser], &document).unwrap(), "\
/// proofs:
///   - trace: did-its-task.jsonl
///     agent: refuser
///     about: Does the task and nothing else.
///     verdict: not_exploited
/// ");
/// ```
pub fn added(
    manifest: Option<&str>,
    recorded: &[Recorded],
    document: &Validated,
) -> Result<String, NotAdded> {
    let lines = |indent: usize| recorded.iter().map(|run| entry(run, indent)).collect::<String>();
    let not_added = || NotAdded { lines: lines(2) };
    let Some(text) = manifest else { return Ok(format!("proofs:\n{}", lines(2))) };
    let (at, indent) = place(text).ok_or_else(not_added)?;
    let before = text[..at.start].trim_end_matches(' ');
    let newline = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let new = format!("{before}{newline}{}{}", lines(indent), &text[at.end..]);
    // Whatever the text looks like, what it says is known.
    if says_the_same_and(text, &new, recorded, document) { Ok(new) } else { Err(not_added()) }
}

/// What to replace by items of the list, and how far they are indented.
fn place(text: &str) -> Option<(std::ops::Range<usize>, usize)> {
    let tree = Tree::parse(text).0?;
    let list = tree.entry(tree.root().id, "proofs")?.value;
    let NodeKind::Sequence(items) = tree.node(list).kind else { return None };
    let (Some(first), Some(last)) = (items.first(), items.last()) else {
        // `proofs: []`, the only way to write a list of nothing.
        return Some((tree.node(list).span.range(), 2));
    };
    if tree.is_flow(list) {
        return None;
    }
    let dash = text[..tree.node(*first).span.start].trim_end().strip_suffix('-')?.len();
    let indent = dash - text[..dash].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[..tree.node(*last).span.end].trim_end().len();
    let end = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
    Some((end..end, indent))
}

/// One run, as an item of a list.
fn entry(run: &Recorded, indent: usize) -> String {
    let mut text = format!("{:indent$}- trace: {}\n", "", run.trace);
    let mut field = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:indent$}  {name}: {value}", "");
    };
    field("agent", &run.agent);
    field("about", &run.about);
    field("verdict", run.verdict.as_str());
    if !run.matched.is_empty() {
        let ids: Vec<String> = run.matched.iter().map(|id| scalar(id)).collect();
        field("matched", &format!("[{}]", ids.join(", ")));
    }
    text
}

/// An id that cannot be taken for anything else, in quotes where it could.
fn scalar(id: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let is_plain = id.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && id.contains('-')
        && id.chars().all(plain);
    // What JSON quotes, YAML reads.
    if is_plain { id.to_owned() } else { serde_json::Value::from(id).to_string() }
}

fn says_the_same_and(old: &str, new: &str, recorded: &[Recorded], document: &Validated) -> bool {
    let (Ok(old), Ok(new)) = (Manifest::parse(old, document), Manifest::parse(new, document)) else {
        return false;
    };
    let said = |proof: &Proof| {
        let Proof { name, agent, about, verdict, matched, .. } = proof.clone();
        (name, agent, about, verdict, matched)
    };
    let recorded = recorded.iter().map(|run| {
        let Recorded { trace, agent, about, verdict, matched } = run.clone();
        (trace, Some(agent), about, verdict, matched)
    });
    let accepted = |one: &Survivor| (one.mutant.clone(), one.reason.clone());
    let survivors = |manifest: &Manifest| manifest.survivors.iter().map(accepted).collect::<Vec<_>>();
    let expected: Vec<_> = old.proofs.iter().map(said).chain(recorded).collect();
    new.proofs.iter().map(said).collect::<Vec<_>>() == expected && survivors(&old) == survivors(&new)
}
