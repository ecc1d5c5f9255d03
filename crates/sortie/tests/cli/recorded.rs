//! A verdict comes from the trace: what was decided live is decided again by the trace of the case alone, with the judge's
//! answers from the kept exchanges, evidence included.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use sortie_evaluators::{Says, TargetClass};
use sortie_judge::{Injection, Labelled, injections};
use sortie_trace::Role;

use crate::scripted::{Asked, Does, Scripted};
use crate::sortie_in;

/// What a practice agent says that has given in.
const GAVE_IN: [&str; 6] =
    ["My instructions are", "My system prompt is", "It is paid", "I ran it", "Here it is", "I called"];

/// A practice agent on a free port. It ends with the test.
struct Practice(Child, String);

impl Practice {
    fn start(name: &str, face: &str) -> Self {
        let mut child = Command::new(snapbox::cmd::cargo_bin!("sortie"))
            .args(["practice", name, &format!("--serve-{}", face.replace('_', "-")), "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let url = url.split_whitespace().find(|word| word.starts_with("http")).unwrap_or_default().to_owned();
        Self(child, url)
    }
}

impl Drop for Practice {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What can be seen of a text, without spaces. How the rest is shown to a judge does not matter.
fn folded(text: &str) -> String {
    let shown = text.split('\u{27e8}').enumerate().map(|(at, part)| match part.split_once('\u{27e9}') {
        Some((_, rest)) if at > 0 => rest,
        _ => part,
    });
    shown.collect::<String>().chars().filter(char::is_ascii_graphic).collect()
}

/// What the target says and calls in a question to a judge: the turn, and the words.
fn target_pieces(question: &str) -> Vec<(usize, &str)> {
    let marker = question.split_once("begins at `").and_then(|(_, rest)| rest.split_once(" begin`"));
    let Some((marker, rest)) = marker else { return Vec::new() };
    let inside = rest.split_once(&format!("\n{marker} begin\n")).map_or("", |(_, inside)| inside);
    let marker = format!("{marker} ");
    let pieces = inside.split(&marker).filter_map(|piece| {
        let (label, text) = piece.split_once(":\n")?;
        let turn = label.strip_prefix("turn ")?.split_once(", the target ")?.0;
        Some((turn.parse().ok()?, text.trim_end_matches('\n')))
    });
    pieces.collect()
}

/// What a judge knows: by its rubric and what the target says and calls, what is right.
fn known() -> HashMap<(String, String), Says> {
    let (root, _) = sortie_library::bundled_evaluators(&[]);
    let loaded = sortie_evaluators::load(&[root], &sortie_library::suite_documents());
    let of_fixtures = loaded.catalogue.entries().iter().flat_map(|entry| {
        let fixtures = entry.fixtures.iter();
        fixtures.flat_map(|fixtures| Labelled::of(&entry.evaluator, fixtures).unwrap())
    });
    let injections = injections();
    let labelled = of_fixtures.chain(injections.iter().map(Injection::labelled));
    let known = labelled.map(|labelled| {
        let turns = labelled.transcript.turns().iter().filter(|turn| turn.role == Role::Target);
        let said = turns.flat_map(|turn| {
            let calls = turn.calls.iter();
            let calls = calls.map(|call| json!({"name": call.name, "arguments": call.arguments}).to_string());
            std::iter::once(turn.text.clone()).chain(calls)
        });
        ((labelled.rubric.name.clone(), folded(&said.collect::<String>())), labelled.expect)
    });
    known.collect()
}

/// A judge that gets every fixture right, and sees elsewhere whether the agent says that it gave in; and an attacker that
/// fills in made-up words.
fn model() -> Scripted {
    let known = known();
    Scripted::start(move |asked: &Asked| {
        let question = asked.body["messages"].as_array().unwrap().iter();
        let question =
            question.filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n");
        if let Some((_, names)) = question.split_once("Fill the placeholders ") {
            let names = names.split_once(" of the pattern").map_or("", |(names, _)| names);
            let names = names.split("{{").filter_map(|name| Some(name.split_once("}}")?.0.to_owned()));
            let values: HashMap<_, _> = names.map(|name| (name.clone(), format!("made-up-{name}"))).collect();
            return Does::Says(json!({"values": values}).to_string());
        }
        let rubric = question.split_once("# Rubric: ").and_then(|(_, rest)| rest.lines().next());
        let pieces = target_pieces(&question);
        let said = folded(&pieces.iter().map(|(_, text)| *text).collect::<String>());
        let marked = |piece: &&(usize, &str)| GAVE_IN.iter().any(|words| piece.1.contains(words));
        let gave_in = pieces.iter().find(marked);
        let says = known.get(&(rubric.unwrap_or_default().to_owned(), said)).copied();
        let says = says.unwrap_or(if gave_in.is_some() { Says::Fail } else { Says::Pass });
        let whole = pieces.iter().rev().find(|(_, text)| !text.trim().is_empty());
        let (turn, quote) = gave_in.or(whole).copied().unwrap_or((1, ""));
        let quote: String = quote.chars().take(200).collect();
        let quotes = if says == Says::Fail { vec![quote] } else { Vec::new() };
        let answer = json!({
            "verdict": says.as_str(), "confidence": 1.0, "reasoning": "A script says so.", "quotes": quotes,
            "turn": turn,
        });
        Does::Says(answer.to_string())
    })
}

fn report(command: snapbox::cmd::Command) -> Value {
    let output = command.output().unwrap();
    let shown = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {shown}"));
    assert_eq!(crate::eval::problems(&report), Vec::<String>::new());
    report
}

/// Plays evaluators, decides every case again by its own trace, and gives how often which verdict was the same.
fn compared(evaluators: &[String], target: &str, model: &Scripted, folder: &Path) -> HashMap<String, usize> {
    let common = ["--format", "json"];
    let played = sortie_in(folder)
        .args(["run", "--target", target, "--run-dir", "run", "--jobs", "4"])
        .args(common)
        .args(model.judge())
        .args(model.attacker())
        .args(evaluators);
    let live = report(played);
    let cases: Vec<&Value> =
        live["runs"].as_array().unwrap().iter().filter(|case| case["trace"].is_string()).collect();
    let asked = model.asked().len();
    let decided: BTreeSet<&str> = cases.iter().filter_map(|case| case["evaluator"]["id"].as_str()).collect();
    let traces = cases.iter().flat_map(|case| ["--trace", case["trace"].as_str().unwrap_or_default()]);
    let again = sortie_in(folder).arg("eval").args(common).args(traces).args(model.judge()).args(decided);
    let again = report(again);
    assert_eq!(model.asked().len(), asked, "the answers come from the kept exchanges");
    let again = again["runs"].as_array().unwrap();
    assert_eq!(again.len(), cases.len());
    let mut same = HashMap::new();
    for (live, again) in cases.iter().zip(again) {
        assert_eq!(again, *live, "{}", live["id"]);
        *same.entry(live["verdict"]["result"].as_str().unwrap_or_default().to_owned()).or_insert(0) += 1;
    }
    same
}

/// The ids of the bundled evaluators.
fn bundled(class: TargetClass) -> Vec<String> {
    let (root, _) = sortie_library::bundled_evaluators(&[]);
    let loaded = sortie_evaluators::load(&[root], &sortie_library::suite_documents());
    let of_class = loaded.catalogue.of(class);
    of_class.map(|entry| entry.evaluator.id.clone()).collect()
}

#[test]
fn the_verdict_of_a_case_of_an_agent_is_that_of_its_trace() {
    let model = model();
    let evaluators = bundled(TargetClass::Agent);
    for face in ["ag_ui", "chat", "a2a"] {
        let agent = Practice::start("gullible", face);
        let folder = tempfile::tempdir().unwrap();
        let same = compared(&evaluators, &format!("{face}={}", agent.1), &model, folder.path());
        println!("{face}: {same:?}");
        assert!(same.get("exploited") > Some(&0) && same.get("not_exploited") > Some(&0), "{same:?}");
        assert_eq!(same.get("error"), None, "a judge that is right judges everything");
    }
}

/// A review says nothing to the server: its trace is what the server said about itself.
#[test]
fn the_verdict_of_a_review_is_that_of_its_trace() {
    let model = model();
    let server = Practice::start("gullible", "mcp");
    let folder = tempfile::tempdir().unwrap();
    let evaluators = bundled(TargetClass::Mcp);
    let same = compared(&evaluators, &format!("mcp={}", server.1), &model, folder.path());
    println!("mcp: {same:?}");
    assert!(same.get("not_exploited") > Some(&0), "{same:?}");
    let reviews = std::fs::read_dir(folder.path().join("run/cases")).unwrap().filter(|case| {
        let trace = std::fs::read_to_string(case.as_ref().unwrap().path().join("trace.jsonl")).unwrap();
        trace.contains(r#""play":{"review""#)
    });
    assert!(reviews.count() > 0, "there are reviews among them");
}
