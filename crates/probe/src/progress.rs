//! What the attacks so far have shown at each place, and which of the others need not be played.
//!
//! A place is an argument of a tool, as one evaluator attacks it.

use std::collections::HashMap;

use sortie_evaluators::cases::PatternCase;

/// What came of a case, as far as it decides about others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseEnd {
    /// The target gave in.
    Proven,
    /// Something is suspicious.
    Suspicious,
    /// Nothing was met, or the tool does not work.
    Nothing,
    /// It could not be played or decided.
    Unknown,
}

/// What is known at each place.
#[derive(Debug, Default)]
pub struct AttackProgress {
    places: HashMap<PlaceKey, Place>,
}

type PlaceKey = (String, String, String);

#[derive(Debug, Default)]
struct Place {
    /// How many cases are played first here, and how many of them met nothing.
    first: usize,
    met_nothing: usize,
    proven_by: Option<String>,
}

fn key(case: &PatternCase) -> Option<PlaceKey> {
    let (tool, argument) = (case.tool()?, case.argument.as_deref().unwrap_or_default());
    Some((case.rubric.evaluator.id.clone(), tool.to_owned(), argument.to_owned()))
}

impl AttackProgress {
    /// Nothing is known yet about the places of these cases.
    pub fn new<'c>(cases: impl IntoIterator<Item = &'c PatternCase>) -> Self {
        let mut progress = Self::default();
        for case in cases {
            if let Some(key) = key(case) {
                progress.places.entry(key).or_default().first += usize::from(case.first);
            }
        }
        progress
    }

    /// Takes note of what a case came to.
    pub fn observe(&mut self, case: &PatternCase, end: CaseEnd) {
        let Some(place) = key(case).and_then(|key| self.places.get_mut(&key)) else { return };
        match end {
            CaseEnd::Proven => _ = place.proven_by.get_or_insert_with(|| case.id.clone()),
            CaseEnd::Nothing if case.first => place.met_nothing += 1,
            CaseEnd::Nothing | CaseEnd::Suspicious | CaseEnd::Unknown => {}
        }
    }

    /// Why a case need not be played; `None` where it is to be.
    pub fn conclusion(&self, case: &PatternCase) -> Option<String> {
        let (evaluator, tool, argument) = key(case)?;
        let place = self.places.get(&(evaluator.clone(), tool.clone(), argument.clone()))?;
        if let Some(proof) = &place.proven_by {
            return Some(format!("not needed: `{proof}` proves it already (`--exhaustive` plays all)"));
        }
        if case.first || place.first == 0 || place.met_nothing < place.first {
            return None;
        }
        if case.control_failure.is_some() {
            return Some(
                "not needed: no harmless call of its tool works (`--exhaustive` plays all)".to_owned(),
            );
        }
        let likeliest = match place.first {
            1 => "the likeliest pattern".to_owned(),
            first => format!("the {first} likeliest patterns"),
        };
        Some(format!(
            "not needed: the tool works, and {likeliest} of `{evaluator}` met nothing in `{tool}` at `{argument}` (`--exhaustive` plays all)"
        ))
    }
}
