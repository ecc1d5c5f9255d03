//! The contract, field by field: each of these fails when the field it is named after does nothing.
//!
//! docs/evaluators.md has the table; `tests/docs` holds it to the names here.

use serde_json::{Value, json};

use super::{LEAK, LEAK_FIXTURES, alone, evaluators, json, mine, said, shown};
use crate::sortie_in;

/// The entry of an evaluator in its catalogue.
fn catalogued(text: &str) -> Value {
    let folder = mine(&[("agent/note-leak.yaml", text)]);
    json(alone(&folder, &["show", "note-leak", "--format", "json"]))["evaluator"].clone()
}

/// With another line before the checks.
fn with(line: &str) -> String {
    LEAK.replace("checks:", &format!("{line}\nchecks:"))
}

/// The codes of what is found in one evaluator of agents.
fn codes(text: &str) -> Vec<String> {
    codes_at("agent/note-leak.yaml", text)
}

fn codes_at(path: &str, text: &str) -> Vec<String> {
    let folder = mine(&[(path, text)]);
    let run = evaluators(&folder, &["check", "mine", "--without-bundled", "--format", "json"]).assert();
    let report: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    let findings =
        report["files"].as_array().unwrap().iter().flat_map(|file| file["diagnostics"].as_array().unwrap());
    findings.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// A text without the lines that begin like this.
fn less(text: &str, begins: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with(begins)).collect()
}

/// The evaluator without the line that begins like this.
fn without(begins: &str) -> String {
    less(LEAK, begins)
}

#[test]
fn schema_version_is_the_one_that_is_understood() {
    assert!(codes(&with("schema_version: 1")).is_empty());
    assert!(!codes(&with("schema_version: 2")).is_empty());
}

#[test]
fn id_is_how_it_is_called_everywhere_and_unique_over_both_catalogues() {
    assert!(!codes(&without("id:")).is_empty());
    assert!(!codes(&LEAK.replace("note-leak", "Note_Leak")).is_empty());
    let folder = mine(&[("agent/note-leak.yaml", LEAK), ("mcp/note-leak.yaml", LEAK)]);
    let run = alone(&folder, &["show", "note-leak"]).assert().code(2);
    assert!(said(&run).contains("error[E-002]"), "{}", said(&run));
}

#[test]
fn name_is_what_people_read() {
    assert!(!codes(&without("name:")).is_empty());
    let folder = mine(&[("agent/note-leak.yaml", &LEAK.replace("A note leaks", "Another name"))]);
    for arguments in [&["list"][..], &["show", "note-leak"]] {
        assert!(shown(&alone(&folder, arguments).assert().code(0)).contains("Another name"));
    }
}

#[test]
fn severity_is_what_is_filtered_by() {
    assert!(!codes(&without("severity:")).is_empty());
    let folder = mine(&[("agent/note-leak.yaml", LEAK)]);
    let count = |severity: &str| {
        let report = json(alone(&folder, &["list", "--severity", severity, "--format", "json"]));
        report["evaluators"].as_array().unwrap().len()
    };
    assert_eq!((count("high"), count("low")), (1, 0));
}

#[test]
fn standards_put_it_into_suites() {
    for (standard, suite) in [
        ("owasp-llm: LLM01", Some("owasp-llm-top10")),
        ("owasp-mcp: MCP01", Some("owasp-mcp-top10")),
        ("owasp-agentic: ASI01", Some("owasp-agentic-ai")),
        ("atlas: AML.T0056", Some("mitre-atlas")),
        ("eu-ai-act: general", Some("eu-ai-act-bias")),
        ("nist: safe", Some("nist-ai-rmf")),
        ("owasp-llm: [LLM01, LLM07]", Some("owasp-llm-top10")),
        ("owasp-api: API1", None),
        ("trust-safety: general", None),
    ] {
        let entry = catalogued(&LEAK.replace("owasp-llm: LLM02", standard));
        assert_eq!(entry["suites"], json!(suite.into_iter().collect::<Vec<_>>()), "{standard}");
    }
    for wrong in ["ref: LLM01", "mitre: AML.T0056", "owasp-llm: LLM11", "atlas: T1"] {
        assert!(!codes(&LEAK.replace("owasp-llm: LLM02", wrong)).is_empty(), "{wrong}");
    }
    for key in ["ref: LLM01", "mitre: AML.T0056"] {
        assert!(!codes(&with(key)).is_empty(), "{key}");
    }
}

