//! What a trace says about the recording that it was made of, when that was another program's.
//!
//! Silence in a recording means something only where the recording would have shown what is looked for. So an imported trace
//! says what its source [shows](RecordingInfo::shows) of whatever happens, and what this one [lacks](RecordingInfo::lacks) of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::record::Direction;

/// Where in the user's own file a message comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePlace {
    /// The file.
    pub file: String,
    /// The line in it, from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What it is called there, where a line does not tell: the id of a span, a member of an archive, a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
}

impl std::fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match &self.item {
            Some(item) => write!(f, " ({item})"),
            None => Ok(()),
        }
    }
}

/// The recording that a trace was made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordingInfo {
    /// The name of its format (`claude-code`).
    pub format: String,
    /// The session, conversation or sample, as its file calls it.
    pub session: String,
    /// What the source says about itself: `model`, `program`, `version`, and its own `verdict`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub about: Map<String, Value>,
    /// What it shows whenever it happens.
    pub shows: Vec<MessageClass>,
    /// What of that is missing in this recording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<Lack>,
    /// Why its end is missing: a clause (`the file ends in the middle of a line`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
    /// In which words the source says that the agent failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Messages of one protocol, operation and direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageClass {
    /// The protocol (`mcp`).
    pub protocol: String,
    /// The operation (`tools/call`).
    pub surface: String,
    /// Which half of an exchange.
    pub direction: Direction,
}

/// Messages that a recording lacks, wholly or in part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    /// Which.
    #[serde(flatten)]
    pub class: MessageClass,
    /// Why, for people: a clause (`the arguments of 3 calls were not recorded`).
    pub why: String,
    /// The setting that would have recorded them (`OTEL_LOG_TOOL_CONTENT=1`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
}
