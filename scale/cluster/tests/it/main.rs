//! Tests of the programs, over the recordings of the repository.

mod tasks;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sortie_scale_check::cluster::Cluster;
use sortie_scale_check::corpus::{self, CorpusSize};
use sortie_scale_check::rows::{RowScope, differences, rows_of};

const SQL: &str = env!("CARGO_BIN_EXE_sortie-sql");

fn programs() -> &'static Path {
    // All programs of a package are in one folder.
    let (scheduler, executor) =
        (env!("CARGO_BIN_EXE_sortie-scheduler"), env!("CARGO_BIN_EXE_sortie-executor"));
    assert_eq!(Path::new(scheduler).parent(), Path::new(executor).parent());
    Path::new(scheduler).parent().unwrap()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sql(arguments: &[&str]) -> Output {
    Command::new(SQL).args(arguments).output().unwrap()
}

/// What a query prints, which has to work.
fn rows(arguments: &[&str]) -> String {
    let output = sql(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn write_corpus(folder: &Path, messages: u64) {
    let recordings = corpus::recordings(&repository()).unwrap();
    let size = CorpusSize { messages, bytes: u64::MAX, file: 8_000_000 };
    corpus::write(&recordings, folder, size).unwrap();
}

fn assert_same(left: &str, right: &str) -> usize {
    let (left, right) =
        (rows_of(left, RowScope::Session).unwrap(), rows_of(right, RowScope::Session).unwrap());
    let found = differences(&left, &right, 5);
    assert!(found.is_empty(), "{} rows against {}:\n{}", left.len(), right.len(), found.join("\n"));
    left.len()
}

#[test]
fn sql_prints_rows_as_json_lines_or_as_a_table() {
    let trace = repository().join("docs/examples/rug-pull.jsonl");
    let query = format!("SELECT count(*) AS n, min(seq) AS first FROM oatf_records('{}')", trace.display());
    let lines = fs::read_to_string(&trace).unwrap().lines().count();
    assert_eq!(rows(&[&query]), format!("{{\"n\":{lines},\"first\":1}}\n"));
    let table = rows(&["--format", "table", &query]);
    assert!(table.contains("| n ") && table.contains(&format!("| {lines} ")), "{table}");
    // Several queries share a session.
    let two = rows(&[
        "SET datafusion.execution.target_partitions = 3",
        "SHOW datafusion.execution.target_partitions",
    ]);
    assert!(two.contains(r#""value":"3""#), "{two}");
}

#[test]
fn a_query_that_fails_ends_with_2_and_a_reason() {
    for (query, reason) in [
        ("SELEC 1", "SELEC"),
        ("SELECT * FROM oatf_scan('/nowhere', 'library')", "/nowhere"),
        ("SELECT oatf_findings('no-such-rules', 'x')", "no-such-rules"),
    ] {
        let output = sql(&[query]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.starts_with("error: ") && text.contains(reason), "{text}");
    }
}

#[test]
fn a_cluster_gives_the_same_rows_and_functions() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    write_corpus(&traces, 5_000);
    let cluster = Cluster::start(programs(), folder.path(), 3).unwrap();
    let url = cluster.url();
    let scan = format!("SELECT * FROM oatf_scan('{}', 'library')", traces.display());
    let found = assert_same(&rows(&[&scan]), &rows(&["--cluster", url, &scan]));
    assert!(found > 100, "{found}");
    for query in [
        // Aggregates over a shuffle, both functions, and a table of their own.
        "SELECT document, severity, count(*) AS n FROM oatf_scan('TRACES', 'library') GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT sum(cardinality(oatf_findings('library', record))) AS n FROM oatf_records('TRACES')",
        "SELECT session, oatf_verdict('library', 'SRT-001', record ORDER BY seq) AS verdict FROM oatf_records('TRACES') GROUP BY session ORDER BY 1",
    ] {
        let query = query.replace("TRACES", traces.to_str().unwrap());
        assert_eq!(rows(&[&query]), rows(&["--cluster", url, &query]), "{query}");
    }
    let wrong = sql(&["--cluster", url, "SELECT * FROM oatf_scan('/nowhere/at/all', 'library')"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", String::from_utf8_lossy(&wrong.stderr));
}

#[test]
fn an_executor_that_is_killed_costs_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    write_corpus(&traces, 60_000);
    let scan = format!("SELECT * FROM oatf_scan('{}', 'library')", traces.display());
    let expected = rows(&[&scan]);
    let mut cluster = Cluster::start(programs(), folder.path(), 3).unwrap();
    let query = Command::new(SQL)
        .args(["--cluster", cluster.url(), &scan])
        .stdout(fs::File::create(folder.path().join("rows")).unwrap())
        .stderr(fs::File::create(folder.path().join("notes")).unwrap())
        .spawn();
    let mut query = query.unwrap();
    cluster.kill_one_that_works().unwrap();
    assert!(query.try_wait().unwrap().is_none(), "the query was over before the executor was killed");
    let status = query.wait().unwrap();
    assert!(status.success(), "{}", fs::read_to_string(folder.path().join("notes")).unwrap());
    assert_same(&expected, &fs::read_to_string(folder.path().join("rows")).unwrap());
}

#[test]
fn the_compose_file_uses_options_that_exist() {
    let compose = fs::read_to_string(repository().join("scale/compose.yaml")).unwrap();
    for program in ["sortie-sql", "sortie-scheduler", "sortie-executor"] {
        let line = compose
            .lines()
            .find(|line| line.contains(program) && line.contains("--") && !line.starts_with('#'));
        let line = line.unwrap_or_else(|| panic!("{program} is not started"));
        let help = Command::new(programs().join(program)).arg("--help").output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let options: Vec<&str> = line
            .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
            .filter(|word| word.starts_with("--"))
            .collect();
        assert!(!options.is_empty(), "{line}");
        for option in options {
            assert!(help.contains(&format!("{option} <")), "{program} has no {option}:\n{help}");
        }
    }
}
