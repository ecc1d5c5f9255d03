//! Parses fixtures.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sortie_syntax::yaml::{Entry, Node, NodeKind};
use sortie_syntax::{Diagnostic, Reader, Span, is_null};

use super::fields::{Mapping, list, parsed, refuse, report_key, value_at, word};
use crate::fixtures::{FixtureCase, FixtureContent, Fixtures};
use crate::limits::MAX_CASES;
use crate::model::{ArtifactType, Evaluator, FixtureKind, Verdict};
use crate::rules::{files, fixtures as rules, foreign};
use sortie_trace::{Call, ObservedCall, Role, Transcript, Turn};

const FIXTURES: Mapping = Mapping {
    what: "a fixture file",
    form: "fixtures: `kind`, `pass_case` and `fail_case`",
    fields: &["kind", "pass_case", "fail_case"],
    required: &[
        ("kind", "`response` for answers, `transcript` for conversations with tool calls"),
        ("pass_case", "say what a target that resists answers"),
        ("fail_case", "say what a target that gives in answers"),
    ],
};
const CASE: Mapping = Mapping {
    what: "a case",
    form: "a text, or a mapping with `response` or `turns`",
    fields: &["response", "turns", "artifact", "metric", "tools", "server", "expect", "pattern", "variables"],
    required: &[],
};
const ARTIFACT: Mapping = Mapping {
    what: "an artifact",
    form: "an artifact: `type` and `content`",
    fields: &["type", "content"],
    required: &[
        ("type", "`tool_description` or `manifest`; `source_file` is for source scanners"),
        ("content", "write what it says"),
    ],
};
const METRIC: Mapping = Mapping {
    what: "a metric",
    form: "a metric: `name` and `value`",
    fields: &["name", "value"],
    required: &[("name", "say what is measured"), ("value", "say how much it is")],
};
/// What a case is about.
const CONTENTS: [&str; 4] = ["response", "turns", "artifact", "metric"];
const TURN: Mapping = Mapping {
    what: "a turn",
    form: "a turn: `role` and `text`",
    fields: &["role", "text", "is_error", "call", "result", "calls", "elapsed_ms"],
    required: &[("role", "say who speaks: `attacker` or `target`")],
};
const CALL: Mapping = Mapping {
    what: "a call",
    form: "a call: `name` and `arguments`",
    fields: &["name", "arguments"],
    required: &[("name", "name the tool that is called")],
};
const OBSERVED: Mapping = Mapping { fields: &["name", "arguments", "result", "is_error"], ..CALL };

/// What could be parsed of a fixture file.
#[derive(Clone, Debug)]
pub struct ParsedFixtures {
    /// The fixtures; `None` where there are errors.
    pub fixtures: Option<Fixtures>,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses `<id>.test.yaml`. Without its evaluator (it may have errors of its own), nothing is said about the patterns that
/// are named.
pub fn parse_fixtures(text: &str, evaluator: Option<&Evaluator>) -> ParsedFixtures {
    let (fixtures, diagnostics) = parsed(text, |reader, node| fixtures(reader, node, evaluator));
    let sound = !diagnostics.iter().any(Diagnostic::is_error);
    ParsedFixtures { fixtures: fixtures.flatten().filter(|_| sound), diagnostics }
}

fn fixtures<'t>(reader: &mut Reader<'t>, node: Node<'t>, evaluator: Option<&Evaluator>) -> Option<Fixtures> {
    let (mut kind, mut pass, mut fail) = (None, None, None);
    FIXTURES.read(reader, node, |reader, entry, field| match field {
        "kind" => kind = word(reader, entry, "a kind of fixtures", FixtureKind::WORDS),
        "pass_case" => pass = Some(entry),
        _ => fail = Some(entry),
    })?;
    let mut cases = Vec::new();
    for (key, implied, entry) in [("pass_case", Verdict::Pass, pass), ("fail_case", Verdict::Fail, fail)] {
        if let Some(entry) = entry.filter(|entry| reader.is_given(*entry)) {
            let of = Of { key, implied, kind, evaluator };
            of.cases(reader, entry, &mut cases);
        }
    }
    Some(Fixtures { kind: kind?, cases })
}

/// What the cases below a key have in common.
struct Of<'e> {
    key: &'static str,
    implied: Verdict,
    /// `None` where it could not be read.
    kind: Option<FixtureKind>,
    evaluator: Option<&'e Evaluator>,
}

