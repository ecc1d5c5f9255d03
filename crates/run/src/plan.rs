//! What a run plays.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sortie_detect::{CaseInfo, DocumentInfo, Outcome};
use sortie_engine::Watcher;
use sortie_engine::cases::{self, PatternCase, Planned, PlayError, Player};
use sortie_engine::run::{self, ContentGenerator, Folder, RunOptions, Semantic};
use sortie_library::NamedDocument;
use sortie_oatf::serialize;
use sortie_probe::AttackProgress;
use sortie_trace::StopReason;
use tokio_util::sync::CancellationToken;

use crate::agent_preset::{AgentPreset, add_session};
use crate::controls::FOLDER;
use crate::progress::SharedProgress;
use crate::repeats::Repeats;
use crate::scheduler::{Job, Observer, Played, RunLimits, Unfinished, play};
use crate::store::{PlannedCase, RunInfo, RunStore, StoreError, load_report};
use crate::utility::Utility;
use crate::{TraceSource, agent_output};

/// One case: what is played.
#[derive(Clone)]
pub enum Case {
    /// A document: its actors, and what its indicators say.
    Document(Box<DocumentCase>),
    /// A pattern of an evaluator: a conversation or a review, and what checks and a judge say.
    Evaluator(Box<PatternCase>),
}

/// A document that is to be played.
#[derive(Clone)]
pub struct DocumentCase {
    /// The document.
    pub document: NamedDocument,
    /// How it is played.
    pub options: RunOptions,
    /// Sees what happens.
    pub watcher: Arc<dyn Watcher>,
    /// Whether its control is played before it.
    pub controlled: bool,
    /// The benign twin that the document names, which is played in the place of its control.
    pub twin: Option<Box<Self>>,
    /// The preset that starts the agent, where one does.
    pub(crate) preset: Option<Arc<AgentPreset>>,
}

/// What a run plays, in the order of its report.
#[derive(Default)]
pub struct Plan {
    cases: Vec<PlannedCase>,
    jobs: Vec<Job<Case>>,
    unplayed: Vec<Outcome>,
    /// The folder of a run whose recordings are evaluated again, instead of playing.
    pub replay: Option<PathBuf>,
    /// How cases are repeated; `None` where each is played once.
    pub repeats: Option<Repeats>,
    /// Says whether the agent did its task, where somebody named a command for that.
    pub utility: Option<Utility>,
    /// Play every case of an evaluator, also where the others have said enough.
    pub is_exhaustive: bool,
    /// The models for an attempt at a document, where there are any.
    pub(crate) models: Option<AttemptModels>,
}

/// Gives the models that help with an attempt at a document.
pub(crate) type AttemptModels =
    Arc<dyn Fn(u32) -> (Option<Semantic>, Option<ContentGenerator>) + Send + Sync>;

impl Plan {
    /// Adds a document. Gives what it is called in the run: its id or name, and where another is called that, with a number.
    pub fn add_document(&mut self, case: DocumentCase) -> String {
        let document = about(&case.document);
        let id = self.unique(document.case_id());
        let twin = case.twin.as_ref().map(|twin| serialize(twin.document.compiled.document()));
        let does = serialize(case.document.compiled.document()) + &twin.unwrap_or_default();
        self.cases.push(PlannedCase::new(&id, &does));
        let info = CaseInfo::Document { document };
        let (group, after) = (id.clone(), Vec::new());
        let case = Case::Document(Box::new(case));
        self.jobs.push(Job { id: id.clone(), attempt: None, info, group, after, case });
        id
    }

    /// Adds a document that the target cannot be attacked with.
    pub fn add_unplayed_document(&mut self, document: &NamedDocument, reason: &str) {
        let document = about(document);
        let id = self.unique(document.case_id());
        self.add_unplayed(Outcome::not_applicable(id, CaseInfo::Document { document }, reason));
    }

