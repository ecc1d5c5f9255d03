//! `sortie trace show` and `sortie trace export`

use std::fs;

use snapbox::cmd::Command;
use snapbox::str;

use crate::{example_trace, golden, sortie, stdout};

const HEADER: &str =
    r#"{"record":"header","version":1,"origin":"run","written_by":"test","time":"2026-11-15T10:00:00Z"}"#;

fn show(arguments: &[&str]) -> Command {
    sortie().args(["trace", "show"]).arg(example_trace()).args(arguments)
}

/// Shows lines behind a header.
fn show_lines(lines: &[&str]) -> Command {
    sortie().args(["trace", "show", "-"]).stdin(format!("{HEADER}\n{}\n", lines.join("\n")))
}

/// The numbers of the records that are shown.
fn numbers(shown: &str) -> Vec<u32> {
    shown.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

#[test]
fn a_rug_pull_is_told_line_by_line() {
    show(&[]).assert().code(0).stdout_eq(golden("trace/rug-pull.txt")).stderr_eq("");
}

#[test]
fn a_whole_message_is_shown_as_it_was_on_the_wire() {
    show(&["--seq", "16..17", "--full"]).assert().code(0).stdout_eq(golden("trace/full.txt")).stderr_eq("");
}

#[test]
fn what_a_document_matches_is_marked_below_its_message() {
    let document = example_trace().with_file_name("../../examples/mcp-rug-pull.yaml");
    let arguments = ["--seq", "16..17", "--document", document.to_str().unwrap()];
    let shown = stdout(show(&arguments));
    let lines: Vec<_> = shown.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(lines[2..], ["16", "matched", "matched", "17"], "{shown}");
    show(&["--document", "nowhere.yaml"]).assert().code(2);
}

#[test]
fn filters_choose_messages_and_keep_what_happened_around_them() {
    let shown = |arguments: &[&str]| numbers(&stdout(show(arguments)));
    let around = [1, 2, 12, 18, 19];
    let messages = |arguments: &[&str]| {
        let shown = shown(arguments);
        assert!(around.iter().all(|number| shown.contains(number)), "{shown:?}");
        shown.into_iter().filter(|number| !around.contains(number)).collect::<Vec<_>>()
    };
    assert_eq!(messages(&["--surface", "tools/call", "--sender", "agent"]), [8, 10, 16]);
    assert_eq!(
        messages(&["--surface", "tools/list", "--surface", "initialize", "--direction", "response"]),
        [4, 7, 15]
    );
    assert_eq!(messages(&["--sender", "actor", "--direction", "request"]), [13]);
    assert_eq!(shown(&["--seq", "9..11"]), [9, 10, 11]);
    assert_eq!(shown(&["--seq", "18.."]), [18, 19]);
    assert_eq!(shown(&["--seq", "..2"]), [1, 2]);
    assert_eq!(shown(&["--actor", "default", "--seq", "3"]), [3]);
    // The end of the agent and of the run are nobody's.
    assert_eq!(shown(&["--actor", "nobody"]), [18, 19]);
}

#[test]
fn a_filter_that_fits_nothing_says_so() {
    show(&["--seq", "99"]).assert().code(0).stderr_eq("note: no record matches the filters\n");
}

#[test]
fn a_cut_trace_is_read_without_complaint() {
    let whole = fs::read_to_string(example_trace()).unwrap();
    let cut = &whole[..whole.len() - 300];
    let shown = sortie().args(["trace", "show", "-"]).stdin(cut).assert().code(0).stderr_eq("");
    let shown = String::from_utf8_lossy(&shown.get_output().stdout).into_owned();
    assert!(shown.ends_with("── cut short, within a line: nothing says how the run ended ──\n"), "{shown}");
    let without_end: String = whole.split_inclusive('\n').take(10).collect();
    sortie().args(["trace", "show", "-"]).stdin(without_end).assert().code(0).stdout_eq(str![[r#"
...
                 ── cut short: nothing says how the run ended ──

"#]]);
}

#[cfg(unix)]
#[test]
fn a_folder_of_a_run_or_of_a_case_stands_for_its_traces() {
    let here = tempfile::tempdir().unwrap();
    let run = ["run", "SRT-001", "SRT-002", "--agent", "builtin:refuser", "--run-dir", "run"];
    crate::sortie_in(here.path()).args(run).assert().code(0);
    let shown = |path: &str| stdout(crate::sortie_in(here.path()).args(["trace", "show", path]));
    let [one, two] = ["SRT-001", "SRT-002"].map(|case| {
        let of_case = shown(&format!("run/cases/{case}"));
        assert!(of_case.starts_with("library/mcp-server/SRT-00"), "{of_case}");
        assert_eq!(of_case, shown(&format!("run/cases/{case}/trace.jsonl")));
        of_case
    });
    assert_eq!(shown("run"), format!("{one}\n{two}"));
    crate::sortie_in(here.path()).args(["trace", "show", "."]).assert().code(2).stderr_eq(str![[r#"
error: `.` is neither the folder of a run nor of a case
  help: name a trace, a folder with a `trace.jsonl`, or what `--run-dir` named

"#]]);
}

#[test]
fn what_every_message_repeats_about_its_sender_is_left_out_of_its_line() {
    let message = r#"{"record":"message","seq":1,"time":"2026-11-15T10:00:01Z","actor":"bank","mode":"mcp_server","phase":"one","protocol":"mcp","surfaces":["tools/call"],"direction":"request","kind":"request","id":1,"connection":"http-1","sender":"agent","content":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"name":"pay"}}}"#;
    let shown = |words: &[&str]| stdout(show_lines(&[message]).args(words));
    assert!(shown(&[]).contains(r#"tools/call  {"name":"pay"}"#), "{}", shown(&[]));
    for words in [&["--all"], &["--verbose"], &["--full"]] {
        assert!(shown(words).contains("2026-07-28"), "{words:?}: {}", shown(words));
    }
}

#[test]
fn failures_and_ends_are_named() {
    show_lines(&[
        r#"{"record":"actor_failed","seq":1,"time":"2026-11-15T10:00:01Z","actor":"bank","failure":"bind_failed","message":"port 80 is taken"}"#,
        r#"{"record":"agent_exit","seq":2,"time":"2026-11-15T09:59:59.5Z","signal":9}"#,
        r#"{"record":"stopped","seq":3,"time":"sometime","because":"failure"}"#,
    ])
    .assert()
    .code(0)
    .stdout_eq(str![[r#"
written by test, started 2026-11-15T10:00:00Z
    1   +1.000s  bank failed: bind_failed: port 80 is taken
    2   -0.500s  the agent was ended by signal 9
    3         ?  ── stopped: failure ──

"#]]);
}

#[test]
fn streamed_text_is_shown_whole_where_it_ends() {
    let event = |seq: u32, surface: &str, content: &str| {
        format!(
            r#"{{"record":"message","seq":{seq},"time":"2026-11-15T10:00:01Z","actor":"ui","mode":"ag_ui_client","phase":"ask","protocol":"ag_ui","surfaces":["{surface}"],"direction":"response","kind":"event","connection":"c","sender":"agent",{content}}}"#
        )
    };
    let lines = [
        event(1, "text_message_content", r#""content":{"messageId":"m","delta":"hel"}"#),
        event(2, "text_message_content", r#""content":{"messageId":"m","delta":"lo"}"#),
        event(3, "text_message_end", r#""content":{"messageId":"m"}"#),
        event(4, "raw", r#""bytes_b64":"bm8ganNvbg==""#),
    ];
    show_lines(&lines.each_ref().map(String::as_str)).assert().code(0).stdout_eq(str![[r#"
...
    3   +1.000s  agent → ui (ask)                event    text_message_end  {"messageId":"m","_text":"hello"}
    4   +1.000s  agent → ui (ask)                event    raw  "no json" (the message is not JSON)
...
"#]]);
}

#[test]
fn nothing_in_a_trace_commands_the_terminal() {
    let hostile = r#"\u001b[31m\u009b\u202e\n\r\u0007"#;
    let line = format!(
        r#"{{"record":"message","seq":1,"time":"{hostile}","actor":"{hostile}","mode":"m","phase":"{hostile}","protocol":"mcp","surfaces":["{hostile}"],"direction":"request","kind":"request","connection":"c","sender":"agent","content":{{"{hostile}":"{hostile} {}"}}}}"#,
        "\u{9b}2J\u{202e}"
    );
    for arguments in [&["trace", "show", "-"][..], &["trace", "show", "-", "--full"]] {
        let shown = stdout(sortie().args(arguments).stdin(format!("{HEADER}\n{line}\n")));
        assert!(shown.contains("␛[31m"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\r', '\u{7}']), "{shown:?}");
    }
    let shown = stdout(sortie().args(["trace", "show", "-"]).stdin(format!("{HEADER}\n{line}\n")));
    assert_eq!(shown.lines().count(), 3, "{shown}");
}

#[test]
fn what_is_no_trace_is_refused_with_a_reason() {
    sortie()
        .args(["trace", "show", "nowhere"])
        .assert()
        .code(2)
        .stderr_eq("error: there is no file or folder `nowhere`\n");
    sortie().args(["trace", "show", "valid.yaml"]).assert().code(2).stdout_eq("").stderr_eq(str![[r#"
error: `valid.yaml`: this is not a trace: expected value
  help: a trace is JSON Lines, and its first line is `{"record":"header",…}`

"#]]);
    let later = HEADER.replace("\"version\":1", "\"version\":9");
    sortie().args(["trace", "show", "-"]).stdin(later).assert().code(2).stderr_eq(str![[r#"
error: `<stdin>`: the trace has version 9; this program reads version 1
  help: read it with the program that `written_by` in its first line names

"#]]);
    sortie().args(["trace", "show", "."]).assert().code(2);
    sortie().args(["trace", "show", "-"]).stdin("").assert().code(2).stderr_eq(str![[r#"
error: `<stdin>`: the trace is empty
...
"#]]);
}

#[test]
fn what_could_be_read_is_shown_before_the_line_that_could_not() {
    let stopped = r#"{"record":"stopped","seq":1,"time":"2026-11-15T10:00:01Z","because":"idle"}"#;
    show_lines(&[stopped, "{oops}", stopped])
        .assert()
        .code(2)
        .stdout_eq(str![[r#"
written by test, started 2026-11-15T10:00:00Z
    1   +1.000s  ── stopped: idle ──

"#]])
        .stderr_eq("error: `<stdin>`: line 3, column 2: key must be a string\n");
}

#[test]
fn wrong_numbers_are_wrong_usage() {
    show(&["--seq", "5..4"]).assert().code(2).stderr_eq(str![[r#"
error: invalid value '5..4' for '--seq <FIRST..LAST>': the first number is greater than the last
...
"#]]);
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_may_leave() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.jsonl");
    let line =
        |seq: u32| format!("{{\"record\":\"stopped\",\"seq\":{seq},\"time\":\"t\",\"because\":\"idle\"}}\n");
    let lines: String = (1..20_000).map(line).collect();
    fs::write(&file, format!("{HEADER}\n{lines}{{\"record\":\n")).unwrap();
    let mut child = Command::new(snapbox::cmd::cargo_bin!("sortie"))
        .args(["trace", "show"])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    // It never gets to the last line, which is wrong.
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}

#[test]
fn an_export_has_the_findings_of_its_traces() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("traces.parquet");
    let export = |out: &std::path::Path, path: &std::path::Path| {
        sortie().args(["trace", "export", "--parquet"]).arg(out).arg(path)
    };
    export(&out, &example_trace()).assert().code(0).stderr_eq("").stdout_eq(str![[r#"
wrote 1 session with 20 records: [..] bytes of JSON Lines, [..] bytes as Parquet

"#]]);
    let rules = example_trace().with_file_name("../../examples/mcp-rug-pull.yaml");
    let found = |path: &std::path::Path| {
        let scan = sortie().args(["scan", "--format", "jsonl", "--rules"]).arg(&rules).arg(path);
        let lines = String::from_utf8(scan.output().unwrap().stdout).unwrap();
        let ids = lines.lines().filter_map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            row["id"].as_str().map(str::to_owned)
        });
        ids.collect::<Vec<_>>()
    };
    let expected = found(&example_trace());
    assert!(!expected.is_empty());
    assert_eq!(found(&out), expected);
    // What cannot be exported leaves no file behind.
    let torn = folder.path().join("torn.jsonl");
    fs::write(&torn, format!("{HEADER}\n{{\n{HEADER}\n")).unwrap();
    let other = folder.path().join("other.parquet");
    export(&other, &torn).assert().code(2).stdout_eq("");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    export(&other, &folder.path().join("nowhere")).assert().code(2);
}