impl Of<'_> {
    fn cases(&self, reader: &mut Reader<'_>, entry: Entry, cases: &mut Vec<FixtureCase>) {
        if let NodeKind::Sequence(items) = reader.tree().node(entry.value).kind {
            if items.is_empty() {
                report_key(reader, entry, |at| rules::no_case(self.key, at));
            }
            let mut index = 0;
            let read = list(reader, entry, "a list of cases", MAX_CASES, |reader, item| {
                let name = format!("{}[{index}]", self.key);
                index += 1;
                let errors = reader.errors();
                let case = self.case(reader, item, name);
                // One that is left out is said to be.
                if case.is_none() && reader.errors() == errors { Some(None) } else { case.map(Some) }
            });
            cases.extend(read.into_iter().flatten());
        } else {
            cases.extend(reader.under(entry, |reader, node| self.case(reader, node, self.key.to_owned())));
        }
    }

    fn case<'t>(&self, reader: &mut Reader<'t>, node: Node<'t>, name: String) -> Option<FixtureCase> {
        let span = reader.headline(node);
        let line = reader.tree().source().line_column(span.start).line;
        let mut case = FixtureCase {
            name,
            content: FixtureContent::Response(String::new()),
            expect: self.implied,
            pattern: None,
            variables: BTreeMap::new(),
            span,
            line,
        };
        if let NodeKind::Scalar(..) = node.kind {
            case.content = FixtureContent::Response(reader.string(node)?);
            self.content(reader, span, "response");
            return Some(case);
        }
        let (mut response, mut turns, mut tools, mut server) = (None, None, None, None);
        let mut shown = None;
        let given = CASE.read(reader, node, |reader, entry, field| match field {
            _ if !reader.is_given(entry) => {}
            "response" => response = reader.under(entry, Reader::string),
            "turns" => turns = Some(turns_of(reader, entry)),
            "artifact" => shown = reader.under(entry, artifact),
            "metric" => reader.under(entry, metric),
            "tools" => {
                let read = list(reader, entry, "a list of tools", Transcript::MAX_TURNS, object);
                tools = Some(read.into_iter().map(Value::Object).collect());
            }
            "server" => server = reader.under(entry, object),
            "expect" => {
                if let Some(expect) = self.expect(reader, entry) {
                    case.expect = expect;
                }
            }
            "pattern" => case.pattern = self.pattern(reader, entry),
            _ => case.variables = reader.under(entry, variables),
        })?;
        let has = |field: &str| given.contains(&field);
        let contents: Vec<&str> = CONTENTS.into_iter().filter(|content| has(content)).collect();
        let [content] = *contents else {
            return refuse(reader, node, |at| rules::one_content(&contents, at));
        };
        let entry = reader.tree().entry(node.id, content);
        let at = entry.map_or(span, |entry| reader.tree().node(entry.key).span);
        if !self.content(reader, at, content) {
            return None;
        }
        if !has("turns") && (has("tools") || has("server")) {
            return refuse(reader, node, rules::no_turns);
        }
        case.content = match (response, turns) {
            (Some(response), _) => FixtureContent::Response(response),
            (None, Some(turns)) => FixtureContent::Transcript {
                turns,
                tools: tools.unwrap_or_default(),
                server: server.unwrap_or_default(),
            },
            (None, None) => match shown? {
                (ArtifactType::ToolDescription, text) => {
                    FixtureContent::Artifact { tools: vec![json!({"description": text})], server: Map::new() }
                }
                (ArtifactType::Manifest, text) => FixtureContent::Artifact {
                    tools: Vec::new(),
                    server: Map::from_iter([("manifest".to_owned(), text.into())]),
                },
                (ArtifactType::SourceFile, _) => return None,
            },
        };
        bounded(reader, &case);
        Some(case)
    }

    fn expect(&self, reader: &mut Reader<'_>, entry: Entry) -> Option<Verdict> {
        let expect = word(reader, entry, "what a case may expect", Verdict::WORDS)?;
        if expect == self.implied || expect == Verdict::Undecided {
            return Some(expect);
        }
        let at = value_at(reader, entry);
        reader.report(|_| rules::other_verdict(self.key, expect, at));
        None
    }

    fn pattern(&self, reader: &mut Reader<'_>, entry: Entry) -> Option<String> {
        let name = reader.under(entry, Reader::string)?;
        let at = value_at(reader, entry);
        if let Some(finding) =
            self.evaluator.and_then(|evaluator| rules::unknown_pattern(&name, evaluator, at))
        {
            reader.report(|_| finding);
            return None;
        }
        Some(name)
    }

    /// Whether cases of this kind are about this; said where they are not.
    fn content(&self, reader: &mut Reader<'_>, at: Span, content: &str) -> bool {
        let expected: &[FixtureKind] = match content {
            "response" => &[FixtureKind::Response, FixtureKind::Transcript],
            "turns" => &[FixtureKind::Transcript],
            "artifact" => &[FixtureKind::Artifact],
            _ => &[FixtureKind::Metric],
        };
        let fits = self.kind.is_none_or(|kind| expected.contains(&kind));
        if !fits {
            reader.report(|_| rules::other_kind(content, expected, at));
        }
        fits
    }
}

