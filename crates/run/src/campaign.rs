//! From what was asked for to one report.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use sortie_detect::{CaseInfo, EvaluatorCase, Outcome};
use sortie_engine::cases::{CONTROL_CALLS, CaseAttacker, Missing, PlayOptions, Player, ask_control};
use sortie_engine::run::{ContentGenerator, Semantic};
use sortie_engine::targets::Target;
use sortie_judge::Exchanges;
use sortie_report::Report;
use sortie_report::files::FileError;
use sortie_report::origin::StartedAgent;
use sortie_trace::Redactor;
use sortie_trace::time::format_time;
use tokio_util::sync::CancellationToken;

use crate::agent_preset::AgentPreset;
use crate::controls::{self, Controls};
use crate::discovery::{ControlSource, DiscoveredTarget, PlannedTarget, take_unplayable};
use crate::folders::{folder_of, name};
use crate::forecast::{PlannedAttempts, RunForecast};
use crate::models::OpenModels;
use crate::sandbox::{self, RunSandbox};
use crate::scheduler::Unfinished;
use crate::store::load_info;
use crate::{
    DocumentCase, Observer, Plan, Played, Preview, RunInfo, RunRequest, RunStore, SelectedEvaluators,
    SetupError, UnplayedDocument,
};

/// Where a run is kept, and whether it was begun before.
#[derive(Clone, Debug, Default)]
pub struct RunPlace {
    /// The folder that was asked for; without one, a new one among all runs.
    pub folder: Option<PathBuf>,
    /// The folder of a run that is taken up.
    pub resume: Option<PathBuf>,
    /// The run that is repeated: its folder, or its file of exchanges.
    pub replay: Option<PathBuf>,
}

impl RunPlace {
    /// The folder of the run that is repeated.
    pub(crate) fn replayed_folder(&self) -> Option<PathBuf> {
        let run = self.replay.as_deref()?;
        let folder = if run.is_dir() { Some(run) } else { run.parent() };
        // The folder of a file without one is here.
        folder.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.to_owned())
    }
}

/// Everything that one run plays: documents, evaluators, or both, with one report.
pub struct Campaign {
    pub(crate) request: RunRequest,
    pub(crate) documents: Vec<DocumentCase>,
    /// Optional documents that what there is cannot be attacked with.
    pub(crate) unplayed: Vec<UnplayedDocument>,
    pub(crate) evaluators: Option<SelectedEvaluators>,
    /// What evaluators attack.
    pub(crate) target: Option<Target>,
    /// The agent that is started, for the report.
    pub(crate) agent: Option<StartedAgent>,
    /// The preset that starts it, where one does.
    pub(crate) preset: Option<Arc<AgentPreset>>,
    /// Everything that is attacked, for the report.
    pub(crate) targets: Vec<String>,
    /// Where it is started, where that is not the host.
    pub(crate) sandbox: RunSandbox,
}

/// What was done.
pub struct CampaignEnd {
    /// What came of it.
    pub report: Report,
    /// Cases that could not be begun, and why.
    pub failures: Vec<(String, String)>,
    /// What could not be written into the folder of the run, and why. The report has it all the same.
    pub losses: Vec<SetupError>,
    /// The user did not want to wait.
    pub interrupted: bool,
    /// The folder of the run.
    pub folder: PathBuf,
}

impl Campaign {
    /// Shows what would be done, and plays nothing. Only the target of evaluators is looked at.
    pub async fn preview(mut self, abort: &CancellationToken) -> Result<Preview, SetupError> {
        self.replayed()?;
        let found = self.discover(abort).await?;
        let attacked = self.look(found, abort, ControlSource::Nowhere, None).await?;
        let planned = attacked.map(|attacked| attacked.planned);
        let mut preview = Preview::new(&self.documents, std::mem::take(&mut self.unplayed), planned);
        if let Some(asked) = &self.request.repeats {
            let mut plan = Plan::default();
            for case in std::mem::take(&mut self.documents) {
                plan.add_document(case);
            }
            plan.add_evaluators(preview.cases());
            let repeats = asked.of_cases(plan.jobs(), None);
            let forecast = self.forecast(&plan, &self.info(&plan));
            preview.set_repeats(repeats, forecast);
        }
        Ok(preview)
    }

