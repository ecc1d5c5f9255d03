//! A public catalogue that others wrote, read from a checkout of `KeyValueSoftwareSystems/agent-opfor` that `SORTIE_OPFOR` names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sortie_evaluators::folder::{FolderPart, load_folder};
use sortie_evaluators::{Loaded, Verdict, load};

use crate::scripted::{Asked, Does, Scripted};
use crate::{sortie_in, tests};

/// What a person would call a contradiction: an id or a name for two things, evaluators that wait for each other, a case or an
/// evaluator that says two things at once.
const CONTRADICTIONS: &[&str] = &["E-002", "E-010", "E-017", "E-020", "E-030"];

/// What the target says to everything. No fixture of a target that gives in holds it.
const REFUSAL: &str = "That is nothing I do.";

/// The folder of evaluators of the checkout.
fn checkout() -> PathBuf {
    let named = std::env::var_os("SORTIE_OPFOR").expect("SORTIE_OPFOR names a checkout of agent-opfor");
    // As seen from the root of the workspace.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(named);
    let below = folder.join("evaluators");
    let folder = if below.is_dir() { below } else { folder };
    folder.canonicalize().unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()))
}

/// What loads of it.
fn loaded() -> Loaded {
    load(&[load_folder(&checkout(), FolderPart::All).unwrap()], &[])
}

#[test]
#[ignore = "needs a checkout of agent-opfor: SORTIE_OPFOR=… cargo xtask test"]
fn what_opfor_writes_is_read_unless_it_contradicts_itself() {
    let checkout = checkout();
    let check = ["evaluators", "check", "--without-bundled", "--format", "json"];
    let told = sortie_in(&checkout).args(check).arg(&checkout).output().unwrap();
    let report: Value = serde_json::from_slice(&told.stdout).unwrap();
    let files = report["files"].as_array().unwrap();
    let findings = files.iter().flat_map(|file| file["diagnostics"].as_array().unwrap());
    let (errors, warnings): (Vec<_>, Vec<_>) = findings.partition(|finding| finding["severity"] == "error");
    let others: Vec<_> =
        errors.iter().filter(|error| !CONTRADICTIONS.iter().any(|code| error["code"] == *code)).collect();
    assert!(others.is_empty(), "{others:#?}");
    assert!(warnings.iter().all(|warning| warning["help"].is_string()), "{warnings:#?}");
    let loaded = loaded();
    assert!(loaded.catalogue.entries().len() >= 95, "{} load", loaded.catalogue.entries().len());
}

/// A run of these evaluators, with something for every placeholder: what each of its cases came to.
fn played(ids: &[&str], folder: &Path, target: &[&str], judge: &Scripted) -> Vec<Value> {
    let words = ["run", "--without-bundled", "--format", "json", "--jobs", "8", "--run-dir"];
    let told = sortie_in(folder)
        .args(words)
        .arg(target[0].replace('=', "-").split(':').next().unwrap())
        .args(["--target"])
        .args(target)
        .args(judge.judge())
        .args(ids)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&told.stderr);
    let report: Value =
        serde_json::from_slice(&told.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    report["runs"].as_array().unwrap().clone()
}

/// Pieces that tell what a target says that gives in: of each fixture the longest that stands in any transcript as it is.
fn pieces(loaded: &Loaded) -> Vec<String> {
    let cases = loaded.catalogue.entries().iter().filter_map(|entry| {
        let cases = entry.fixtures.as_ref()?.cases.iter().filter(|case| case.expect == Verdict::Fail);
        Some(cases.filter_map(|case| {
            let transcript = case.transcript(&entry.evaluator).ok()?.to_value();
            let answer = transcript["answers"][0].as_str()?.to_owned();
            let plain = |letter: char| !letter.is_ascii_alphanumeric() && !" .,'-_/".contains(letter);
            answer.split(plain).max_by_key(|piece| piece.len()).map(|piece| piece.trim().to_owned())
        }))
    });
    cases.flatten().filter(|piece| piece.len() > 3).collect()
}

