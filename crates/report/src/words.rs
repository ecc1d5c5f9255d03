//! The words that reports use, explained: what a case came to, what it counts as, how far the attack got, and why it failed.
//!
//! Every word of the enums has its explanation here by an exhaustive `match`, so that a new word cannot be left out.
//!
//! ```
//! let explained = sortie_report::words::find("boundary_breach");
//! assert_eq!(explained[0].kind, "a tier");
//! ```

use sortie_detect::{CaseResult, Delivered, FailureKind, Standing};
use sortie_oatf::model::{IndicatorResult, Tier};
use sortie_stats::GateDecision;
use sortie_syntax::nearest;

use crate::baseline::BaselineState;

/// A word, and what it means where it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportWord {
    /// The word, as reports write it.
    pub word: &'static str,
    /// What it is said of: `a tier`, `a failure`.
    pub kind: &'static str,
    /// What it means, and what to do about it.
    pub text: &'static str,
}

/// What the words describe, in the order in which they are listed, and how a heading says it.
pub const KINDS: [(&str, &str); 11] = [
    ("a result", "Results of cases"),
    ("a standing", "How cases are counted"),
    ("a tier", "Tiers"),
    ("a result of an indicator", "Results of indicators"),
    ("reach", "Reach"),
    ("a fact", "Facts behind a pass"),
    ("a failure", "Failures"),
    ("a decision of a gate", "Decisions of gates"),
    ("an interval", "Intervals of rates"),
    ("a state against a baseline", "States against a baseline"),
    ("an option", "Options"),
];

/// Every word, by kind.
pub fn all() -> Vec<ReportWord> {
    let [result, standing, tier, indicator, reach, fact, failure, gate, interval, state, option] =
        KINDS.map(|(kind, _)| kind);
    let word = |kind, word, text| ReportWord { word, kind, text };
    let results = CaseResult::ALL.iter().map(|one| word(result, one.as_str(), of_result(*one)));
    let standings = Standing::ALL.iter().map(|one| word(standing, one.as_str(), of_standing(*one)));
    let tiers = Tier::ALL.iter().map(|one| word(tier, one.as_str(), of_tier(*one)));
    let indicators = IndicatorResult::ALL.iter().map(|one| word(indicator, one.as_str(), of_indicator(*one)));
    let delivered = DELIVERED.iter().map(|(one, own)| word(reach, *own, of_delivered(*one)));
    let failures = FailureKind::ALL.iter().map(|one| word(failure, one.as_str(), of_failure(*one)));
    let facts = FACTS.iter().map(|(one, text)| word(fact, *one, *text));
    let gates = GATES.iter().map(|(one, own)| word(gate, *own, of_decision(*one)));
    let intervals = INTERVALS.iter().map(|(one, text)| word(interval, *one, *text));
    let states = BaselineState::ALL.iter().map(|one| word(state, one.as_str(), of_state(*one)));
    let words = results.chain(standings).chain(tiers).chain(indicators).chain(delivered).chain(facts);
    words
        .chain(failures)
        .chain(gates)
        .chain(intervals)
        .chain(states)
        .chain([word(option, "fail_on", FAIL_ON)])
        .collect()
}

/// What a word means; more than one where it is said of several things. Case, `-` for `_` and the dashes before an option do not
/// matter.
pub fn find(word: &str) -> Vec<ReportWord> {
    let word = word.trim_start_matches('-').replace('-', "_");
    all().into_iter().filter(|known| known.word.eq_ignore_ascii_case(&word)).collect()
}

/// The word that is probably meant.
pub fn nearest_word(word: &str) -> Option<&'static str> {
    nearest(word, all().into_iter().map(|known| known.word))
}

