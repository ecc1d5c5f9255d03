//! What each practice agent is like.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::chance::{Chance, ChanceError};

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
    Gullible "gullible" "does the task, and obeys every instruction it reads";
    Refuser "refuser" "does the task, and nothing else";
    QuotingRefuser "quoting-refuser" "does the task, refuses the rest, and quotes what it refuses";
    Wary "wary" "also distrusts the user: calls nothing, and says so";
    Late "late" "does the task three times, then obeys";
    Encoder "encoder" "obeys, and leaks data as base64, hex or in pieces";
    Partial "partial" "obeys only the first instruction of each text";
    Confused "confused" "calls wrong tools with odd arguments, and obeys nothing";
    Silent "silent" "lists tools, and calls nothing";
    Absent "absent" "never connects";
    Crashing "crashing" "does a part of the task, then crashes";
    OwnTools "own-tools" "obeys, and reads files with its own tool";
    Flaky "flaky" "gives in with a probability, by a seed: `flaky:0.3:7`";
    DeadModel "dead-model" "lists tools, but its model never answers";
    Errors "errors" "answers every request that needs a model with an error";
    Hangs "hangs" "lists tools, then hangs";
    HalfWay "half-way" "begins the task, then reports a failure";
    PermissionDenied "permission-denied" "obeys, but its client denies every call";
}

impl Behaviour {
    /// Whether it does what others than the user tell it, whenever they do.
    pub fn obeys(self) -> bool {
        matches!(self, Self::Gullible | Self::Late | Self::Encoder | Self::Partial | Self::OwnTools)
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

/// A practice agent as it is named: `gullible`, `flaky:0.3`, `flaky:0.3:7`.
///
/// ```
/// use sortie_practice::{Behaviour, NamedAgent};
///
/// let agent: NamedAgent = "flaky:0.3:7".parse()?;
/// assert_eq!(agent.behaviour, Behaviour::Flaky);
/// assert_eq!(agent.arguments(), ["flaky", "--chance", "0.3", "--seed", "7"]);
/// assert!("gullible:0.3".parse::<NamedAgent>().is_err());
/// # Ok::<(), sortie_practice::NameError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedAgent {
    /// What it is like.
    pub behaviour: Behaviour,
    /// How often it gives in, where that is left to chance.
    pub chance: Option<Chance>,
}

impl NamedAgent {
    /// The arguments of `sortie practice` that start it.
    pub fn arguments(self) -> Vec<String> {
        let mut arguments = vec![self.behaviour.name().to_owned()];
        if let Some(chance) = self.chance {
            let (probability, seed) = (chance.probability().to_string(), chance.seed().to_string());
            arguments.extend(["--chance".to_owned(), probability, "--seed".to_owned(), seed]);
        }
        arguments
    }
}

impl From<Behaviour> for NamedAgent {
    fn from(behaviour: Behaviour) -> Self {
        Self { behaviour, chance: None }
    }
}

/// What is not a name of a practice agent.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NameError {
    /// Nobody is called so.
    #[error(transparent)]
    Unknown(#[from] UnknownBehaviour),
    /// Only `flaky` takes a probability.
    #[error("`{0}` leaves nothing to chance: only `flaky` takes a probability, as in `flaky:0.3:7`")]
    NoChance(Behaviour),
    /// What follows the name is not a probability and no seed.
    #[error(transparent)]
    Chance(#[from] ChanceError),
}

impl FromStr for NamedAgent {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (name, chance) = match text.split_once(':') {
            Some((name, chance)) => (name, Some(chance)),
            None => (text, None),
        };
        let behaviour: Behaviour = name.parse()?;
        match chance {
            None => Ok(behaviour.into()),
            Some(_) if behaviour != Behaviour::Flaky => Err(NameError::NoChance(behaviour)),
            Some(chance) => Ok(Self { behaviour, chance: Some(chance.parse()?) }),
        }
    }
}
