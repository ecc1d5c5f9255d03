//! Takes secrets out of what was said, before it is stored or evaluated.

mod json;
mod rule;
mod text;

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::content::Content;
use crate::record::{Header, Record, TracedDocument, TracedPlay};
use crate::wrapped::MessageChange;
use rule::{MIN_LITERAL, PathRule, is_credential_header};
pub use rule::{RedactError, RedactRule};
use text::TextRules;

const REDACTED: &str = "[redacted]";

/// Takes secrets out of records, by [`RedactRule`]s.
///
/// JSON stays JSON, and whatever is not a secret stays as it was, to the byte. The default has no rules, and takes only
/// credentials out of [headers](Self::header).
///
/// ```
/// use sortie_trace::{Redactor, RedactRule};
///
/// let redactor = Redactor::new([RedactRule::Literal("s3cr3t".into()), RedactRule::Field("password".into())]).unwrap();
/// assert_eq!(redactor.text("the key is s3cr3t!"), "the key is [redacted]!");
/// assert_eq!(
///     redactor.json(r#"{"n": 1.00, "k\u0065y": "\u00733cr3t", "Password": {"a": 1}}"#),
///     r#"{"n": 1.00, "k\u0065y": "[redacted]", "Password": "[redacted]"}"#
/// );
/// assert_eq!(redactor.header("Authorization", "Bearer abc"), "[redacted]");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    text: TextRules,
    /// In lower case, as is what is compared with them.
    fields: HashSet<String>,
    headers: HashSet<String>,
    paths: Vec<PathRule>,
}

impl Redactor {
    /// What stands in the place of a secret.
    pub const MARKER: &str = REDACTED;
    /// The shortest literal that is accepted, in characters. A shorter one stands by chance all over a trace.
    pub const MIN_LITERAL: usize = MIN_LITERAL;

    /// Checks and compiles rules.
    pub fn new(rules: impl IntoIterator<Item = RedactRule>) -> Result<Self, RedactError> {
        let mut redactor = Self::default();
        for rule in rules {
            match rule {
                RedactRule::Literal(literal) => redactor.text.add_literal(&literal)?,
                RedactRule::Regex(pattern) => redactor.text.add_pattern(&pattern)?,
                RedactRule::Field(name) => {
                    redactor.fields.insert(rule::name(&name)?);
                }
                RedactRule::Header(name) => {
                    redactor.headers.insert(rule::name(&name)?);
                }
                RedactRule::Path(path) => redactor.paths.push(PathRule::parse(&path)?),
            }
        }
        Ok(redactor)
    }

