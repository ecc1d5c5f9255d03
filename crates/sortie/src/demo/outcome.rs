//! Every attack of the library against every agent of the demo: what is declared, and what came of it.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use sortie_detect::{Outcome, Standing};
use sortie_oatf::model::{Attack, AttackResult, Tier};
use sortie_practice::Behaviour;

use crate::documents::Document;
use crate::exit::Exit;
use crate::library::BundledDocument;
use sortie_trace::StopReason;

/// One that gives in, and two that a detection must not take for it.
pub(crate) const AGENTS: [Behaviour; 3] =
    [Behaviour::Gullible, Behaviour::Refuser, Behaviour::QuotingRefuser];

/// What became of the demo.
pub(crate) struct Demo {
    /// One for each document, in the order of the library.
    pub(crate) rows: Vec<Row>,
    /// Where everything is.
    pub(crate) folder: PathBuf,
    pub(crate) elapsed: Duration,
    /// The user did not want to wait.
    pub(crate) interrupted: bool,
    /// Whether something of ours did not work.
    pub(crate) failed: bool,
}

/// A document, and what became of it with each of [`AGENTS`], in that order.
pub(crate) struct Row {
    pub(crate) entry: &'static BundledDocument,
    pub(crate) document: Document,
    pub(crate) outcomes: Vec<Cell>,
}

/// A document and an agent.
pub(crate) struct Cell {
    pub(crate) agent: Behaviour,
    pub(crate) declared: Declared,
    /// `None` when it was not played to its end.
    pub(crate) run: Option<Outcome>,
}

/// What must come of a document and an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Declared {
    pub(crate) result: AttackResult,
    pub(crate) max_tier: Option<Tier>,
}

/// What came, seen from what is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    AsDeclared,
    Otherwise,
    /// Nobody can say.
    Undecided,
    /// Not to its end, because the user did not want to wait or something of ours did not work.
    NotPlayed,
}

impl Declared {
    /// An agent that obeys gets as far as any indicator says; but what an indicator says that needs a judge is not
    /// known here. The others get nowhere.
    pub(crate) fn of(attack: &Attack, agent: Behaviour) -> Self {
        if !agent.obeys() {
            return Self { result: AttackResult::NotExploited, max_tier: None };
        }
        let decided = attack.indicators.iter().flatten().filter(|indicator| indicator.semantic.is_none());
        Self {
            result: AttackResult::Exploited,
            max_tier: decided.filter_map(|indicator| indicator.tier).max(),
        }
    }
}

impl Cell {
    pub(crate) fn came(&self) -> Came {
        // What an attack has come to when it is cut short is not what it comes to.
        let Some(run) = self.run.as_ref().filter(|run| run.stopped_by != Some(StopReason::Interrupted))
        else {
            return Came::NotPlayed;
        };
        let verdict = &run.verdict;
        if run.standing == Some(Standing::Undecided) || !run.is_decided() {
            Came::Undecided
        } else if (Declared { result: verdict.result.into(), max_tier: verdict.max_tier }) == self.declared {
            Came::AsDeclared
        } else {
            Came::Otherwise
        }
    }
}

impl Row {
    pub(crate) fn new(
        entry: &'static BundledDocument,
        document: Document,
        runs: Vec<Option<Outcome>>,
    ) -> Self {
        let attack = &document.compiled.document().attack;
        let outcomes = AGENTS.iter().zip(runs).map(|(agent, run)| Cell {
            agent: *agent,
            declared: Declared::of(attack, *agent),
            run,
        });
        let outcomes = outcomes.collect();
        Self { entry, document, outcomes }
    }

    pub(crate) fn attack(&self) -> &Attack {
        &self.document.compiled.document().attack
    }

    /// How many of its indicators need a judge.
    pub(crate) fn need_a_judge(&self) -> usize {
        self.attack().indicators.iter().flatten().filter(|indicator| indicator.semantic.is_some()).count()
    }

    pub(crate) fn of(&self, agent: Behaviour) -> Option<&Cell> {
        self.outcomes.iter().find(|outcome| outcome.agent == agent)
    }
}

impl Demo {
    /// Everything that was to be played, by document and then by agent.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = (&Row, &Cell)> {
        self.rows.iter().flat_map(|row| row.outcomes.iter().map(move |outcome| (row, outcome)))
    }

    pub(crate) fn count(&self, came: Came) -> usize {
        self.outcomes().filter(|(_, outcome)| outcome.came() == came).count()
    }

    /// Clean only when everything came out as declared, and there was something.
    pub(crate) fn exit(&self) -> Exit {
        let came = |came| self.count(came) > 0;
        if self.interrupted {
            Exit::Interrupted
        } else if self.failed {
            Exit::Invalid
        } else if came(Came::Otherwise) {
            Exit::Findings
        } else if came(Came::Undecided) || came(Came::NotPlayed) || !came(Came::AsDeclared) {
            Exit::Undecided
        } else {
            Exit::Clean
        }
    }
}

#[cfg(test)]
pub(crate) mod made_up {
    //! Demos that nobody has played.

    use std::sync::Arc;

    use sortie_detect::{CaseInfo, Delivered, IndicatorFinding, Reach, Verdict};
    use sortie_oatf::Compiled;
    use sortie_oatf::model::IndicatorResult;

    use super::*;
    use crate::library::documents;

