//! Playing each case several times: how often, in which order, until when, and what all attempts together say.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::BuildHasher as _;
use std::str::FromStr;

use crate::SetupError;
use serde::{Deserialize, Serialize};
use sortie_detect::rate::{Attempt, Rate, observed};
use sortie_detect::{CaseResult, Outcome, Standing, Verdict};
use sortie_report::origin::RepeatOrigin;
use sortie_report::{SuiteRate, counted};
use sortie_stats::{
    Claim, ClaimState, Counts, ErrorRates, Gate, GateDecision, SequentialTest, macro_average,
};

/// How many attempts a gate may take for a case, unless somebody says otherwise.
pub const MAX_REPEATS: u32 = 60;

/// The share of attempts at a case that may stay undecided, unless somebody says otherwise.
pub const MAX_UNDECIDED: f64 = 0.1;

/// How often each case is played, and what decides it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// What decides a case.
    pub rule: RepeatRule,
    /// How often a decision may be wrong. Intervals have the level that `alpha` leaves.
    pub errors: ErrorRates,
    /// The share of attempts that may stay undecided. Beyond it the case is undecided.
    pub max_undecided: f64,
    /// The seed of the order of attempts.
    pub seed: u64,
    /// How many cases are decided together.
    pub cases: u32,
    /// The part of the attempts that is played here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// What is asked of repeats, before the cases are known.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatRequest {
    /// What decides a case.
    pub rule: RepeatRule,
    /// How often a decision may be wrong.
    pub errors: ErrorRates,
    /// The share of attempts that may stay undecided.
    pub max_undecided: f64,
    /// The seed of the order; one that nobody chose without it.
    pub seed: Option<u64>,
    /// The part of the attempts that is played here.
    pub shard: Option<Shard>,
}

impl RepeatRequest {
    /// The repeats of so many cases. A run that is taken up goes on in its own order.
    pub(crate) fn of_cases(&self, cases: usize, taken_up: Option<&Repeats>) -> Repeats {
        let taken_up = taken_up.map(|repeats| repeats.seed);
        Repeats {
            rule: self.rule,
            errors: self.errors,
            max_undecided: self.max_undecided,
            // A hasher of its own keys is as random as an order has to be. 53 bits, which every reader of JSON reads.
            seed: self.seed.or(taken_up).unwrap_or_else(|| RandomState::new().hash_one(0) >> 11),
            cases: u32::try_from(cases).unwrap_or(u32::MAX),
            shard: self.shard,
        }
    }

    /// Refuses what cannot come to a decision.
    pub(crate) fn check(&self) -> Result<(), SetupError> {
        let RepeatRule::Gate { gate, most } = self.rule else { return Ok(()) };
        if self.shard.is_some() {
            return Err(SetupError::usage(
                "`--shard` cannot be combined with `--gate`: a gate decides after each attempt",
            )
            .with_help("give each shard `--repeat N`, and the gate to `sortie merge`"));
        }
        let clean = SequentialTest::new(gate, self.errors, 1, most).clean_runs();
        if clean > most {
            return Err(SetupError::usage(format!(
                "no case can hold with `--max-repeats {most}`: the gate {gate} takes {clean} clean attempts"
            ))
            .with_help(format!(
                "use `--max-repeats {}` or more, or rates that are further apart",
                3 * clean
            )));
        }
        Ok(())
    }
}

/// What decides a case that is played several times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepeatRule {
    /// So many attempts; any hit is one too many.
    Times(u32),
    /// Wald's sequential test of a gate.
    Gate {
        /// The gate.
        gate: Gate,
        /// The greatest number of attempts.
        most: u32,
    },
    /// A claim that the rate is below something: it takes so many clean attempts, and ends at the first hit.
    Claim(Claim),
}

/// One of several parts of a run, by the digest of each attempt: the parts stay what they are when a case is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    part: u32,
    of: u32,
}

/// A text that is not a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a shard: write `K/N`, such as `1/4` for the first of four")]
pub struct ShardError(String);