/// A judge that knows the fixtures, and for the rest whether a code was told.
fn judge(loaded: &Loaded) -> Scripted {
    let mut pieces = pieces(loaded);
    pieces.push("canary-5d20b7e1".to_owned());
    Scripted::start(move |asked: &Asked| {
        let question = asked.body["messages"][1]["content"].as_str().unwrap_or_default();
        let said = question.split("the target says").nth(1).unwrap_or_default();
        let found = pieces.iter().find(|piece| said.contains(piece.as_str()));
        let verdict = if found.is_some() { "fail" } else { "pass" };
        let quotes: Vec<&String> = found.into_iter().collect();
        Does::Says(
            json!({"verdict": verdict, "confidence": 0.9, "reasoning": "a script", "quotes": quotes, "turn": 2})
                .to_string(),
        )
    })
}

#[test]
#[ignore = "needs a checkout of agent-opfor: SORTIE_OPFOR=… cargo xtask test"]
fn the_evaluators_of_opfor_play_against_scripted_targets() {
    let loaded = loaded();
    let entries = loaded.catalogue.entries();
    let ids: Vec<&str> = entries.iter().map(|entry| entry.evaluator.id.as_str()).collect();
    let folder = tempfile::tempdir().unwrap();
    // What contradicts itself stays outside.
    for entry in entries {
        let file = Path::new(&entry.file);
        let unit = if file.ends_with("evaluator.yaml") { file.parent().unwrap() } else { file };
        copy(&checkout().join(unit), &folder.path().join("opfor").join(unit));
        let fixtures = file.with_extension("test.yaml");
        if unit == file && checkout().join(&fixtures).is_file() {
            copy(&checkout().join(&fixtures), &folder.path().join("opfor").join(&fixtures));
        }
    }
    let placeholders: BTreeSet<&str> = entries
        .iter()
        .flat_map(|entry| &entry.evaluator.patterns)
        .flat_map(|pattern| pattern.template.placeholders())
        .collect();
    let values: Vec<String> = placeholders.iter().map(|name| format!("{name} = 'something'")).collect();
    let values = values.join("\n");
    std::fs::write(
        folder.path().join("sortie.toml"),
        format!("evaluators = ['opfor']\n[values]\n{values}\n"),
    )
    .unwrap();

    let judge = judge(&loaded);
    let agent = Scripted::start(|_| Does::Says(REFUSAL.to_owned()));
    let chat = format!("chat={}", agent.url);
    let server = tests().join("../../../docs/examples/notes-server.sh");
    let server = format!("mcp=stdio:'{}' fixed", server.display());
    let mut runs = played(&ids, folder.path(), &[&chat, "--chat-model", "script"], &judge);
    runs.extend(played(&ids, folder.path(), &[&server], &judge));

    let mut results: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for run in &runs {
        let (id, result) =
            (run["evaluator"]["id"].as_str().unwrap(), run["verdict"]["result"].as_str().unwrap());
        results.entry(id).or_default().insert(result);
        if result == "not_applicable" {
            assert!(run["verdict"]["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{run:#}");
        }
    }
    let played: Vec<_> = results.iter().filter(|(_, results)| results.contains("not_exploited")).collect();
    let never = |entry: &&sortie_evaluators::CatalogueEntry| {
        entry.evaluator.not_applicable().is_some()
            && results[entry.evaluator.id.as_str()] == ["not_applicable"].into()
    };
    let scanned = entries.iter().filter(never).count();
    assert!(played.len() >= 95, "{} of {} play: {results:#?}", played.len(), ids.len());
    assert_eq!(played.len() + scanned, ids.len(), "nothing else is left out: {results:#?}");
    let odd: Vec<_> = runs
        .iter()
        .filter(|run| {
            !["not_exploited", "not_applicable"].iter().any(|result| run["verdict"]["result"] == *result)
        })
        .map(|run| (&run["id"], &run["verdict"]))
        .collect();
    assert!(odd.is_empty(), "{odd:#?}");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    if from.is_file() {
        std::fs::copy(from, to).unwrap();
        return;
    }
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}
