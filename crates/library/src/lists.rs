//! The library, and what it covers, for people and for other tools.

use std::io::{self, Write};

use serde_json::json;
use sortie_oatf::model::Attack;
use sortie_report::{counted, style, write_json};

use crate::filter::LoadedDocument;
use crate::{Coverage, Dimension, Member};

/// The version of the list's JSON. A change that could break a reader makes it 2.
const VERSION: u32 = 1;

/// How wide lines may be.
const WIDTH: usize = 100;

/// A list with more members than this is not shown one by one.
const ROWS: usize = 25;

/// Writes documents of the library for people. `all` is how many there are.
pub fn write_list(out: &mut dyn Write, chosen: &[LoadedDocument], all: usize, color: bool) -> io::Result<()> {
    let modes = |attack| modes(attack).join("+");
    let width = chosen.iter().map(|(_, document)| modes(&document.attack).len()).max().unwrap_or(0);
    for (entry, document) in chosen {
        let attack = &document.attack;
        let id = style::paint(color, style::STRONG, entry.id());
        let name = attack.name.as_deref().unwrap_or_default();
        writeln!(out, "{id}  {:width$}  {name}", modes(attack))?;
    }
    let of = if chosen.len() == all { String::new() } else { format!(" of {all}") };
    writeln!(out, "\n{}{of}", counted(chosen.len(), "document", "documents"))
}

/// Writes documents of the library for other tools.
pub fn write_list_json(out: &mut dyn Write, chosen: &[LoadedDocument]) -> io::Result<()> {
    let documents = chosen.iter().map(|(entry, document)| {
        let attack = &document.attack;
        let class = attack.classification.as_ref();
        json!({
            "id": entry.id(),
            "name": attack.name,
            "file": entry.path,
            "modes": modes(attack),
            "category": class.and_then(|class| class.category),
            "severity": attack.severity.as_ref().map(|severity| severity.level),
            "tier": attack.indicators.iter().flatten().filter_map(|indicator| indicator.tier).max(),
            "tags": class.and_then(|class| class.tags.as_deref()).unwrap_or_default(),
        })
    });
    write_json(out, &json!({"version": VERSION, "documents": documents.collect::<Vec<_>>()}))
}

/// The modes of its actors, each once.
fn modes(attack: &Attack) -> Vec<&str> {
    let mut modes: Vec<&str> = Vec::new();
    for actor in attack.execution.actors.iter().flatten() {
        if !modes.contains(&actor.mode.as_str()) {
            modes.push(&actor.mode);
        }
    }
    modes
}

/// Writes what is covered, and what is not, for people.
pub fn write_coverage(out: &mut dyn Write, coverage: &Coverage, color: bool) -> io::Result<()> {
    writeln!(out, "{}", counted(coverage.documents, "document", "documents"))?;
    for dimension in &coverage.dimensions {
        writeln!(out, "\n{}", style::paint(color, style::STRONG, &dimension.title))?;
        write_dimension(out, dimension, color)?;
    }
    writeln!(out, "\n{}", style::paint(color, style::STRONG, "not covered at all"))?;
    for sentence in coverage.beyond {
        wrapped(out, "  -", sentence.split(' '))?;
    }
    Ok(())
}

fn write_dimension(out: &mut dyn Write, dimension: &Dimension, color: bool) -> io::Result<()> {
    let (covered, missing): (Vec<&Member>, Vec<&Member>) =
        dimension.members.iter().partition(|member| member.is_covered());
    let has_names = dimension.members.iter().any(|member| member.name.is_some());
    if has_names && dimension.members.len() <= ROWS {
        let width = dimension.members.iter().map(|member| member.word.len()).max().unwrap_or(0);
        for member in covered {
            let name = member.name.unwrap_or_default();
            writeln!(out, "  {:width$} {:>3}  {name}", member.word, member.documents.len())?;
        }
    } else {
        let words = covered.iter().map(|member| format!("{} {}", member.word, member.documents.len()));
        wrapped(out, "  covered    ", list(words))?;
    }
    let word = style::paint(color, style::WARNING, "not covered");
    if has_names {
        for member in missing {
            writeln!(out, "  {word} {} {}", member.word, member.name.unwrap_or_default())?;
        }
    } else if !missing.is_empty() {
        wrapped(out, &format!("  {word}"), list(missing.iter().map(|member| member.word.clone())))?;
    }
    for note in dimension.notes {
        wrapped(out, "  note", note.split(' '))?;
    }
    Ok(())
}

/// Words in lines that fit a terminal, below each other.
fn wrapped(
    out: &mut dyn Write,
    label: &str,
    words: impl IntoIterator<Item = impl AsRef<str>>,
) -> io::Result<()> {
    // Colours have no width.
    let indent = anstream::adapter::strip_str(label).to_string().chars().count();
    let mut width = indent;
    write!(out, "{label}")?;
    for word in words {
        let word = word.as_ref();
        if width + 1 + word.chars().count() > WIDTH && width > indent {
            write!(out, "\n{:indent$}", "")?;
            width = indent;
        }
        write!(out, " {word}")?;
        width += 1 + word.chars().count();
    }
    writeln!(out)
}

/// Words with commas between them.
fn list(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.into_iter().collect();
    let commas = words.len().saturating_sub(1);
    words[..commas].iter_mut().for_each(|word| word.push(','));
    words
}
