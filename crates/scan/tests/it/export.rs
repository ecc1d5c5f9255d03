//! What is exported as Parquet gives the findings of what it was made of.

use std::fs::File;
use std::path::{Path, PathBuf};

use sortie_import::RecordingFile;
use sortie_scan::{Export, ExportError, Exported, FindingRow, Scan, ScanProgress, Scanned};

use crate::traffic::{answer, call, header, rules};

fn export(paths: &[PathBuf], out: &Path) -> Result<Exported, ExportError> {
    Export::new(RecordingFile::find(paths).unwrap()).write(File::create(out).unwrap())
}

/// All findings but for their source, in the order of ids.
fn findings(paths: &[PathBuf]) -> (Vec<FindingRow>, u64) {
    let mut rows = Vec::new();
    let scan = Scan::new(rules(), RecordingFile::find(paths).unwrap());
    let summary = scan.run(1, &ScanProgress::default(), |more| {
        rows.extend(more);
        true
    });
    let mut rows: Vec<_> = rows
        .into_iter()
        .map(|row| match row {
            Scanned::Finding(row) => FindingRow { source: String::new(), ..*row },
            Scanned::Error(error) => panic!("{error:?}"),
        })
        .collect();
    rows.sort_by(|left, right| (&left.id, &left.path).cmp(&(&right.id, &right.path)));
    (rows, summary.unwrap().messages)
}

#[test]
fn sessions_of_a_trace_are_found_again_with_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "a value that is long enough to flow";
    let first = [header(), answer(1, secret), call(2, secret), answer(3, "root:x:0:0")].join("\n");
    // The last line was being written.
    let second =
        [header(), call(4, "~/.ssh/id_rsa"), header(), call(1, secret), "{\"record\":".to_owned()].join("\n");
    std::fs::write(folder.path().join("a.jsonl"), first).unwrap();
    std::fs::write(folder.path().join("b.jsonl"), &second).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "Nothing to see.").unwrap();
    let out = folder.path().join("all.parquet");
    let sources = [folder.path().join("a.jsonl"), folder.path().join("b.jsonl")];
    let elsewhere = tempfile::tempdir().unwrap();
    let exported = export(&[folder.path().to_owned()], &elsewhere.path().join("x.parquet")).unwrap();
    assert_eq!((exported.written.sessions, exported.passed_over.len()), (3, 1));
    let written = export(&sources, &out).unwrap().written;
    assert_eq!((written.sessions, written.rows), (3, 8));
    std::fs::write(folder.path().join("b.jsonl"), second.rsplit_once('\n').unwrap().0).unwrap();
    let (expected, messages) = findings(&sources);
    assert_eq!(expected.len(), 3, "{expected:?}");
    assert!(expected.iter().any(|row| row.from.is_some()));
    assert_eq!(findings(std::slice::from_ref(&out)), (expected, messages));
    // What is exported again stays the same.
    let again = folder.path().join("again.parquet");
    assert_eq!(export(std::slice::from_ref(&out), &again).unwrap().written.rows, 8);
    assert_eq!(findings(&[again]), findings(&[out]));
}

#[test]
fn a_damaged_trace_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    for (lines, reason) in [
        (vec![header(), "{".to_owned(), call(1, "x")], "the line at byte"),
        (vec![header(), call(2, "x"), call(2, "x")], "is not after"),
    ] {
        std::fs::write(&path, lines.join("\n")).unwrap();
        let error = export(std::slice::from_ref(&path), &folder.path().join("out.parquet")).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}
