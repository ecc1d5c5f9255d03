//! How much may be spent, over all tasks of a run.

use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;
use tokio::sync::Notify;

use sortie_detect::{Cost, Spent};

/// What may be spent. What is not given is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Requests, each retry being one.
    pub calls: Option<u64>,
    /// Tokens, asked and answered.
    pub tokens: Option<u64>,
    /// Money. Endpoints without prices cannot be asked then.
    pub cost: Option<Cost>,
}

/// A request that the budget does not have.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BudgetError {
    /// No call is left.
    #[error("the budget of {0} calls is used up")]
    Calls(u64),
    /// Fewer tokens are left than the request may take.
    #[error("the request may take {needed} tokens, and {left} of {allowed} are left")]
    Tokens {
        /// What it may take at most.
        needed: u64,
        /// What is left.
        left: u64,
        /// What was given.
        allowed: u64,
    },
    /// Less money is left than the request may cost.
    #[error("the request may cost {needed}, and {allowed} less {spent} is left")]
    Cost {
        /// What it may cost at most.
        needed: Cost,
        /// What is gone.
        spent: Cost,
        /// What was given.
        allowed: Cost,
    },
    /// What the request costs is not known.
    #[error("there is a limit of cost, and the endpoint has no prices")]
    NoPrices,
}

/// What is left of an [`Allowance`], shared by its clones.
///
/// A request first reserves the most that it may take, and gives back what it did not take. So the sum over all tasks is
/// at no time above the allowance, as long as an endpoint keeps the bound of an answer. A request that would fit if
/// others gave back their reservations waits for them; one that would not fit even then is refused.
#[derive(Clone, Debug)]
pub struct Budget {
    shared: Arc<Shared>,
    /// Whether requests are counted as calls. Tokens and money always are.
    counts_calls: bool,
}

#[derive(Debug)]
struct Shared {
    allowance: Allowance,
    state: Mutex<State>,
    given_back: Notify,
}

#[derive(Debug, Default)]
struct State {
    spent: Spent,
    reserved: Spent,
    refused: Option<BudgetError>,
    reused: u64,
    /// Calls that are not counted against the allowance.
    uncounted: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(Allowance::default())
    }
}

impl Budget {
    /// Nothing is spent yet.
    pub fn new(allowance: Allowance) -> Self {
        let shared = Shared { allowance, state: Mutex::default(), given_back: Notify::new() };
        Self { shared: Arc::new(shared), counts_calls: true }
    }

    /// The same budget for whoever measures a judge: what that takes is the same in every run, so its calls are not those that
    /// were allowed for cases. Tokens and money are.
    #[must_use]
    pub fn without_calls(&self) -> Self {
        Self { shared: self.shared.clone(), counts_calls: false }
    }

    /// What was spent up to now, without what is under way; all calls, also those that are not counted.
    pub fn spent(&self) -> Spent {
        self.state(|state| state.spent.plus(Spent { calls: state.uncounted, ..Spent::default() }))
    }

    /// How many of the calls were not counted.
    pub fn uncounted(&self) -> u64 {
        self.state(|state| state.uncounted)
    }

    /// How many exchanges of earlier runs were used again, and cost nothing.
    pub fn reused(&self) -> u64 {
        self.state(|state| state.reused)
    }

    /// The first refusal. From then on a run is a partial one.
    pub fn exhausted(&self) -> Option<BudgetError> {
        self.state(|state| state.refused)
    }

    /// Whether there is a limit of cost.
    pub(crate) fn limits_cost(&self) -> bool {
        self.shared.allowance.cost.is_some()
    }

    pub(crate) fn count_reused(&self) {
        self.state(|state| state.reused += 1);
    }

    pub(crate) fn refuse(&self, error: BudgetError) -> BudgetError {
        self.state(|state| {
            state.refused.get_or_insert(error);
        });
        error
    }

    /// Sets aside what a request may take, waiting for others where that helps.
    pub(crate) async fn reserve(&self, most: Spent) -> Result<Reservation, BudgetError> {
        let most = self.counted(most).0;
        loop {
            let given_back = self.shared.given_back.notified();
            let mut given_back = std::pin::pin!(given_back);
            // Before the look, or what is given back right after it would be missed.
            given_back.as_mut().enable();
            let looked = self.state(|state| {
                match self.shared.allowance.lacks(state.spent.plus(state.reserved), most) {
                    None => {
                        state.reserved = state.reserved.plus(most);
                        Some(Ok(()))
                    }
                    // Even if others gave back all of theirs.
                    Some(error) if self.shared.allowance.lacks(state.spent, most).is_some() => {
                        state.refused.get_or_insert(error);
                        Some(Err(error))
                    }
                    Some(_) => None,
                }
            });
            match looked {
                Some(Ok(())) => return Ok(Reservation { budget: self.clone(), most, open: true }),
                Some(Err(error)) => return Err(error),
                None => given_back.await,
            }
        }
    }

