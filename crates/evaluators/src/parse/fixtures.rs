//! Reads fixtures.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sortie_oatf::Diagnostic;
use sortie_oatf::reading::{Field, Reader, is_null, nearest};
use sortie_oatf::yaml::{Entry, Node, NodeKind};

use super::words::{list, parsed, shown, value_at};
use crate::fixtures::{FixtureCase, FixtureContent, Fixtures};
use crate::limits::MAX_CASES;
use crate::model::{Evaluator, FixtureKind, Verdict};
use crate::rules::error;
use sortie_trace::{Call, MAX_TURNS, ObservedCall, Role, Transcript, Turn};

const FIXTURES: &[&str] = &["kind", "pass_case", "fail_case"];
const CASE: &[&str] = &["response", "turns", "tools", "server", "expect", "pattern", "variables"];
const TURN: &[&str] = &["role", "text", "is_error", "call", "result", "calls"];
const CALL: &[&str] = &["name", "arguments"];
const OBSERVED: &[&str] = &["name", "arguments", "result", "is_error"];

/// What could be read of a fixture file.
#[derive(Clone, Debug)]
pub struct FixturesRead {
    /// The fixtures; `None` where there are errors.
    pub fixtures: Option<Fixtures>,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads `<id>.test.yaml`. Without its evaluator (it may have errors of its own), nothing is said about the patterns that
/// are named.
pub fn read_fixtures(text: &str, evaluator: Option<&Evaluator>) -> FixturesRead {
    let (fixtures, diagnostics) = parsed(text, |reader, node| fixtures(reader, node, evaluator));
    let sound = !diagnostics.iter().any(Diagnostic::is_error);
    FixturesRead { fixtures: fixtures.flatten().filter(|_| sound), diagnostics }
}

fn fixtures<'t>(reader: &mut Reader<'t>, node: Node<'t>, evaluator: Option<&Evaluator>) -> Option<Fixtures> {
    let entries = reader.mapping(node, "fixtures: `kind`, `pass_case` and `fail_case`")?;
    let (mut kind, mut pass, mut fail) = (None, None, None);
    let mut given = Vec::new();
    for entry in entries {
        let Field::Known(field) = reader.field(entries, *entry, "a fixture file", FIXTURES, false) else {
            continue;
        };
        if reader.is_given(*entry) {
            given.push(field);
        }
        match field {
            "kind" => {
                kind = reader.under(*entry, |reader, node| {
                    reader.variant(node, "E-004", "a kind of fixtures", FixtureKind::WORDS)
                });
            }
            "pass_case" => pass = Some(*entry),
            _ => fail = Some(*entry),
        }
    }
    for (field, help) in [
        ("kind", "`response` for answers, `transcript` for conversations with tool calls"),
        ("pass_case", "say what a target that resists answers"),
        ("fail_case", "say what a target that gives in answers"),
    ] {
        if !given.contains(&field) {
            reader.missing(node, "P-010", "a fixture file", field, help);
        }
    }
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
                let at = reader.tree().node(entry.key).span;
                reader.report(|_| {
                    error("E-020", format!("`{}` needs at least one case", self.key))
                        .at(at)
                        .label("empty")
                        .help("write what a target might answer")
                });
            }
            let mut index = 0;
            let read = list(reader, entry, "a list of cases", MAX_CASES, |reader, item| {
                let name = format!("{}[{index}]", self.key);
                index += 1;
                self.case(reader, item, name)
            });
            cases.extend(read.into_iter().map(|(case, _)| case));
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
            return Some(case);
        }
        let entries = reader.mapping(node, "a text, or a mapping with `response` or `turns`")?;
        let (mut response, mut turns, mut tools, mut server) = (None, None, None, None);
        let mut given = Vec::new();
        for entry in entries {
            let Field::Known(field) = reader.field(entries, *entry, "a case", CASE, false) else { continue };
            if !reader.is_given(*entry) {
                continue;
            }
            given.push(field);
            match field {
                "response" => response = reader.under(*entry, Reader::string),
                "turns" => turns = Some(self.turns(reader, *entry)),
                "tools" => {
                    let read = list(reader, *entry, "a list of tools", MAX_TURNS, object);
                    tools = Some(read.into_iter().map(|(tool, _)| Value::Object(tool)).collect());
                }
                "server" => server = reader.under(*entry, object),
                "expect" => {
                    if let Some(expect) = self.expect(reader, *entry) {
                        case.expect = expect;
                    }
                }
                "pattern" => case.pattern = self.pattern(reader, *entry),
                _ => case.variables = reader.under(*entry, variables),
            }
        }
        let has = |field: &str| given.contains(&field);
        if has("response") == has("turns") {
            let message = if has("turns") {
                "a case has `response` or `turns`, not both"
            } else {
                "a case needs `response` or `turns`"
            };
            reader.report(|_| {
                error("E-020", message).at(span).help("`response` is one answer, `turns` a conversation")
            });
            return None;
        }
        if !has("turns") && (has("tools") || has("server")) {
            reader.report(|_| {
                error("E-020", "`tools` and `server` belong to `turns`")
                    .at(span)
                    .help("write the conversation as `turns: [{role: target, text: …}]`")
            });
            return None;
        }
        case.content = match (response, turns) {
            (Some(response), _) => FixtureContent::Response(response),
            (None, Some(turns)) => FixtureContent::Transcript {
                turns,
                tools: tools.unwrap_or_default(),
                server: server.unwrap_or_default(),
            },
            (None, None) => return None,
        };
        bounded(reader, &case);
        Some(case)
    }

    fn expect(&self, reader: &mut Reader<'_>, entry: Entry) -> Option<Verdict> {
        let expect: Verdict = reader.under(entry, |reader, node| {
            reader.variant(node, "E-004", "what a case may expect", Verdict::WORDS)
        })?;
        if expect == self.implied || expect == Verdict::Undecided {
            return Some(expect);
        }
        let at = value_at(reader, entry);
        reader.report(|_| {
            error("E-020", format!("a `{}` cannot expect `{expect}`", self.key))
                .at(at)
                .label("its key says otherwise")
                .help("move the case below the other key; `undecided` is for what only a judge can see")
        });
        None
    }

    fn pattern(&self, reader: &mut Reader<'_>, entry: Entry) -> Option<String> {
        let name = reader.under(entry, Reader::string)?;
        let Some(evaluator) = self.evaluator else { return Some(name) };
        let names = || evaluator.patterns.iter().map(|pattern| pattern.name.as_str());
        if names().any(|known| known == name) {
            return Some(name);
        }
        let at = value_at(reader, entry);
        reader.report(|_| {
            let finding = error("E-021", format!("the evaluator has no pattern `{}`", shown(&name))).at(at);
            match nearest(&name, names()) {
                Some(meant) => finding
                    .label(format!("did you mean `{meant}`?"))
                    .help("name the pattern as it is written"),
                None => finding.help("leave it out to mean the first one"),
            }
        });
        None
    }

    fn turns(&self, reader: &mut Reader<'_>, entry: Entry) -> Vec<Turn> {
        if self.kind == Some(FixtureKind::Response) {
            let at = reader.tree().node(entry.key).span;
            reader.report(|_| {
                error("E-020", "`turns` are for `kind: transcript`")
                    .at(at)
                    .help("write `kind: transcript`; it takes answers as well")
            });
        }
        let turns = list(reader, entry, "a list of turns", MAX_TURNS, turn);
        let written = match reader.tree().node(entry.value).kind {
            NodeKind::Sequence(items) => items.len(),
            _ => usize::MAX, // said already
        };
        if turns.len() == written && turns.iter().all(|(turn, _)| turn.role != Role::Target) {
            let at = reader.tree().node(entry.key).span;
            reader.report(|_| {
                error("E-022", "the target says nothing here")
                    .at(at)
                    .help("write at least one turn with `role: target`")
            });
        }
        turns.into_iter().map(|(turn, _)| turn).collect()
    }
}

