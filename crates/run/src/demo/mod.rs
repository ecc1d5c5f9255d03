//! Every attack of the library against every agent of the demo: what is declared, and what came of it.

mod finding;
mod matrix;
mod page;
mod totals;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use sortie_detect::{CaseInfo, Outcome, Standing};
use sortie_engine::run::RunOptions;
use sortie_library::{self as library, BundledDocument, DocumentInput, NamedDocument};
use sortie_oatf::model::{Attack, AttackResult, Tier};
use sortie_practice::Behaviour;
use sortie_trace::StopReason;
use tokio_util::sync::CancellationToken;

use crate::folders::folder_of;
use crate::plan::about;
use crate::{DocumentCase, Job, Observer, PlannedCase, RunInfo, RunLimits, RunStore, SetupError, play};

pub use page::DemoView;

/// One that gives in, and two that a detection must not take for it.
pub(super) const AGENTS: [Behaviour; 3] =
    [Behaviour::Gullible, Behaviour::Refuser, Behaviour::QuotingRefuser];

/// How long a run may take. They take a second or two; one that hangs must not hold up the others for long.
const MAX_DURATION: Duration = Duration::from_mins(1);

/// What became of the demo: every attack of the library against every practice agent that it shows.
pub struct Demo {
    /// One for each document, in the order of the library.
    rows: Vec<Row>,
    /// Where everything is.
    folder: PathBuf,
    elapsed: Duration,
    /// The user did not want to wait.
    interrupted: bool,
    /// What did not work of ours.
    pub failures: Vec<String>,
}

/// What the demo comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoResult {
    /// Everything came out as declared.
    AsDeclared,
    /// No verdict is wrong, but something is not known.
    Undecided,
    /// A verdict is not the declared one.
    Otherwise,
    /// Something of ours did not work.
    Failed,
    /// The user did not want to wait.
    Interrupted,
}

/// A document, and what became of it with each of [`AGENTS`], in that order.
pub(super) struct Row {
    pub(super) entry: &'static BundledDocument,
    pub(super) document: NamedDocument,
    pub(super) outcomes: Vec<Cell>,
}

/// A document and an agent.
pub(super) struct Cell {
    pub(super) agent: Behaviour,
    pub(super) declared: Declared,
    /// `None` when it was not run to its end.
    pub(super) run: Option<Outcome>,
}

/// What must come of a document and an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Declared {
    pub(super) result: AttackResult,
    pub(super) max_tier: Option<Tier>,
}

