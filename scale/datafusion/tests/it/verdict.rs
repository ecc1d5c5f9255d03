//! `oatf_verdict`

use std::fs;
use std::path::PathBuf;

use sortie_datafusion::LoadedRuleset;
use sortie_detect::Place;

use crate::{query, repository, session};

/// Recordings of the library, with the documents that they are of.
fn proofs(count: usize) -> Vec<(PathBuf, String)> {
    let mut proofs = Vec::new();
    let mut folders = vec![repository().join("crates/library")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "jsonl") {
                let text = fs::read_to_string(&path).unwrap();
                let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
                if let Some(id) = header["document"]["id"].as_str().filter(|id| id.starts_with("SRT-")) {
                    proofs.push((path, id.to_owned()));
                }
            }
        }
    }
    proofs.sort();
    let step = proofs.len().div_ceil(count).max(1);
    proofs.into_iter().step_by(step).collect()
}

#[tokio::test]
async fn verdicts_in_sql_are_those_of_eval() {
    let library = LoadedRuleset::named("library").unwrap();
    let session = session(3);
    let mut words = std::collections::BTreeSet::new();
    for (path, id) in proofs(40) {
        let Ok(ruleset) = library.document(&id) else { continue };
        let replayed = ruleset.replay(fs::read(&path).unwrap().as_slice()).unwrap();
        let expected =
            replayed.outcome(0, Place { document: id.clone(), trace: None }).verdict.result.to_string();
        // Records come in any order, from several partitions.
        let sql = format!(
            "SELECT oatf_verdict('library', '{id}', record ORDER BY seq) AS verdict
             FROM (SELECT session, seq, record FROM oatf_records('{}') ORDER BY record DESC) GROUP BY session",
            path.display()
        );
        let found = query(&session, &sql).await.unwrap();
        assert_eq!(found.trim(), format!("{{\"verdict\":\"{expected}\"}}"), "{}", path.display());
        words.insert(expected);
    }
    assert!(words.contains("exploited") && words.contains("not_exploited"), "{words:?}");
}

#[tokio::test]
async fn every_session_of_a_folder_has_its_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let (path, id) = proofs(1).remove(0);
    let one = fs::read_to_string(&path).unwrap();
    fs::write(folder.path().join("many.jsonl"), one.repeat(50)).unwrap();
    let sql = format!(
        "SELECT oatf_verdict('library', '{id}', record) AS v FROM oatf_records('{}')",
        path.display()
    );
    let verdict = query(&session(1), &sql).await.unwrap();
    for partitions in [1, 4] {
        let sql = format!(
            "SELECT v, count(*) AS n FROM (SELECT session, oatf_verdict('library', '{id}', record) AS v FROM oatf_records('{}') GROUP BY session) GROUP BY v",
            folder.path().display()
        );
        let found = query(&session(partitions), &sql).await.unwrap();
        assert_eq!(found.trim(), verdict.trim().replace('}', ",\"n\":50}"));
    }
}

#[tokio::test]
async fn sessions_that_cannot_be_read_are_errors_and_no_panics() {
    let session = session(2);
    let (path, id) = proofs(1).remove(0);
    let text = fs::read_to_string(path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let verdict = async |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        let sql = format!(
            "SELECT oatf_verdict('library', '{id}', record) AS v FROM oatf_records('{}')",
            file.display()
        );
        query(&session, &sql).await.unwrap().trim().to_owned()
    };
    let error = r#"{"v":"error"}"#;
    let (header, rest) = text.split_once('\n').unwrap();
    assert_ne!(verdict("good.jsonl", &text).await, error);
    assert_eq!(verdict("torn.jsonl", &format!("{header}\nno record\n{rest}")).await, error);
    assert_eq!(verdict("twice.jsonl", &format!("{header}\n{rest}{rest}")).await, error);
    assert_eq!(verdict("headers.jsonl", &format!("{text}{text}")).await, error, "two sessions as one");
    let large = format!("{header}\n{rest}{}", format!("{}\n", "y".repeat(1 << 20)).repeat(66));
    assert_eq!(verdict("large.jsonl", &large).await, error);
}

#[tokio::test]
async fn a_document_has_to_be_of_the_ruleset() {
    let session = session(1);
    let path = repository().join("docs/examples/rug-pull.jsonl");
    for (arguments, reason) in [
        ("'library', 'SRT-NONE', record", "SRT-NONE"),
        ("'nothing', 'SRT-001', record", "nothing"),
        ("'library', NULL, record", "name of a ruleset"),
        ("'library', record, record", "no document"),
        ("DISTINCT 'library', 'SRT-001', record", "DISTINCT"),
    ] {
        let sql = format!("SELECT oatf_verdict({arguments}) FROM oatf_records('{}')", path.display());
        let error = query(&session, &sql).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{arguments}: {error}");
    }
}