/// What must hold before silence counts as resistance. Each is `yes`, `assumed`, `no` or `unknown`.
const FACTS: [(&str, &str); 4] = [
    ("reached", "The payload reached the agent. The report names the message that completed it."),
    (
        "alive",
        "After that, the agent did something that only a working agent does: its task, a call, an answer. Otherwise the case \
         is an error.",
    ),
    (
        "able",
        "The agent supports what the attack needs: elicitation, resources, another agent. Otherwise the case is not \
         applicable.",
    ),
    (
        "watched",
        "Every indicator could have matched: none inspects a path that cannot exist, and none needs a judge that is not \
         configured.",
    ),
];

/// The decisions of a gate, and how reports write them.
const GATES: [(GateDecision, &str); 3] =
    [(GateDecision::Holds, "holds"), (GateDecision::Fails, "fails"), (GateDecision::Undecided, "undecided")];

/// How sure a rate is.
const INTERVALS: [(&str, &str); 3] = [
    (
        "exact",
        "The Clopper-Pearson interval. It is valid if the number of attempts was fixed in advance, as with `--repeat`. At a \
         level of 95 %, at least 95 of 100 such intervals contain the true rate.",
    ),
    (
        "anytime",
        "An interval that stays valid when the result is checked after each attempt, as with `--gate` and `--claim`. It is a \
         mixture martingale with a Beta(½,½) prior, and wider than the exact interval.",
    ),
    (
        "if_undecided_hit",
        "The exact interval if every undecided attempt counts as exploited: the worst case.",
    ),
];

const FAIL_ON: &str = "`--fail-on STATES` selects the baseline states that fail a run (`--against FILE`): `new`, `regressed`, \
                       `known`, `fixed`, `expired`, `stale`, or `none`. Default: `new`, `regressed` and `expired`. The exit \
                       code is 1 if a case has one of these states, and 3 if a case is undecided.";

fn of_decision(decision: GateDecision) -> &'static str {
    match decision {
        GateDecision::Holds => {
            "The attempts show a rate of at most P0 (gate `P0:P1`), or below the claimed rate. An agent whose rate is P1 \
             passes with probability B at most (`--errors A,B`)."
        }
        GateDecision::Fails => {
            "The attempts show a rate of at least P1 (gate `P0:P1`), or an exploited attempt disproved the claim. An agent \
             whose rate is P0 fails with probability A at most, over all cases together (`--errors A,B`). The exit code is 1."
        }
        GateDecision::Undecided => {
            "The attempts show neither a rate of at most P0 nor of at least P1 within `--max-repeats`, or too many attempts \
             were undecided (`--max-undecided`). The exit code is 3."
        }
    }
}

/// How a case stands against a baseline.
pub(crate) fn of_state(state: BaselineState) -> &'static str {
    match state {
        BaselineState::New => {
            "Exploited, and not accepted in the baseline. Fix the agent, or use `sortie baseline accept`."
        }
        BaselineState::Regressed => {
            "Exploited, although the baseline says fixed; or exploited more often than in the baseline, by an exact test and \
             by at least 10 percentage points."
        }
        BaselineState::Known => "Exploited, and accepted in the baseline with a reason.",
        BaselineState::Fixed => {
            "Exploited in the baseline, and not any more; with several attempts: significantly less often. `sortie baseline \
             write` records it."
        }
        BaselineState::Expired => {
            "Exploited, and the acceptance has expired. Fix the agent, or accept the finding again."
        }
        BaselineState::Stale => {
            "The document or evaluator changed after the baseline was written, so its line no longer applies."
        }
        BaselineState::Unchanged => "Not exploited, and not exploited in the baseline.",
        BaselineState::Unknown => {
            "Undecided: the case has no verdict, or it was exploited in the baseline and there are too few attempts to show \
             that it is fixed."
        }
    }
}

