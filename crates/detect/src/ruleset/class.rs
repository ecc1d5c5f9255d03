//! Classes of messages, and the indicators that look at each of them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use sortie_oatf::CompiledIndicator;
use sortie_oatf::model::Direction as Side;
use sortie_trace::{Direction, Message};

use super::sample::TrafficSample;
use super::texts::TextRules;
use super::{Ruleset, u32_of};
use crate::selection::looks_at_answers;

/// Classes of messages that are kept. A trace may make up any number of them.
const MAX_CLASSES: usize = 64;

/// What looks at the messages of each class. Most patterns of a large ruleset are those of other classes.
#[derive(Debug, Default)]
pub(super) struct ClassLookup {
    known: RwLock<HashMap<MessageClass, ClassRules>>,
    sample: Arc<TrafficSample>,
}

/// What looks at messages, and at the answers in them.
#[derive(Clone, Debug)]
pub(crate) struct ClassRules {
    pub(crate) messages: Arc<TextRules>,
    pub(crate) answers: Arc<TextRules>,
    /// The indicators of the two, in order.
    pub(super) concerned: Arc<[u32]>,
}

/// Messages of one protocol, of the same operations, on one side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MessageClass {
    protocol: String,
    surfaces: Vec<String>,
    direction: Direction,
}

impl MessageClass {
    fn of(message: &Message) -> Self {
        let (protocol, surfaces) = (message.protocol.clone(), message.surfaces.clone());
        Self { protocol, surfaces, direction: message.direction }
    }

    fn is_side_of(&self, indicator: &CompiledIndicator) -> bool {
        match indicator.direction {
            None => true,
            Some(Side::Request) => self.direction == Direction::Request,
            Some(Side::Response) => self.direction == Direction::Response,
        }
    }

    /// Whether an indicator may look at one of them.
    fn may_concern(&self, indicator: &CompiledIndicator) -> bool {
        let of_protocol = indicator.protocol.as_ref().is_none_or(|protocol| *protocol == self.protocol);
        let of_surface = indicator.surface.as_ref().is_none_or(|surface| self.surfaces.contains(surface));
        self.is_side_of(indicator) && of_protocol && of_surface
    }
}

impl ClassLookup {
    /// What looks at messages like this one.
    pub(super) fn of(&self, rules: &Ruleset, message: &Message) -> ClassRules {
        let class = MessageClass::of(message);
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&class) {
            return known.clone();
        }
        let may_concern = |number: &u32| {
            let indicator = rules.indicator(*number);
            if looks_at_answers(indicator) {
                class.is_side_of(indicator)
            } else {
                class.may_concern(indicator)
            }
        };
        let concerned: Arc<[u32]> = (0..u32_of(rules.indicators.len())).filter(may_concern).collect();
        let (answers, messages): (Vec<u32>, Vec<u32>) =
            concerned.iter().partition(|number| looks_at_answers(rules.indicator(**number)));
        let made = ClassRules {
            messages: Arc::new(TextRules::new(rules, &messages, &self.sample)),
            answers: Arc::new(TextRules::new(rules, &answers, &self.sample)),
            concerned,
        };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CLASSES {
            known.clear();
        }
        known.insert(class, made.clone());
        made
    }
}
