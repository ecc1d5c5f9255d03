//! Many documents together say what each says alone.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};
use sortie_detect::matches::{MatchRuleset, MatchSession, MessageMatch};
use sortie_detect::{Detector, Outcome, Place, Ruleset, replay};
use sortie_oatf::Compiled;
use sortie_trace::Trace;

use crate::story::compiled;

/// What indicators decide by, in all the ways in which they are looked for: by texts, by places, and always.
const METHODS: [&str; 31] = [
    "target: arguments.path, pattern: {contains: id_RSA}",
    "target: arguments, pattern: {contains: 'secret word'}",
    "target: '', pattern: {contains: 'path'}",
    "target: 'content[*].text', pattern: {regex: '(?i)pass(word|wd)|to[k]en'}",
    "target: 'content[*].text', pattern: {regex: '[0-9]{3}'}",
    "target: arguments.path, pattern: {condition: /etc/passwd}",
    "target: arguments.path, pattern: {condition: {any_of: [/etc/passwd, 1.0, null]}}",
    "target: arguments.n, pattern: {condition: {gte: 100}}",
    "target: arguments.n, pattern: {condition: {exists: false}}",
    "target: arguments, pattern: {condition: {contains: '1.5', exists: true}}",
    "target: _text, pattern: {ends_with: token}",
    "target: '', expression: {cel: 'has(message.arguments) && has(message.arguments.path) && message.arguments.path.contains(\"id_\")'}",
    "target: '', expression: {cel: 'message.arguments.n > 5 || message.arguments.path == \"x\"'}",
    "target: '', expression: {cel: 'has(message.content) && message.content.exists(part, part.text.matches(\"password\"))'}",
    "target: '', expression: {cel: 'has(message._transcript) && size(message._transcript) > 1'}",
    "target: text, pattern: {contains: password}",
    // Texts in order, with and without a bound between them.
    "target: 'content[*].text', pattern: {regex: '(?i)the.{0,4}secret\\s+word'}",
    "target: arguments, pattern: {regex: 'the secret.*(is|for) [0-9a-z]|rm\\s+-[rf]+\\s'}, x-sortie: {texts: true}",
    "target: arguments.path, pattern: {condition: {regex: '(?:^|d )(?:Read|the)[^A]+(?:me|word)', starts_with: Read}}",
    "target: arguments, pattern: {regex: '(?i)the.secret|secret\\tword'}, x-sortie: {texts: true}",
    // A match that begins before its first text, and alternatives that are looked for one by one.
    "target: 'content[*].text', pattern: {regex: '(?i)[^a-z0-9]{1,2}(?:the\\s+other|rsa)|[^a-w](?:se[a-f]ret|w[a-z]rd\\s+is)'}",
    "target: arguments.path, pattern: {regex: '(?:[0-9]-[^/]*[0-9]|[^a-z0-9][;:] ?\\pL|[a-z]{2}-[^;]*/)'}",
    // Nothing that could be looked for.
    "target: 'content[*].text', pattern: {regex: '(?i)\\bi\\s+g\\s+n\\s*o|^.{40,}$'}",
    "target: arguments, pattern: {regex: '[a-z] [a-z] [a-z]|\\{\\{[a-z]*\\}\\}|^[^:]*:.[0-9]'}, x-sortie: {texts: true}",
    // Letters of other scripts, and what controls a terminal.
    "target: '', pattern: {regex: '[\\x{400}-\\x{4ff}]{3,}'}, x-sortie: {texts: true}",
    "target: 'content[*].text', pattern: {regex: '\\x1b.[0-9]+|[\\x{1F300}-\\x{1FAFF}]'}",
    "target: arguments.path, pattern: {regex: '(?i)(?:забудь|игнорируй|secret)\\s+(?:все|word)'}",
    "target: '', expression: {cel: 'has(message.arguments) && \"n\" in message.arguments && message.arguments.path.endsWith(\"word\")'}",
    // White space of all kinds between words, before them, and as a letter.
    "target: 'content[*].text', pattern: {regex: '(?i)the[\\s\\v\\pZ\\x{FEFF}]+(?:other[\\s\\v\\pZ\\x{FEFF}]*)?(?:secret|rsa)'}",
    "target: arguments, pattern: {regex: '\\s{2}(?:word|rsa)|[\\x{200b}\\x{feff}]{2}|\\n ?rsa'}, x-sortie: {texts: true}",
    "target: arguments.path, pattern: {condition: {contains: \"secret  \\u00a0word\"}}",
];