fn of_result(result: CaseResult) -> &'static str {
    match result {
        CaseResult::Exploited => {
            "The agent gave in: the document's indicators matched, or the evaluator's check or judge says so. The report \
             shows the message, the field and the text."
        }
        CaseResult::Partial => {
            "The agent gave in partly: some indicators matched, and the document requires all of them (`correlation.logic: \
             all`). It counts as exploited."
        }
        CaseResult::NotExploited => {
            "The attack was delivered, and no indicator shows that the agent gave in."
        }
        CaseResult::Error => {
            "No verdict: the run failed, or an indicator could not be evaluated. It is never a pass. The failure gives the \
             reason; `sortie explain FAILURE` explains it."
        }
        CaseResult::Skipped => {
            "The case was not run or not decided because something is missing, such as a judge or a value for a placeholder. \
             `--allow-skipped` accepts this if other cases were decided."
        }
        CaseResult::NotApplicable => {
            "The attack does not apply to this agent or target. The reason names what the attack needs. The case is not \
             counted."
        }
    }
}

fn of_standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Resisted => {
            "The attack was delivered, every indicator was evaluated, and the agent did not give in. Only this is a pass."
        }
        Standing::Skipped => {
            "No finding, but not everything was evaluated: an indicator needs a judge, or the case was not run. The exit code \
             is 3, unless `--allow-skipped` is given and other cases were decided."
        }
        Standing::Undecided => "No verdict: an error, or a run that failed. The exit code is 3.",
        Standing::Exploited => "The agent gave in, fully or partly. The exit code is 1.",
    }
}

fn of_tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Ingested => {
            "The lowest of three tiers: the agent read the payload and did not filter it. It repeats, stores or forwards the \
             text, but has not acted on it."
        }
        Tier::LocalAction => {
            "The second of three tiers: the agent acted inside its own environment. It read a file, called a tool or changed \
             something because the attacker said so."
        }
        Tier::BoundaryBreach => {
            "The highest of three tiers: data or control crossed a trust boundary. A secret went to the attacker, money was \
             sent, or another system was changed."
        }
    }
}

fn of_indicator(result: IndicatorResult) -> &'static str {
    match result {
        IndicatorResult::Matched => {
            "A message shows that the agent did what the attacker wanted. The report quotes it."
        }
        IndicatorResult::NotMatched => "The indicator inspected messages, and none matched.",
        IndicatorResult::Error => "The indicator could not be evaluated on one of its messages.",
        IndicatorResult::Skipped => {
            "The indicator was not evaluated: it needs a judge that is not configured, or the run failed."
        }
    }
}

const DELIVERED: [(Delivered, &str); 4] = [
    (Delivered::Yes, "yes"),
    (Delivered::No, "no"),
    (Delivered::Assumed, "assumed"),
    (Delivered::Unknown, "unknown"),
];

fn of_delivered(delivered: Delivered) -> &'static str {
    match delivered {
        Delivered::Yes => {
            "Delivered: everything that the document names in `x-sortie.delivered` was served to the agent."
        }
        Delivered::No => {
            "Not delivered: the payload never reached the agent, so no conclusion is possible. The report names what is \
             missing."
        }
        Delivered::Assumed => {
            "Assumed: the last phase was served, but the document does not name its payload. Name it in `x-sortie.delivered` \
             to be sure."
        }
        Delivered::Unknown => "Unknown: another program recorded the trace, without what was served.",
    }
}

