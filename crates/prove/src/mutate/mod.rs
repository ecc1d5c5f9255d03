//! Indicators that are wrong in one way each.
//!
//! A mutant is the document with one change to one indicator, or to how they are combined. It is a valid document:
//! something an author could have written. Proofs that give the same verdicts for it as for the original would not
//! have noticed that mistake.

mod condition;
mod draft;
mod expression;
mod flow;
mod pattern;
mod selector;
mod text;

use sortie_oatf::Validated;
use sortie_oatf::model::{CorrelationLogic, Document, Indicator};
use sortie_syntax::closed_enum;

use crate::scene::Scene;
use draft::Drafts;

closed_enum! {
    /// One way in which an indicator may be wrong. The words are stable, and the order is that of reports.
    Operator {
        /// One of several conditions is not asked for.
        DropConjunct = "drop_conjunct",
        /// A condition is turned round.
        NegateConjunct = "negate_conjunct",
        /// One of several alternatives is forgotten.
        DropAlternative = "drop_alternative",
        /// What is looked for is found in more texts.
        Widen = "widen",
        /// What is looked for is found in fewer texts.
        Narrow = "narrow",
        /// The same operand with another operator.
        OtherOperator = "other_operator",
        /// Another field of the same message.
        ShiftTarget = "shift_target",
        /// The field around the one that is meant, or the whole message.
        TruncateTarget = "truncate_target",
        /// The other half of the exchange.
        SwapDirection = "swap_direction",
        /// Both halves of the exchange.
        DropDirection = "drop_direction",
        /// Every operation.
        DropSurface = "drop_surface",
        /// Another operation.
        SwapSurface = "swap_surface",
        /// Every actor.
        DropActor = "drop_actor",
        /// Another actor.
        SwapActor = "swap_actor",
        /// Nothing has to have come in before.
        DropFlow = "drop_flow",
        /// One is enough where all are meant, or all are asked for where one is enough.
        AnyAll = "any_all",
    }
}

/// So many mutants of one indicator by one operator: a list of a thousand values is proved no better by leaving out
/// each of them.
const MOST_OF_A_KIND: usize = 8;

/// So many mutants of one document.
const MOST_MUTANTS: usize = 2_000;

/// A document that is wrong in one way.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// A name that stays the same as long as the change does: the indicator, the operator, and a digest of what stood
    /// there and what stands there instead.
    pub id: String,
    /// The position of the indicator; `None` for a change to how they are combined.
    pub indicator: Option<usize>,
    /// In which way it is wrong.
    pub operator: Operator,
    /// What was changed.
    pub change: String,
    /// The trace that tells it from the original, in words that follow "killed by".
    pub wanted: String,
    /// Why no run that keeps to the protocol can tell it from the original, where none can.
    pub equivalent: Option<String>,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Indicator(Box<Indicator>),
    Logic(CorrelationLogic),
}

impl Mutant {
    /// The wrong document.
    pub fn document(&self, original: &Validated) -> Document {
        let mut document = original.clone().into_inner();
        let mut indicators = document.attack.indicators.iter_mut().flatten();
        match &self.what {
            What::Indicator(indicator) => {
                if let Some(place) = self.indicator.and_then(|index| indicators.nth(index)) {
                    (**indicator).clone_into(place);
                }
            }
            What::Logic(logic) => document.attack.correlation.get_or_insert_default().logic = Some(*logic),
        }
        document
    }

    /// The indicator it has in place of the original's; `None` for a change to how they are combined.
    pub fn mutated(&self) -> Option<&Indicator> {
        match &self.what {
            What::Indicator(indicator) => Some(indicator),
            What::Logic(_) => None,
        }
    }
}

/// The mutants of a document, and how many were left out because there are too many.
pub(crate) fn mutants(scenes: &[Scene<'_>], document: &Validated) -> (Vec<Mutant>, usize) {
    let mut mutants = Vec::new();
    let mut left_out = 0;
    for scene in scenes.iter().filter(|scene| scene.indicator.semantic.is_none()) {
        let mut drafts = Drafts::new(scene);
        if scene.indicator.pattern.is_some() {
            condition::mutate(scene, &mut drafts);
            selector::target(scene, &mut drafts);
        } else {
            expression::mutate(scene, &mut drafts);
        }
        selector::mutate(scene, &mut drafts);
        flow::mutate(scene, &mut drafts);
        let (of_indicator, too_many) = drafts.finish();
        mutants.extend(of_indicator);
        left_out += too_many;
    }
    mutants.extend(correlation(document));
    left_out += mutants.len().saturating_sub(MOST_MUTANTS);
    mutants.truncate(MOST_MUTANTS);
    (mutants, left_out)
}

/// `any` for `all`, or `all` for `any`. With one indicator they are the same.
fn correlation(document: &Validated) -> Option<Mutant> {
    let attack = &document.attack;
    let indicators = attack.indicators.as_deref().unwrap_or_default();
    let able = indicators.iter().filter(|indicator| indicator.semantic.is_none()).count();
    if indicators.len() < 2 || able == 0 {
        return None;
    }
    let logic = attack.correlation.as_ref().and_then(|correlation| correlation.logic);
    let now = logic.unwrap_or(CorrelationLogic::Any);
    let (other, change) = match now {
        CorrelationLogic::Any => (CorrelationLogic::All, "asks for all indicators instead of any of them"),
        CorrelationLogic::All => (CorrelationLogic::Any, "asks for any indicator instead of all of them"),
    };
    Some(Mutant {
        id: draft::id("correlation", Operator::AnyAll, now.as_str(), other.as_str()),
        indicator: None,
        operator: Operator::AnyAll,
        change: change.to_owned(),
        wanted: "a trace in which some indicators match, and not all of them".to_owned(),
        equivalent: None,
        what: What::Logic(other),
    })
}
