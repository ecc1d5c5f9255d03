//! A2A 0.3 and 1.0: the same operations under other names, the same objects in another form.
//!
//! Documents, triggers and indicators use the words of 0.3. A peer of 1.0 is answered in its own words, and what it says is
//! shown in those of 0.3. Both are the same table, read from the left or from the right.
//!
//! | 0.3 | 1.0 |
//! |---|---|
//! | `message/send`, `tasks/get`, … | `SendMessage`, `GetTask`, … |
//! | `"state": "input-required"`, `"role": "user"` | `"TASK_STATE_INPUT_REQUIRED"`, `"ROLE_USER"` |
//! | `{"kind": "text", "text": …}` | `{"text": …}` |
//! | `{"kind": "file", "file": {"bytes", "uri", "name", "mimeType"}}` | `{"raw", "url", "filename", "mediaType"}` |
//! | a result or an item of a stream says its `kind` | it is the only member of an object: `task`, `message`, `statusUpdate`, `artifactUpdate` |
//! | `final` of a status update | nothing: the state says it |
//! | `blocking` | `returnImmediately`, the other way round |
//! | `pushNotificationConfig` within `{"taskId"}` | its members beside `taskId` |
//! | `schemes` of push authentication | `scheme`, when there is one |
//!
//! Members that neither version knows, and values that are no such object, stay as they are, to the byte.

mod card;
mod operation;
mod part;
mod request;
mod rewrite;
mod shape;
mod stream;
mod tasks;

use std::fmt;

pub use card::{AgentInterface, complete_card, has_extended_card, interfaces};
pub use operation::{Operation, error_details};
pub use request::A2aRequest;
pub use stream::{StreamItem, TaskObject, stream_items};
pub use tasks::{list_tasks, with_history};

/// The header with which a client of 1.0 says what it speaks.
pub const VERSION_HEADER: &str = "a2a-version";

/// A version of A2A that is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum A2aVersion {
    /// 0.3, the words of documents.
    V0_3,
    /// 1.0.
    V1_0,
}

impl A2aVersion {
    /// All of them, oldest first.
    pub const ALL: [Self; 2] = [Self::V0_3, Self::V1_0];

    /// As the header and cards have it: the major and the minor number.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
        }
    }

    /// The version that a header or a card names. Patch numbers do not matter.
    ///
    /// ```
    /// use sortie_protocol::a2a::A2aVersion;
    ///
    /// assert_eq!(A2aVersion::parse("1.0.1"), Some(A2aVersion::V1_0));
    /// assert_eq!(A2aVersion::parse("1.1"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim().splitn(3, '.');
        let minor = format!("{}.{}", numbers.next()?, numbers.next()?);
        Self::ALL.into_iter().find(|version| version.as_str() == minor)
    }
}

impl fmt::Display for A2aVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
