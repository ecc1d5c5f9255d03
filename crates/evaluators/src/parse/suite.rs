//! Parses curated suites.

use sortie_syntax::yaml::{Entry, Node, NodeKind};
use sortie_syntax::{Diagnostic, Reader, Span, closed_enum};

use super::fields::{Mapping, kebab_case, list, name, parsed, refuse, report_key, text, value_at};
use crate::limits::{MAX_LISTED, MAX_TEXT_BYTES};
use crate::rules::suites;

const SUITE: Mapping = Mapping {
    what: "a suite",
    form: "a suite: `id`, `name` and `include`",
    fields: &["id", "name", "description", "include"],
    required: &[
        ("id", "say what it is called in kebab-case, such as `id: release-gate`"),
        ("name", "say what people call it"),
        ("include", "list what is in it: `- evaluator: path-escape`, `- suite: mitre-atlas`, `- tag: files`"),
    ],
};
const ITEM: Mapping = Mapping {
    what: "an item of a suite",
    form: "a mapping with one of `evaluator`, `document`, `suite` and `tag`",
    fields: IncludeKind::WORDS,
    required: &[],
};

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

/// What could be parsed of a suite.
#[derive(Clone, Debug)]
pub struct ParsedSuite {
    /// The suite; `None` where there are errors.
    pub suite: Option<SuiteText>,
    /// Its id, also where there are errors elsewhere.
    pub id: Option<String>,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses `suites/<id>.yaml`.
pub fn parse_suite(text: &str) -> ParsedSuite {
    let (read, diagnostics) = parsed(text, suite);
    let (suite, id) = read.unwrap_or_default();
    let sound = !diagnostics.iter().any(Diagnostic::is_error);
    ParsedSuite { suite: suite.filter(|_| sound), id, diagnostics }
}

fn suite<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> (Option<SuiteText>, Option<String>) {
    let (mut id, mut title, mut description) = (None, None, None);
    let mut included: Option<Entry> = None;
    let mut id_at = reader.headline(node);
    let given = SUITE.read(reader, node, |reader, entry, field| match field {
        "id" => {
            id_at = value_at(reader, entry);
            id = reader.under(entry, |reader, node| kebab_case(reader, node, "an id"));
        }
        "name" => title = name(reader, entry),
        "description" => description = text(reader, entry, MAX_TEXT_BYTES),
        _ => included = Some(entry),
    });
    if given.is_none() {
        return (None, None);
    }
    let mut include = Vec::new();
    if let Some(entry) = included {
        include = list(reader, entry, "a list", MAX_LISTED, one_of);
        if let NodeKind::Sequence([]) = reader.tree().node(entry.value).kind {
            report_key(reader, entry, suites::includes_nothing);
        }
    }
    let known_id = id.clone();
    let suite = id.zip(title).map(|(id, name)| SuiteText { id, name, description, include, id_at });
    (suite, known_id)
}

fn one_of<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Include> {
    let mut include = None;
    ITEM.read(reader, node, |reader, entry, kind| {
        let span = value_at(reader, entry);
        if !reader.is_given(entry) {
            reader.under(entry, |reader, node| reader.mismatch(node, "a name"));
        }
        let name = name(reader, entry);
        // The key was just found in the list.
        if let (Ok(kind), Some(name)) = (kind.parse(), name) {
            include = Some(Include { kind, name, span });
        }
    })?;
    if !matches!(node.kind, NodeKind::Mapping([_])) {
        return refuse(reader, node, suites::several);
    }
    include
}
