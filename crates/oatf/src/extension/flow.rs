//! `x-sortie.flow` of an indicator: a value that first came in by a source later leaves by the sink.
//!
//! The indicator keeps its `pattern` or `expression`, which any tool can evaluate, and the flow narrows it: both must hold for
//! the same message. So a tool that does not know flows sees more matches, and never fewer.

use serde::Serialize;
use sortie_expr::path::WildcardPath;
use sortie_syntax::closed_enum;

use super::{ActorNames, KEY, Placed, Reader, texts};
use crate::model::{Direction, Document, Indicator};
use sortie_syntax::NodePath;

/// Fewer characters than this are found in any two texts.
pub const LEAST_LENGTH: usize = 8;

/// More than this is no longer a value.
pub const MOST_LENGTH: usize = 256;

/// What counts where the document does not say. Two texts about the same subject share shorter pieces by chance.
pub const DEFAULT_LENGTH: usize = 20;

/// A value that comes in by a source and leaves by the sink, which is what the indicator looks at.
///
/// ```
/// let document = sortie_oatf::load("
/// oatf: '0.1'
/// attack:
///   execution: {mode: mcp_server, state: {tools: []}}
///   indicators:
///     - surface: tools/call
///       direction: request
///       target: arguments
///       pattern: {condition: {exists: true}}
///       x-sortie:
///         flow:
///           from: {surface: tools/call, direction: response, tool: read_*}
///           to: {tool: send_*}
/// ").unwrap().document;
/// let flow = sortie_oatf::extension::flow::Flow::of(&document.attack.indicators.as_ref().unwrap()[0]).unwrap();
/// assert_eq!((flow.from.protocol.as_deref(), flow.min_length), (Some("mcp"), 20));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// The messages that a value comes in by.
    pub from: FlowSource,
    /// What narrows the sink.
    pub to: FlowSink,
    /// How many characters must have come in and left, without white space where that is left out.
    pub min_length: usize,
    /// The ways in which a value is recognised beside as it is.
    pub decode: Vec<Decoding>,
}

/// A class of messages that a value comes in by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowSource {
    /// The protocol; that of the indicator when absent.
    pub protocol: Option<String>,
    /// The operation.
    pub surface: String,
    /// The side of the exchange; when absent, the side that the agent does not send.
    pub direction: Option<Direction>,
    /// The actor whose traffic counts.
    pub actor: Option<String>,
    /// The name of the tool, with `*` for any characters.
    pub tool: Option<String>,
    /// Wildcard dot-path to what counts of a message; all of it when absent.
    pub path: Option<String>,
}

/// What narrows the messages that an indicator looks at, and what counts of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowSink {
    /// The name of the tool, with `*` for any characters.
    pub tool: Option<String>,
    /// Wildcard dot-path to what counts of a message; the target of the indicator when absent.
    pub path: Option<String>,
    /// The part of a text that counts; all of it when absent.
    pub within: Option<TextPart>,
}

closed_enum! {
    /// A way in which a value is recognised though it was changed.
    Decoding {
        /// Base64, with either alphabet.
        Base64 = "base64",
        /// Hexadecimal digits.
        Hex = "hex",
        /// Percent-encoding, as in URLs.
        Url = "url",
        /// Upper and lower case of A to Z are the same.
        Case = "case",
        /// White space does not count.
        Space = "space",
    }
    /// A part of a text by which it leaves.
    TextPart {
        /// The URLs in it.
        Url = "url",
        /// The URLs of the images in it: Markdown and HTML. Whoever shows the text fetches them.
        ImageUrl = "image_url",
    }
}

impl Flow {
    /// The flow of an indicator. `None` where it has none, or one that S-010 refuses.
    pub fn of(indicator: &Indicator) -> Option<Self> {
        let mut reader = Reader::default();
        let flow = reader.indicator(indicator, NodePath::root());
        flow.filter(|_| reader.errors.is_empty())
    }
}