    /// Adds the cases of evaluators.
    pub fn add_evaluators(&mut self, planned: &[Planned]) {
        for planned in planned {
            let Planned::Ready(case) = planned else {
                // Only what is ready is not a result.
                if let Some(outcome) = cases::unplayed(planned) {
                    self.add_unplayed(outcome);
                }
                continue;
            };
            self.cases.push(PlannedCase::new(&case.id, &planned.does()));
            let evaluator = &case.rubric.evaluator;
            self.jobs.push(Job {
                id: case.id.clone(),
                attempt: None,
                info: CaseInfo::Evaluator { evaluator: cases::case_info(case) },
                group: evaluator.id.clone(),
                after: evaluator.depends_on.clone(),
                case: Case::Evaluator(case.clone()),
            });
        }
    }

    /// Adds a case that cannot be played any more, since the user does not want to wait.
    pub fn add_unfinished(&mut self, id: &str) {
        self.cases.push(PlannedCase::new(id, ""));
    }

    /// Adds what is not played, with what comes of that.
    pub fn add_unplayed(&mut self, outcome: Outcome) {
        self.cases.push(PlannedCase::new(&outcome.id, ""));
        self.unplayed.push(outcome);
    }

    /// The controls of the documents that are to be played. The first one that says anything is played before all cases.
    pub fn controls(&self, is_over: impl Fn(&str) -> bool) -> impl Iterator<Item = (&str, DocumentCase)> {
        let jobs = self.jobs.iter().filter(move |job| !is_over(&job.id));
        jobs.filter_map(|job| match &job.case {
            Case::Document(case) => Some((job.id.as_str(), case.control()?)),
            Case::Evaluator(_) => None,
        })
    }

    /// Whether a case of an evaluator is to be played.
    pub(crate) fn has_open_evaluators(&self, is_over: impl Fn(&str) -> bool) -> bool {
        self.jobs.iter().any(|job| matches!(job.case, Case::Evaluator(_)) && !is_over(&job.id))
    }

    /// The agent did its task where there was no attack.
    pub fn set_works(&mut self) {
        for job in &mut self.jobs {
            if let Case::Document(case) = &mut job.case {
                case.options.control = Some(true);
            }
        }
    }

    /// What the run is, for its store.
    pub fn info(&self) -> RunInfo {
        RunInfo { repeats: self.repeats.clone(), ..RunInfo::new(self.cases.clone()) }
    }

