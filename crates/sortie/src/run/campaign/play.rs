//! From what was asked for to one report.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use sortie_detect::{CaseInfo, EvaluatorCase, Outcome};
use sortie_engine::cases::{Missing, PlayOptions, Player};
use sortie_engine::run::{ContentGenerator, DocumentPlan, Semantic};
use sortie_engine::targets::Target;
use sortie_judge::Exchanges;
use sortie_report::Report;
use sortie_run::{DocumentCase, Limits, Observer, Played, RunStore, StoreError, load_info};
use sortie_trace::time::format_time;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use super::evaluators::Attacked;
use super::home::Home;
use super::needs::{Looked, unmet};
use crate::console::Notes;
use crate::failure::Failure;
use crate::inputs::counted;
use crate::run::chosen::Evaluators;
use crate::run::models::{AskedModels, Models};
use crate::run::progress::{CaseCounter, Display, Progress};
use crate::run::resolve::{Prepared, Unfit};
use crate::run::signals;

/// Everything that one command plays.
pub(crate) struct Campaign {
    pub(crate) documents: Vec<Prepared>,
    /// Documents of suites that what there is cannot be attacked with.
    pub(crate) unfit: Vec<Unfit>,
    pub(crate) evaluators: Option<Evaluators>,
    /// What evaluators attack.
    pub(crate) target: Option<Target>,
    /// How their cases are played.
    pub(crate) options: PlayOptions,
    pub(crate) models: AskedModels,
    pub(crate) home: Home,
    /// How much is played at a time.
    pub(crate) limits: Limits,
    /// Whether it is only shown what would happen.
    pub(crate) dry: bool,
    pub(crate) notes: Notes,
}

/// What came of a campaign.
pub(crate) enum CampaignEnd {
    /// What would be done.
    Planned { documents: Vec<DocumentPlan>, unfit: Vec<Unfit>, attacked: Option<Box<Attacked>> },
    /// What was done.
    Ended(Box<Ended>),
    /// The user did not even want to wait for a report.
    Aborted(Failure),
}

/// What was done.
pub(crate) struct Ended {
    pub(crate) report: Report,
    /// What could not be done.
    pub(crate) failures: Vec<Failure>,
    /// The user did not want to wait.
    pub(crate) interrupted: bool,
    /// How many lines were not shown, since the terminal was too slow.
    pub(crate) left_out: u64,
    /// The folder of the run.
    pub(crate) folder: PathBuf,
}

impl Campaign {
    /// Plays it.
    pub(crate) fn play(self) -> Result<CampaignEnd, Failure> {
        let fail = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
        let runtime = Builder::new_multi_thread().enable_all().build().map_err(fail)?;
        let end = runtime.block_on(async {
            let abort = CancellationToken::new();
            signals::watch(self.options.end.clone(), abort.clone(), self.notes.terminal).map_err(fail)?;
            match self.go(&abort).await {
                Err(failure) if abort.is_cancelled() => Ok(CampaignEnd::Aborted(failure)),
                end => end,
            }
        });
        // A thread that reads standard input cannot be stopped, and need not be.
        runtime.shutdown_background();
        end
    }