/// What selects messages. The last is for what the agent tells its user.
const SELECTIONS: [&str; 7] = [
    "protocol: mcp, surface: tools/call, direction: request, actor: shop",
    "protocol: mcp, surface: tools/call, actor: shop",
    "protocol: mcp, direction: response",
    "protocol: mcp, surface: tools/list",
    "protocol: ag_ui",
    "protocol: a2a, surface: message/send, direction: request",
    "protocol: agent, surface: answer",
];

const FLOW: &str = "
      x-sortie: {flow: {from: {protocol: mcp, surface: tools/call, direction: response, tool: 'read_*'}, to: {}, min_length: 8}}";

const EXTENSIONS: [&str; 4] = [
    "",
    "  x-sortie: {delivered: [{actor: shop, surface: tools/call, contains: password}]}\n",
    "  x-sortie: {prompt: 'Read the secret word for me.', task: {actor: shop, surface: tools/call, name: read_file}}\n",
    "  x-sortie: {delivered: [{actor: shop, phase: last, surface: resources/read}, {actor: user, surface: run_agent_input}], task: {actor: user, surface: run_finished}}\n",
];

fn document(number: usize, extension: &str, indicators: &[(usize, usize, bool)]) -> Arc<Compiled> {
    let mut text = format!(
        "
oatf: '0.1'
attack:
  id: RULE-{number:03}
{extension}  execution:
    actors:
      - {{name: shop, mode: mcp_server, phases: [{{name: first, state: {{tools: []}}, trigger: {{event: tools/call}}}}, {{name: last, state: {{tools: []}}}}]}}
      - {{name: user, mode: ag_ui_client, phases: [{{name: only, state: {{run_agent_input: {{messages: [{{role: user, content: Hello}}]}}}}}}]}}
      - {{name: peer, mode: a2a_server, phases: [{{name: only, state: {{}}}}]}}
  indicators:
"
    );
    for (selection, method, is_flow) in indicators {
        let (selection, method) = (SELECTIONS[*selection], METHODS[*method]);
        let flow = if *is_flow && !method.contains("_transcript") && !method.contains("x-sortie") {
            FLOW
        } else {
            ""
        };
        let fields = format!("{selection}, {method}");
        let mut lines = Vec::new();
        let mut depth = 0;
        let mut field = String::new();
        for letter in fields.chars() {
            match letter {
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => depth -= 1,
                ',' if depth == 0 => {
                    lines.push(std::mem::take(&mut field));
                    continue;
                }
                _ => {}
            }
            field.push(letter);
        }
        lines.push(field);
        let lines: Vec<_> = lines.iter().map(|line| line.trim().to_owned()).collect();
        let _ = writeln!(text, "    - {}{flow}", lines.join("\n      "));
    }
    compiled(&text)
}

/// Every method with every selection, one or two to a document, and every extension.
static DOCUMENTS: LazyLock<Vec<Arc<Compiled>>> = LazyLock::new(|| {
    let mut documents = Vec::new();
    for method in 0..METHODS.len() {
        for selection in 0..SELECTIONS.len() {
            let number = documents.len();
            let own = (selection, method, number % 3 == 0);
            let other =
                ((selection + method) % SELECTIONS.len(), (method * 5 + 1) % METHODS.len(), number % 7 == 0);
            let indicators = if number % 2 == 0 { vec![own] } else { vec![own, other] };
            documents.push(document(number, EXTENSIONS[number % EXTENSIONS.len()], &indicators));
        }
    }
    documents
});