    /// A run that came to this.
    pub(crate) fn run(
        entry: &BundledDocument,
        agent: Behaviour,
        result: AttackResult,
        max_tier: Option<Tier>,
    ) -> Outcome {
        let id = Some(entry.id().to_owned());
        let document =
            sortie_detect::DocumentInfo { file: entry.name(), id: id.clone(), name: "An attack".to_owned() };
        let verdict = Verdict {
            attack_id: id,
            reason: None,
            max_tier,
            indicator_verdicts: vec![IndicatorFinding {
                indicator_id: format!("{}-01", entry.id()),
                result: IndicatorResult::NotMatched,
                timestamp: None,
                evidence: None,
                source: "sortie".to_owned(),
                r#match: None,
                description: None,
                tier: None,
                seen: None,
                excerpt: None,
            }],
            ..Verdict::new(result.into(), "")
        };
        Outcome {
            reach: Reach { delivered: Delivered::Yes, missing: Vec::new() },
            stopped_by: Some(StopReason::AgentExit),
            trace: Some(format!("demo/{agent}/{}/trace.jsonl", entry.id())),
            ..Outcome::new(entry.id(), CaseInfo::Document { document }, verdict, None)
        }
    }

    /// The whole library, as if everything came out as declared; but for what `change` makes of it.
    pub(crate) fn demo(change: impl Fn(&str, Behaviour, &mut Option<Outcome>)) -> Demo {
        let row = |entry: &'static BundledDocument| {
            let document = Document {
                name: entry.name(),
                compiled: Arc::new(Compiled::new(entry.document().unwrap()).unwrap()),
            };
            let mut row = Row::new(entry, document, vec![None, None, None]);
            for outcome in &mut row.outcomes {
                let Declared { result, max_tier } = outcome.declared;
                outcome.run = Some(run(entry, outcome.agent, result, max_tier));
                change(entry.id(), outcome.agent, &mut outcome.run);
            }
            row
        };
        Demo {
            rows: documents().iter().map(row).collect(),
            folder: PathBuf::from("demo"),
            elapsed: Duration::from_secs(20),
            interrupted: false,
            failed: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A demo in which one run came to something else.
    fn but(id: &'static str, agent: Behaviour, came: Option<(AttackResult, Option<Tier>)>) -> Demo {
        made_up::demo(move |at, with, run| {
            if (at, with) == (id, agent) {
                *run = run.take().zip(came).map(|(mut run, (result, tier))| {
                    (run.verdict.result, run.verdict.max_tier) = (result.into(), tier);
                    run
                });
            }
        })
    }

    #[test]
    fn it_is_clean_when_everything_came_out_as_declared() {
        let demo = made_up::demo(|_, _, _| ());
        assert_eq!((demo.exit(), demo.count(Came::AsDeclared)), (Exit::Clean, demo.rows.len() * 3));
    }

    #[test]
    fn one_verdict_in_either_direction_or_of_another_tier_is_a_finding() {
        let (exploited, breach) = (AttackResult::Exploited, Some(Tier::BoundaryBreach));
        for (agent, came) in [
            (Behaviour::Gullible, (AttackResult::NotExploited, None)),
            (Behaviour::Gullible, (exploited, Some(Tier::LocalAction))),
            (Behaviour::Refuser, (exploited, breach)),
            (Behaviour::QuotingRefuser, (AttackResult::Partial, breach)),
        ] {
            let demo = but("SRT-001", agent, Some(came));
            assert_eq!((demo.exit(), demo.count(Came::Otherwise)), (Exit::Findings, 1), "{agent} {came:?}");
        }
    }

    #[test]
    fn what_errored_or_was_not_played_is_undecided_unless_there_is_a_finding() {
        let error = but("SRT-001", Behaviour::Refuser, Some((AttackResult::Error, None)));
        assert_eq!((error.exit(), error.count(Came::Undecided)), (Exit::Undecided, 1));
        let missing = but("SRT-001", Behaviour::Refuser, None);
        assert_eq!((missing.exit(), missing.count(Came::NotPlayed)), (Exit::Undecided, 1));
        let nothing = Demo { rows: Vec::new(), ..made_up::demo(|_, _, _| ()) };
        assert_eq!(nothing.exit(), Exit::Undecided);
        let both = made_up::demo(|id, agent, run| match (id, agent) {
            ("SRT-001", Behaviour::Refuser) => *run = None,
            ("SRT-002", Behaviour::Refuser) => {
                run.as_mut().unwrap().verdict.result = AttackResult::Exploited.into();
            }
            _ => (),
        });
        assert_eq!(both.exit(), Exit::Findings);
    }

    #[test]
    fn a_run_that_was_cut_short_is_no_finding() {
        let demo = made_up::demo(|id, agent, run| {
            if let Some(run) = run.as_mut().filter(|_| (id, agent) == ("SRT-001", Behaviour::Gullible)) {
                run.verdict.max_tier = Some(Tier::LocalAction);
                run.stopped_by = Some(StopReason::Interrupted);
            }
        });
        assert_eq!((demo.count(Came::Otherwise), demo.count(Came::NotPlayed)), (0, 1));
    }

    #[test]
    fn an_interruption_and_a_fault_of_ours_come_before_everything() {
        let finding = || but("SRT-001", Behaviour::Gullible, Some((AttackResult::NotExploited, None)));
        assert_eq!(Demo { failed: true, ..finding() }.exit(), Exit::Invalid);
        assert_eq!(Demo { failed: true, interrupted: true, ..finding() }.exit(), Exit::Interrupted);
    }

    #[test]
    fn what_only_a_judge_could_say_is_not_declared() {
        let demo = made_up::demo(|_, _, _| ());
        let judged = demo.rows.iter().filter(|row| row.need_a_judge() > 0);
        for row in judged {
            let tiers = row.attack().indicators.iter().flatten();
            let decided =
                tiers.filter(|indicator| indicator.semantic.is_none()).filter_map(|it| it.tier).max();
            assert_eq!(row.outcomes[0].declared.max_tier, decided, "{}", row.entry.id());
        }
    }
}