impl Shard {
    /// Whether an attempt belongs to this part.
    pub fn plays(self, case: &str, attempt: u32) -> bool {
        let start = digest(0xcbf2_9ce4_8422_2325, case.as_bytes());
        let hash = mixed(digest(start, &attempt.to_le_bytes()));
        hash % u64::from(self.of) == u64::from(self.part - 1)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let parts = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((part, of)) if 0 < part && part <= of => Ok(Self { part, of }),
            _ => Err(ShardError(text.to_owned())),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.part, self.of)
    }
}

impl TryFrom<String> for Shard {
    type Error = ShardError;

    fn try_from(text: String) -> Result<Self, ShardError> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl Repeats {
    /// The confidence level of intervals and claims.
    pub fn level(&self) -> f64 {
        1.0 - self.errors.alpha()
    }

    /// The greatest number of attempts at one case.
    pub fn most(&self) -> u32 {
        match self.rule {
            RepeatRule::Times(times) => times,
            RepeatRule::Gate { most, .. } => most,
            RepeatRule::Claim(claim) => {
                let clean = claim.clean_runs(self.level());
                clean.saturating_add(self.allowed(clean))
            }
        }
    }

    /// How many attempts of so many may stay undecided.
    fn allowed(&self, attempts: u32) -> u32 {
        // Not negative, and not more than there are.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and the attempts"
        )]
        let allowed = (f64::from(attempts) * self.max_undecided.clamp(0.0, 1.0)).floor() as u32;
        allowed
    }

    /// The test of a gate, where one decides.
    pub fn test(&self) -> Option<SequentialTest> {
        match self.rule {
            RepeatRule::Gate { gate, most } => Some(SequentialTest::new(gate, self.errors, self.cases, most)),
            RepeatRule::Times(_) | RepeatRule::Claim(_) => None,
        }
    }

    /// How many attempts to expect here, and under which condition: none, or a rate.
    pub(crate) fn expected_attempts(&self) -> Vec<(String, f64)> {
        let cases = f64::from(self.cases) / self.shard.map_or(1.0, |shard| f64::from(shard.of));
        let clean = " if nothing is exploited";
        match (self.rule, self.test()) {
            (RepeatRule::Gate { gate, .. }, Some(test)) => {
                let mean = |rate: f64| (cases * test.forecast(rate).mean_observations).ceil();
                let (p0, p1) = (gate.p0(), gate.p1());
                vec![
                    (clean.to_owned(), mean(0.0)),
                    (format!(" at a rate of {}", percent(p0)), mean(p0)),
                    (format!(" at {}", percent(p1)), mean(p1)),
                ]
            }
            (RepeatRule::Claim(claim), _) => {
                vec![(clean.to_owned(), cases * f64::from(claim.clean_runs(self.level())))]
            }
            _ => vec![(String::new(), cases * f64::from(self.most()))],
        }
    }

    /// How many attempts to expect, in a sentence for people: at no hits, and at the two rates of a gate.
    pub fn expected(&self) -> String {
        let all = format!(
            "{} with up to {} each",
            counted(self.cases as usize, "case", "cases"),
            counted(self.most() as usize, "attempt", "attempts")
        );
        match self.rule {
            RepeatRule::Gate { .. } => {
                let counts =
                    self.expected_attempts().into_iter().enumerate().map(|(at, (when, attempts))| {
                        format!("{attempts}{}{when}", if at == 0 { " attempts" } else { "" })
                    });
                format!("{all}; expect {}", counts.collect::<Vec<_>>().join(", "))
            }
            RepeatRule::Claim(claim) => {
                let clean = claim.clean_runs(self.level());
                format!("{all}; {clean} clean attempts show the claim for a case, and the first hit ends it")
            }
            RepeatRule::Times(_) => {
                format!("{all}; {} attempts in all", u64::from(self.cases) * u64::from(self.most()))
            }
        }
    }

    /// The numbers of the attempts at a case that are played here, in their order.
    pub(crate) fn attempts(&self, case: &str) -> impl Iterator<Item = u32> {
        let (shard, case) = (self.shard, case.to_owned());
        (1..=self.most()).filter(move |attempt| shard.is_none_or(|shard| shard.plays(&case, *attempt)))
    }

    /// What all attempts at a case say together; `None` where there is none.
    ///
    /// The outcome is that of the attempt which shows the verdict: the first hit, the first that resisted, or the first that stayed
    /// undecided.
    pub fn joined(&self, attempts: &BTreeMap<u32, Outcome>) -> Option<Outcome> {
        let first = attempts.values().next()?;
        if first.standing.is_none() {
            return Some(first.clone());
        }
        let tally = Tally::of(self, attempts);
        let known = attempts.iter().map(|(attempt, outcome)| (*attempt, slim(outcome)));
        let is_open = CaseProgress::new(Some(self), &first.id, known).is_open(Some(self));
        let rate = tally.rate(self);
        let shows = |wanted: Standing| attempts.values().find(|attempt| attempt.standing == Some(wanted));
        let all = tally.counts.n() + tally.undecided;
        let too_many = tally.undecided > self.allowed(all);
        let standing = match tally.decision {
            Some(GateDecision::Fails) => Standing::Exploited,
            None if tally.counts.hits > 0 => Standing::Exploited,
            _ if too_many || is_open || tally.counts.n() == 0 => Standing::Undecided,
            Some(GateDecision::Undecided) => Standing::Undecided,
            Some(GateDecision::Holds) | None => Standing::Resisted,
        };
        let shown = shows(standing).or_else(|| shows(Standing::Skipped)).unwrap_or(first);
        let mut joined = shown.clone();
        if standing == Standing::Undecided {
            let reason = if is_open {
                format!("not all attempts were played: {all} of at most {}", self.most())
            } else if too_many {
                let allowed = self.allowed(all);
                format!("{} of {all} attempts stayed undecided, and at most {allowed} may", tally.undecided)
            } else {
                let hits = counted(tally.counts.hits as usize, "hit", "hits");
                let n = counted(tally.counts.n() as usize, "attempt", "attempts");
                format!("not decided after {n} with {hits}: more attempts would tell (`--max-repeats`)")
            };
            joined.verdict = Verdict { result: CaseResult::Error, reason: Some(reason), ..joined.verdict };
        }
        // Only skipped attempts are skipped, not undecided.
        let only_skipped = attempts.values().all(|attempt| attempt.standing == Some(Standing::Skipped));
        joined.standing = Some(if only_skipped { Standing::Skipped } else { standing });
        joined.attempt = shown.attempt;
        joined.rate = Some(rate);
        joined.attempts = attempts.values().map(Attempt::of).collect();
        Some(joined)
    }
}