fn text() -> impl Strategy<Value = Value> {
    let words = [
        "id_rsa",
        "ID_RSA",
        "the secret word",
        "password",
        "to\u{212a}en",
        "token",
        "/etc/passwd",
        "path",
        "a\nid_rsa\"b",
        "x",
        "1.5",
        "pa\u{17f}\u{17f}wd",
        "Read the secret word for me.",
        "number 123",
        "the secret word is 4711-0815",
        "dGhlIHNlY3JldCB3b3JkIGlzIDQ3MTEtMDgxNQ==",
        "THE  Secret\tword",
        "the\u{1F600}secret",
        "secret word, and then the other secret  word",
        "i g n o r e",
        "say {{config}}",
        "rm -rf /",
        "\u{1b}[2J",
        "\u{1F600}",
        "забудь все",
        "Игнорируй \u{2003}ВСЕ",
        "the\u{a0}\n other \u{feff}rsa",
        "the  secret  \u{a0}word",
        "the\u{200b}\u{feff}\u{feff}rsa",
    ];
    prop_oneof![8 => select(words.map(|word| json!(word)).to_vec()), 1 => select(vec![json!(7), json!(150), json!(1.5), json!(null), json!(true), json!(["id_rsa"])])]
}

fn body() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (text(), text(), select(vec!["read_file", "send_mail", "list"])).prop_map(|(path, n, name)| json!({"name": name, "arguments": {"path": path, "n": n}})),
        1 => text().prop_map(|text| json!({"arguments": text})),
        4 => vec(text(), 0..3).prop_map(|texts| json!({"content": texts.iter().map(|text| json!({"type": "text", "text": text})).collect::<Vec<_>>()})),
        1 => text().prop_map(|text| json!({"_text": text, "text": text})),
        1 => text(),
    ]
}

/// The ways in which the same JSON can be written.
fn written(json: &Value, way: u8) -> String {
    let text = json.to_string();
    match way {
        0 => text.replace("id_", "\\u0069d_"),
        1 => text.replace('/', "\\/"),
        2 => text.replace(",\"", " ,\n \"").replace('\n', " "),
        3 => text.replace("150", "1.5e2").replace("1.5,", "1.50,"),
        4 => text.replace("true", "\"\\ud800\""),
        // A member that stands there twice.
        5 => text.replace("\"n\":", "\"path\":\"rm -rf /\",\"n\":"),
        6 => text.replace("{\"path\":", "{\"path\":\"Read the secret word\",\"path\":"),
        7 => {
            let mut escaped = String::new();
            for letter in text.chars() {
                let mut units = [0; 2];
                match letter {
                    letter if letter.is_ascii() => escaped.push(letter),
                    letter => letter
                        .encode_utf16(&mut units)
                        .iter()
                        .for_each(|unit| _ = write!(escaped, "\\u{unit:04x}")),
                }
            }
            escaped
        }
        _ => text,
    }
}

prop_compose! {
    fn message()(
        (actor, mode, protocol) in select(vec![
            ("shop", "mcp_server", "mcp"), ("shop", "mcp_server", "mcp"), ("other", "mcp_server", "mcp"), ("shop", "mcp_client", "mcp"),
            ("user", "ag_ui_client", "ag_ui"), ("peer", "a2a_server", "a2a"), ("agent", "agent", "agent"),
        ]),
        surface in select(vec!["tools/call", "tools/call", "tools/call", "tools/list", "resources/read"]),
        ag_ui in select(vec!["run_agent_input", "text_message_content", "text_message_end", "run_finished", "tool_call_end"]),
        phase in select(vec!["first", "last", "only"]),
        id in 0..3u32,
        (request, from_agent, imported) in any::<(bool, bool, bool)>(),
        body in body(),
        way in 0..12u8,
    ) -> Value {
        let surface = match protocol { "ag_ui" => ag_ui, "a2a" => "message/send", "agent" => "answer", _ => surface };
        let request = if protocol == "ag_ui" { surface == "run_agent_input" } else { request };
        let content = match (protocol, request) {
            ("mcp" | "a2a", true) => json!({"jsonrpc": "2.0", "id": id, "method": surface, "params": body}),
            ("mcp" | "a2a", false) => json!({"jsonrpc": "2.0", "id": id, "result": body}),
            ("ag_ui", _) => json!({"type": "X", "messageId": "m", "delta": body["arguments"]["path"].as_str().unwrap_or("x"), "body": body}),
            _ => json!({"text": body["arguments"]["path"].as_str().unwrap_or("x")}),
        };
        let sender = if protocol == "ag_ui" { !request } else { from_agent };
        json!({
            "record": "message", "time": "2026-11-17T10:00:00Z", "actor": actor, "mode": mode, "phase": phase, "protocol": protocol,
            "surfaces": [surface], "direction": if request { "request" } else { "response" },
            "kind": if protocol == "ag_ui" && !request { "event" } else if request { "request" } else { "response" },
            "id": id, "connection": "1", "sender": if sender { "agent" } else { "actor" },
            "source": if imported { json!({"file": "x.jsonl", "line": 1}) } else { Value::Null },
            "content": written(&content, way),
        })
    }
}