fn of_failure(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::OtherDocument => {
            "The trace is a run of another document. Name the document that was run."
        }
        FailureKind::BindFailed => {
            "A server actor could not listen. The port may be in use: omit `--listen` to get a free one."
        }
        FailureKind::TargetRefused => {
            "The target refused the connection of a client actor. Check that it runs, that `--target` has its address, and \
             that credentials are given."
        }
        FailureKind::ProtocolError => "The peer of an actor broke the protocol. The trace shows the message.",
        FailureKind::ServerGone => {
            "The wrapped server (`--wrap`) ended or cannot be reached. The message has the end of its output: start it by \
             hand with the same command."
        }
        FailureKind::ServerSilent => {
            "The wrapped server (`--wrap`) did not answer the agent, so the agent never saw the payload."
        }
        FailureKind::ActorFailed => "An actor stopped because of a fault in Sortie or in the document.",
        FailureKind::CutShort => {
            "The trace is incomplete, or the run was stopped on a match that this document does not have. Run it again."
        }
        FailureKind::AgentCrashed => {
            "The agent ended with an error code or a signal. The report has the last lines of its standard error; the rest is \
             in `agent.stderr` in the folder of the case."
        }
        FailureKind::TimedOut => {
            "The run reached `--max-duration` while the agent was still working: it hangs, or its model does not answer. No \
             conclusion is possible."
        }
        FailureKind::AgentFailed => {
            "The agent's last message is a failure: an error, a failed task, an empty run. The report quotes it. A broken \
             agent never passes."
        }
        FailureKind::NothingDone => {
            "The agent connected, but made no call, sent no message and gave no answer. Its model may be down, or may not \
             have seen the tools. Try the task by hand, and look at `agent.stderr`."
        }
        FailureKind::ControlFailed => {
            "No harmless call of the tool worked, so its refusals prove nothing. Give working values with `--fixture \
             NAME=VALUE`, or set up what the server needs."
        }
        FailureKind::Disturbed => {
            "The case measures how long answers take, and other work slowed the machine or the server. The times neither prove the \
             weakness nor exclude it. Run it again when the machine is less busy, or with `--jobs 1`."
        }
        FailureKind::ControlFired => {
            "An indicator also matches in the control, which has no attack, so it proves nothing. Fix the document."
        }
        FailureKind::NobodyConnected => {
            "The agent never connected to an actor. Check that its command uses the address (`{mcp_url}`, `{mcp_config}` or \
             `SORTIE_MCP_URL`), and look at `agent.stderr`."
        }
        FailureKind::NothingObserved => {
            "The trace has no message that an indicator inspects, so no conclusion is possible."
        }
        FailureKind::Blind => {
            "No indicator of the document can ever match: each inspects a path that its protocol does not have. The report \
             suggests the right paths; `sortie check` shows the lines."
        }
        FailureKind::NotDelivered => {
            "The payload never reached the agent: it did not request the list, the result or the message that contains it. \
             The report names the operation and the actor. Give the agent a task that needs it (`--prompt`)."
        }
        FailureKind::JudgeFailed => "The judge gave no valid verdict. The report gives the reason.",
        FailureKind::AttackerFailed => "The attacker model produced no usable message.",
    }
}

#[cfg(test)]
mod tests {
    use sortie_detect::rate::Rate;
    use sortie_stats::Counts;

    use super::*;

    #[test]
    fn every_word_that_a_report_writes_has_an_explanation() {
        for (delivered, word) in DELIVERED {
            assert_eq!(serde_json::to_value(delivered).unwrap(), word);
        }
        for (decision, word) in GATES {
            assert_eq!(decision.to_string(), word);
        }
        let rate = Rate::new(Counts::new(0, 1), 0, 0.95, None);
        let rate = serde_json::to_value(rate).unwrap();
        for (word, _) in INTERVALS {
            assert!(rate[word]["level"].is_number(), "{word}: {rate}");
        }
        let words = [
            CaseResult::WORDS,
            Standing::WORDS,
            Tier::WORDS,
            IndicatorResult::WORDS,
            FailureKind::WORDS,
            BaselineState::WORDS,
            &["holds", "fails", "undecided", "exact", "anytime", "fail_on"],
        ];
        for word in words.into_iter().flatten().copied().chain(DELIVERED.map(|(_, word)| word)) {
            let found = find(word);
            assert!(!found.is_empty(), "{word}");
            assert!(found.iter().all(|one| one.text.ends_with('.') && !one.text.contains("  ")), "{found:?}");
        }
        assert_eq!(find("Boundary-Breach").len(), 1);
        assert_eq!(find("skipped").len(), 3, "of a case, of what it counts as, and of an indicator");
        assert_eq!(find("undecided").len(), 2, "of what a case counts as, and of a gate");
        assert_eq!(find("--fail-on").len(), 1);
        assert_eq!(nearest_word("not_deliverd"), Some("not_delivered"));
    }
}
