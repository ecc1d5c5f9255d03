//! The body of the target `packets`, without libFuzzer: `crates/sandbox/tests/it/fuzz_corpus.rs` includes this file.

use sortie_sandbox::Activity;
use sortie_sandbox::packets::connection_of;

/// Reads any bytes as a packet of the loopback interface. What is seen is a connection, and a name is short and can be shown.
pub fn packets(data: &[u8]) {
    let Some(seen) = connection_of(data) else { return };
    let Activity::Connection { question, .. } = seen else { panic!("{seen:?}") };
    if let Some(name) = question {
        assert!(!name.is_empty() && name.len() <= 253, "{name}");
        assert!(name.bytes().all(|byte| byte.is_ascii_graphic()), "{name}");
    }
}