    /// What is known about attempts at what is planned.
    fn forecast(&self, plan: &Plan, info: &RunInfo) -> RunForecast {
        RunForecast::new(&PlannedAttempts {
            info,
            resume: self.request.place.resume.as_deref(),
            models: &self.request.models,
            has_evaluators: plan.has_evaluators(),
            limit: plan.limit(),
            jobs: self.request.limits.jobs,
        })
    }

    /// What the run is, as far as it is known without a target.
    fn info(&self, plan: &Plan) -> RunInfo {
        let mut info = plan.info();
        info.asked.clone_from(&self.request.words);
        info.started = format_time(SystemTime::now());
        (info.agent, info.targets) = (self.agent.clone(), self.targets.clone());
        redact(&mut info, &self.request.cases.redactor);
        info
    }

    /// Plays it. The token of the request lets what goes on come to its end; `abort` drops it, and then this is an error.
    pub async fn play(
        mut self,
        observer: Arc<dyn Observer>,
        abort: &CancellationToken,
    ) -> Result<CampaignEnd, SetupError> {
        let begun = Instant::now();
        let replayed = self.replayed()?;
        self.ask_version(abort).await?;
        let source = self.control_source();
        let found = self.discover(abort).await?;
        let looked = tokio::select! {
            (unplayed, looked) = take_unplayable(&mut self.documents, &self.request.cases) => {
                self.unplayed.extend(unplayed);
                looked
            }
            () = abort.cancelled() => return Err(SetupError::Aborted),
        };
        let folder = match &self.request.place.resume {
            Some(folder) => {
                load_info(folder)?;
                folder.clone()
            }
            None => folder_of(&self.name(), self.request.place.folder.as_deref())?,
        };
        let exchanges = match replayed {
            Some(exchanges) => exchanges,
            None => self.request.models.exchanges(Some(&folder))?,
        };
        let mut models = OpenModels::open(&self.request.models, &exchanges)?;
        let attacked = self.look(found, abort, source, models.attacker()).await.inspect_err(|_| {
            // A run that never began leaves no folder, unless a model has said something.
            let _ = std::fs::remove_dir(&folder);
        })?;
        let mut plan = self.plan(attacked.as_ref(), &models, &*observer);
        if let Some(repeats) = &self.request.repeats {
            let taken_up = self.request.place.resume.as_deref().map(load_info).transpose()?;
            let taken_up = taken_up.and_then(|info| info.repeats);
            let repeats = repeats.of_cases(plan.jobs(), taken_up.as_ref());
            observer.repeats(&repeats, &self.forecast(&plan, &self.info(&plan)));
            plan.repeats = Some(repeats);
            plan.models = models.by_attempt();
        }
        let mut info = self.info(&plan);
        info.target = attacked.as_ref().and_then(|attacked| attacked.discovery.target().cloned());
        let store = match self.request.place.resume {
            Some(_) => RunStore::resume(&folder, &info)?,
            None => RunStore::create(&folder, info)?,
        };
        looked.iter().try_for_each(|looked| looked.keep(&folder))?;
        if let Some(live) = &self.sandbox.live {
            sandbox::keep(&folder, live, None)?;
        }
        if let Some(calls) = attacked.as_ref().and_then(|attacked| attacked.controls.clone()) {
            calls
                .keep(&folder)
                .map_err(|error| FileError::io(&folder.join(CONTROL_CALLS), "write", error))?;
        }
        let broken = match self.request.controls() {
            Controls::Off => None,
            Controls::First | Controls::All => {
                let broken = self.control(&mut plan, attacked.as_ref(), &store, abort, &*observer).await?;
                self.request.cases.control = Some(broken.is_none());
                broken
            }
        };
        if let Some(broken) = broken {
            let played = Played {
                store,
                stopped: Some(broken),
                partial: Vec::new(),
                failures: Vec::new(),
                aborted: None,
                lost: None,
            };
            return self.close(played, &models, begun);
        }
        self.calibrate(&mut models, attacked.as_ref(), abort, &*observer).await?;
        let player = attacked.as_ref().map(|attacked| {
            let options = PlayOptions {
                judge: models.judge(),
                attacker: models.attacker(),
                controls: attacked.controls.clone(),
                turns: self.request.models.request.turns.map_or(1, std::num::NonZero::get),
                ..self.request.cases.clone()
            };
            Arc::new(Player::new(&attacked.target, &attacked.discovery, &folder, options))
        });
        observer.planned(plan.len(), store.len());
        let tokens = (&self.request.cases.end, abort);
        let played = plan.play(store, self.request.limits, tokens, observer, player).await?;
        self.close(played, &models, begun)
    }

