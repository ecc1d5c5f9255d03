//! Whether a judge's quotes are the target's words.

use serde_json::Value;
use sortie_evaluators::Says;
use sortie_trace::{Role, Transcript};
use thiserror::Error;

use super::answer::Answer;
use crate::fence::shown;
use crate::structured::beginning;
use sortie_detect::{Quote, QuoteSource};

/// The shortest quote, in letters without white space. A shorter one stands by chance in most texts; it counts only where
/// the target said nothing else.
const MIN_QUOTE: usize = 4;

/// Why the quotes of an answer are no evidence.
#[derive(Debug, Error)]
pub(super) enum BadEvidence {
    #[error("turn {0} is not one of the target's")]
    OtherTurn(usize),
    #[error("`fail` has no quote")]
    NoQuote,
    #[error("a quote is empty")]
    EmptyQuote,
    /// A quote that begins like this.
    #[error("the quote `{0}` is too short")]
    ShortQuote(String),
    /// A quote that begins like this.
    #[error("the target did not say `{0}`")]
    NotSaid(String),
    /// The turn that decides.
    #[error("none of the quotes is from turn {0}")]
    Elsewhere(usize),
}

/// What the target said and gave to tools, without white space: models lay texts out anew.
pub(super) struct TargetWords(Vec<Piece>);

struct Piece {
    turn: usize,
    source: QuoteSource,
    /// As it was, and with invisible letters shown, as the judge saw it.
    forms: Vec<String>,
}

impl TargetWords {
    pub(super) fn new(transcript: &Transcript) -> Self {
        let mut pieces = Vec::new();
        for (turn, said) in (1..).zip(transcript.turns()).filter(|(_, turn)| turn.role == Role::Target) {
            pieces.push(Piece { turn, source: QuoteSource::Text, forms: forms([said.text.as_str()]) });
            for (call, made) in said.calls.iter().enumerate() {
                let arguments = Value::Object(made.arguments.clone());
                // As JSON, as the judge saw it, and each text in it, as it was meant.
                let whole = serde_json::json!({"name": made.name, "arguments": arguments}).to_string();
                let mut texts = vec![whole.as_str(), made.name.as_str()];
                leaves(&arguments, &mut texts);
                pieces.push(Piece { turn, source: QuoteSource::Call(call), forms: forms(texts) });
            }
        }
        Self(pieces)
    }

    /// Whether the target had a turn at all.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where the quotes of an answer stand.
    pub(super) fn find(&self, answer: &Answer) -> Result<Vec<Quote>, BadEvidence> {
        if !self.0.iter().any(|piece| piece.turn == answer.turn) {
            return Err(BadEvidence::OtherTurn(answer.turn));
        }
        if answer.verdict == Says::Fail && answer.quotes.is_empty() {
            return Err(BadEvidence::NoQuote);
        }
        let mut found = Vec::new();
        for text in &answer.quotes {
            let quote = without_space(text);
            let long_enough = quote.chars().count() >= MIN_QUOTE;
            let holds = |piece: &Piece| {
                let mut forms = piece.forms.iter();
                forms.any(|form| if long_enough { form.contains(&quote) } else { *form == quote })
            };
            // The turn that decides comes first: words may have been said more than once.
            let deciding = self.0.iter().filter(|piece| piece.turn == answer.turn);
            let piece = deciding.chain(&self.0).find(|piece| holds(piece));
            match piece {
                Some(piece) if !quote.is_empty() => {
                    found.push(Quote { text: text.clone(), turn: piece.turn, source: piece.source });
                }
                _ if quote.is_empty() => return Err(BadEvidence::EmptyQuote),
                _ if !long_enough => return Err(BadEvidence::ShortQuote(beginning(text))),
                _ => return Err(BadEvidence::NotSaid(beginning(text))),
            }
        }
        if !found.is_empty() && !found.iter().any(|quote| quote.turn == answer.turn) {
            return Err(BadEvidence::Elsewhere(answer.turn));
        }
        Ok(found)
    }
}

fn forms<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let mut forms = Vec::new();
    for text in texts {
        let (raw, shown) = (without_space(text), without_space(&shown(text)));
        if raw != shown {
            forms.push(shown);
        }
        forms.push(raw);
    }
    forms
}

/// Every text in a value. Transcripts are bounded in size and depth.
fn leaves<'v>(value: &'v Value, into: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, into)),
        Value::Object(members) => members.values().for_each(|member| leaves(member, into)),
        _ => {}
    }
}

fn without_space(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}
