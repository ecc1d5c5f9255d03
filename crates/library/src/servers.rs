//! Recordings of real MCP servers, which documents that wrap a server are proved with.

use std::sync::LazyLock;

use serde_json::Value;

use crate::carried::carried;

/// A real server, as it was recorded.
#[derive(Debug, PartialEq, Eq)]
pub struct BundledServer {
    /// The name by which documents wrap it.
    pub name: &'static str,
    /// The recording, as JSON Lines.
    pub recording: &'static str,
}

impl BundledServer {
    /// Which server it was, and which version of it.
    pub fn recorded_from(&self) -> String {
        let header = self.recording.lines().next().unwrap_or_default();
        let header: Value = serde_json::from_str(header).unwrap_or_default();
        header["server"].as_str().unwrap_or_default().to_owned()
    }
}

static SERVERS: LazyLock<Vec<BundledServer>> = LazyLock::new(|| {
    let files = carried!("servers").into_iter();
    let named = files.filter_map(|(path, recording)| Some((path.strip_suffix(".jsonl")?, recording)));
    named.map(|(name, recording)| BundledServer { name, recording }).collect()
});

/// The recorded servers, by name.
pub fn servers() -> &'static [BundledServer] {
    &SERVERS
}
