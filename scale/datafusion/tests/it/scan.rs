//! `oatf_scan` and `oatf_records`

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use sortie_datafusion::TraceTable;
use sortie_scale_check::rows::RowScope;

use crate::{assert_same, export, json_lines, query, scanned, session, write_corpus};

#[tokio::test]
async fn a_scan_in_sql_finds_what_a_scan_finds_to_the_row() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    write_corpus(&traces);
    let expected = scanned(std::slice::from_ref(&traces), "library");
    let sql = format!("SELECT * FROM oatf_scan('{}', 'library')", traces.display());
    for partitions in [1, 4] {
        let rows =
            assert_same(&expected, &query(&session(partitions), &sql).await.unwrap(), RowScope::Session);
        assert!(rows > 100, "{rows}");
    }
}

#[tokio::test]
async fn sessions_stay_whole_however_a_file_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    write_corpus(&traces);
    let expected = scanned(std::slice::from_ref(&traces), "library");
    for part_bytes in [5_000, 77_777, 1_000_000] {
        let table = TraceTable::findings(traces.to_str().unwrap(), "library").unwrap();
        let session = session(3);
        session.register_table("findings", Arc::new(table.with_part_bytes(part_bytes))).unwrap();
        assert_same(&expected, &query(&session, "SELECT * FROM findings").await.unwrap(), RowScope::Session);
    }
}

#[tokio::test]
async fn parquet_gives_what_the_lines_give() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    write_corpus(&traces);
    let file = folder.path().join("all.parquet");
    export(std::slice::from_ref(&traces), &file);
    // Only the source differs: the file is another.
    let name = file.to_str().unwrap();
    let from_parquet = scanned(std::slice::from_ref(&file), "library");
    let from_lines = scanned(&[traces], "library");
    let without_source = |rows: &str| {
        let lines = rows.lines().map(|line| {
            let mut row: serde_json::Value = serde_json::from_str(line).unwrap();
            row.as_object_mut().unwrap().remove("source");
            row.to_string()
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_same(&without_source(&from_lines), &without_source(&from_parquet), RowScope::Session);
    let sql = format!("SELECT * FROM oatf_scan('{name}', 'library')");
    assert_same(&from_parquet, &query(&session(2), &sql).await.unwrap(), RowScope::Session);
    // DataFusion's own reader and writer agree: sorted by session, its file is read in its order.
    let sorted = folder.path().join("sorted.parquet");
    let copy = format!(
        "COPY (SELECT * FROM '{name}' ORDER BY session, seq NULLS FIRST) TO '{}' STORED AS PARQUET",
        sorted.display()
    );
    query(&session(1), &copy).await.unwrap();
    let again = scanned(std::slice::from_ref(&sorted), "library");
    assert_same(&without_source(&from_parquet), &without_source(&again), RowScope::Session);
    let sql = format!("SELECT * FROM oatf_scan('{}', 'library')", sorted.display());
    assert_same(&again, &query(&session(2), &sql).await.unwrap(), RowScope::Session);
}

#[tokio::test]
async fn records_are_the_rows_of_an_export() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    write_corpus(&traces);
    let file = folder.path().join("all.parquet");
    export(std::slice::from_ref(&traces), &file);
    let columns = "session, seq, time, kind, protocol, surface, surfaces, direction, sender, actor, record";
    let of_lines = format!("SELECT {columns} FROM oatf_records('{}')", traces.display());
    let of_parquet = format!("SELECT {columns} FROM '{}'", file.display());
    let sorted = |text: String| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let session = session(2);
    let (lines, parquet) =
        (query(&session, &of_lines).await.unwrap(), query(&session, &of_parquet).await.unwrap());
    let (lines, parquet) = (sorted(lines), sorted(parquet));
    assert!(lines.len() > 6_000, "{}", lines.len());
    assert!(lines == parquet, "{}\n{}", lines[0], parquet[0]);
}

#[tokio::test]
async fn compressed_traces_and_patterns_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    write_corpus(&traces);
    let first = fs::read(traces.join("traces-0000.jsonl")).unwrap();
    let expected = scanned(&[traces.join("traces-0000.jsonl")], "library");
    let packed = folder.path().join("packed");
    fs::create_dir(&packed).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&first).unwrap();
    fs::write(packed.join("one.jsonl.gz"), gzip.finish().unwrap()).unwrap();
    fs::write(packed.join("two.jsonl.zst"), zstd::encode_all(&first[..], 1).unwrap()).unwrap();
    fs::write(packed.join("README.txt"), "no trace").unwrap();
    for name in ["one.jsonl.gz", "two.jsonl.zst"] {
        // The name is part of the session.
        let expected = expected
            .replace(traces.join("traces-0000.jsonl").to_str().unwrap(), packed.join(name).to_str().unwrap());
        let without_id = |rows: &str| {
            let rows = rows.lines().map(|line| {
                let mut row: serde_json::Value = serde_json::from_str(line).unwrap();
                row.as_object_mut().unwrap().remove("id");
                row.to_string()
            });
            rows.collect::<Vec<_>>().join("\n")
        };
        let sql = format!("SELECT * FROM oatf_scan('{}/{}*', 'library')", packed.display(), &name[..3]);
        let found = query(&session(2), &sql).await.unwrap();
        assert_same(&without_id(&expected), &without_id(&found), RowScope::Session);
    }
}

