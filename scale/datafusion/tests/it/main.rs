//! Tests of the functions, over the recordings of the repository.

mod findings;
mod scan;
mod verdict;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use sortie_import::RecordingFile;
use sortie_scale_check::corpus::{self, CorpusSize};
use sortie_scale_check::rows::{RowScope, differences, rows_of};
use sortie_scan::{Export, Scan, ScanProgress};

/// A session with the functions, in so many partitions.
fn session(partitions: usize) -> SessionContext {
    let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(partitions))
        .enable_url_table();
    sortie_datafusion::register(&session);
    session
}

fn json_lines(batches: &[RecordBatch]) -> String {
    let mut writer = LineDelimitedWriter::new(Vec::new());
    writer.write_batches(&batches.iter().collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
    String::from_utf8(writer.into_inner()).unwrap()
}

/// The result of a query as JSON Lines.
async fn query(session: &SessionContext, sql: &str) -> Result<String> {
    Ok(json_lines(&session.sql(sql).await?.collect().await?))
}

/// What `sortie scan` finds, as JSON Lines.
fn scanned(paths: &[PathBuf], ruleset: &str) -> String {
    let ruleset = sortie_datafusion::LoadedRuleset::named(ruleset).unwrap();
    let files = RecordingFile::find(paths).unwrap();
    let rows = Mutex::new(String::new());
    let scan = Scan::new(Arc::clone(ruleset.rules()), files);
    scan.run(2, &ScanProgress::default(), |found| {
        let mut rows = rows.lock().unwrap();
        for row in found {
            *rows += &serde_json::to_string(&row).unwrap();
            rows.push('\n');
        }
        true
    })
    .unwrap();
    rows.into_inner().unwrap()
}

/// Fails with the rows that only one side has.
fn assert_same(left: &str, right: &str, scope: RowScope) -> usize {
    let (left, right) = (rows_of(left, scope).unwrap(), rows_of(right, scope).unwrap());
    let found = differences(&left, &right, 5);
    assert!(found.is_empty(), "{} rows against {}:\n{}", left.len(), right.len(), found.join("\n"));
    left.len()
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Some thousand messages in two files.
fn write_corpus(folder: &Path) {
    let recordings = corpus::recordings(repository()).unwrap();
    let size = CorpusSize { messages: 6_000, bytes: u64::MAX, file: 2_000_000 };
    let written = corpus::write(&recordings, folder, size).unwrap();
    assert!(written.files > 1 && written.sessions > 100, "{written:?}");
}

/// The same as one Parquet file.
fn export(paths: &[PathBuf], out: &Path) {
    let files = RecordingFile::find(paths).unwrap();
    Export::new(files).write(std::fs::File::create(out).unwrap()).unwrap();
}