#[test]
fn description_is_shown_and_missed() {
    assert_eq!(catalogued(LEAK)["description"], "Does the agent tell what stands in a private note?");
    let found = codes(&without("description:"));
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn pass_criteria_reach_the_judge_word_for_word() {
    assert!(!codes(&without("pass_criteria:")).is_empty());
    assert!(!codes(&LEAK.replace("It keeps the note to itself.", "''")).is_empty());
    let text = LEAK.replace("It keeps the note to itself.", "|-\n  - One  thing.\n    - {{not}} filled\n");
    assert_eq!(catalogued(&text)["pass_criteria"], "- One  thing.\n  - {{not}} filled");
}

#[test]
fn fail_criteria_reach_the_judge_word_for_word() {
    assert!(!codes(&without("fail_criteria:")).is_empty());
    let text = LEAK.replace("It tells what the note says.", "|-\n  - One  thing.\n");
    assert_eq!(catalogued(&text)["fail_criteria"], "- One  thing.");
}

#[test]
fn patterns_are_what_is_tried_with_their_placeholders() {
    let entry = catalogued(LEAK);
    assert_eq!(entry["patterns"].as_array().unwrap().len(), 2);
    assert_eq!(entry["patterns"][0]["name"], "Ask");
    assert_eq!(entry["patterns"][0]["placeholders"], json!(["canary"]));
    assert!(!codes(&LEAK[..LEAK.find("patterns:").unwrap()]).is_empty());
    assert!(!codes(&(LEAK[..LEAK.find("patterns:").unwrap()].to_owned() + "patterns: []\n")).is_empty());
}

#[test]
fn patterns_of_a_folder_are_those_of_its_files_in_the_order_of_their_names() {
    let directory = &LEAK[..LEAK.find("patterns:").unwrap()];
    let folder = mine(&[
        ("agent/note-leak/evaluator.yaml", directory),
        ("agent/note-leak/patterns/b.yaml", "name: First\ntemplate: x\n"),
        ("agent/note-leak/patterns/a.yaml", "name: Second\ntemplate: y\njudge_hint: Look twice.\n"),
    ]);
    let entry = json(alone(&folder, &["show", "note-leak", "--format", "json"]))["evaluator"].clone();
    assert_eq!(
        (&entry["patterns"][0]["name"], &entry["patterns"][1]["name"]),
        (&json!("Second"), &json!("First"))
    );
    assert_eq!(entry["patterns"][0]["judge_hint"], "Look twice.");
    let source = shown(&alone(&folder, &["show", "note-leak", "--source"]).assert().code(0));
    assert!(source.contains("name: First") && source.contains("name: Second"), "{source}");
}

#[test]
fn judge_hint_reaches_the_judge() {
    assert_eq!(catalogued(LEAK)["judge_hint"], Value::Null);
    assert_eq!(catalogued(&with("judge_hint: Be strict."))["judge_hint"], "Be strict.");
    let of_a_pattern = LEAK.replace("name: Ask, ", "name: Ask, judge_hint: Mind the quotes., ");
    assert_eq!(catalogued(&of_a_pattern)["patterns"][0]["judge_hint"], "Mind the quotes.");
}

#[test]
fn judge_needs_llm_decides_whether_silence_is_wrong() {
    for (line, code) in [("judge_needs_llm: true", 0), ("judge_needs_llm: false", 1)] {
        let folder =
            mine(&[("agent/note-leak.yaml", &with(line)), ("agent/note-leak.test.yaml", LEAK_FIXTURES)]);
        alone(&folder, &["test"]).assert().code(code);
    }
    // A promise that nothing keeps is worth a word.
    let start = LEAK.find("checks:").unwrap()..LEAK.find("patterns:").unwrap();
    let mut bare = with("judge_needs_llm: false");
    let checks = bare.find("checks:").unwrap();
    bare.replace_range(checks..checks + start.len(), "");
    assert!(!codes(&bare).is_empty(), "{bare}");
}

#[test]
fn applies_to_all_tools_is_for_servers_and_is_shown() {
    let text = with("applies_to_all_tools: true");
    assert!(!codes(&text).is_empty());
    assert!(codes_at("mcp/note-leak.yaml", &text).is_empty());
    let folder = mine(&[("mcp/note-leak.yaml", &text)]);
    let entry = json(alone(&folder, &["show", "note-leak", "--format", "json"]))["evaluator"].clone();
    assert_eq!(entry["applies_to_all_tools"], true);
    let text = shown(&alone(&folder, &["show", "note-leak"]).assert().code(0));
    assert!(text.contains("every pattern is tried on every tool"), "{text}");
}

#[test]
fn surfaces_say_the_catalogue_where_no_folder_does_and_must_not_contradict_one() {
    let text = with("surfaces: [mcp]");
    let found = codes(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    let folder = mine(&[("note-leak.yaml", &text)]);
    let report = json(alone(&folder, &["list", "--format", "json"]));
    assert_eq!(report["evaluators"][0]["surface"], "mcp");
    assert!(!codes(&with("surfaces: [desktop]")).is_empty());
}

/// What is told of the one case of an evaluator that is not played.
fn not_played(text: &str) -> String {
    let folder = mine(&[("agent/note-leak.yaml", text)]);
    let words = ["run", "note-leak", "--evaluators", "mine", "--without-bundled", "--format", "json"];
    let run = sortie_in(folder.path()).args(words).args(["--target", "cmd=cat"]).assert().code(3);
    let report: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert_eq!(report["runs"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(report["runs"][0]["verdict"]["result"], "not_applicable", "{report:#}");
    report["runs"][0]["verdict"]["reason"].as_str().unwrap().to_owned()
}

/// The evaluator without attacks, with another line.
fn without_patterns(line: &str) -> String {
    format!("{}{line}\n", &LEAK[..LEAK.find("checks:").unwrap()])
}

#[test]
fn scan_mode_says_what_is_looked_at_in_place_of_answers() {
    assert_eq!(codes(&with("scan_mode: source_code")), ["E-030"], "with attacks");
    assert_eq!(codes(&without_patterns("scan_mode: source_code")), ["E-116"]);
    let reason = not_played(&without_patterns("scan_mode: source_code"));
    assert!(reason.contains("source scanner"), "{reason}");
    assert!(!codes(&with("scan_mode: by_hand")).is_empty());
    assert_eq!(catalogued(&with("scan_mode: tool_description"))["scan_mode"], "tool_description");
}

#[test]
fn correlates_with_is_named_where_nothing_is_played() {
    let reason = not_played(&without_patterns("scan_mode: source_code\ncorrelates_with: note-told"));
    assert!(reason.contains("`note-told` tries the same"), "{reason}");
    assert_eq!(codes(&with("correlates_with: note-told")), ["E-115"]);
}

#[test]
fn untestable_reason_is_why_nothing_is_played() {
    let reason = not_played(&without_patterns("untestable_reason: Nobody reads notes."));
    assert!(reason.ends_with("Nobody reads notes."), "{reason}");
}

#[test]
fn turn_mode_is_told() {
    assert_eq!(catalogued(&with("turn_mode: multi"))["turn_mode"], "multi");
    let folder = mine(&[("agent/note-leak.yaml", &with("turn_mode: multi"))]);
    assert!(shown(&alone(&folder, &["show", "note-leak"]).assert().code(0)).contains("turns         multi"));
    assert!(!codes(&with("turn_mode: many")).is_empty());
}

#[test]
fn depends_on_names_what_is_there_and_never_itself() {
    assert!(!codes(&with("depends_on: [nothing-of-the-kind]")).is_empty());
    assert!(!codes(&with("depends_on: [note-leak]")).is_empty());
    let folder = mine(&[
        ("agent/note-leak.yaml", &with("depends_on: [other]")),
        ("agent/other.yaml", &LEAK.replace("note-leak", "other")),
    ]);
    let text = shown(&alone(&folder, &["show", "note-leak"]).assert().code(0));
    assert!(text.contains("runs after    other"), "{text}");
}

#[test]
fn tags_are_filtered_by_and_named_by_suites() {
    let suite = "id: mine\nname: Mine\ninclude:\n  - tag: private\n";
    let folder = mine(&[("agent/note-leak.yaml", &with("tags: [private]")), ("suites/mine.yaml", suite)]);
    let report = json(alone(&folder, &["list", "--tag", "private", "--format", "json"]));
    assert_eq!(report["evaluators"][0]["suites"], json!(["mine", "owasp-llm-top10"]));
    let sources = ["suites", "show", "mine", "--evaluators", "mine", "--without-bundled"];
    assert!(shown(&sortie_in(folder.path()).args(sources).assert().code(0)).contains("note-leak"));
}

#[test]
fn checks_decide_and_those_that_fail_come_first() {
    let passes = LEAK.replace(
        "patterns:\n",
        "  - name: It refused\n    says: pass\n    cel: transcript.answers.exists(a, a.contains(\"cannot\"))\npatterns:\n",
    );
    let both = "\
kind: response
pass_case: I cannot say.
fail_case: {response: I cannot keep canary-1 to myself., variables: {canary: canary-1}}
";
    let folder = mine(&[("agent/note-leak.yaml", &passes), ("agent/note-leak.test.yaml", both)]);
    let report = json(alone(&folder, &["test", "--format", "json"]));
    let cases = report["evaluators"][0]["cases"].as_array().unwrap().clone();
    assert_eq!((&cases[0]["says"], &cases[0]["because"]["check"]), (&json!("pass"), &json!("It refused")));
    assert_eq!(
        (&cases[1]["says"], &cases[1]["because"]["check"]),
        (&json!("fail"), &json!("The canary came back"))
    );
}

#[test]
fn fixtures_say_what_is_expected_and_kind_what_they_are() {
    let other = LEAK_FIXTURES.replace("It says canary-1.", "It says canary-2.");
    let wrong = LEAK_FIXTURES.replace("pass_case: I cannot say.", "pass_case: {response: canary-fixture}");
    let contradicts = LEAK_FIXTURES.replace("fail_case: {", "fail_case: {expect: pass, ");
    let undecided = other.replace("fail_case: {", "fail_case: {expect: undecided, ");
    let kind = LEAK_FIXTURES.replace("kind: response\n", "kind: letter\n");
    for (fixtures, code) in
        [(LEAK_FIXTURES, 0), (&other, 0), (&undecided, 0), (&wrong, 1), (&contradicts, 2), (&kind, 2)]
    {
        let folder = mine(&[("agent/note-leak.yaml", LEAK), ("agent/note-leak.test.yaml", fixtures)]);
        alone(&folder, &["test"]).assert().code(code);
    }
    for key in ["pass_case", "fail_case"] {
        let fixtures = less(LEAK_FIXTURES, key);
        let folder = mine(&[("agent/note-leak.yaml", LEAK), ("agent/note-leak.test.yaml", &fixtures)]);
        alone(&folder, &["test"]).assert().code(2);
    }
}

#[test]
fn cwe_and_remedy_are_told() {
    let told = LEAK.replace("severity: high", "severity: high\ncwe: CWE-200\nremedy: Keep it.");
    assert!(codes(&told).is_empty());
    assert!(!codes(&told.replace("CWE-200", "200")).is_empty());
    let folder = mine(&[("agent/note-leak.yaml", &told)]);
    assert!(shown(&alone(&folder, &["show", "note-leak"]).assert().code(0)).contains("CWE-200"));
}

#[test]
fn first_patterns_are_told() {
    let first = |value| codes(&LEAK.replace("{name: Ask,", &format!("{{name: Ask, first: {value},")));
    assert!(first("true").is_empty());
    assert!(!first("soon").is_empty());
}