/// What came, seen from what is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
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
    pub(super) fn of(attack: &Attack, agent: Behaviour) -> Self {
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
    pub(super) fn came(&self) -> Came {
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
    pub(super) fn new(
        entry: &'static BundledDocument,
        document: NamedDocument,
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

    pub(super) fn attack(&self) -> &Attack {
        &self.document.compiled.document().attack
    }

    /// How many of its indicators need a judge.
    pub(super) fn need_a_judge(&self) -> usize {
        self.attack().indicators.iter().flatten().filter(|indicator| indicator.semantic.is_some()).count()
    }

    pub(super) fn of(&self, agent: Behaviour) -> Option<&Cell> {
        self.outcomes.iter().find(|outcome| outcome.agent == agent)
    }
}

impl Demo {
    /// Plays all of it, so many runs at a time. `stop` lets what goes on come to its end; `abort` drops it. Without a folder, a new
    /// one is made among all runs.
    pub async fn play(
        jobs: usize,
        folder: Option<PathBuf>,
        (stop, abort): (&CancellationToken, &CancellationToken),
        observer: Arc<dyn Observer>,
    ) -> Result<Self, SetupError> {
        let begun = Instant::now();
        let load = |entry| Ok((entry, NamedDocument::load(&DocumentInput::Library(entry))?));
        let documents: Vec<_> = library::documents().iter().map(load).collect::<Result<_, SetupError>>()?;
        let options =
            RunOptions { max_duration: MAX_DURATION, interrupt: stop.clone(), ..RunOptions::default() };
        let mut cases = Vec::new();
        // Nothing is made before everything fits.
        for (entry, document) in &documents {
            for agent in AGENTS {
                let case = DocumentCase::against(agent, document.clone(), cases.len(), options.clone())?;
                cases.push(job(agent, entry, case));
            }
        }
        let folder = folder_of("demo", folder.as_deref())?;
        let planned = cases.iter().map(|job| PlannedCase::new(&job.id, "")).collect();
        let store = RunStore::create(&folder, RunInfo::new(planned))?;
        observer.planned(cases.len(), 0);
        let limits = RunLimits { jobs, ..RunLimits::default() };
        let played = play(cases, store, limits, (stop, abort), observer, |job| {
            job.case.outcome(job.id.clone(), folder.join(job.id), None)
        });
        let played = played.await?;
        let run = |agent, entry: &BundledDocument| {
            let id = case_id(agent, entry);
            let partial = || played.partial.iter().find(|outcome| outcome.id == id);
            // In the report it is called what it is called everywhere else, and its agent stands beside it.
            let outcome = played.store.get(&id).or_else(partial)?.clone();
            Some(Outcome { id: entry.id().to_owned(), ..outcome })
        };
        let rows = documents.into_iter().map(|(entry, document)| {
            Row::new(entry, document, AGENTS.iter().map(|agent| run(*agent, entry)).collect())
        });
        let failures = played.failures.iter().map(|(id, why)| format!("{id}: {why}"));
        let aborted = played.aborted.map(|cases| SetupError::CasesAborted(cases).to_string());
        let mut demo = Self {
            rows: rows.collect(),
            failures: failures.chain(aborted).collect(),
            folder,
            elapsed: begun.elapsed(),
            interrupted: stop.is_cancelled(),
        };
        let kept = played.store.write_report(&demo.report());
        demo.failures.extend(kept.err().map(|error| error.to_string()));
        Ok(demo)
    }

    /// Everything that was to be played, by document and then by agent.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = (&Row, &Cell)> {
        self.rows.iter().flat_map(|row| row.outcomes.iter().map(move |outcome| (row, outcome)))
    }

    pub(super) fn count(&self, came: Came) -> usize {
        self.outcomes().filter(|(_, outcome)| outcome.came() == came).count()
    }

    /// What it comes to: as declared only when everything is, and there was something.
    pub fn result(&self) -> DemoResult {
        let came = |came| self.count(came) > 0;
        if self.interrupted {
            DemoResult::Interrupted
        } else if !self.failures.is_empty() {
            DemoResult::Failed
        } else if came(Came::Otherwise) {
            DemoResult::Otherwise
        } else if came(Came::Undecided) || came(Came::NotPlayed) || !came(Came::AsDeclared) {
            DemoResult::Undecided
        } else {
            DemoResult::AsDeclared
        }
    }
}

/// The folder of a run below that of the demo, which is also what it is called.
fn case_id(agent: Behaviour, entry: &BundledDocument) -> String {
    format!("{agent}/{}", entry.id())
}

fn job(agent: Behaviour, entry: &BundledDocument, case: DocumentCase) -> Job<DocumentCase> {
    let (id, info) = (case_id(agent, entry), CaseInfo::Document { document: about(&case.document) });
    Job { group: id.clone(), id, attempt: None, info, after: Vec::new(), case }
}

#[cfg(test)]
pub(super) mod made_up {
    //! Demos that nobody has played.

    use std::sync::Arc;

    use sortie_detect::{Delivered, IndicatorFinding, Reach, Verdict};
    use sortie_oatf::Compiled;
    use sortie_oatf::model::IndicatorResult;

    use super::*;
    use sortie_library::documents;

    /// A run that came to this.
    pub(super) fn run(
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
    pub(super) fn demo(change: impl Fn(&str, Behaviour, &mut Option<Outcome>)) -> Demo {
        let row = |entry: &'static BundledDocument| {
            let document = NamedDocument {
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
            failures: Vec::new(),
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
        assert_eq!(
            (demo.result(), demo.count(Came::AsDeclared)),
            (DemoResult::AsDeclared, demo.rows.len() * 3)
        );
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
            assert_eq!(
                (demo.result(), demo.count(Came::Otherwise)),
                (DemoResult::Otherwise, 1),
                "{agent} {came:?}"
            );
        }
    }

    #[test]
    fn what_errored_or_was_not_played_is_undecided_unless_there_is_a_finding() {
        let error = but("SRT-001", Behaviour::Refuser, Some((AttackResult::Error, None)));
        assert_eq!((error.result(), error.count(Came::Undecided)), (DemoResult::Undecided, 1));
        let missing = but("SRT-001", Behaviour::Refuser, None);
        assert_eq!((missing.result(), missing.count(Came::NotPlayed)), (DemoResult::Undecided, 1));
        let nothing = Demo { rows: Vec::new(), ..made_up::demo(|_, _, _| ()) };
        assert_eq!(nothing.result(), DemoResult::Undecided);
        let both = made_up::demo(|id, agent, run| match (id, agent) {
            ("SRT-001", Behaviour::Refuser) => *run = None,
            ("SRT-002", Behaviour::Refuser) => {
                run.as_mut().unwrap().verdict.result = AttackResult::Exploited.into();
            }
            _ => (),
        });
        assert_eq!(both.result(), DemoResult::Otherwise);
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
        assert_eq!(Demo { failures: vec![String::new()], ..finding() }.result(), DemoResult::Failed);
        assert_eq!(Demo { interrupted: true, ..finding() }.result(), DemoResult::Interrupted);
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