    /// What counts of it, and how many calls do not.
    fn counted(&self, spent: Spent) -> (Spent, u64) {
        if self.counts_calls { (spent, 0) } else { (Spent { calls: 0, ..spent }, spent.calls) }
    }

    fn settle(&self, most: Spent, spent: Spent) {
        let (spent, uncounted) = self.counted(spent);
        self.state(|state| {
            state.reserved = state.reserved.minus(most);
            state.spent = state.spent.plus(spent);
            state.uncounted += uncounted;
        });
        self.shared.given_back.notify_waiters();
    }

    fn state<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        // Nothing panics while it is held, and numbers are whole at every moment.
        look(&mut self.shared.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Allowance {
    fn lacks(&self, gone: Spent, most: Spent) -> Option<BudgetError> {
        let then = gone.plus(most);
        if let Some(allowed) = self.calls.filter(|&allowed| then.calls > allowed) {
            return Some(BudgetError::Calls(allowed));
        }
        if let Some(allowed) = self.tokens.filter(|&allowed| then.tokens() > allowed) {
            let left = allowed.saturating_sub(gone.tokens());
            return Some(BudgetError::Tokens { needed: most.tokens(), left, allowed });
        }
        if let Some(allowed) = self.cost.filter(|&allowed| then.cost > allowed) {
            return Some(BudgetError::Cost { needed: most.cost, spent: gone.cost, allowed });
        }
        None
    }
}

/// What a request has set aside. Dropped without a word it counts as spent, since it may have been.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Budget,
    most: Spent,
    open: bool,
}

impl Reservation {
    /// Keeps what was really spent, and gives back the rest.
    pub(crate) fn settle(mut self, spent: Spent) {
        self.open = false;
        self.budget.settle(self.most, spent);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.open {
            self.budget.settle(self.most, self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(calls: u64, tokens: u64) -> Spent {
        Spent { calls, input_tokens: tokens, ..Spent::default() }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sixty_four_tasks_spend_exactly_what_there_is() {
        let budget = Budget::new(Allowance { calls: Some(1000), tokens: Some(100_000), cost: None });
        let tasks: Vec<_> = (0..64)
            .map(|_| {
                let budget = budget.clone();
                tokio::spawn(async move {
                    let mut got = 0_u64;
                    while let Ok(reservation) = budget.reserve(tokens(1, 500)).await {
                        tokio::task::yield_now().await;
                        reservation.settle(tokens(1, 7));
                        got += 1;
                    }
                    got
                })
            })
            .collect();
        let mut got = 0;
        for task in tasks {
            got += task.await.unwrap();
        }
        assert_eq!(got, 1000);
        assert_eq!(budget.spent(), tokens(1000, 7000));
        assert_eq!(budget.exhausted(), Some(BudgetError::Calls(1000)));
    }

    #[tokio::test]
    async fn a_request_waits_for_what_another_gives_back() {
        let budget = Budget::new(Allowance { tokens: Some(100), ..Allowance::default() });
        let first = budget.reserve(tokens(1, 80)).await.unwrap();
        let second = tokio::spawn({
            let budget = budget.clone();
            async move { budget.reserve(tokens(1, 80)).await.map(|second| second.settle(tokens(1, 80))) }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        first.settle(tokens(1, 20));
        second.await.unwrap().unwrap();
        assert_eq!(budget.spent().tokens(), 100);
        let refused = budget.reserve(tokens(1, 1)).await.unwrap_err();
        assert_eq!(refused, BudgetError::Tokens { needed: 1, left: 0, allowed: 100 });
    }

    #[tokio::test]
    async fn a_request_that_is_abandoned_counts_as_spent() {
        let budget = Budget::new(Allowance { tokens: Some(100), ..Allowance::default() });
        drop(budget.reserve(tokens(1, 60)).await.unwrap());
        assert_eq!(budget.spent().tokens(), 60);
        assert!(budget.reserve(tokens(1, 60)).await.is_err());
    }

    #[tokio::test]
    async fn measuring_a_judge_takes_tokens_and_no_calls() {
        let budget = Budget::new(Allowance { calls: Some(1), tokens: Some(100), cost: None });
        let measuring = budget.without_calls();
        for _ in 0..3 {
            measuring.reserve(tokens(1, 20)).await.unwrap().settle(tokens(1, 20));
        }
        assert_eq!((budget.spent(), budget.uncounted()), (tokens(3, 60), 3));
        budget.reserve(tokens(1, 20)).await.unwrap().settle(tokens(1, 20));
        assert_eq!(budget.reserve(tokens(1, 1)).await.unwrap_err(), BudgetError::Calls(1));
        let refused = measuring.reserve(tokens(1, 21)).await.unwrap_err();
        assert_eq!(refused, BudgetError::Tokens { needed: 21, left: 20, allowed: 100 });
    }

    #[tokio::test]
    async fn what_can_never_fit_does_not_wait() {
        let budget = Budget::new(Allowance { tokens: Some(100), ..Allowance::default() });
        let _held = budget.reserve(tokens(1, 10)).await.unwrap();
        assert!(budget.reserve(tokens(1, 101)).await.is_err());
    }
}
