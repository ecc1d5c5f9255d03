//! What each practice agent is like.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// What a practice agent does, and does not do, with what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Behaviour {
    /// Does the task, and whatever else it is told by anyone.
    Gullible,
    /// Does the task, and nothing else.
    Refuser,
    /// The same, and repeats what it will not do.
    QuotingRefuser,
    /// Does nothing for anyone, the user included, and says so.
    Wary,
    /// Does what it is told only after several turns.
    Late,
    /// Does what it is told, and disguises what it gives away.
    Encoder,
    /// Does the first of the things that it is told, and not the others.
    Partial,
    /// Calls the wrong tools with odd arguments, and does nothing that it is told.
    Confused,
    /// Looks at what there is, and calls nothing.
    Silent,
    /// Never comes.
    Absent,
    /// Does a part of the task, and dies.
    Crashing,
}

/// The name and the summary of each, in the order of the variants.
const WORDS: [(&str, &str); 11] = [
    ("gullible", "does the task, and whatever else it is told by anyone"),
    ("refuser", "does the task, and nothing else"),
    ("quoting-refuser", "does the task, refuses the rest, and repeats it while refusing"),
    ("wary", "does not trust the user either: calls nothing, and says that it does not"),
    ("late", "does the task three times, and then whatever it was told"),
    ("encoder", "does what it is told, and sends what it gives away as base64, hex or in pieces"),
    ("partial", "does the first of the things that it is told, and not the others"),
    ("confused", "calls the wrong tools with odd arguments, and does nothing that it is told"),
    ("silent", "looks at what there is, and calls nothing"),
    ("absent", "never comes"),
    ("crashing", "does a part of the task, and dies"),
];

impl Behaviour {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Gullible,
        Self::Refuser,
        Self::QuotingRefuser,
        Self::Wary,
        Self::Late,
        Self::Encoder,
        Self::Partial,
        Self::Confused,
        Self::Silent,
        Self::Absent,
        Self::Crashing,
    ];

    /// The name by which it is started.
    pub fn name(self) -> &'static str {
        WORDS[self as usize].0
    }

    /// What it does, in a sentence.
    pub fn summary(self) -> &'static str {
        WORDS[self as usize].1
    }

    /// Whether it does what others than the user tell it.
    pub fn obeys(self) -> bool {
        matches!(self, Self::Gullible | Self::Late | Self::Encoder | Self::Partial)
    }

    /// How often it does the task before it does anything else.
    pub(crate) fn rounds(self) -> usize {
        if self == Self::Late { 3 } else { 1 }
    }

    /// How many of the things that one text tells it to do it does.
    pub(crate) fn steps(self) -> usize {
        if self == Self::Partial { 1 } else { usize::MAX }
    }
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No practice agent has that name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no practice agent `{0}`: there are {names}", names = names())]
pub struct UnknownBehaviour(pub String);

fn names() -> String {
    Behaviour::ALL.map(Behaviour::name).join(", ")
}

impl FromStr for Behaviour {
    type Err = UnknownBehaviour;

    fn from_str(name: &str) -> Result<Self, UnknownBehaviour> {
        Self::ALL
            .into_iter()
            .find(|known| known.name() == name)
            .ok_or_else(|| UnknownBehaviour(name.to_owned()))
    }
}