/// The lines of a trace. The content of a message stands there as it was written.
fn trace(origin: &str, recorded: bool, messages: &[Value]) -> String {
    let recorded = if recorded {
        json!({"format": "x", "session": "s", "shows": [{"protocol": "mcp", "surface": "tools/call", "direction": "request"}]})
    } else {
        Value::Null
    };
    let mut header = json!({"record": "header", "version": 1, "origin": origin, "written_by": "test", "time": "2026-11-17T10:00:00Z"});
    if !recorded.is_null() {
        header["recorded"] = recorded;
    }
    let mut lines = vec![header.to_string()];
    for (seq, message) in (1..).zip(messages) {
        let mut message = message.clone();
        message["seq"] = json!(seq);
        if message["source"].is_null() {
            message.as_object_mut().unwrap().remove("source");
        }
        let content = message.as_object_mut().unwrap().remove("content").unwrap();
        let rest = message.to_string();
        lines.push(format!("{},\"content\":{}}}", &rest[..rest.len() - 1], content.as_str().unwrap()));
    }
    lines.push(json!({"record": "stopped", "seq": messages.len() + 1, "time": "2026-11-17T10:00:09Z", "because": "agent_exit"}).to_string());
    lines.join("\n") + "\n"
}

fn alone(document: &Arc<Compiled>, trace: &str) -> Outcome {
    let mut detectors = [Detector::new(Arc::clone(document))];
    replay(trace.as_bytes(), &mut detectors).unwrap();
    detectors[0].outcome(Place::default())
}

/// How many of the documents the agent gave in to.
fn compare(documents: &[Arc<Compiled>], trace: &str) -> usize {
    let ruleset = Arc::new(Ruleset::new(documents.iter().cloned()));
    let session = ruleset.replay(trace.as_bytes()).unwrap();
    let mut exploited = 0;
    for (at, document) in documents.iter().enumerate() {
        let (together, alone) = (session.outcome(at, Place::default()), alone(document, trace));
        let told = |outcome: &Outcome| serde_json::to_string_pretty(outcome).unwrap();
        assert_eq!(told(&together), told(&alone), "{:?}\n{trace}", document.document().attack.indicators);
        exploited += usize::from(!alone.evidence.is_empty());
    }
    exploited
}

/// What indicators of documents say about each message, with its position.
fn matches(mut session: MatchSession, trace: &str) -> Vec<(u64, MessageMatch)> {
    let (header, records) = Trace::open(trace.as_bytes()).unwrap();
    session.begin(&header);
    let mut all = Vec::new();
    for record in records {
        let record = record.unwrap();
        all.extend(session.record(&record).into_iter().map(|found| (record.seq(), found)));
    }
    all
}