    /// Whether there is no rule, so that every record stays as it is.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.looks_at_places()
    }

    fn looks_at_places(&self) -> bool {
        !(self.fields.is_empty() && self.headers.is_empty() && self.paths.is_empty())
    }

    /// Redacts everything in a record that a peer, a document or the system has a say in. The names of actors, modes,
    /// phases and protocols stay: records are selected by them.
    pub fn redact(&self, record: &mut Record) {
        if self.is_empty() {
            return;
        }
        match record {
            Record::Header(header) => self.redact_header(header),
            Record::Message(message) => {
                message.surfaces.iter_mut().for_each(|surface| self.text_in_place(surface));
                self.text_in_place(&mut message.connection);
                message.refused.iter_mut().for_each(|words| self.text_in_place(words));
                if let Some(id) = &mut message.id {
                    self.value_in_place(id);
                }
                if let Some(redacted) = self.content(&message.content) {
                    message.content = redacted;
                }
                let changes = message.wrapped.iter_mut().flat_map(|wrapped| &mut wrapped.changes);
                changes.for_each(|change| self.change_in_place(change));
            }
            Record::Listening(listening) => self.text_in_place(&mut listening.url),
            Record::ActorFailed(failed) => self.text_in_place(&mut failed.message),
            Record::Stopped(stopped) => stopped.message.iter_mut().for_each(|text| self.text_in_place(text)),
            Record::Phase(_) | Record::AgentExit(_) => {}
        }
    }

    /// A piece of a message has lost its place, so that rules for places cannot be followed: then it is left out.
    fn change_in_place(&self, change: &mut MessageChange) {
        for piece in [&mut change.before, &mut change.after] {
            if self.looks_at_places() {
                *piece = None;
            } else if let Some(json) = piece
                && let Some(Content::Json(redacted)) = self.content(&Content::Json(json.clone()))
            {
                *piece = Some(redacted);
            }
        }
    }

    /// The same for a header.
    pub fn redact_header(&self, header: &mut Header) {
        if let Some(TracedDocument { file, id, name }) = &mut header.document {
            [file].into_iter().chain(id).chain(name).for_each(|text| self.text_in_place(text));
        }
        if let Some(case) = &mut header.case {
            case.values.values_mut().for_each(|value| self.text_in_place(value));
            case.control_failure.iter_mut().for_each(|why| self.text_in_place(why));
            match &mut case.play {
                TracedPlay::Seeds(seeds) => seeds.iter_mut().for_each(|text| self.text_in_place(text)),
                TracedPlay::Call { tool, arguments } => {
                    self.text_in_place(tool);
                    self.members_in_place("arguments", arguments);
                }
                TracedPlay::Series { tool, calls } => {
                    self.text_in_place(tool);
                    for arguments in calls {
                        self.members_in_place("arguments", arguments);
                    }
                }
                TracedPlay::Review { text } => self.text_in_place(text),
                TracedPlay::Connection { headers } => self.members_in_place("headers", headers),
            }
        }
        header.canaries.retain(|_, value| self.text(value) == value.as_str());
        if let Some(target) = &mut header.target {
            self.text_in_place(&mut target.identity);
            self.members_in_place("settings", &mut target.settings);
        }
    }

    /// A text by the rules for text: literals and patterns. For what is kept beside a trace, such as the output of the
    /// agent.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.text.redacted(text).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// A JSON text. Broken JSON in which something may be hidden is replaced whole.
    pub fn json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let redacted = match serde_json::from_str::<&RawValue>(text) {
            Ok(_) => self.redacted_json(text),
            Err(_) => {
                self.redacted_bytes(text.as_bytes()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            }
        };
        redacted.map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// The value of an HTTP header. Credentials never stay, whatever the rules are.
    pub fn header<'t>(&self, name: &str, value: &'t str) -> Cow<'t, str> {
        if is_credential_header(name) || self.headers.contains(&name.to_ascii_lowercase()) {
            return Cow::Borrowed(REDACTED);
        }
        self.text(value)
    }

    fn text_in_place(&self, text: &mut String) {
        if let Some(redacted) = self.text.redacted(text) {
            *text = redacted;
        }
    }

    fn value_in_place(&self, value: &mut Value) {
        if let Some(redacted) = self.redacted_json(&value.to_string()) {
            *value = serde_json::from_str(&redacted).unwrap_or_else(|_| REDACTED.into());
        }
    }

    /// The members of an object of that name, as they would be redacted in a message.
    fn members_in_place(&self, name: &str, members: &mut Map<String, Value>) {
        let mut whole =
            Value::Object(Map::from_iter([(name.to_owned(), Value::Object(std::mem::take(members)))]));
        self.value_in_place(&mut whole);
        if let Some(Value::Object(left)) = whole.get_mut(name) {
            *members = std::mem::take(left);
        }
    }

    /// The content without its secrets, if it has any.
    fn content(&self, content: &Content) -> Option<Content> {
        match content {
            Content::Json(json) => {
                let redacted = RawValue::from_string(self.redacted_json(json.get())?);
                // It is JSON by construction. Should it not be, there is no content rather than a secret.
                Some(redacted.map_or_else(|_| Content::Bytes(text::dropped()), Content::Json))
            }
            Content::Bytes(_) => self.redacted_base64(content).map(Content::Bytes),
        }
    }
}
