//! What a format is, and which one a file is in.

use std::{fmt, io};

use sortie_trace::foreign::MessageClass;

use crate::input::Input;
use crate::loss::Gap;
use crate::session::RecordedSession;

/// A format that recordings are in.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// What `--from` calls it (`claude-code`).
    pub name: &'static str,
    /// What it is, in a few words: `session files of Claude Code`.
    pub about: &'static str,
    /// What it shows whenever it happens: protocol, operation, and whether the asking half.
    pub shows: &'static [Shown],
    /// What it never carries.
    pub gaps: &'static [Gap],
    /// Whether a file is in it.
    pub recognizes: fn(&Head<'_>) -> bool,
    /// Reads a file.
    pub read: fn(&Format, Input<'_>, &mut Sink<'_>) -> Result<(), ImportError>,
}

/// Protocol, operation, half of the exchange.
pub type Shown = (&'static str, &'static str, sortie_trace::Direction);

/// Takes the sessions of a file, one after the other. What it fails with ends the reading.
pub type Sink<'s> = dyn FnMut(PendingSession) -> Result<(), ImportError> + 's;

/// A session of which everything was read. What is left to do needs the file no more, so that another thread can do it while the
/// file is read on: `cargo xtask bench imports`.
pub struct PendingSession(Box<dyn FnOnce() -> RecordedSession + Send>);

impl PendingSession {
    /// A session that `finish` puts together.
    pub fn new(finish: impl FnOnce() -> RecordedSession + Send + 'static) -> Self {
        Self(Box::new(finish))
    }

    /// Puts the session together.
    pub fn finish(self) -> RecordedSession {
        (self.0)()
    }
}

impl From<RecordedSession> for PendingSession {
    fn from(session: RecordedSession) -> Self {
        Self::new(|| session)
    }
}

impl fmt::Debug for PendingSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingSession").finish_non_exhaustive()
    }
}

impl Format {
    /// Reads a file, and hands over its sessions.
    ///
    /// A file in which there is none is an error: whatever it is, it is not a recording in this format.
    pub fn read(
        &self,
        input: Input<'_>,
        sink: &mut dyn FnMut(RecordedSession) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        self.read_pending(input, &mut |session| sink(session.finish()))
    }

    /// The same, with sessions that whoever takes them has to finish.
    pub fn read_pending(&self, input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
        let name = input.name.to_owned();
        let mut sessions = 0u64;
        let read = (self.read)(self, input, &mut |session| {
            sessions += 1;
            sink(session)
        });
        read.map_err(ImportError::shortened)?;
        if sessions == 0 {
            return Err(ImportError::Nothing { file: name, format: self.name });
        }
        Ok(())
    }

    /// What it shows whenever it happens.
    pub fn shows(&self) -> Vec<MessageClass> {
        let class = |&(protocol, surface, direction): &Shown| MessageClass {
            protocol: protocol.to_owned(),
            surface: surface.to_owned(),
            direction,
        };
        self.shows.iter().map(class).collect()
    }
}

/// The beginning of a file, by which its format is recognized.
#[derive(Clone, Copy, Debug)]
pub struct Head<'h> {
    /// The name of the file, without its folder and without `.gz` or `.zst`.
    pub name: &'h str,
    /// Its first bytes, decompressed.
    pub bytes: &'h [u8],
}

impl Head<'_> {
    /// Its first whole lines that are not blank, as text.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        let whole = self.bytes.split_inclusive(|byte| *byte == b'\n');
        let lines = whole.filter_map(|line| std::str::from_utf8(line).ok());
        lines.map(str::trim).filter(|line| !line.is_empty())
    }

    /// Whether one of its first lines has all of these keys at its top level, or is cut off and has the words of them.
    pub fn has_line_with(&self, keys: &[&str]) -> bool {
        self.lines()
            .take(20)
            .any(|line| keys.iter().all(|key| line.contains(&format!("\"{key}\""))) && line.starts_with('{'))
    }

    /// Whether it says all of these words.
    pub fn says(&self, words: &[&str]) -> bool {
        let text = String::from_utf8_lossy(self.bytes);
        words.iter().all(|word| text.contains(word))
    }
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be read.
    #[error("cannot read `{file}`: {source}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The file is not what its format takes.
    #[error("`{file}`{}: {message}", place(*.line))]
    Invalid {
        /// The file.
        file: String,
        /// The line, from one; zero for none in particular.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// It is larger than is read.
    #[error("`{file}`: {what}; no more than {limit} bytes are read")]
    TooLarge {
        /// The file.
        file: String,
        /// What is too large.
        what: String,
        /// The bound.
        limit: u64,
    },
    /// There is no session in it.
    #[error("`{file}`: there is no session in it that `{format}` knows")]
    Nothing {
        /// The file.
        file: String,
        /// The format.
        format: &'static str,
    },
    /// Nobody knows what it is.
    #[error("`{file}`: its format is unknown")]
    Unknown {
        /// The file.
        file: String,
    },
    /// Whoever takes the sessions cannot go on.
    #[error("{0}")]
    Stopped(String),
}

/// How much of what is wrong is said, in characters: a file may have put its own words there.
const MESSAGE: usize = 400;

impl ImportError {
    fn shortened(mut self) -> Self {
        if let Self::Invalid { message, .. } = &mut self
            && let Some((at, _)) = message.char_indices().nth(MESSAGE)
        {
            message.truncate(at);
            message.push('…');
        }
        self
    }
}

fn place(line: u64) -> String {
    if line == 0 { String::new() } else { format!(", line {line}") }
}
