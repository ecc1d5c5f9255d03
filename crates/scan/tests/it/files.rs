//! Files, folders and parts of files give the findings of their sessions.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sortie_import::RecordingFile;
use sortie_scan::{
    FindingRow, MessageScanner, RowError, Scan, ScanError, ScanProgress, ScanSummary, Scanned,
    SessionScanner, TimeSpan,
};
use sortie_trace::time::parse_time;

use crate::traffic::{answer, call, header, rules};

fn scan(
    paths: &[PathBuf],
    set: impl FnOnce(Scan) -> Scan,
    workers: usize,
) -> Result<(Vec<Scanned>, ScanSummary), ScanError> {
    let mut rows = Vec::new();
    let scan = set(Scan::new(rules(), RecordingFile::find(paths).unwrap()));
    let summary = scan.run(workers, &ScanProgress::default(), |more| {
        rows.extend(more);
        true
    })?;
    Ok((rows, summary))
}

/// What one scanner finds that is shown every line in order.
fn in_order(name: &str, text: &[u8]) -> Vec<Scanned> {
    let mut scanner = SessionScanner::new(rules(), name);
    let (mut rows, mut at) = (Vec::new(), 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        scanner.line(at, line, &mut rows);
        at += line.len() as u64;
    }
    rows
}

fn write(folder: &Path, name: &str, text: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn findings(rows: &[Scanned]) -> Vec<&FindingRow> {
    let finding = |row: &'_ Scanned| matches!(row, Scanned::Finding(_));
    let rows = rows.iter().filter(|row| finding(row));
    rows.map(|row| if let Scanned::Finding(row) = row { &**row } else { unreachable!() }).collect()
}

fn line() -> impl Strategy<Value = String> {
    let seq = 1..90u64;
    prop_oneof![
        2 => Just(header()),
        1 => Just(header().replacen(r#"{"record":"header","#, r#"{ "record" : "header","#, 1)),
        4 => (seq.clone(), select(vec!["id_rsa", "/tmp/x", "the long value 4711-0815 of a tool"])).prop_map(|(seq, path)| call(seq, path)),
        4 => (seq, select(vec!["root:x:0:0", "nothing", "the long value 4711-0815 of a tool"])).prop_map(|(seq, text)| answer(seq, text)),
        1 => select(vec!["", "no record", "{\"record\":\"message\"}", "\u{feff}", "{\"header\": 1}"]).prop_map(ToOwned::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 200 } else { 5_000 }))]

    /// Wherever a file is cut, and however many threads scan it.
    #[test]
    fn parts_of_a_file_give_what_the_whole_file_gives(
        lines in vec(line(), 0..40), part_bytes in 1..4000u64, workers in 1..4usize, ends: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut text = [header()].into_iter().chain(lines).collect::<Vec<_>>().join("\n");
        if ends {
            text.push('\n');
        }
        let path = write(folder.path(), "all.jsonl", text.as_bytes());
        let name = path.to_string_lossy().into_owned();
        let (rows, summary) = scan(&[path], |scan| scan.with_part_bytes(part_bytes), workers).unwrap();
        let expected = in_order(&name, text.as_bytes());
        prop_assert_eq!(summary.findings, findings(&expected).len() as u64);
        prop_assert_eq!(summary.errors, (expected.len() - findings(&expected).len()) as u64);
        prop_assert_eq!(rows, expected);
    }
}

#[test]
fn a_flow_is_found_within_a_session_and_not_between_two() {
    let secret = "the long value 4711-0815 of a tool";
    let lines = [
        header(),
        answer(1, secret),
        header(),
        call(2, secret),
        header(),
        answer(1, secret),
        call(2, secret),
    ];
    let text = lines.join("\n");
    let rows = in_order("f", text.as_bytes());
    let [found] = findings(&rows)[..] else { panic!("{rows:#?}") };
    assert_eq!((found.document.as_str(), found.seq, found.needs_session), ("RULE-002", 2, true));
    assert!(found.session.starts_with("f@"), "{}", found.session);
    assert_eq!(found.from.as_ref().map(|from| from.seq), Some(1));
    // One message alone knows nothing of what came in before.
    let mut alone = Vec::new();
    let mut scanner = MessageScanner::new(rules());
    for line in &lines {
        scanner.line("f", "f", line.as_bytes(), &mut alone);
    }
    assert_eq!(alone, []);
}

#[test]
fn a_bad_line_is_one_error_and_the_rest_is_scanned() {
    let deep =
        format!("{{\"record\":\"message\",\"content\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let lines = [header(), call(1, "id_rsa"), deep, "\u{1}".to_owned(), call(2, "id_rsa")];
    let mut text = lines.join("\n").into_bytes();
    text.extend(b"\n\xff\xfe\n");
    let rows = in_order("f", &text);
    assert_eq!(findings(&rows).iter().map(|row| row.seq).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(rows.len(), 5, "{rows:#?}");
}

#[test]
fn a_line_without_end_is_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(file, "{}", header()).unwrap();
    for _ in 0..(sortie_scan::MAX_LINE_BYTES / 1024 + 2) {
        file.write_all(&[b'x'; 1024]).unwrap();
    }
    writeln!(file, "\n{}", call(1, "id_rsa")).unwrap();
    drop(file);
    let (rows, summary) = scan(&[path], |scan| scan, 2).unwrap();
    assert_eq!((summary.findings, summary.errors, rows.len()), (1, 1, 2));
    assert!(
        matches!(&rows[0], Scanned::Error(RowError { reason, .. }) if reason.contains("longer")),
        "{rows:?}"
    );
}

#[test]
fn compressed_files_and_folders_give_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let text = [header(), call(1, "id_rsa"), header(), answer(1, "root:x:0:0")].join("\n");
    write(folder.path(), "a.jsonl", text.as_bytes());
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    write(folder.path(), "b.jsonl.gz", &packed.finish().unwrap());
    write(folder.path(), "notes.txt", b"Nothing to see.");
    let (rows, summary) = scan(&[folder.path().to_owned()], |scan| scan, 2).unwrap();
    let sessions: Vec<_> =
        findings(&rows).iter().map(|row| row.session.rsplit('/').next().unwrap().to_owned()).collect();
    let second = format!("@{}", header().len() + call(1, "id_rsa").len() + 2);
    assert_eq!(
        sessions,
        [
            "a.jsonl".to_owned(),
            format!("a.jsonl{second}"),
            "b.jsonl.gz".to_owned(),
            format!("b.jsonl.gz{second}")
        ]
    );
    assert_eq!((summary.files, summary.sessions, summary.messages, summary.passed_over.len()), (2, 4, 4, 1));
    // A file that is named has to be a recording.
    let named = scan(&[folder.path().join("notes.txt")], |scan| scan, 2);
    assert!(matches!(named, Err(ScanError::Import(_))));
}

#[test]
fn times_and_sessions_select_findings_and_change_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let text = [header(), call(30, "id_rsa"), call(90, "id_rsa"), header(), call(31, "id_rsa")].join("\n");
    let path = write(folder.path(), "a.jsonl", text.as_bytes());
    let name = path.to_string_lossy().into_owned();
    let seqs = |rows: &[Scanned]| findings(rows).iter().map(|row| row.seq).collect::<Vec<_>>();
    let since = TimeSpan { since: parse_time("2026-11-17T10:01:00Z"), until: None };
    assert_eq!(seqs(&scan(std::slice::from_ref(&path), |scan| scan.within(since), 1).unwrap().0), [90]);
    let until = TimeSpan { since: None, until: parse_time("2026-11-17T10:00:31Z") };
    assert_eq!(seqs(&scan(std::slice::from_ref(&path), |scan| scan.within(until), 1).unwrap().0), [30]);
    let (rows, _) = scan(std::slice::from_ref(&path), |scan| scan.of_sessions(vec![name]), 1).unwrap();
    assert_eq!(seqs(&rows), [30, 90]);
}

#[test]
fn ids_are_those_of_the_finding_and_not_of_who_found_it() {
    let lines = [header(), call(1, "id_rsa"), call(2, "id_rsa")].join("\n");
    let (one, two) = (in_order("f", lines.as_bytes()), in_order("f", lines.as_bytes()));
    assert_eq!(one, two);
    let [first, second] = findings(&one)[..] else { panic!() };
    assert_eq!(first.id.len(), 32);
    assert_ne!(first.id, second.id);
}

#[test]
fn a_scan_that_is_stopped_gives_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = header();
    for seq in 1..20_000 {
        text.push('\n');
        text.push_str(&call(seq, "id_rsa"));
    }
    let path = write(folder.path(), "a.jsonl", text.as_bytes());
    let progress = Arc::new(ScanProgress::default());
    let mut count = 0;
    let scan = Scan::new(rules(), RecordingFile::find(&[path]).unwrap());
    let stop = Arc::clone(&progress);
    let summary = scan.run(2, &progress, |rows| {
        count += rows.len();
        stop.stop();
        true
    });
    let summary = summary.unwrap();
    assert!(summary.interrupted);
    assert_eq!(summary.findings, count as u64);
    assert!((1..19_999).contains(&count), "{count}");
}
