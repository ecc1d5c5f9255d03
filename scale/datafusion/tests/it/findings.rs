//! `oatf_findings`

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, LargeStringArray, RecordBatch, StringArray, StringViewArray};
use datafusion::datasource::MemTable;
use sortie_scale_check::rows::RowScope;

use crate::{assert_same, query, repository, scanned, session, write_corpus};

#[tokio::test]
async fn findings_of_single_messages_are_those_of_a_scan_that_need_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    write_corpus(&traces);
    let sql = format!(
        "SELECT source, session, finding FROM (SELECT source, session, unnest(oatf_findings('library', record)) AS finding FROM oatf_records('{}'))",
        traces.display()
    );
    let found = query(&session(2), &sql).await.unwrap();
    let rows = assert_same(&scanned(&[traces], "library"), &found, RowScope::Message);
    assert!(rows > 100, "{rows}");
}

fn lines() -> Vec<Option<String>> {
    let trace = std::fs::read_to_string(repository().join("docs/examples/rug-pull.jsonl")).unwrap();
    let mut lines: Vec<_> = trace.lines().map(|line| Some(line.to_owned())).collect();
    lines.push(None);
    lines.push(Some(String::new()));
    lines.push(Some("{\"record\":\"message\"".to_owned()));
    lines.push(Some(format!("{}{}", "[".repeat(200_000), "]".repeat(200_000))));
    lines.push(Some("x".repeat(sortie_scan::MAX_LINE_BYTES + 1)));
    lines
}

#[tokio::test]
async fn texts_of_every_width_give_the_same_and_bad_ones_give_errors() {
    let lines = lines();
    let columns: [ArrayRef; 3] = [
        Arc::new(lines.iter().map(Option::as_deref).collect::<StringArray>()),
        Arc::new(lines.iter().map(Option::as_deref).collect::<LargeStringArray>()),
        Arc::new(lines.iter().map(Option::as_deref).collect::<StringViewArray>()),
    ];
    let mut results = Vec::new();
    for column in columns {
        let batch = RecordBatch::try_from_iter([("message", column)]).unwrap();
        let session = session(2);
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]]).unwrap();
        session.register_table("messages", Arc::new(table)).unwrap();
        let sql = "SELECT oatf_findings('library', message) AS found FROM messages";
        results.push(query(&session, sql).await.unwrap());
    }
    assert!(results.iter().all(|result| *result == results[0]));
    let found: Vec<serde_json::Value> =
        results[0].lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(found.len(), lines.len());
    let last = &found[found.len() - 5..];
    assert_eq!(last[0], serde_json::json!({}), "no line is null");
    assert_eq!(last[1], serde_json::json!({"found": []}), "a blank line is no message");
    for bad in &last[2..] {
        let errors = bad["found"].as_array().unwrap();
        assert!(errors.len() == 1 && errors[0]["error"].is_string(), "{bad}");
    }
}

#[tokio::test]
async fn a_ruleset_is_a_literal_that_exists() {
    let session = session(1);
    for (sql, reason) in [
        ("SELECT oatf_findings('no-such-rules', 'x')", "no-such-rules"),
        ("SELECT oatf_findings(NULL, 'x')", "oatf_findings"),
        ("SELECT oatf_findings(column1, 'x') FROM (VALUES ('library'), ('evaluators'))", "literal"),
        ("SELECT oatf_findings('library')", "oatf_findings"),
    ] {
        let error = query(&session, sql).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{sql}: {error}");
    }
}
