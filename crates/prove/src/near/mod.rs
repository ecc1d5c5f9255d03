//! Near misses: messages that tell a document from what it is nearly.
//!
//! Recordings show one way of giving in. Whoever writes an indicator by hand thinks of the messages that are nearly looked for;
//! where nobody does, they are made here: from the words and patterns of the indicator and of each mutant that survives, put
//! into messages that were seen. What a message must give is what the document says of it, so that near misses pin an indicator
//! down, and show nothing about whether it is right.

mod shapes;
mod shown;
mod texts;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use sortie_oatf::{Compiled, CompiledIndicator, Evaluators, IndicatorOutcome, canary};
use sortie_trace::Observed;

use crate::folder::Proofs;
use crate::manifest::Said;
use crate::mutate::{self, Mutant};
use crate::prover::{prove, scenes};
use crate::recording::{PROOF_SEED, message};
use crate::report::Fate;
use crate::scene::Scene;

pub(crate) use self::shown::{ShownMessages, scalar};

/// A message that tells a document from a mutant.
#[derive(Clone, Debug)]
pub struct NearMiss {
    /// The message.
    pub said: Said,
    /// The indicators that match it; none for most.
    pub matched: Vec<String>,
}

/// Looks for near misses, once or in rounds: they show fields that nobody had, so that there may be other mutants once they are
/// among the proofs.
#[derive(Clone, Debug, Default)]
pub struct NearMisses {
    /// Mutants that nothing was found against. They are not tried again.
    given_up: HashSet<String>,
}

/// So many messages are tried against one mutant.
const MOST_TRIED: usize = 4_000;

impl NearMisses {
    /// Messages that tell a document from the mutants that its proofs do not, as far as any are found.
    pub fn find(&mut self, document: &Arc<Compiled>, proofs: &Proofs) -> Vec<NearMiss> {
        let document = &Arc::new(canary::resolve(document, &canary::derive(PROOF_SEED)));
        let proved = prove(document, "", Some(proofs));
        let survived = proved.mutants.iter().filter(|mutant| mutant.fate == Fate::Survived);
        let survived: HashSet<&str> = survived.map(|mutant| mutant.id.as_str()).collect();
        let observed: Vec<Vec<Observed<'_>>> =
            proofs.recordings.iter().map(|run| run.observed(document)).collect();
        let scenes = scenes(document, &observed);
        let (mutants, _) = mutate::mutants(&scenes, document.document());
        let is_open =
            |mutant: &&Mutant| survived.contains(mutant.id.as_str()) && !self.given_up.contains(&mutant.id);
        let mut open: Vec<Open<'_>> = mutants.iter().filter(is_open).filter_map(Open::new).collect();
        let mut found = Vec::new();
        while let Some(first) = open.pop() {
            let telling = scenes
                .get(first.mutant.indicator.unwrap_or_default())
                .and_then(|scene| first.telling(scene, document));
            if let Some((given, said)) = telling {
                open.retain(|open| !open.is_told_by(&given, &said));
                let indicators = document.indicators().iter().zip(&given);
                let matched = indicators.filter(|(_, matched)| **matched);
                found.push(NearMiss { said, matched: matched.map(|(one, _)| one.id.clone()).collect() });
            } else {
                self.given_up.insert(first.mutant.id.clone());
            }
        }
        found.reverse();
        found
    }
}

/// A mutant that nothing tells from the document yet.
struct Open<'m> {
    mutant: &'m Mutant,
    /// What it has in place of an indicator; `None` for a change to how they are combined.
    wrong: Option<(usize, CompiledIndicator)>,
}

impl<'m> Open<'m> {
    fn new(mutant: &'m Mutant) -> Option<Self> {
        let wrong = match (mutant.mutated(), mutant.indicator) {
            (Some(indicator), Some(index)) => Some((index, CompiledIndicator::new(indicator).ok()?)),
            _ => None,
        };
        Some(Self { mutant, wrong })
    }

