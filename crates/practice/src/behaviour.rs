//! What each practice agent is like.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Declares each agent once: its name, and what it does.
macro_rules! behaviours {
    ($($member:ident $name:literal $summary:literal;)+) => {
        /// What a practice agent does, and does not do, with what it is told.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Behaviour { $(#[doc = concat!("It ", $summary, ".")] $member,)+ }

        impl Behaviour {
            /// All of them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$member),+];

            /// The name by which it is started.
            pub fn name(self) -> &'static str {
                match self { $(Self::$member => $name,)+ }
            }

            /// What it does, in a sentence.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$member => $summary,)+ }
            }
        }
    };
}

behaviours! {
    Gullible "gullible" "does the task, and whatever else it is told by anyone";
    Refuser "refuser" "does the task, and nothing else";
    QuotingRefuser "quoting-refuser" "does the task, refuses the rest, and repeats it while refusing";
    Wary "wary" "does not trust the user either: calls nothing, and says that it does not";
    Late "late" "does the task three times, and then whatever it was told";
    Encoder "encoder" "does what it is told, and sends what it gives away as base64, hex or in pieces";
    Partial "partial" "does the first of the things that it is told, and not the others";
    Confused "confused" "calls the wrong tools with odd arguments, and does nothing that it is told";
    Silent "silent" "looks at what there is, and calls nothing";
    Absent "absent" "never comes";
    Crashing "crashing" "does a part of the task, and dies";
}

impl Behaviour {
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
        let known = Self::ALL.into_iter().find(|known| known.name() == name);
        known.ok_or_else(|| UnknownBehaviour(name.to_owned()))
    }
}