    async fn go(mut self, abort: &CancellationToken) -> Result<CampaignEnd, Failure> {
        let replayed = self.replayed()?;
        self.options.replay = self.home.replayed_folder();
        let attacked = self.look(abort).await?;
        if self.dry {
            let plan = |Prepared { document, options }: &Prepared| {
                DocumentPlan::new(&document.compiled, &document.name, options)
            };
            let documents = self.documents.iter().map(plan).collect();
            return Ok(CampaignEnd::Planned {
                documents,
                unfit: self.unfit,
                attacked: attacked.map(Box::new),
            });
        }
        let looked = tokio::select! {
            (unmet, looked) = unmet(&mut self.documents, &self.options) => {
                self.unfit.extend(unmet);
                looked
            }
            () = abort.cancelled() => return Err(aborted()),
        };
        if let Some(run) = &self.home.resume {
            load_info(run).map_err(|error| stored(&error))?;
        }
        let folder = self.home.open(&self.name())?;
        let exchanges = match replayed {
            Some(exchanges) => exchanges,
            None => self.models.exchanges(Some(&folder))?,
        };
        let mut models = Models::open(&self.models, &exchanges)?;
        let display = self.notes.terminal.then(Display::new);
        let plan = self.plan(attacked.as_ref(), &models, display.as_ref());
        let mut info = plan.info();
        info.asked =
            std::env::args().skip(1).map(|word| self.options.redactor.text(&word).into_owned()).collect();
        info.started = format_time(SystemTime::now());
        info.target = attacked.as_ref().and_then(|attacked| attacked.discovery.target().cloned());
        let store = match self.home.resume {
            Some(_) => RunStore::resume(&folder, &info),
            None => RunStore::create(&folder, info),
        };
        let store = store.map_err(|error| stored(&error))?;
        keep_discoveries(&folder, &looked)?;
        self.calibrate(&mut models, attacked.as_ref(), abort).await?;
        let player = attacked.as_ref().map(|attacked| {
            let options = PlayOptions {
                judge: models.judge(),
                attacker: models.attacker(),
                turns: self.models.turns,
                ..self.options.clone()
            };
            Arc::new(Player::new(&attacked.target, &attacked.discovery, &folder, options))
        });
        let observer: Arc<dyn Observer> = match &display {
            Some(display) => Arc::new(CaseCounter::new(plan.len(), store.len(), display.clone())),
            None => Arc::new(()),
        };
        let playing = plan.play(store, self.limits, (&self.options.end, abort), observer, player);
        let played = playing.await.map_err(|error| stored(&error))?;
        let left_out = display.map_or(0, |display| display.finish());
        self.close(played, &models, left_out)
    }