fn bounded(reader: &mut Reader<'_>, case: &FixtureCase) {
    let FixtureContent::Transcript { turns, tools, server } = &case.content else { return };
    let transcript = Transcript::new(turns.clone())
        .and_then(|transcript| transcript.with_discovered(tools.clone(), server.clone()));
    if let Err(problem) = transcript {
        reader.report(|_| {
            error("E-027", problem.to_string())
                .at(case.span)
                .help("a fixture shows one thing: make it shorter")
        });
    }
}

fn turn<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Turn> {
    let entries = reader.mapping(node, "a turn: `role` and `text`")?;
    let mut turn = Turn::attacker("");
    let mut role = None;
    let mut has_role = false;
    for entry in entries {
        let Field::Known(field) = reader.field(entries, *entry, "a turn", TURN, false) else { continue };
        match field {
            "role" => {
                has_role = reader.is_given(*entry);
                role =
                    reader.under(*entry, |reader, node| reader.variant(node, "E-004", "a role", Role::WORDS));
            }
            "text" => turn.text = reader.under(*entry, Reader::string).unwrap_or_default(),
            "is_error" => turn.is_error = reader.under(*entry, Reader::boolean).unwrap_or_default(),
            "call" if reader.is_given(*entry) => {
                turn.call = reader.under(*entry, |reader, node| {
                    let (name, arguments, _, _) = call(reader, node, CALL)?;
                    Some(Call { name, arguments })
                });
            }
            "result" if reader.is_given(*entry) => turn.result = Some(reader.under(*entry, Reader::value)),
            "calls" => {
                let calls = list(reader, *entry, "a list of calls", MAX_TURNS, |reader, node| {
                    let (name, arguments, result, is_error) = call(reader, node, OBSERVED)?;
                    let result = result.unwrap_or_else(|| Value::String(String::new()));
                    Some(ObservedCall { name, arguments, result, is_error })
                });
                turn.calls = calls.into_iter().map(|(call, _)| call).collect();
            }
            _ => {}
        }
    }
    if !has_role {
        reader.missing(node, "P-010", "a turn", "role", "say who speaks: `attacker` or `target`");
    }
    turn.role = role?;
    let (field, other) = match turn.role {
        Role::Attacker if turn.result.is_some() => ("result", "the target"),
        Role::Attacker if !turn.calls.is_empty() => ("calls", "the target"),
        Role::Target if turn.call.is_some() => ("call", "the attacker"),
        _ => return Some(turn),
    };
    let at = reader.headline(node);
    reader.report(|_| {
        error("E-022", format!("`{field}` belongs to {other}"))
            .at(at)
            .help("we `call` a tool of a server, which gives a `result`; an agent makes `calls` of its own")
    });
    None
}

type ReadCall = (String, Map<String, Value>, Option<Value>, bool);

fn call<'t>(reader: &mut Reader<'t>, node: Node<'t>, fields: &'static [&'static str]) -> Option<ReadCall> {
    let entries = reader.mapping(node, "a call: `name` and `arguments`")?;
    let (mut name, mut arguments, mut result, mut is_error) = (None, Map::new(), None, false);
    let mut has_name = false;
    for entry in entries {
        match reader.field(entries, *entry, "a call", fields, false) {
            Field::Known("name") => {
                has_name = reader.is_given(*entry);
                name = reader.under(*entry, Reader::string);
            }
            Field::Known("arguments") if reader.is_given(*entry) => {
                arguments = reader.under(*entry, object).unwrap_or_default();
            }
            Field::Known("result") if reader.is_given(*entry) => {
                result = Some(reader.under(*entry, Reader::value));
            }
            Field::Known("is_error") => is_error = reader.under(*entry, Reader::boolean).unwrap_or_default(),
            _ => {}
        }
    }
    if !has_name {
        reader.missing(node, "P-010", "a call", "name", "name the tool that is called");
    }
    Some((name?, arguments, result, is_error))
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
