//! A recording that was tampered with, or that lost something, never gives the same as before: its messages change, or what it says
//! was lost.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sortie_import::{Format, Formats, Input, InputLimits};

const FORMATS: [&str; 5] = ["otlp", "openinference", "openllmetry", "langfuse", "langsmith"];

/// The recordings that are JSON Lines.
fn recordings() -> Vec<(&'static Format, PathBuf, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut all = Vec::new();
    for name in FORMATS {
        for entry in std::fs::read_dir(root.join(name)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let text = std::fs::read_to_string(&path).unwrap();
                all.push((
                    Formats::named(name).unwrap(),
                    path,
                    text.lines().map(ToOwned::to_owned).collect(),
                ));
            }
        }
    }
    all
}

fn told(format: &Format, text: &str) -> String {
    told_of(format, text.as_bytes())
}

fn told_of(format: &Format, bytes: &[u8]) -> String {
    let mut told = String::new();
    let input = Input::stream(bytes, "x.jsonl", InputLimits::default()).unwrap();
    let read = format.read(input, &mut |session| {
        let header = serde_json::to_string(&session.header("test")).unwrap();
        writeln!(told, "{header} {}", serde_json::to_string(&session.loss).unwrap()).unwrap();
        for message in session.messages() {
            // Lines move when one is taken out.
            let mut message = message.clone();
            if let Some(source) = &mut message.source {
                source.line = None;
            }
            writeln!(told, "{}", serde_json::to_string(&message).unwrap()).unwrap();
        }
        Ok(())
    });
    if let Err(error) = read {
        writeln!(told, "{error}").unwrap();
    }
    told
}

/// Whether a line is of a model or a tool, where things stand; what is around them repeats it.
fn matters(line: &str) -> bool {
    const WORDS: [&str; 14] = [
        "\"LLM\"",
        "\"TOOL\"",
        "\"chat\"",
        "\"execute_tool\"",
        "\"run_type\":\"llm\"",
        "\"run_type\":\"tool\"",
        "\"GENERATION\"",
        "\"tools/call\"",
        "logRecords",
        "claude_code.tool",
        "\"traceloop.span.kind\"",
        "invoke_agent",
        "\"run_type\":\"chain\"",
        "\"CHAIN\"",
    ];
    WORDS.iter().any(|word| line.contains(word))
}

/// What a step repeats of others is not looked at: chains around models and tools.
fn repeats(line: &str) -> bool {
    ["\"run_type\":\"chain\"", "\"CHAIN\"", "execute_task", "\"invoke_agent\"", "\"workflow\""]
        .iter()
        .any(|word| line.contains(word))
}

/// Changes one line after the other. `change` is told the line, the file, and what the file gives as it is.
fn each_line(change: impl Fn(&str, &str, &str) -> Vec<String>) {
    for (format, path, lines) in recordings() {
        let whole = lines.join("\n");
        let before = told(format, &whole);
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| matters(line)) {
            for changed in change(line, &whole, &before) {
                let mut all = lines.clone();
                all[at] = changed;
                let after = told(format, &all.join("\n"));
                assert_ne!(before, after, "{}, line {}: {}", path.display(), at + 1, all[at]);
            }
        }
    }
}

#[test]
fn a_span_that_is_taken_out_is_missed() {
    each_line(|_, _, _| vec![String::new()]);
}

#[test]
fn a_result_that_is_cut_off_is_seen() {
    const RESULTS: [&str; 6] = ["271.40 USD.", "Pens", "rainy", "some notes", "exit 1", "sent\""];
    each_line(|line, _, _| {
        // `…_present` is the name of an attribute of codex.
        let said = line.replace("present\"", "");
        let here = RESULTS.iter().filter(|word| said.contains(**word) && !repeats(line));
        here.map(|word| line.replace(*word, if word.ends_with('"') { "s\"" } else { &word[..2] })).collect()
    });
}

/// The id of a span that nothing refers to, neither another span nor a message, names nothing; nor does a parent that never came.
fn names_something(key: &str, id: &str, whole: &str, before: &str) -> bool {
    let is = |key: &str| whole.contains(&format!("{key}{id}\""));
    match key {
        "\"spanId\":\"" => is("\"parentSpanId\":\"") || before.contains(&format!("\"item\":\"{id}\"")),
        "\"parentSpanId\":\"" => is("\"spanId\":\""),
        _ => true,
    }
}

