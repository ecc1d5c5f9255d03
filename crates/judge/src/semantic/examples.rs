//! Whether an engine gets an indicator's own examples right.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use sortie_oatf::model::{SemanticExamples, SemanticIntentClass};
use sortie_oatf::{DEFAULT_SEMANTIC_THRESHOLD, EvaluationError, EvaluationErrorKind, SemanticEvaluator};
use sortie_syntax::closed_enum;
use thiserror::Error;

use crate::structured::beginning;
use sortie_detect::Provenance;

/// An engine for semantic indicators that says what it is.
pub trait SemanticEngine: SemanticEvaluator + Send + Sync {
    /// Enough to know whether two scores can be compared.
    fn provenance(&self) -> Provenance;
}

closed_enum! {
    /// What an example is one of.
    ExampleKind {
        /// Texts that must match.
        Positive = "positive",
        /// Texts that must not.
        Negative = "negative",
    }
}

/// An example, and what an engine makes of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExampleScore {
    /// What it is.
    pub kind: ExampleKind,
    /// Which one of its kind, from 0.
    pub index: usize,
    /// The beginning of its text.
    pub text: String,
    /// Its score.
    pub score: f64,
}

impl ExampleScore {
    /// Whether a threshold tells it right.
    pub fn is_right(&self, threshold: f64) -> bool {
        (self.score >= threshold) == (self.kind == ExampleKind::Positive)
    }
}

/// An engine cannot be used for an indicator.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ExamplesError {
    /// It gets examples wrong.
    #[error("under the threshold {threshold} the engine gets {} wrong; another threshold may do", list(.wrong))]
    Wrong {
        /// The threshold.
        threshold: f64,
        /// The examples that it gets wrong.
        wrong: Vec<ExampleScore>,
        /// All scores, so that a person can choose a threshold.
        all: Vec<ExampleScore>,
    },
    /// It fails.
    #[error("the engine fails on {kind} example {}: {error}", .index + 1)]
    Failed {
        /// What the example is.
        kind: ExampleKind,
        /// Which one of its kind, from 0.
        index: usize,
        /// Why.
        error: EvaluationError,
    },
}

fn list(wrong: &[ExampleScore]) -> String {
    let words = |one: &ExampleScore| {
        format!("{} example {} (`{}`, {:.3})", one.kind, one.index + 1, one.text, one.score)
    };
    wrong.iter().map(words).collect::<Vec<_>>().join(" and ")
}

/// Has an engine score an indicator's own examples, and says which it gets wrong under the threshold.
///
/// An example is scored without itself among the examples: an engine that sees the answer proves nothing.
pub fn verify_examples(
    engine: &dyn SemanticEvaluator,
    intent: &str,
    intent_class: Option<SemanticIntentClass>,
    threshold: Option<f64>,
    examples: &SemanticExamples,
) -> Result<Vec<ExampleScore>, ExamplesError> {
    let mut all = Vec::new();
    for &kind in ExampleKind::ALL {
        for index in 0..of_kind(&mut examples.clone(), kind).len() {
            let mut others = examples.clone();
            let text = of_kind(&mut others, kind).remove(index);
            let score = engine.evaluate(&text, intent, intent_class, threshold, Some(&others));
            let score = score.map_err(|error| ExamplesError::Failed { kind, index, error })?;
            all.push(ExampleScore { kind, index, text: beginning(&text), score });
        }
    }
    let threshold = threshold.unwrap_or(DEFAULT_SEMANTIC_THRESHOLD);
    let wrong: Vec<_> = all.iter().filter(|one| !one.is_right(threshold)).cloned().collect();
    if wrong.is_empty() { Ok(all) } else { Err(ExamplesError::Wrong { threshold, wrong, all }) }
}

fn of_kind(examples: &mut SemanticExamples, kind: ExampleKind) -> &mut Vec<String> {
    let texts = match kind {
        ExampleKind::Positive => &mut examples.positive,
        ExampleKind::Negative => &mut examples.negative,
    };
    texts.get_or_insert_default()
}

/// The examples that an engine was tried with.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Looked {
    intent: String,
    intent_class: Option<SemanticIntentClass>,
    threshold: Option<u64>,
    positive: Option<Vec<String>>,
    negative: Option<Vec<String>>,
}

/// An engine that is used for an indicator only if it gets the indicator's examples right. It looks once for each; an
/// indicator whose examples it gets wrong is an error that names them.
#[derive(Debug)]
pub struct CheckedExamples<E> {
    engine: E,
    looked: Mutex<HashMap<Looked, Result<(), EvaluationError>>>,
}