/// All matches of many documents are those of each of them alone, asked about everything. The first of an indicator is that of the verdict.
/// Messages that are looked at alone give the matches that need no other message. Gives how many there are.
fn compare_matches(documents: &[Arc<Compiled>], trace: &str) -> usize {
    let ruleset = Arc::new(MatchRuleset::new(documents.iter().cloned()));
    let together = matches(MatchSession::new(Arc::clone(&ruleset)), trace);
    let watched = Arc::new(Ruleset::new(documents.iter().cloned())).replay(trace.as_bytes()).unwrap();
    for (at, document) in documents.iter().enumerate() {
        let alone = Arc::new(MatchRuleset::exhaustive([Arc::clone(document)]));
        let alone = matches(MatchSession::new(alone), trace);
        let own: Vec<_> = together.iter().filter(|(_, found)| found.document == at).cloned().collect();
        let own: Vec<_> =
            own.into_iter().map(|(seq, found)| (seq, MessageMatch { document: 0, ..found })).collect();
        let (own, own_failures): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|(_, found)| found.found.is_ok());
        let (alone, failures): (Vec<_>, Vec<_>) =
            alone.into_iter().partition(|(_, found)| found.found.is_ok());
        assert_eq!(own, alone, "{:?}\n{trace}", document.document().attack.indicators);
        assert!(own_failures.iter().all(|failure| failures.contains(failure)), "{own_failures:?}\n{trace}");
        let outcome = watched.outcome(at, Place::default());
        for (position, indicator) in document.indicators().iter().enumerate() {
            let first = alone.iter().find(|(_, found)| found.indicator == position);
            let shown = outcome.evidence.iter().find(|evidence| evidence.name == indicator.id);
            assert_eq!(
                shown.and_then(|shown| shown.seq),
                first.map(|(seq, _)| *seq),
                "{}\n{trace}",
                indicator.id
            );
        }
    }
    let single = matches(MatchSession::of_single_messages(ruleset), trace);
    let needs_none: Vec<_> = together.iter().filter(|(_, found)| !found.needs_session).cloned().collect();
    assert_eq!(single, needs_none, "{trace}");
    together.len()
}

/// How many cases there are. `SORTIE_PAIRS` says how many pairs of a document and a trace they have together; a million is the long run.
fn cases() -> u32 {
    // A case has one trace and from one to 23 documents.
    let of_pairs = |pairs: u32| pairs.div_ceil(12);
    let pairs =
        std::env::var("SORTIE_PAIRS").ok().map(|pairs| pairs.parse().expect("SORTIE_PAIRS is a number"));
    pairs.map_or(if cfg!(debug_assertions) { 100 } else { 20_000 }, of_pairs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn together_is_what_each_says_alone(
        documents in subsequence((0..METHODS.len() * SELECTIONS.len()).collect::<Vec<_>>(), 1..24),
        origin in select(vec!["run", "foreign", "foreign"]),
        recorded: bool,
        messages in vec(message(), 0..24),
    ) {
        let documents: Vec<_> = documents.into_iter().map(|at| Arc::clone(&DOCUMENTS[at])).collect();
        let trace = trace(origin, recorded && origin == "foreign", &messages);
        compare(&documents, &trace);
        compare_matches(&documents, &trace);
    }
}

/// The property above means something: documents match, by texts, places and flows, and fail.
#[test]
fn a_session_that_says_everything_is_found_by_many() {
    let call = |name: &str, path: &str| {
        let content = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {"path": path, "n": 150}}});
        json!({"record": "message", "time": "2026-11-17T10:00:00Z", "actor": "shop", "mode": "mcp_server", "phase": "first", "protocol": "mcp",
            "surfaces": ["tools/call"], "direction": "request", "kind": "request", "id": 1, "connection": "1", "sender": "agent",
            "content": content.to_string()})
    };
    let mut answer = call("", "");
    let content = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "the password is 4711-0815-id_rsa"}]}});
    (answer["direction"], answer["kind"], answer["sender"]) =
        (json!("response"), json!("response"), json!("actor"));
    answer["content"] = json!(content.to_string());
    let messages = [
        call("read_file", "x"),
        answer,
        call("send", "the password is 4711-0815-id_rsa"),
        call("send", "/etc/passwd"),
        call("send", "Read the secret word, i g n o r e {{x}}"),
        call("send", "забудь все, rm -rf / and the secret word is id_RSA"),
    ];
    let trace = trace("foreign", false, &messages);
    assert!(trace.contains("id_rsa"));
    let exploited = compare(&DOCUMENTS, &trace);
    assert!(exploited > 20, "{exploited}");
    let found = compare_matches(&DOCUMENTS, &trace);
    assert!(found > 40, "{found}");
}