    /// What is played, and what is not: documents, those that do not fit, and the cases of evaluators.
    fn plan(
        &mut self,
        attacked: Option<&Attacked>,
        models: &Models,
        display: Option<&Arc<Display>>,
    ) -> sortie_run::Plan {
        let mut plan = sortie_run::Plan::default();
        plan.replay.clone_from(&self.options.replay);
        let several = self.documents.len() > 1;
        for Prepared { document, mut options } in std::mem::take(&mut self.documents) {
            options.semantic = models.semantic().map(Semantic);
            options.generator = models.generator().map(ContentGenerator);
            let watcher = Arc::new(Progress::new(&document, several, self.notes, display.cloned()));
            plan.add_document(DocumentCase {
                document: document.compiled,
                file: document.name,
                options,
                watcher,
            });
        }
        for Unfit { document, reason } in &self.unfit {
            plan.add_unplayed_document(&document.compiled, &document.name, reason);
        }
        match (&self.evaluators, attacked) {
            (_, Some(attacked)) => plan.add_evaluators(&attacked.planned),
            (Some(evaluators), None) => {
                for entry in evaluators.entries() {
                    // Whoever did not want to wait for the target has one.
                    if self.options.end.is_cancelled() {
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

    /// What was said in the run that is repeated. Where only documents were played, nobody was asked anything.
    fn replayed(&self) -> Result<Option<Exchanges>, Failure> {
        let Some(run) = &self.home.replay else { return Ok(None) };
        if !run.exists() {
            return Err(Failure::new(format!("`--replay`: there is no run `{}`", run.display())));
        }
        if self.evaluators.is_none() && !self.models.is_asked() {
            return Ok(Some(Exchanges::transient()));
        }
        self.models.exchanges(None).map(Some)
    }

    /// What the target of evaluators offers, and what they do with it.
    async fn look(&mut self, abort: &CancellationToken) -> Result<Option<Attacked>, Failure> {
        let (Some(evaluators), Some(target)) = (&self.evaluators, self.target.take()) else {
            return Ok(None);
        };
        let missing = if self.models.attacks() { Missing::LeaveToAttacker } else { Missing::Skip };
        tokio::select! {
            attacked = Attacked::plan(evaluators, target, &self.options, missing) => attacked,
            () = abort.cancelled() => Err(aborted()),
        }
    }

    /// What a new folder is called after.
    fn name(&self) -> String {
        match (&self.evaluators, &self.documents[..]) {
            (Some(evaluators), _) => evaluators.name(),
            (None, [Prepared { document, .. }]) => crate::run::folders::name(document),
            (None, _) => "documents".to_owned(),
        }
    }

    /// Measures the judge before it says anything that counts, by the evaluators that are played.
    async fn calibrate(
        &self,
        models: &mut Models,
        attacked: Option<&Attacked>,
        abort: &CancellationToken,
    ) -> Result<(), Failure> {
        let (Some(evaluators), Some(attacked)) = (&self.evaluators, attacked) else { return Ok(()) };
        let mut entries = evaluators.entries();
        entries.retain(|entry| attacked.plays(&entry.evaluator.id));
        if models.judge().is_none() || entries.is_empty() {
            return Ok(());
        }
        if self.notes.terminal {
            eprint!("the judge is shown fixtures first, whose verdicts are known");
        }
        let measured = tokio::select! {
            measured = models.calibrate(&entries, self.limits.jobs) => measured,
            () = self.options.end.cancelled() => Ok(()),
            () = abort.cancelled() => Err(aborted()),
        };
        if self.notes.terminal {
            eprintln!();
        }
        measured
    }

    /// The report of what was played, kept beside it.
    fn close(self, played: Played, models: &Models, left_out: u64) -> Result<CampaignEnd, Failure> {
        let Played { store, stopped, partial, failures, aborted: dropped } = played;
        let mut report = store.report();
        for outcome in partial {
            report.unfinished.retain(|id| *id != outcome.id);
            report.runs.push(outcome);
        }
        let interrupted = self.options.end.is_cancelled();
        let refused = || models.budget().exhausted().map(|refused| refused.to_string());
        report.stopped = stopped.or_else(|| interrupted.then(|| "interrupted".to_owned())).or_else(refused);
        report.suites =
            self.evaluators.as_ref().map(|evaluators| evaluators.tables(&report)).unwrap_or_default();
        report.models = models.report();
        store.write_report(&report).map_err(|error| stored(&error))?;
        if let Some(dropped) = dropped {
            let cases = counted(dropped, "case was", "cases were");
            return Err(Failure::new(format!("ended at once: {cases} not played to the end"))
                .help("`--resume` goes on with what is left"));
        }
        let failures = failures.into_iter().map(|(id, why)| Failure::new(format!("{id}: {why}"))).collect();
        let folder = store.folder().to_owned();
        Ok(CampaignEnd::Ended(Box::new(Ended { report, failures, interrupted, left_out, folder })))
    }
}

/// An evaluator of a suite, where nothing is there that it could attack.
fn without_target(evaluator: &str) -> Outcome {
    let case = EvaluatorCase {
        id: evaluator.to_owned(),
        pattern: None,
        tool: None,
        filled: sortie_evaluators::Values::new(),
    };
    let reason = "it attacks a target, and there is no `--target`";
    Outcome::not_applicable(evaluator, CaseInfo::Evaluator { evaluator: case }, reason)
}

/// Keeps what the servers of documents said about themselves before anything was played.
fn keep_discoveries(folder: &Path, looked: &[Looked]) -> Result<(), Failure> {
    for Looked { file, discovery, .. } in looked {
        let path = folder.join(file);
        let kept = discovery.as_ref().map_or(Ok(()), |discovery| discovery.keep(&path));
        kept.map_err(|error| Failure::at(&path, "write", &error))?;
    }
    Ok(())
}

fn aborted() -> Failure {
    Failure::new("ended at once; what was over is in the folder of the run, and `--resume` goes on")
}

fn stored(error: &StoreError) -> Failure {
    let help = "`--resume` wants the folder that was named by `--run-dir`, or one of `.sortie/runs`";
    let failure = Failure::new(error.to_string());
    if error.is_no_run() { failure.help(help) } else { failure }
}