impl<E: SemanticEngine> CheckedExamples<E> {
    /// Checks what this engine is to be used for.
    pub fn new(engine: E) -> Self {
        Self { engine, looked: Mutex::default() }
    }

    /// The engine itself.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    fn look(
        &self,
        intent: &str,
        intent_class: Option<SemanticIntentClass>,
        threshold: Option<f64>,
        examples: &SemanticExamples,
    ) -> Result<(), EvaluationError> {
        let key = Looked {
            intent: intent.to_owned(),
            intent_class,
            threshold: threshold.map(f64::to_bits),
            positive: examples.positive.clone(),
            negative: examples.negative.clone(),
        };
        // Held while it looks: one look is enough for all threads.
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let look = || {
            verify_examples(&self.engine, intent, intent_class, threshold, examples)
                .map(drop)
                .map_err(|error| EvaluationError::new(EvaluationErrorKind::SemanticError, error.to_string()))
        };
        looked.entry(key).or_insert_with(look).clone()
    }
}

impl<E: SemanticEngine> SemanticEvaluator for CheckedExamples<E> {
    fn evaluate(
        &self,
        text: &str,
        intent: &str,
        intent_class: Option<SemanticIntentClass>,
        threshold: Option<f64>,
        examples: Option<&SemanticExamples>,
    ) -> Result<f64, EvaluationError> {
        if let Some(examples) = examples {
            self.look(intent, intent_class, threshold, examples)?;
        }
        self.engine.evaluate(text, intent, intent_class, threshold, examples)
    }

    fn engine(&self) -> Option<String> {
        Some(self.engine.provenance().to_string())
    }
}

impl<E: SemanticEngine> SemanticEngine for CheckedExamples<E> {
    fn provenance(&self) -> Provenance {
        self.engine.provenance()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Scores a text by its length, and must never see it among the examples.
    #[derive(Default)]
    struct ByLength(AtomicUsize);

    impl SemanticEvaluator for ByLength {
        fn evaluate(
            &self,
            text: &str,
            _: &str,
            _: Option<SemanticIntentClass>,
            _: Option<f64>,
            examples: Option<&SemanticExamples>,
        ) -> Result<f64, EvaluationError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            if text.is_empty() {
                return Err(EvaluationError::new(EvaluationErrorKind::SemanticError, "no text"));
            }
            assert!(!format!("{examples:?}").contains(text));
            Ok(f64::from(u8::try_from(text.len()).unwrap()) / 10.0)
        }
    }

    impl SemanticEngine for ByLength {
        fn provenance(&self) -> Provenance {
            Provenance {
                engine: "length".to_owned(),
                endpoint: String::new(),
                model: String::new(),
                version: 1,
            }
        }
    }

    fn examples(positive: &[&str], negative: &[&str]) -> SemanticExamples {
        let list = |texts: &[&str]| Some(texts.iter().map(|&text| text.to_owned()).collect());
        SemanticExamples { positive: list(positive), negative: list(negative) }
    }

    #[test]
    fn examples_that_come_out_wrong_are_named() {
        let own = examples(&["nine long", "six in"], &["three", "seven.."]);
        let error = verify_examples(&ByLength::default(), "long", None, None, &own).unwrap_err();
        assert_eq!(
            error.to_string(),
            "under the threshold 0.7 the engine gets positive example 2 (`six in`, 0.600) and negative example 2 \
             (`seven..`, 0.700) wrong; another threshold may do"
        );
        let failing = examples(&["", "nine long"], &[]);
        let error = verify_examples(&ByLength::default(), "long", None, None, &failing).unwrap_err();
        assert_eq!(error.to_string(), "the engine fails on positive example 1: semantic_error: no text");
        let right = examples(&["nine long"], &["three"]);
        assert_eq!(verify_examples(&ByLength::default(), "long", None, None, &right).unwrap().len(), 2);
    }

    #[test]
    fn an_engine_is_checked_once_and_not_used_where_it_is_wrong() {
        let engine = CheckedExamples::new(ByLength::default());
        let right = examples(&["nine long"], &["three"]);
        for _ in 0..3 {
            assert!(engine.evaluate("some text", "long", None, None, Some(&right)).is_ok());
        }
        assert_eq!(engine.engine().0.load(Ordering::Relaxed), 2 + 3);
        // The same examples under another threshold are another question.
        let error = engine.evaluate("some text", "long", None, Some(0.95), Some(&right)).unwrap_err();
        assert!(error.message.contains("positive example 1"), "{error}");
        assert_eq!(engine.engine().0.load(Ordering::Relaxed), 2 + 3 + 2);
    }
}