    /// Asks the agent which version it is. One that does not say is attacked all the same. A replay has the version of its run.
    async fn ask_version(&mut self, abort: &CancellationToken) -> Result<(), SetupError> {
        let (Some(agent), Some(preset)) = (&mut self.agent, &self.preset) else { return Ok(()) };
        agent.version = if let Some(folder) = &self.request.cases.replay {
            load_info(folder).ok().and_then(|info| info.agent?.version)
        } else {
            tokio::select! {
                version = preset.preset.ask_version() => version.ok().flatten(),
                () = abort.cancelled() => return Err(SetupError::Aborted),
            }
        };
        Ok(())
    }

    /// Plays one control before the attacks. Gives why none is to be played, when what is under test does not do its task there.
    async fn control(
        &self,
        plan: &mut Plan,
        attacked: Option<&PlannedTarget>,
        store: &RunStore,
        abort: &CancellationToken,
        observer: &dyn Observer,
    ) -> Result<Option<String>, SetupError> {
        let folder = store.folder();
        let is_over = |id: &str| store.is_over(id);
        // A target that lacks what one document needs may have what the others need: its documents have no control by default.
        let is_asked = self.request.agent.is_some() || self.request.controls.is_some();
        let is_wanted = self.request.controls() == Controls::First && is_asked;
        let mut works = false;
        for (id, control) in plan.controls(is_over).take_while(|_| is_wanted) {
            let interrupt = control.options.interrupt.clone();
            observer.controlling(Some(id));
            let played = tokio::select! {
                played = control.play_control(folder) => played,
                () = abort.cancelled() => return Err(SetupError::Aborted),
            };
            observer.controlling(None);
            let broken = match played {
                Ok(Some(result)) if result.done => {
                    works = true;
                    break;
                }
                Ok(Some(result)) => result.why.unwrap_or_default(),
                Err(Unfinished::Failed(why) | Unfinished::Stop(why)) => why,
                // It says nothing about the agent: the next one may.
                Ok(None) if !interrupt.is_cancelled() => continue,
                Ok(None) | Err(_) => break,
            };
            let place = folder.join(controls::FOLDER);
            return Ok(Some(format!(
                "no attack was run, because the agent does not do its task without an attack either: in the control of `{id}` {broken} (see `{}`; `--controls off` attacks anyway)",
                place.display()
            )));
        }
        if works {
            plan.set_works();
        }
        let Some(attacked) = attacked.filter(|_| plan.has_open_evaluators(is_over)) else { return Ok(None) };
        let asked = self.request.control.as_deref().unwrap_or(controls::QUESTION);
        let answered = tokio::select! {
            answered = ask_control(&attacked.target, asked, folder, &self.request.cases) => answered,
            () = abort.cancelled() => return Err(SetupError::Aborted),
        };
        Ok(answered.err().map(|why| {
            let why = self.request.cases.redactor.text(&why.to_string()).into_owned();
            format!("no attack was run, because the target does not answer a harmless question either: {why} (`--control TEXT` asks another question, `--controls off` asks none)")
        }))
    }

