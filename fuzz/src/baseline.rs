//! The body of the target `baseline`, without libFuzzer: `crates/report/tests/it/fuzz_corpus.rs` includes this file.

use std::path::Path;

use sortie_report::baseline::Baseline;

/// Reads any bytes as a baseline. What is read is written and read again as the same.
pub fn baseline(data: &[u8]) {
    let path = Path::new("sortie-baseline.jsonl");
    let Ok(read) = Baseline::parse(path, data) else { return };
    let written = read.to_text();
    let again =
        Baseline::parse(path, written.as_bytes()).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(again, read, "{written}");
    assert_eq!(again.to_text(), written);
}
