//! Which of several possibilities is taken, and which are tried next.

use std::collections::{BTreeMap, VecDeque};

/// So many alternatives of one choice are tried.
const MAX_ALTERNATIVES: usize = 12;

/// The choices of one attempt: the first of everything, but for those that are to be otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Choices {
    otherwise: BTreeMap<usize, usize>,
    /// How many possibilities each choice had, in the order in which they were made.
    made: Vec<usize>,
}

impl Choices {
    /// Takes one of so many.
    pub(super) fn pick(&mut self, of: usize) -> usize {
        let at = self.made.len();
        self.made.push(of);
        self.otherwise.get(&at).copied().unwrap_or(0).min(of.saturating_sub(1))
    }
}

/// Goes through choices, those that differ least from the first ones first.
#[derive(Debug)]
pub(super) struct Search {
    waiting: VecDeque<Choices>,
    left: usize,
}

impl Search {
    pub(super) fn new(attempts: usize) -> Self {
        Self { waiting: VecDeque::from([Choices::default()]), left: attempts }
    }

    pub(super) fn next(&mut self) -> Option<Choices> {
        self.left = self.left.checked_sub(1)?;
        self.waiting.pop_front()
    }

    /// An attempt failed: each of its later choices is worth another one.
    pub(super) fn failed(&mut self, tried: &Choices) {
        let from = tried.otherwise.last_key_value().map_or(0, |(at, _)| at + 1);
        for (at, of) in tried.made.iter().enumerate().skip(from) {
            for other in 1..(*of).min(MAX_ALTERNATIVES) {
                if self.waiting.len() >= self.left {
                    return;
                }
                let mut otherwise = tried.otherwise.clone();
                otherwise.insert(at, other);
                self.waiting.push_back(Choices { otherwise, made: Vec::new() });
            }
        }
    }
}