/// Whether a name matches a pattern in which `*` stands for any characters.
///
/// ```
/// use sortie_oatf::extension::flow::matches_name;
///
/// assert!(matches_name("read_*", "read_file") && matches_name("*", "") && matches_name("a*c*", "abcd"));
/// assert!(!matches_name("read_*", "reread_file") && !matches_name("read", "read_file"));
/// ```
pub fn matches_name(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    // The leftmost place for each piece leaves most room for those after it.
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

const EXAMPLE: &str = "for example `flow: {from: {surface: tools/call, direction: response, tool: read_*}, to: {tool: send_*}}`";

impl Reader {
    /// The extension of an indicator.
    pub(super) fn indicator(&mut self, indicator: &Indicator, path: NodePath) -> Option<Flow> {
        let value = indicator.extensions.get(KEY)?;
        let own = Placed { value, path: path.key(KEY) };
        if !self.is_mapping(&own, texts::INDICATOR_KEYS) {
            return None;
        }
        self.texts(&own, indicator);
        let at = own.get("flow")?;
        if indicator.semantic.is_some() {
            let help = "write a `pattern` or an `expression`: a flow is found without a model";
            self.error(at.path.clone(), "a flow does not stand beside `semantic`", help);
        }
        self.flow(&at, indicator)
    }

    fn flow(&mut self, at: &Placed<'_>, indicator: &Indicator) -> Option<Flow> {
        if !self.is_mapping(at, &["from", "to", "min_length", "decode"]) {
            return None;
        }
        let from = self.required(at, "from", EXAMPLE).and_then(|from| self.source(&from));
        let to = at.get("to").map_or_else(|| Some(FlowSink::default()), |to| self.sink(&to));
        let length = at.get("min_length").map_or(Some(DEFAULT_LENGTH), |length| self.length(&length));
        let decode = at.get("decode").map_or_else(|| Decoding::ALL.to_vec(), |decode| self.decode(&decode));
        let mut from = from?;
        from.protocol = from.protocol.or_else(|| indicator.protocol.clone());
        Some(Flow { from, to: to?, min_length: length?, decode })
    }

    fn source(&mut self, at: &Placed<'_>) -> Option<FlowSource> {
        if !self.is_mapping(at, &["protocol", "surface", "direction", "actor", "tool", "path"]) {
            return None;
        }
        let surface = self.required_text(at, "surface", EXAMPLE);
        let direction = at.get("direction").and_then(|at| self.word(&at, Direction::WORDS));
        Some(FlowSource {
            protocol: at.get("protocol").and_then(|protocol| self.text(&protocol)),
            direction: direction.and_then(|word| word.parse().ok()),
            actor: at.get("actor").and_then(|actor| self.text(&actor)),
            tool: at.get("tool").and_then(|tool| self.text(&tool)),
            path: at.get("path").and_then(|path| self.path(&path)),
            surface: surface?,
        })
    }

    fn sink(&mut self, at: &Placed<'_>) -> Option<FlowSink> {
        if !self.is_mapping(at, &["tool", "path", "within"]) {
            return None;
        }
        let within = at.get("within").and_then(|at| self.word(&at, TextPart::WORDS));
        Some(FlowSink {
            tool: at.get("tool").and_then(|tool| self.text(&tool)),
            path: at.get("path").and_then(|path| self.path(&path)),
            within: within.and_then(|word| word.parse().ok()),
        })
    }

    fn path(&mut self, at: &Placed<'_>) -> Option<String> {
        let path = self.text(at)?;
        if WildcardPath::parse(&path).is_err() {
            let help = "for example `arguments.body` or `content[*].text`";
            self.error(at.path.clone(), "this is not a path", help);
            return None;
        }
        Some(path)
    }

    fn length(&mut self, at: &Placed<'_>) -> Option<usize> {
        let length = at.value.as_u64().and_then(|length| usize::try_from(length).ok());
        let length = length.filter(|length| (LEAST_LENGTH..=MOST_LENGTH).contains(length));
        if length.is_none() {
            let message = format!("this must be a number from {LEAST_LENGTH} to {MOST_LENGTH}");
            let help = format!(
                "it is the number of characters that must have come in and left; {DEFAULT_LENGTH} when left out"
            );
            self.error(at.path.clone(), message, help);
        }
        length
    }

    fn decode(&mut self, at: &Placed<'_>) -> Vec<Decoding> {
        // An empty list asks for values as they are.
        if at.value.as_array().is_some_and(Vec::is_empty) {
            return Vec::new();
        }
        let words = self.list(at, "for example `[base64, url]`", |reader, at| {
            reader.word(at, Decoding::WORDS)?.parse().ok()
        });
        let mut words: Vec<Decoding> = words;
        words.sort_unstable();
        words.dedup();
        words
    }

    /// One of a few words.
    pub(super) fn word<'v>(&mut self, at: &Placed<'v>, known: &'static [&'static str]) -> Option<&'v str> {
        let word = at.value.as_str();
        if let Some(word) = word.filter(|word| known.contains(word)) {
            return Some(word);
        }
        let list = known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let error = self.error(at.path.clone(), "this word means nothing here", "");
        error.meant =
            word.and_then(|word| sortie_syntax::nearest(word, known.iter().copied())).map(str::to_owned);
        error.help = error.meant.is_none().then(|| format!("the words are {list}"));
        None
    }

    /// What the indicators of a document say, and the names in it.
    pub(super) fn indicators(&mut self, document: &Document) {
        let actors = ActorNames::all(document);
        for (path, indicator) in document.indicators() {
            self.indicator(indicator, path.clone());
            let own = indicator.extensions.get(KEY).map(|value| Placed { value, path: path.key(KEY) });
            if let Some(from) = own.and_then(|own| own.get("flow")?.get("from")) {
                self.actor(&actors, &from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_piece_by_piece() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("**", "x", true),
        ] {
            assert_eq!(matches_name(pattern, name), expected, "{pattern} {name}");
        }
    }
}
