//! The body of the target `export`, without libFuzzer: `crates/spans/tests/it/main.rs` includes this file.

use sortie_spans::ExportItem;

/// Reads any bytes as an export of OTLP, JSON or protobuf. Each of its items alone is an export of that one item.
pub fn export(data: &[u8]) {
    for items in [ExportItem::split(data), ExportItem::split_protobuf(data)].into_iter().flatten() {
        for item in items {
            assert!(!item.line.contains(['\n', '\r']), "{}", item.line);
            let again = ExportItem::split(item.line.as_bytes());
            assert_eq!(again.as_deref(), Ok(&[item.clone()][..]), "{}", item.line);
        }
    }
}
