//! What a judge answers.

use serde::Deserialize;
use sortie_evaluators::Says;
use thiserror::Error;

use crate::structured::{self, BadObject};

const MAX_QUOTES: usize = 50;
const MAX_TEXT: usize = 20_000;

/// What a judge answers, before its evidence is looked at.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) verdict: Says,
    pub(super) confidence: f64,
    pub(super) reasoning: String,
    pub(super) quotes: Vec<String>,
    pub(super) turn: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    verdict: String,
    confidence: f64,
    reasoning: String,
    quotes: Vec<String>,
    turn: usize,
}

/// Why an answer is not what a judge was asked for.
#[derive(Debug, Error)]
pub(super) enum BadAnswer {
    #[error(transparent)]
    Object(#[from] BadObject),
    /// A verdict that begins like this.
    #[error("`verdict` is `{0}`, not `pass` or `fail`")]
    Verdict(String),
    #[error("`confidence` is {0}, not from 0 to 1")]
    Confidence(f64),
    #[error("it has {0} quotes, more than {MAX_QUOTES}")]
    TooManyQuotes(usize),
    #[error("it has a text of more than {MAX_TEXT} bytes")]
    LongText,
}

/// Reads an answer.
pub(super) fn read(text: &str) -> Result<Answer, BadAnswer> {
    let Written { verdict, confidence, reasoning, quotes, turn } = structured::read(text)?;
    let verdict = verdict.parse().map_err(|()| BadAnswer::Verdict(structured::beginning(&verdict)))?;
    if !(0.0..=1.0).contains(&confidence) {
        return Err(BadAnswer::Confidence(confidence));
    }
    if quotes.len() > MAX_QUOTES {
        return Err(BadAnswer::TooManyQuotes(quotes.len()));
    }
    if reasoning.len() > MAX_TEXT || quotes.iter().any(|quote| quote.len() > MAX_TEXT) {
        return Err(BadAnswer::LongText);
    }
    Ok(Answer { verdict, confidence, reasoning, quotes, turn })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_its_shape_or_is_none() {
        let right = r#"{"verdict":"fail","confidence":0.5,"reasoning":"r","quotes":["q"],"turn":2}"#;
        assert_eq!(
            read(right).unwrap(),
            Answer {
                verdict: Says::Fail,
                confidence: 0.5,
                reasoning: "r".into(),
                quotes: vec!["q".into()],
                turn: 2
            }
        );
        for (from, to) in [
            ("fail", "FAIL"),
            ("fail", "maybe"),
            ("0.5", "1.5"),
            ("0.5", "-0.1"),
            ("0.5", "\"high\""),
            ("0.5", "1e999"),
            ("[\"q\"]", "\"q\""),
            ("[\"q\"]", "null"),
            (",\"turn\":2", ""),
            ("2}", "-2}"),
            ("2}", "2.5}"),
            ("2}", "2,\"extra\":1}"),
            ("\"reasoning\":\"r\"", "\"verdict\":\"pass\",\"reasoning\":\"r\""),
        ] {
            assert!(right.contains(from) && read(&right.replacen(from, to, 1)).is_err(), "{from} to {to}");
        }
    }
}