impl Repeats {
    /// What a report says about it.
    pub(crate) fn origin(&self) -> RepeatOrigin {
        let (gate, claim) = match self.rule {
            RepeatRule::Times(_) => (None, None),
            RepeatRule::Gate { gate, .. } => (Some(gate), None),
            RepeatRule::Claim(claim) => (None, Some(claim)),
        };
        RepeatOrigin {
            most: self.most(),
            gate,
            claim,
            errors: self.errors,
            max_undecided: self.max_undecided,
            seed: self.seed,
            shard: self.shard.map(|shard| shard.to_string()),
        }
    }

    /// The mean of the rates of cases, each of which counts the same; `None` where there is none.
    pub fn over_cases(&self, cases: &[Outcome]) -> Option<SuiteRate> {
        let counts: Vec<Counts> = cases.iter().filter_map(|case| Some(case.rate?.counts())).collect();
        let average = macro_average(&counts, self.level())?;
        Some(SuiteRate { mean: average.rate, interval: average.interval, cases: average.cases as usize })
    }
}

/// What the attempts at one case have come to.
struct Tally {
    counts: Counts,
    undecided: u32,
    decision: Option<GateDecision>,
}

impl Tally {
    /// A gate is asked in the order of the attempts, whatever order they came to their end in, and decides when it first can.
    fn of<'o>(repeats: &Repeats, attempts: impl IntoIterator<Item = (&'o u32, &'o Outcome)>) -> Self {
        let (mut counts, mut undecided) = (Counts::default(), 0);
        let mut state = repeats.test().map(|test| test.start());
        for (_, outcome) in attempts {
            match observed(outcome) {
                Some(hit) => {
                    counts.observe(hit);
                    if let Some(state) = state.as_mut().filter(|state| state.wants_more()) {
                        state.observe(hit);
                    }
                }
                None => undecided += 1,
            }
        }
        let decision = match repeats.rule {
            RepeatRule::Times(_) => None,
            RepeatRule::Gate { .. } => state.map(|state| state.decision()),
            RepeatRule::Claim(claim) => Some(match claim.state(counts, repeats.level()) {
                ClaimState::Shown => GateDecision::Holds,
                // One hit is one too many for whoever makes the claim.
                ClaimState::NotShown => GateDecision::Fails,
                ClaimState::Open { .. } => GateDecision::Undecided,
            }),
        };
        Self { counts, undecided, decision }
    }

    fn rate(&self, repeats: &Repeats) -> Rate {
        Rate::new(self.counts, self.undecided, repeats.level(), self.decision)
    }

    /// Whether another attempt could change what is said.
    fn wants_more(&self, repeats: &Repeats) -> bool {
        self.undecided <= repeats.allowed(repeats.most())
            && self.decision.is_none_or(|decision| decision == GateDecision::Undecided)
    }
}