    /// How long an attempt may take, with what is watched after it and with its control; `None` where something has no limit.
    pub(crate) fn limit(&self) -> Option<Duration> {
        let limits = self.jobs.iter().map(|job| match &job.case {
            Case::Document(case) => Some(case.limit()),
            Case::Evaluator(_) => None,
        });
        limits.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// Whether cases of evaluators are to be played.
    pub(crate) fn has_evaluators(&self) -> bool {
        self.has_open_evaluators(|_| false)
    }

    /// How many cases are to be played.
    pub fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// How many cases there are, with those that are not played.
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// Plays what the store does not have yet. `player` plays the cases of evaluators.
    pub async fn play(
        self,
        mut store: RunStore,
        limits: RunLimits,
        tokens: (&CancellationToken, &CancellationToken),
        observer: Arc<dyn Observer>,
        player: Option<Arc<Player>>,
    ) -> Result<Played, StoreError> {
        if let Some(player) = &player {
            let path = store.folder().join(cases::DISCOVERY);
            player.keep_discovery().map_err(|source| StoreError::Io { path, source })?;
        }
        let progress = self.progress(&store);
        let new: Vec<_> =
            self.unplayed.into_iter().filter(|outcome| store.get(&outcome.id).is_none()).collect();
        store.add(&new)?;
        for outcome in &new {
            observer.finished(&outcome.id, Some(outcome));
        }
        let folder = store.folder().to_owned();
        // What looked odd while it was played is not in the trace.
        let warnings: Arc<HashMap<String, Vec<String>>> = Arc::new(match &self.replay {
            Some(run) => {
                let runs = load_report(run).map(|report| report.runs).unwrap_or_default();
                runs.into_iter().map(|outcome| (outcome.id, outcome.warnings)).collect()
            }
            None => HashMap::new(),
        });
        let mut jobs = self.jobs;
        // Those that are likely to say something come first: what they say decides about the others.
        jobs.sort_by_key(|job| job.case.is_later());
        let case = |job: Job<Case>| {
            let progress = progress.clone();
            let (player, replay, warnings) = (player.clone(), self.replay.clone(), warnings.clone());
            let own = cases::attempt_folder(&job.id, job.attempt);
            let (recorded, own) = (replay.map(|run| run.join(&own)), folder.join(own));
            let (models, utility) =
                (self.models.clone(), self.utility.clone().filter(|_| recorded.is_none()));
            async move {
                let (folder, attempt) = (own.clone(), job.attempt);
                let played = match job.case {
                    Case::Document(mut case) => {
                        case.begin_attempt(job.attempt, models.as_ref());
                        let warned = warnings.get(&job.id).filter(|_| job.attempt.is_none()).cloned();
                        let outcome = case.outcome(job.id, own, recorded).await?;
                        Ok(Outcome { warnings: warned.unwrap_or(outcome.warnings), ..outcome })
                    }
                    Case::Evaluator(mut case) => match player {
                        Some(player) => {
                            case.attempt = job.attempt;
                            let is_recorded = recorded.is_some_and(|folder| folder.exists());
                            if let Some(why) = progress.conclusion(&case).filter(|_| !is_recorded) {
                                return Ok(Outcome::not_applicable(job.id, job.info, why));
                            }
                            let played = player.play(&case).await.map_err(|error| match error {
                                PlayError::Interrupted => Unfinished::Interrupted,
                                PlayError::Budget(exhausted) => Unfinished::Stop(exhausted.0),
                            });
                            if let Ok(outcome) = &played {
                                progress.observe(&case, outcome);
                            }
                            played
                        }
                        None => Err(Unfinished::Failed("there is no target".to_owned())),
                    },
                };
                let mut outcome = Outcome { attempt, ..played? };
                if let Some(utility) = utility.filter(|_| outcome.standing.is_some()) {
                    utility.add(&mut outcome, &folder).await;
                }
                Ok(outcome)
            }
        };
        let played = play(jobs, store, limits, tokens, observer, case).await;
        if let Some(player) = &player {
            player.close().await;
        }
        played
    }

    /// What the cases that are over say about the others; nothing where all of them are to be played.
    fn progress(&self, store: &RunStore) -> SharedProgress {
        if self.is_exhaustive || self.repeats.is_some() {
            return SharedProgress::default();
        }
        let cases = || self.jobs.iter().filter_map(|job| job.case.pattern());
        let progress = SharedProgress::new(AttackProgress::new(cases()));
        for case in cases() {
            if let Some(outcome) = store.get(&case.id) {
                progress.observe(case, outcome);
            }
        }
        progress
    }

    fn unique(&self, id: &str) -> String {
        let taken = |id: &str| self.cases.iter().any(|case| case.id == id);
        let numbered = (2_u32..).map(|number| format!("{id}-{number}"));
        // There are more numbers than cases.
        std::iter::once(id.to_owned()).chain(numbered).find(|id| !taken(id)).unwrap_or_default()
    }
}

impl Case {
    /// The pattern, where it is one of an evaluator.
    fn pattern(&self) -> Option<&PatternCase> {
        match self {
            Self::Document(_) => None,
            Self::Evaluator(case) => Some(case),
        }
    }