    /// What is played, and what is not: documents, those that do not fit, and the cases of evaluators.
    fn plan(
        &mut self,
        attacked: Option<&PlannedTarget>,
        models: &OpenModels,
        observer: &dyn Observer,
    ) -> Plan {
        let mut plan = Plan::default();
        plan.replay.clone_from(&self.request.cases.replay);
        plan.utility.clone_from(&self.request.utility);
        plan.is_exhaustive = self.request.probing.exhaustive;
        let several = self.documents.len() > 1;
        for mut case in std::mem::take(&mut self.documents) {
            case.options.semantic = models.semantic().map(Semantic);
            case.options.generator = models.generator().map(ContentGenerator);
            case.watcher = observer.watcher(&case.document, several);
            plan.add_document(case);
        }
        for UnplayedDocument { document, reason } in &self.unplayed {
            plan.add_unplayed_document(document, reason);
        }
        match (&self.evaluators, attacked) {
            (_, Some(attacked)) => plan.add_evaluators(&attacked.planned),
            (Some(evaluators), None) => {
                for entry in evaluators.entries() {
                    // Whoever did not want to wait for the target has one.
                    if self.request.cases.end.is_cancelled() {
                        plan.add_unfinished(&entry.evaluator.id);
                    } else {
                        plan.add_unplayed(without_target(&entry.evaluator.id));
                    }
                }
            }
            (None, None) => {}
        }
        plan
    }

    /// What was said in the run that is repeated. Where no model helped, nobody was asked anything.
    fn replayed(&mut self) -> Result<Option<Exchanges>, SetupError> {
        let Some(run) = &self.request.place.replay else { return Ok(None) };
        if !run.exists() {
            return Err(SetupError::usage(format!("`--replay`: there is no run `{}`", run.display())));
        }
        self.request.cases.replay = self.request.place.replayed_folder();
        if self.request.models.is_asked() {
            return self.request.models.exchanges(None).map(Some);
        }
        if let (Some(_), Some(folder)) = (&self.evaluators, &self.request.cases.replay) {
            load_info(folder).map_err(|error| {
                SetupError::usage(error.to_string())
                    .with_help("`--replay` wants the folder of a run, or its `exchanges.jsonl`")
            })?;
        }
        Ok(Some(Exchanges::transient()))
    }

    /// What the target of evaluators offers.
    async fn discover(&mut self, abort: &CancellationToken) -> Result<Option<DiscoveredTarget>, SetupError> {
        let (Some(_), Some(target)) = (&self.evaluators, self.target.take()) else {
            return Ok(None);
        };
        tokio::select! {
            found = DiscoveredTarget::new(target, &self.request.cases) => found,
            () = abort.cancelled() => Err(SetupError::Aborted),
        }
    }

    /// What evaluators do with what a target offers. Where none of its tools works, the attacker may know how.
    async fn look(
        &self,
        found: Option<DiscoveredTarget>,
        abort: &CancellationToken,
        source: ControlSource,
        attacker: Option<Arc<dyn CaseAttacker>>,
    ) -> Result<Option<PlannedTarget>, SetupError> {
        let (Some(evaluators), Some(found)) = (&self.evaluators, found) else { return Ok(None) };
        let attacks = self.request.models.attacker.is_some();
        let missing = if attacks { Missing::LeaveToAttacker } else { Missing::Skip };
        let options = PlayOptions { attacker, ..self.request.cases.clone() };
        let known = (&self.request.probing, &self.sandbox, source);
        tokio::select! {
            planned = PlannedTarget::new(evaluators, found, &options, missing, known) => planned,
            () = abort.cancelled() => Err(SetupError::Aborted),
        }
    }

    /// Where harmless calls of the tools of a server are from: a run that is repeated or taken up has made them.
    fn control_source(&self) -> ControlSource {
        if let Some(run) = &self.request.cases.replay {
            return ControlSource::recorded(run).unwrap_or(ControlSource::Nowhere);
        }
        let taken_up = self.request.place.resume.as_deref().and_then(ControlSource::recorded);
        match (taken_up, self.request.controls()) {
            (Some(recorded), _) => recorded,
            (None, Controls::Off) => ControlSource::Nowhere,
            (None, Controls::First | Controls::All) => ControlSource::Live,
        }
    }

    /// What a new folder is called after.
    fn name(&self) -> String {
        match (&self.evaluators, &self.documents[..]) {
            (Some(evaluators), _) => evaluators.name(),
            (None, [case]) => name(&case.document),
            (None, _) => "documents".to_owned(),
        }
    }