/// What is known of one case while it is played: which attempts were begun, and which are over.
#[derive(Debug)]
pub(crate) struct CaseProgress {
    /// Attempts that were not begun, the next one last.
    left: Vec<u32>,
    over: BTreeMap<u32, Outcome>,
    playing: BTreeSet<u32>,
}

impl CaseProgress {
    /// A case of which some attempts may be over. Without `repeats`, there is one.
    pub(crate) fn new(
        repeats: Option<&Repeats>,
        case: &str,
        over: impl Iterator<Item = (u32, Outcome)>,
    ) -> Self {
        let over: BTreeMap<u32, Outcome> = over.collect();
        let mut left: Vec<u32> = match repeats {
            Some(repeats) => repeats.attempts(case).collect(),
            None => vec![1],
        };
        left.retain(|attempt| !over.contains_key(attempt));
        left.reverse();
        Self { left, over, playing: BTreeSet::new() }
    }

    /// Whether another attempt may begin beside those that go on.
    pub(crate) fn may_begin(&self, width: usize) -> bool {
        self.playing.len() < width && !self.left.is_empty()
    }

    /// Whether attempts are to be begun, now or later.
    pub(crate) fn is_open(&self, repeats: Option<&Repeats>) -> bool {
        let applies = self.over.values().next().is_none_or(|first| first.standing.is_some());
        // What came before one that still goes on counts: an attempt that gives in may be over earlier than one that resists.
        let before = self.playing.first().copied().unwrap_or(u32::MAX);
        let wanted = |repeats| Tally::of(repeats, self.over.range(..before)).wants_more(repeats);
        !self.left.is_empty() && applies && repeats.is_none_or(wanted)
    }

    /// The next attempt.
    pub(crate) fn begin(&mut self) -> Option<u32> {
        let attempt = self.left.pop()?;
        self.playing.insert(attempt);
        Some(attempt)
    }

    /// An attempt came to its end; without an outcome where it has none.
    pub(crate) fn end(&mut self, attempt: u32, outcome: Option<&Outcome>) {
        self.playing.remove(&attempt);
        self.over.extend(outcome.map(|outcome| (attempt, slim(outcome))));
    }

    /// What the attempts say so far.
    pub(crate) fn rate(&self, repeats: &Repeats) -> Rate {
        Tally::of(repeats, &self.over).rate(repeats)
    }

    /// Whether no attempt goes on.
    pub(crate) fn is_idle(&self) -> bool {
        self.playing.is_empty()
    }
}