    /// The first message that tells it from the document, and what the document says of it.
    fn telling(&self, scene: &Scene<'_>, document: &Compiled) -> Option<(Vec<bool>, Said)> {
        let indicators = [Some(scene.indicator), self.mutant.mutated()];
        let words: Vec<_> = indicators.into_iter().flatten().flat_map(texts::words).collect();
        bases(scene).into_iter().flat_map(|base| shapes::of(scene, &base, &words)).take(MOST_TRIED).find_map(
            |said| {
                let given = given(document, &said)?;
                self.is_told_by(&given, &said).then_some((given, said))
            },
        )
    }

    fn is_told_by(&self, given: &[bool], said: &Said) -> bool {
        match &self.wrong {
            Some((index, wrong)) => given.get(*index).copied() != matches(wrong, said),
            None => given.contains(&true) && given.contains(&false),
        }
    }
}

/// Which indicators match a message; `None` where one of them cannot be asked: a near miss is never about that.
fn given(document: &Compiled, said: &Said) -> Option<Vec<bool>> {
    document.indicators().iter().map(|indicator| matches(indicator, said)).collect()
}

fn matches(indicator: &CompiledIndicator, said: &Said) -> Option<bool> {
    // It takes two messages to show a flow, and more than a word to say what is nearly one: those are written by hand.
    if indicator.flow.is_some() {
        return None;
    }
    let record = message(said, 1);
    let observed = Observed::new(&record, said.message.clone(), Vec::new());
    if !sortie_detect::selection::selects(indicator, &observed) {
        return Some(false);
    }
    let Some(seen) = sortie_detect::selection::seen_by(indicator, &record, &observed.message) else {
        return Some(false);
    };
    match indicator.evaluate(&seen, Evaluators::standard()) {
        IndicatorOutcome::Matched(_) => Some(true),
        IndicatorOutcome::NotMatched => Some(false),
        IndicatorOutcome::Error(_) | IndicatorOutcome::Skipped(_) => None,
    }
}

/// So many messages are varied, and none that is longer: each is varied thousands of times.
const BASES: usize = 2;
const MAX_BASE: usize = 64 * 1024;

/// Messages to vary. Where the indicator matches, all is there that it looks at.
fn bases<'s>(scene: &Scene<'s>) -> Vec<Cow<'s, Observed<'s>>> {
    let is_match = |seen: &Value| matches!(scene.compiled.is_match(seen, Evaluators::standard()), Ok(true));
    let mut bases: Vec<&Observed<'_>> = scene.selected().collect();
    bases.sort_by_key(|seen| !is_match(&seen.message));
    bases.dedup_by(|one, other| one.message == other.message);
    let bases = bases.into_iter().map(|seen| match shortest(&seen.message, &is_match) {
        Some(message) => Cow::Owned(Observed { message, ..seen.clone() }),
        None => Cow::Borrowed(seen),
    });
    bases.filter(|seen| seen.message.to_string().len() <= MAX_BASE).take(BASES).collect()
}

/// A message with one element of each long list, where it still matches: a list of a hundred tools says no more than the one that
/// is looked for. Of a conversation, which repeats what is in the message, only what is looked at is left.
fn shortest(message: &Value, is_match: &dyn Fn(&Value) -> bool) -> Option<Value> {
    let mut shorter = message.clone();
    let told = message.get("_transcript").filter(|told| told.is_object());
    let told = told.map(|told| json!({"_transcript": told})).filter(is_match);
    let told = told.inspect(|told| shorter.clone_from(told)).is_some();
    let root = if told { "/_transcript" } else { "" };
    let fields = message.pointer(root)?.as_object()?;
    for (key, value) in fields {
        let Some(items) = value.as_array().filter(|items| items.len() > if told { 0 } else { 2 }) else {
            continue;
        };
        let one = items.iter().take(200).map(|item| vec![item.clone()]);
        let fewer = told.then(Vec::new).into_iter().chain(one).map(|items| {
            let mut fewer = shorter.clone();
            if let Some(fields) = fewer.pointer_mut(root) {
                fields[key] = items.into();
            }
            fewer
        });
        if let Some(fewer) = fewer.into_iter().find(is_match) {
            shorter = fewer;
        }
    }
    (shorter != *message).then_some(shorter)
}