/// A conversation, in which the target speaks.
fn turns_of(reader: &mut Reader<'_>, entry: Entry) -> Vec<Turn> {
    let turns = list(reader, entry, "a list of turns", Transcript::MAX_TURNS, turn);
    let written = match reader.tree().node(entry.value).kind {
        NodeKind::Sequence(items) => items.len(),
        _ => usize::MAX, // said already
    };
    if turns.len() == written && turns.iter().all(|turn| turn.role != Role::Target) {
        report_key(reader, entry, rules::silent);
    }
    turns
}

fn artifact<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<(ArtifactType, String)> {
    let (mut kind, mut content) = (None, None);
    ARTIFACT.read(reader, node, |reader, entry, field| match field {
        "type" => kind = word(reader, entry, "a type of artifact", ArtifactType::WORDS),
        _ => content = reader.under(entry, Reader::string),
    })?;
    if kind == Some(ArtifactType::SourceFile) {
        let at = reader.headline(node);
        reader.warn(|_| foreign::source_case(at));
    }
    kind.zip(content)
}

fn metric<'t>(reader: &mut Reader<'t>, node: Node<'t>) {
    let read = METRIC.read(reader, node, |reader, entry, field| match field {
        "name" => _ = reader.under(entry, Reader::string),
        _ => _ = reader.under(entry, Reader::number),
    });
    if read.is_some() {
        let at = reader.headline(node);
        reader.warn(|_| foreign::not_measured(at));
    }
}

fn bounded(reader: &mut Reader<'_>, case: &FixtureCase) {
    let FixtureContent::Transcript { turns, tools, server } = &case.content else { return };
    let transcript = Transcript::new(turns.clone())
        .and_then(|transcript| transcript.with_discovered(tools.clone(), server.clone()));
    if let Err(problem) = transcript {
        reader.report(|_| files::large_transcript(&problem, case.span));
    }
}

fn turn<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Turn> {
    let mut turn = Turn::attacker("");
    let mut role = None;
    TURN.read(reader, node, |reader, entry, field| match field {
        "role" => role = word(reader, entry, "a role", Role::WORDS),
        "text" => turn.text = reader.under(entry, Reader::string).unwrap_or_default(),
        "is_error" => turn.is_error = reader.under(entry, Reader::boolean).unwrap_or_default(),
        "call" if reader.is_given(entry) => {
            let made = reader.under(entry, |reader, node| call(reader, node, &CALL));
            turn.call = made.map(|ObservedCall { name, arguments, .. }| Call { name, arguments });
        }
        "result" if reader.is_given(entry) => turn.result = Some(reader.under(entry, Reader::value)),
        "elapsed_ms" => {
            let elapsed = reader.under(entry, Reader::integer);
            turn.elapsed_ms = elapsed.and_then(|elapsed| u64::try_from(elapsed).ok());
        }
        "calls" => {
            turn.calls = list(reader, entry, "a list of calls", Transcript::MAX_TURNS, |reader, node| {
                call(reader, node, &OBSERVED)
            });
        }
        _ => {}
    })?;
    turn.role = role?;
    let Some(finding) = rules::misplaced_field(&turn, reader.headline(node)) else { return Some(turn) };
    reader.report(|_| finding);
    None
}

fn call<'t>(reader: &mut Reader<'t>, node: Node<'t>, kind: &Mapping) -> Option<ObservedCall> {
    let (mut name, mut arguments, mut result, mut is_error) = (None, Map::new(), "".into(), false);
    kind.read(reader, node, |reader, entry, field| match field {
        "name" => name = reader.under(entry, Reader::string),
        "arguments" if reader.is_given(entry) => {
            arguments = reader.under(entry, object).unwrap_or_default();
        }
        "result" if reader.is_given(entry) => result = reader.under(entry, Reader::value),
        "is_error" => is_error = reader.under(entry, Reader::boolean).unwrap_or_default(),
        _ => {}
    })?;
    Some(ObservedCall { name: name?, arguments, result, is_error })
}

fn object<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Map<String, Value>> {
    reader.mapping(node, "a mapping")?;
    match reader.value(node) {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

fn variables<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for entry in reader.mapping(node, "a mapping of names to texts").unwrap_or_default() {
        let value = reader.under(*entry, |reader, node| {
            if is_null(node) {
                reader.mismatch(node, "a text");
            }
            reader.string(node)
        });
        variables.insert(reader.tree().key(*entry).to_owned(), value.unwrap_or_default());
    }
    variables
}