#[test]
fn an_id_that_is_changed_is_seen() {
    let changed = std::cell::Cell::new(0);
    each_line(|line, whole, before| {
        let mut all = Vec::new();
        for key in [
            "\"traceId\":\"",
            "\"spanId\":\"",
            "\"parentSpanId\":\"",
            "\"trace_id\":\"",
            "\"parent_run_id\":\"",
        ] {
            // The first in the line, where it has a value. A record of system instructions is passed over.
            let Some(at) = line.find(key).map(|at| at + key.len()) else { continue };
            let id = line[at..].split('"').next().unwrap_or_default();
            // Log events of coding agents say which session and which call they are of.
            let is_of_session = line.contains("logRecords")
                && ["claude_code.", "codex.", "gemini_cli."].iter().any(|name| line.contains(name));
            let is_passed_over =
                is_of_session || line.contains("gen_ai.system.message") && key == "\"spanId\":\"";
            if id.len() > 2
                && !id.starts_with("f7")
                && !is_passed_over
                && names_something(key, id, whole, before)
            {
                all.push(format!("{}f7{}", &line[..at], &line[at + 2..]));
            }
        }
        if !repeats(line) && line.contains("call_2") {
            all.push(line.replace("call_2", "call_x"));
        }
        changed.set(changed.get() + all.len());
        all
    });
    assert!(changed.get() > 150, "only {} ids were changed", changed.get());
}

#[test]
fn arguments_that_are_changed_are_seen() {
    each_line(|line, _, _| {
        // As an argument, and not as what the description asks for.
        let known = line.contains("its contents\\") && !repeats(line);
        known.then(|| line.replace("its contents\\", "nothing\\")).into_iter().collect()
    });
}

/// Where content is not recorded, silence is not evidence: each file says so.
#[test]
fn content_that_was_not_recorded_is_said_to_lack() {
    for (format, path, lines) in recordings() {
        if !path.to_string_lossy().contains("no-content") {
            continue;
        }
        let told = told(format, &lines.join("\n"));
        assert!(told.contains("\"lacks\":[{"), "{}: {told}", path.display());
    }
}

/// A file that ends in the middle of a line says so in each of its sessions.
#[test]
fn a_file_that_is_cut_says_so() {
    for (format, path, lines) in recordings() {
        let text = lines.join("\n");
        let cut = &text[..text.len() - 20];
        let told = told(format, cut);
        let named = told.contains("ends in the middle of a line") || told.contains("\"failed\":") || lines.len() == 1
            // Spans alone say nothing of what gemini-cli said.
            || told.contains("there is no session in it");
        assert!(named, "{}: {told}", path.display());
    }
}

/// Protobuf says what JSON says.
#[test]
fn protobuf_is_read_like_json() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/otlp");
    let format = Formats::named("otlp").unwrap();
    for name in ["pydantic-ai-resists", "genai-log-events"] {
        let json = std::fs::read_to_string(root.join(format!("{name}.jsonl"))).unwrap();
        let bytes = std::fs::read(root.join(format!("{name}.binpb"))).unwrap();
        assert_eq!(told(format, &json), told_of(format, &bytes), "{name}");
        // Cut anywhere, it is an error, or says that something is missing.
        for at in (5..bytes.len()).step_by(97) {
            let _ = told_of(format, &bytes[..at]);
        }
    }
}

/// Memory is bounded: what waits longest is handed over, and what comes of it later says so.
#[test]
fn a_conversation_that_waits_longest_is_handed_over() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/otlp");
    let text = std::fs::read_to_string(root.join("genai-structured.jsonl")).unwrap();
    let first = text.lines().next().unwrap();
    let mut many = String::new();
    for round in 0..2 {
        for trace in 0..200 {
            let line = first
                .replace(&"aa".repeat(16), &format!("{trace:032x}"))
                .replace(&"bb".repeat(16), &format!("ff{trace:030x}"));
            writeln!(many, "{}", line.replace("00000003\"", &format!("0000{round:04x}\""))).unwrap();
        }
    }
    let limits = InputLimits { sessions: 100_000, ..InputLimits::default() };
    let input = Input::stream(many.as_bytes(), "x.jsonl", limits).unwrap();
    let (mut sessions, mut cut) = (0, 0);
    let format = Formats::named("otlp").unwrap();
    let read = format.read(input, &mut |session| {
        sessions += 1;
        cut += u64::from(session.loss.cut.is_some_and(|why| why.contains("handed over")));
        Ok(())
    });
    read.unwrap();
    assert!(sessions > 700 && cut > 300, "{sessions} sessions, {cut} of them cut");
}

/// Deep and broken values are errors, or are passed over; nothing overflows.
#[test]
fn hostile_values_end_in_bounded_time() {
    let format = Formats::named("otlp").unwrap();
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let span = |value: &str| {
        format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"t","spanId":"s","attributes":[{{"key":"gen_ai.operation.name","value":{{"stringValue":"chat"}}}},{{"key":"gen_ai.input.messages","value":{value}}}]}}]}}]}}]}}"#
        )
    };
    let nested = format!(r#"{{"stringValue":"{}"}}"#, "[".repeat(50_000));
    for value in
        [deep.as_str(), &nested, "{\"arrayValue\":{\"values\":7}}", "null", "{\"intValue\":{}}", "\"x\""]
    {
        let told = told(format, &format!("{}\n", span(value)));
        assert!(!told.is_empty());
    }
    for text in ["", "{}", "[]", "\0\0\0\u{5}\n\u{2}\n", "{\"resourceSpans\":[]}", "\n\u{3}\n\u{1}"] {
        assert!(told(format, text).contains("x.jsonl"), "{text:?}");
    }
}