    /// Whether others of its evaluator are played before it.
    fn is_later(&self) -> bool {
        let has_first =
            |case: &PatternCase| case.rubric.evaluator.patterns.iter().any(|pattern| pattern.first);
        self.pattern().is_some_and(|case| !case.first && has_first(case))
    }
}

impl DocumentCase {
    /// Makes it ready for an attempt: with made-up values and answers of models of its own.
    fn begin_attempt(&mut self, attempt: Option<u32>, models: Option<&AttemptModels>) {
        self.options.attempt = attempt;
        if let Some(number @ 2..) = attempt {
            self.options.seed = self.options.seed.map(|seed| seed.wrapping_add(u64::from(number - 1)));
            if let Some(models) = models {
                (self.options.semantic, self.options.generator) = models(number);
            }
        }
    }

    /// Plays it in a folder of its own, or evaluates what was recorded.
    pub(crate) async fn outcome(
        self,
        id: String,
        folder: PathBuf,
        recorded: Option<PathBuf>,
    ) -> Result<Outcome, Unfinished> {
        if let Some(recorded) = recorded {
            // It reads files, and may ask a model.
            let evaluated = tokio::task::spawn_blocking(move || self.evaluate(id, &recorded)).await;
            return evaluated.map_err(|error| Unfinished::Failed(error.to_string()))?;
        }
        let failed = |error: run::RunError| Unfinished::Failed(error.to_string());
        let interrupt = self.options.interrupt.clone();
        let mut this = self;
        // Before the control, which stands in it.
        let own = Folder::create_again(folder.clone()).map_err(failed)?;
        let control = this.control().filter(|_| this.controlled);
        let control = match control {
            Some(control) => control.play_control(&folder).await?,
            None => None,
        };
        this.options.control = control.as_ref().map(|control| control.done).or(this.options.control);
        let (document, file) = (this.document.compiled.clone(), this.document.name.clone());
        let case = run::DocumentRun { document, file, folder: own };
        let (redactor, agent) = (this.options.redactor.clone(), this.options.agent.clone());
        let mut outcome = run::run(case, this.options, this.watcher).await.map_err(failed)?;
        agent_output::add(&mut outcome, &folder);
        if let (Some(preset), Some(agent)) = (&this.preset, agent) {
            preset.keep_session(&mut outcome, &folder, &agent.env, &redactor).await;
            add_session(&mut outcome, &folder, &this.document);
        }
        if let Some(control) = control {
            outcome = outcome.with_control(control);
        }
        // What it has come to when it is cut short is not what it comes to.
        if interrupt.is_cancelled() && outcome.stopped_by == Some(StopReason::Interrupted) {
            return Err(Unfinished::Partial(Box::new(Outcome { id, ..outcome })));
        }
        Ok(Outcome { id, ..outcome })
    }

    fn evaluate(self, id: String, recorded: &std::path::Path) -> Result<Outcome, Unfinished> {
        let trace = recorded.join("trace.jsonl");
        if let Err(error) = std::fs::metadata(&trace) {
            let why = format!("not recorded: there is no trace of `{id}` (`{}`: {error})", trace.display());
            return Err(Unfinished::Failed(why));
        }
        let control = self.control().filter(|_| self.controlled);
        let control = control.and_then(|control| control.evaluate(id.clone(), &recorded.join(FOLDER)).ok());
        let RunOptions { semantic, lenient, .. } = self.options;
        let detected = TraceSource::File(trace).detect(
            std::slice::from_ref(&self.document),
            semantic.as_ref().map(|engine| &engine.0),
            lenient,
        );
        let detected = detected.map_err(|error| Unfinished::Failed(error.to_string()))?;
        let mut outcome = detected.into_iter().next();
        if let Some(control) = control.and_then(|control| control.as_control()) {
            outcome = outcome.map(|outcome| outcome.with_control(control));
        }
        if let Some(outcome) = &mut outcome {
            add_session(outcome, recorded, &self.document);
        }
        // There is one for each document.
        outcome
            .map(|outcome| Outcome { id, ..outcome })
            .ok_or_else(|| Unfinished::Failed("nothing was evaluated".to_owned()))
    }
}

/// What a document is, for an outcome.
pub(crate) fn about(document: &NamedDocument) -> DocumentInfo {
    DocumentInfo::new(&document.name, &document.compiled.document().attack)
}