    /// Measures the judge before it says anything that counts, by the evaluators that are played.
    async fn calibrate(
        &self,
        models: &mut OpenModels,
        attacked: Option<&PlannedTarget>,
        abort: &CancellationToken,
        observer: &dyn Observer,
    ) -> Result<(), SetupError> {
        let (Some(evaluators), Some(attacked)) = (&self.evaluators, attacked) else { return Ok(()) };
        let mut entries = evaluators.entries();
        entries.retain(|entry| attacked.plays(&entry.evaluator.id));
        if models.judge().is_none() || entries.is_empty() {
            return Ok(());
        }
        observer.calibrating(true);
        let measured = tokio::select! {
            measured = models.calibrate(&entries, self.request.limits.jobs) => measured,
            () = self.request.cases.end.cancelled() => Ok(()),
            () = abort.cancelled() => Err(SetupError::Aborted),
        };
        observer.calibrating(false);
        measured
    }

    /// The report of what was played, kept beside it.
    fn close(self, played: Played, models: &OpenModels, begun: Instant) -> Result<CampaignEnd, SetupError> {
        let Played { store, stopped, partial, failures, aborted, lost } = played;
        let mut report = store.report();
        let is_cut = !partial.is_empty();
        // An attempt that was cut says nothing beside those that were not.
        let shown = partial.into_iter().filter(|_| store.repeats().is_none());
        for outcome in shown {
            report.unfinished.retain(|id| *id != outcome.id);
            report.runs.push(outcome);
        }
        // Whoever starts a server over standard input and output ends it, too: what was played to its end is whole.
        let is_whole = self.request.documents.stdio && report.unfinished.is_empty() && !is_cut;
        let interrupted = self.request.cases.end.is_cancelled() && !is_whole;
        let refused = || models.budget().exhausted().map(|refused| refused.to_string());
        report.stopped = stopped.or_else(|| interrupted.then(|| "interrupted".to_owned())).or_else(refused);
        report.suites =
            self.evaluators.as_ref().map(|evaluators| evaluators.tables(&report)).unwrap_or_default();
        report.models = models.report();
        let mut losses: Vec<_> = lost.into_iter().map(SetupError::from).collect();
        report.sandbox = self.sandbox.recorded;
        if let Some(live) = &self.sandbox.live {
            let mut seen = live.report();
            seen.map_texts(|text| self.request.cases.redactor.text(text).into_owned());
            losses.extend(sandbox::keep(store.folder(), live, Some(&seen)).err().map(SetupError::from));
            report.sandbox = Some(seen);
        }
        if let Some(run) = &mut report.run {
            // A report is for people, who want to know seconds.
            run.seconds = Some((begun.elapsed().as_secs_f64() * 1000.0).round() / 1000.0);
        }
        if let Err(error) = store.write_report(&report) {
            report.stopped.get_or_insert_with(|| format!("the report cannot be kept: {error}"));
            losses.push(error.into());
        }
        if let Some(cases) = aborted {
            return Err(SetupError::CasesAborted(cases));
        }
        let folder = store.folder().to_owned();
        Ok(CampaignEnd { report, failures, losses, interrupted, folder })
    }
}

/// Takes out what nobody is to keep of what was asked for.
fn redact(info: &mut RunInfo, redactor: &Redactor) {
    let agent = info.agent.iter_mut().flat_map(|agent| [Some(&mut agent.command), agent.prompt.as_mut()]);
    for text in info.asked.iter_mut().chain(&mut info.targets).chain(agent.flatten()) {
        *text = redactor.text(text).into_owned();
    }
}

/// An evaluator of a suite, where nothing is there that it could attack.
fn without_target(evaluator: &str) -> Outcome {
    let case = EvaluatorCase { id: evaluator.to_owned(), ..EvaluatorCase::default() };
    let reason = "this evaluator needs a target: add `--target KIND=SPEC`";
    Outcome::not_applicable(evaluator, CaseInfo::Evaluator { evaluator: case }, reason)
}