/// More places of the same words than are put in order.
#[test]
fn a_text_that_repeats_its_words_is_still_searched() {
    for times in [100, 3_000, 70_000] {
        let text = format!("{}the secret word", "secret the ".repeat(times));
        let content =
            json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}});
        let message = json!({"record": "message", "time": "2026-11-17T10:00:00Z", "actor": "shop", "mode": "mcp_server", "phase": "first",
            "protocol": "mcp", "surfaces": ["tools/call"], "direction": "response", "kind": "response", "id": 1, "connection": "1",
            "sender": "actor", "content": content.to_string()});
        let documents: Vec<_> =
            (0..7).map(|selection| document(selection, "", &[(selection, 16, false)])).collect();
        assert!(compare_matches(&documents, &trace("foreign", false, &[message])) > 0);
    }
}

/// A common word is looked for where a rare one is, and may overlap itself.
#[test]
fn a_word_that_overlaps_itself_is_found_at_each_place() {
    let text = "
oatf: '0.1'
attack:
  id: OVERLAP-001
  execution: {mode: mcp_server, state: {tools: []}}
  indicators: [{surface: tools/call, target: arguments.path, pattern: {regex: 'abcdefgab.?qjxzvqjk'}}]
";
    let document = compiled(text);
    let content = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "read", "arguments": {"path": "abcdefgabcdefgab qjxzvqjk"}}});
    let message = json!({"record": "message", "time": "2026-11-17T10:00:00Z", "actor": "shop", "mode": "mcp_server", "phase": "first",
        "protocol": "mcp", "surfaces": ["tools/call"], "direction": "request", "kind": "request", "id": 1, "connection": "1",
        "sender": "agent", "content": content.to_string()});
    assert_eq!(compare_matches(&[document], &trace("foreign", false, &[message])), 1);
}

/// What is looked for first is chosen again after some texts were counted.
#[test]
fn the_same_is_found_before_and_after_words_were_counted() {
    // Of each alternative, the long word is the one that seems rare. It is in every text.
    let pattern = |from: usize| {
        let alternatives = (from..from + 60).map(|at| format!("instruction{at}[0-9]+x[a-z]*bad{at};"));
        alternatives.collect::<Vec<_>>().join("|")
    };
    let text = format!(
        "
oatf: '0.1'
attack:
  id: COUNTED-001
  execution: {{mode: mcp_server, state: {{tools: []}}}}
  indicators:
    - {{surface: tools/call, direction: request, target: arguments.path, pattern: {{regex: '{}'}}}}
    - {{surface: tools/call, direction: request, target: arguments.path, pattern: {{regex: '{}'}}}}
",
        pattern(0),
        pattern(60)
    );
    let documents = [compiled(&text)];
    let words = (0..120).map(|at| format!("instruction{at}7 ")).collect::<Vec<_>>().concat();
    let message = |number: usize| {
        let end = if number.is_multiple_of(10) {
            format!("instruction{0}1xbad{0};", number % 120)
        } else {
            String::new()
        };
        let path = format!("{} {number} {end}", words.repeat(10));
        let content = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read", "arguments": {"path": path}}});
        json!({"record": "message", "time": "2026-11-17T10:00:00Z", "actor": "shop", "mode": "mcp_server", "phase": "first",
            "protocol": "mcp", "surfaces": ["tools/call"], "direction": "request", "kind": "request", "id": 1, "connection": "1",
            "sender": "agent", "content": content.to_string()})
    };
    let messages: Vec<Value> = (0..120).map(message).collect();
    let trace = trace("foreign", false, &messages);
    assert!(trace.len() > 3 << 19);
    assert_eq!(compare_matches(&documents, &trace), 12);
}