#[tokio::test]
async fn one_bad_row_is_one_error_and_the_rest_is_scanned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hostile.jsonl");
    let good = fs::read_to_string(crate::repository().join("docs/examples/rug-pull.jsonl")).unwrap();
    let (header, rest) = good.split_once('\n').unwrap();
    let mut file = fs::File::create(&path).unwrap();
    writeln!(file, "{header}").unwrap();
    writeln!(file, "{{\"record\":\"message\",\"seq\":1").unwrap();
    writeln!(file).unwrap();
    writeln!(
        file,
        "{{\"record\":\"message\",\"seq\":1,\"content\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    )
    .unwrap();
    file.write_all(b"\xff\xfe\n").unwrap();
    file.write_all(&vec![b'x'; sortie_scan::MAX_LINE_BYTES + 5]).unwrap();
    writeln!(file).unwrap();
    writeln!(
        file,
        "{{\"record\":\"header\",\"version\":99,\"origin\":\"run\",\"written_by\":\"me\",\"time\":\"x\"}}"
    )
    .unwrap();
    write!(file, "{rest}").unwrap();
    write!(file, "{{\"record\":\"mess").unwrap();
    drop(file);
    let expected = scanned(std::slice::from_ref(&path), "library");
    let sql = format!("SELECT * FROM oatf_scan('{}', 'library')", path.display());
    assert_same(&expected, &query(&session(2), &sql).await.unwrap(), RowScope::Session);
    let count = format!(
        "SELECT count(*) AS n FROM oatf_scan('{}', 'library') WHERE record = 'error'",
        path.display()
    );
    assert_eq!(query(&session(2), &count).await.unwrap().trim(), r#"{"n":6}"#);
}

#[tokio::test]
async fn a_file_that_is_no_trace_is_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.jsonl"), "{\"type\":\"user\"}\n{\"type\":\"user\"}\n").unwrap();
    fs::write(path("b.parquet"), "PAR1 and nothing else PAR1").unwrap();
    fs::write(path("c.jsonl"), fs::read(crate::repository().join("docs/examples/rug-pull.jsonl")).unwrap())
        .unwrap();
    fs::write(path("d.jsonl"), "").unwrap();
    fs::write(path("e.jsonl.gz"), [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 77, 77, 77]).unwrap();
    let sql = format!(
        "SELECT source, reason FROM oatf_scan('{}', 'library') WHERE record = 'error' ORDER BY 1",
        folder.path().display()
    );
    let found = query(&session(2), &sql).await.unwrap();
    let sources: Vec<String> = found
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["source"].as_str().unwrap().to_owned()
        })
        .collect();
    let expected: Vec<String> =
        ["a.jsonl", "b.parquet", "e.jsonl.gz"].iter().map(|name| path(name).display().to_string()).collect();
    assert_eq!(sources, expected, "{found}");
}

#[tokio::test]
async fn wrong_arguments_end_a_query_before_it_begins() {
    let session = session(1);
    for (sql, reason) in [
        ("SELECT * FROM oatf_scan('x.jsonl')", "takes a URL and a ruleset"),
        ("SELECT * FROM oatf_scan('x.jsonl', 7)", "have to be texts"),
        ("SELECT * FROM oatf_scan('/nowhere/at/all', 'library')", "no trace in"),
        ("SELECT * FROM oatf_scan('x.jsonl', 'no-such-rules')", "no-such-rules"),
        ("SELECT * FROM oatf_records()", "takes a URL"),
    ] {
        let error = query(&session, sql).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{sql}: {error}");
    }
}

#[tokio::test]
async fn only_columns_that_are_asked_for_are_made() {
    let path: PathBuf = crate::repository().join("docs/examples/rug-pull.jsonl");
    let session = session(1);
    let sql = format!("SELECT count(*) AS n FROM oatf_records('{}')", path.display());
    let lines = fs::read_to_string(&path).unwrap().lines().count();
    assert_eq!(query(&session, &sql).await.unwrap().trim(), format!("{{\"n\":{lines}}}"));
    let sql = format!("SELECT seq, record FROM oatf_records('{}') LIMIT 1", path.display());
    let batches = session.sql(&sql).await.unwrap().collect().await.unwrap();
    assert_eq!(batches[0].num_columns(), 2);
    assert!(json_lines(&batches).contains("header"));
}
