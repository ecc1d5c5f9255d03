//! Reads curated suites.

use sortie_oatf::reading::{Field, Reader};
use sortie_oatf::yaml::{Entry, Node, NodeKind};
use sortie_oatf::{Diagnostic, Span, closed_enum};

use super::words::{kebab_case, list, name, parsed, text, value_at};
use crate::limits::{MAX_LISTED, MAX_TEXT_BYTES};
use crate::rules::error;

const SUITE: &[&str] = &["id", "name", "description", "include"];

closed_enum! {
    /// What a suite includes.
    IncludeKind {
        /// An evaluator, by its id.
        Evaluator = "evaluator",
        /// An OATF document, by its id.
        Document = "document",
        /// All of another suite, by its id.
        Suite = "suite",
        /// Whatever has a tag.
        Tag = "tag",
    }
}

/// One thing that a suite includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Include {
    /// What it is.
    pub kind: IncludeKind,
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

/// A curated suite as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteText {
    /// Kebab-case, unique over all suites.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What is in it.
    pub include: Vec<Include>,
    /// Where its id stands.
    pub id_at: Span,
}

/// What could be read of a suite.
#[derive(Clone, Debug)]
pub struct SuiteRead {
    /// The suite; `None` where there are errors.
    pub suite: Option<SuiteText>,
    /// Its id, also where there are errors elsewhere.
    pub id: Option<String>,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads `suites/<id>.yaml`.
pub fn read_suite(text: &str) -> SuiteRead {
    let (read, diagnostics) = parsed(text, suite);
    let (suite, id) = read.unwrap_or_default();
    let sound = !diagnostics.iter().any(Diagnostic::is_error);
    SuiteRead { suite: suite.filter(|_| sound), id, diagnostics }
}

fn suite<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> (Option<SuiteText>, Option<String>) {
    let Some(entries) = reader.mapping(node, "a suite: `id`, `name` and `include`") else {
        return (None, None);
    };
    let (mut id, mut title, mut description) = (None, None, None);
    let mut included: Option<Entry> = None;
    let mut id_at = reader.headline(node);
    let mut given = Vec::new();
    for entry in entries {
        let Field::Known(field) = reader.field(entries, *entry, "a suite", SUITE, false) else { continue };
        if reader.is_given(*entry) {
            given.push(field);
        }
        match field {
            "id" => {
                id_at = value_at(reader, *entry);
                id = reader.under(*entry, |reader, node| kebab_case(reader, node, "an id"));
            }
            "name" => title = name(reader, *entry),
            "description" => description = text(reader, *entry, MAX_TEXT_BYTES),
            _ => included = Some(*entry),
        }
    }
    for (field, help) in [
        ("id", "say what it is called in kebab-case, such as `id: release-gate`"),
        ("name", "say what people call it"),
        ("include", "list what is in it: `- evaluator: path-escape`, `- suite: mitre-atlas`, `- tag: files`"),
    ] {
        if !given.contains(&field) {
            reader.missing(node, "P-010", "a suite", field, help);
        }
    }
    let mut include = Vec::new();
    if let Some(entry) = included {
        let read = list(reader, entry, "a list", MAX_LISTED, one_of);
        include.extend(read.into_iter().map(|(include, _)| include));
        if let NodeKind::Sequence([]) = reader.tree().node(entry.value).kind {
            let at = reader.tree().node(entry.key).span;
            reader.report(|_| {
                error("E-025", "this suite includes nothing")
                    .at(at)
                    .help("a suite without cases would pass everything: list what is in it")
            });
        }
    }
    let known_id = id.clone();
    let suite = id.zip(title).map(|(id, name)| SuiteText { id, name, description, include, id_at });
    (suite, known_id)
}

fn one_of<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Include> {
    let what = "a mapping with one of `evaluator`, `document`, `suite` and `tag`";
    let entries = reader.mapping(node, what)?;
    let mut include = None;
    for entry in entries {
        let field = reader.field(entries, *entry, "an item of a suite", IncludeKind::WORDS, false);
        let Field::Known(kind) = field else { continue };
        let span = value_at(reader, *entry);
        if !reader.is_given(*entry) {
            reader.under(*entry, |reader, node| reader.mismatch(node, "a name"));
        }
        let name = name(reader, *entry);
        // The key was just found in the list.
        if let (Ok(kind), Some(name)) = (kind.parse(), name) {
            include = Some(Include { kind, name, span });
        }
    }
    if entries.len() != 1 {
        let at = reader.headline(node);
        reader.report(|_| {
            error("E-024", "each item includes one thing")
                .at(at)
                .help("write an item for each: `- evaluator: a` and `- tag: b`")
        });
        return None;
    }
    include
}
