//! What both sides can do, in the words of the specification.

use serde_json::Value;

/// What evaluating an indicator on a message gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Matched,
    NotMatched,
    Error,
    Skipped,
}

/// An implementation under measurement. `rival.rs` and `ours.rs` hold the two there are.
pub(crate) trait Subject {
    type Document;
    /// An indicator in the form that the implementation wants kept between messages.
    type Indicator;

    /// `load`: parse, validate, normalise.
    fn load(text: &str) -> Result<Self::Document, String>;

    /// The indicators of a document, with their ids, ready for many messages. Not part of what is measured: this is
    /// done once for each document.
    fn indicators(document: &Self::Document) -> Result<Vec<(String, Self::Indicator)>, String>;

    /// `evaluate_pattern` on an indicator that has a pattern.
    fn pattern(indicator: &Self::Indicator, message: &Value) -> bool;

    /// `evaluate_expression` on an indicator that has an expression.
    fn expression(indicator: &Self::Indicator, message: &Value) -> bool;

    /// `evaluate_indicator`: the verdict, with its evidence.
    fn indicator(indicator: &Self::Indicator, message: &Value) -> Outcome;
}
