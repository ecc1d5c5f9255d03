//! Why an exchange is not in the cache.

use std::fmt;

use serde_json::Value;

/// How much of a text is shown beside where it differs.
const SHOWN: usize = 40;

/// An exchange that is asked for and was not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// With whom.
    pub endpoint: String,
    /// What for.
    pub purpose: String,
    /// For the how manieth time.
    pub ordinal: u32,
    /// What was recorded that is nearest to it.
    pub near: Near,
}

/// What was recorded instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Near {
    /// Nothing at all.
    Empty,
    /// Exchanges with others only.
    OtherEndpoints(Vec<String>),
    /// The same request, for these ordinals.
    OtherOrdinals(Vec<u32>),
    /// Another request, for this purpose.
    Request {
        /// What that one was for.
        purpose: String,
        /// Where it differs, as a JSON pointer.
        at: String,
        /// What is recorded there.
        recorded: String,
        /// What is asked now.
        asked: String,
    },
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not recorded: {}, asking {}", self.purpose, self.endpoint)?;
        if self.ordinal > 0 {
            write!(f, " (ordinal {})", self.ordinal)?;
        }
        match &self.near {
            Near::Empty => write!(f, "; nothing is recorded"),
            Near::OtherEndpoints(others) => write!(f, "; recorded are exchanges with {}", others.join(", ")),
            Near::OtherOrdinals(ordinals) => {
                let ordinals: Vec<_> = ordinals.iter().map(ToString::to_string).collect();
                write!(f, "; the same request is recorded for ordinal {}", ordinals.join(", "))
            }
            Near::Request { purpose, at, recorded, asked } => {
                write!(
                    f,
                    "; the request recorded for {purpose} has `{recorded}` at `{at}`, this one `{asked}`"
                )
            }
        }
    }
}

/// The first place where two requests differ, how much of the first they share up to there, and what stands in each.
pub(super) struct Difference {
    pub(super) shared: usize,
    pub(super) at: String,
    pub(super) recorded: String,
    pub(super) asked: String,
}

pub(super) fn difference(recorded: &Value, asked: &Value) -> Option<Difference> {
    let mut walk = Walk { shared: 0, at: String::new() };
    let (recorded, asked) = walk.differ(recorded, asked)?;
    Some(Difference { shared: walk.shared, at: walk.at, recorded, asked })
}

struct Walk {
    shared: usize,
    at: String,
}

impl Walk {
    fn differ(&mut self, recorded: &Value, asked: &Value) -> Option<(String, String)> {
        match (recorded, asked) {
            (Value::Object(a), Value::Object(b)) => {
                let kept = a.iter().map(|(name, recorded)| (name, Some(recorded), b.get(name)));
                let added = b.iter().filter(|(name, _)| !a.contains_key(*name));
                let mut both = kept.chain(added.map(|(name, asked)| (name, None, Some(asked))));
                both.find_map(|(name, recorded, asked)| self.within(name, recorded, asked))
            }
            (Value::Array(a), Value::Array(b)) => {
                let mut both = a.iter().zip(b).enumerate();
                let found = both.find_map(|(at, (a, b))| self.within(&at.to_string(), Some(a), Some(b)));
                found.or_else(|| {
                    (a.len() != b.len()).then(|| (format!("{} items", a.len()), format!("{} items", b.len())))
                })
            }
            (Value::String(a), Value::String(b)) => {
                let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
                self.shared += same;
                (a != b).then(|| (around(a, same), around(b, same)))
            }
            (a, b) => {
                self.shared += usize::from(a == b);
                (a != b).then(|| (brief(a), brief(b)))
            }
        }
    }

    /// The same one step further in. The path stays where they differ.
    fn within(
        &mut self,
        name: &str,
        recorded: Option<&Value>,
        asked: Option<&Value>,
    ) -> Option<(String, String)> {
        let length = self.at.len();
        self.at.push('/');
        self.at.push_str(&name.replace('~', "~0").replace('/', "~1"));
        let shown = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), brief);
        let found = match (recorded, asked) {
            (Some(recorded), Some(asked)) => self.differ(recorded, asked),
            _ => Some((shown(recorded), shown(asked))),
        };
        if found.is_none() {
            self.at.truncate(length);
        }
        found
    }
}

fn brief(value: &Value) -> String {
    around(&value.to_string(), 0)
}

/// A piece of a text from shortly before a place, with line breaks shown.
fn around(text: &str, place: usize) -> String {
    let from = text.floor_char_boundary(place.saturating_sub(SHOWN / 4));
    let piece: String = text[from..].chars().take(SHOWN).collect();
    let more = from + piece.len() < text.len();
    format!("{}{}{}", if from > 0 { "…" } else { "" }, piece.escape_debug(), if more { "…" } else { "" })
}