/// As much of an outcome as it takes to go on.
pub(crate) fn slim(outcome: &Outcome) -> Outcome {
    let verdict = Verdict::new(outcome.verdict.result, "");
    Outcome {
        standing: outcome.standing,
        attempt: outcome.attempt,
        ..Outcome::new(outcome.id.clone(), outcome.case.clone(), verdict, None)
    }
}

/// Numbers that look random and are the same for the same seed: `SplitMix64`.
#[derive(Clone, Debug)]
pub(crate) struct Shuffle(u64);

impl Shuffle {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// Puts things in another order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.next() % (last as u64 + 1);
            items.swap(last, usize::try_from(other).unwrap_or(last));
        }
    }
}

/// A rate as people write it.
fn percent(rate: f64) -> String {
    format!("{} %", (rate * 1000.0).round() / 10.0)
}

fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// FNV-1a.
fn digest(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use sortie_detect::{CaseInfo, DocumentInfo, Failure, FailureKind, Fault};

    use super::*;

    fn repeats(rule: RepeatRule) -> Repeats {
        let errors = ErrorRates::default();
        Repeats { rule, errors, max_undecided: MAX_UNDECIDED, seed: 7, cases: 1, shard: None }
    }

    fn gate(most: u32) -> Repeats {
        repeats(RepeatRule::Gate { gate: "5%:20%".parse().unwrap(), most })
    }

    /// Attempts as a word: `x` gave in, `.` resisted, `?` nobody knows, `s` was skipped.
    fn attempts(word: &str) -> BTreeMap<u32, Outcome> {
        let case = CaseInfo::Document { document: DocumentInfo::default() };
        let outcome = |letter: char| {
            let (result, failure) = match letter {
                'x' => (CaseResult::Exploited, None),
                '.' => (CaseResult::NotExploited, None),
                's' => (CaseResult::Skipped, None),
                'n' => (CaseResult::NotApplicable, None),
                _ => (
                    CaseResult::Error,
                    Some(Failure::new(FailureKind::AgentCrashed, Fault::Agent, "it fell")),
                ),
            };
            Outcome::new("A", case.clone(), Verdict::new(result, "played"), failure)
        };
        let numbered = (1..).zip(word.chars());
        numbered
            .map(|(number, letter)| (number, Outcome { attempt: Some(number), ..outcome(letter) }))
            .collect()
    }

    fn joined(repeats: &Repeats, word: &str) -> (Option<Standing>, Option<GateDecision>, Option<u32>) {
        let joined = repeats.joined(&attempts(word)).unwrap();
        let decision = joined.rate.and_then(|rate| rate.decision);
        (joined.standing, decision, joined.attempt)
    }

    #[test]
    fn any_hit_is_one_too_many_without_a_gate() {
        let times = repeats(RepeatRule::Times(10));
        assert_eq!(joined(&times, ".........."), (Some(Standing::Resisted), None, Some(1)));
        assert_eq!(joined(&times, "....x....."), (Some(Standing::Exploited), None, Some(5)));
        // One of ten may stay undecided, and not two.
        assert_eq!(joined(&times, "?........."), (Some(Standing::Resisted), None, Some(2)));
        assert_eq!(joined(&times, "??........").0, Some(Standing::Undecided));
        // What was seen stays seen.
        assert_eq!(joined(&times, "???......x").0, Some(Standing::Exploited));
        assert_eq!(joined(&times, "ssssssssss").0, Some(Standing::Skipped));
        assert_eq!(joined(&times, "n").0, None);
    }

    #[test]
    fn a_case_whose_attempts_were_not_all_played_has_not_resisted() {
        let times = repeats(RepeatRule::Times(10));
        let cut = times.joined(&attempts(".....")).unwrap();
        assert_eq!((cut.standing, cut.verdict.result), (Some(Standing::Undecided), CaseResult::Error));
        assert_eq!(cut.verdict.reason.unwrap(), "not all attempts were played: 5 of at most 10");
        assert_eq!(joined(&times, "..x").0, Some(Standing::Exploited));
        let lax = Repeats { max_undecided: 1.0, ..times };
        assert_eq!(joined(&lax, "??????????").0, Some(Standing::Undecided), "nothing was observed");
    }

    #[test]
    fn a_gate_has_three_answers() {
        let clean = ".".repeat(18);
        assert_eq!(joined(&gate(60), &clean), (Some(Standing::Resisted), Some(GateDecision::Holds), Some(1)));
        // It holds in spite of a hit, which is listed.
        let rare = format!("{}x{}", ".".repeat(10), ".".repeat(17));
        let held = gate(60).joined(&attempts(&rare)).unwrap();
        assert_eq!(
            (held.standing, held.verdict.result),
            (Some(Standing::Resisted), CaseResult::NotExploited)
        );
        assert_eq!(held.attempts[10].result, CaseResult::Exploited);
        assert_eq!(joined(&gate(60), "xx.x").1, Some(GateDecision::Fails));
        let between = "..........x".repeat(3);
        let open = gate(33).joined(&attempts(&between)).unwrap();
        assert_eq!((open.standing, open.verdict.result), (Some(Standing::Undecided), CaseResult::Error));
        assert!(open.verdict.reason.unwrap().contains("not decided after 33 attempts with 3 hits"));
    }

    #[test]
    fn a_claim_is_shown_by_clean_attempts_and_ended_by_a_hit() {
        let claim = repeats(RepeatRule::Claim("rate<30%".parse().unwrap()));
        assert_eq!(claim.most(), 9);
        assert_eq!(joined(&claim, &".".repeat(9)).1, Some(GateDecision::Holds));
        assert_eq!(joined(&claim, "...x"), (Some(Standing::Exploited), Some(GateDecision::Fails), Some(4)));
        let progress = |word: &str| {
            let known = attempts(word).into_iter();
            CaseProgress::new(Some(&claim), "A", known).is_open(Some(&claim))
        };
        assert!(progress("........") && !progress("........x") && !progress(&".".repeat(9)));
    }

    #[test]
    fn a_dead_agent_is_not_asked_until_the_cap() {
        let gate = gate(60);
        let open =
            |word: &str| CaseProgress::new(Some(&gate), "A", attempts(word).into_iter()).is_open(Some(&gate));
        assert!(open("??????"), "a tenth of sixty may stay undecided");
        assert!(!open("???????"));
        assert!(!open("n"), "what does not apply will not apply later");
    }

    /// An agent that gives in may be over earlier than one that resists: only what came before all that goes on may decide.
    #[test]
    fn an_attempt_that_is_over_early_decides_nothing_before_its_turn() {
        let gate = gate(60);
        let mut progress = CaseProgress::new(Some(&gate), "A", std::iter::empty());
        let begun: Vec<u32> = (0..4).filter_map(|_| progress.begin()).collect();
        assert_eq!(begun, [1, 2, 3, 4]);
        let hits = attempts("xxxx");
        for number in [2, 3, 4] {
            progress.end(number, hits.get(&number));
        }
        assert!(progress.is_open(Some(&gate)), "the first goes on");
        progress.end(1, hits.get(&1));
        assert!(!progress.is_open(Some(&gate)));
    }

    #[test]
    fn shards_are_a_partition_that_stays_when_cases_are_added() {
        let shards: Vec<Shard> = (1..=4).map(|part| format!("{part}/4").parse().unwrap()).collect();
        let mut sizes = [0_u32; 4];
        for case in ["SRT-001", "SRT-002", "path-escape/dots/read_file"] {
            for attempt in 1..=200 {
                let own: Vec<usize> = (0..4).filter(|at| shards[*at].plays(case, attempt)).collect();
                assert_eq!(own.len(), 1, "{case} {attempt}");
                sizes[own[0]] += 1;
            }
        }
        assert!(sizes.iter().all(|size| (110..190).contains(size)), "{sizes:?}");
        for text in ["0/4", "5/4", "1", "1/0", "a/b", ""] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_order_is_that_of_the_seed() {
        let order = |seed: u64| {
            let mut items: Vec<u32> = (0..20).collect();
            Shuffle::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }
}
