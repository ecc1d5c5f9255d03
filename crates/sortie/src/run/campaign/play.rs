//! From what was asked for to one report.

use std::path::PathBuf;

use sortie_engine::cases::{Missing, Options};
use sortie_engine::run::{Generator, Plan, Semantic};
use sortie_engine::targets::Target;
use sortie_judge::Exchanges;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use super::account::{Account, Ended};
use super::documents::{Documents, PlayedDocuments};
use super::evaluators::Attacked;
use super::home::Home;
use super::needs::{Looked, unmet};
use crate::console::Notes;
use crate::failure::Failure;
use crate::run::chosen::Evaluators;
use crate::run::models::{AskedModels, Models};
use crate::run::resolve::{Prepared, Unfit};
use crate::run::{keep_again, signals};

/// Everything that one command plays.
pub(crate) struct Campaign {
    pub(crate) documents: Vec<Prepared>,
    /// Documents of suites that what there is cannot be attacked with.
    pub(crate) unfit: Vec<Unfit>,
    pub(crate) evaluators: Option<Evaluators>,
    /// What evaluators attack.
    pub(crate) target: Option<Target>,
    /// How their cases are played.
    pub(crate) options: Options,
    pub(crate) models: AskedModels,
    pub(crate) home: Home,
    /// How many documents or cases are played at once.
    pub(crate) at_once: usize,
    pub(crate) lenient: bool,
    /// Whether it is only shown what would happen.
    pub(crate) dry: bool,
    pub(crate) notes: Notes,
}

/// What came of a campaign.
pub(crate) enum Outcome {
    /// What would be done.
    Planned { documents: Vec<Plan>, unfit: Vec<Unfit>, attacked: Option<Box<Attacked>> },
    /// What was done.
    Ended(Box<Ended>),
    /// The user did not even want to wait for a report.
    Cut(Failure),
}

/// Models and exchanges, once there is a place to keep them.
struct Opened {
    folder: Option<PathBuf>,
    models: Models,
}

impl Campaign {
    /// Plays it.
    pub(crate) fn play(self) -> Result<Outcome, Failure> {
        let fail = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
        let runtime = Builder::new_multi_thread().enable_all().build().map_err(fail)?;
        let outcome = runtime.block_on(async {
            let end_now = CancellationToken::new();
            signals::watch(self.options.end.clone(), end_now.clone(), self.notes.terminal).map_err(fail)?;
            match self.go(end_now.clone()).await {
                Err(failure) if end_now.is_cancelled() => Ok(Outcome::Cut(failure)),
                outcome => outcome,
            }
        });
        // A thread that reads standard input cannot be stopped, and need not be.
        runtime.shutdown_background();
        outcome
    }

    async fn go(mut self, end_now: CancellationToken) -> Result<Outcome, Failure> {
        let replayed = self.replayed()?;
        self.options.replay = self.home.replayed_folder();
        let attacked = self.look(&end_now).await?;
        let mut looked = Vec::new();
        if !self.dry {
            tokio::select! {
                (unmet, servers) = unmet(&mut self.documents, &self.options) => {
                    self.unfit.extend(unmet);
                    looked = servers;
                }
                () = end_now.cancelled() => return Err(ended_at_once()),
            }
        }
        if self.dry {
            let plan = |Prepared { document, options }: &Prepared| {
                Plan::new(&document.compiled, &document.name, options)
            };
            let documents = self.documents.iter().map(plan).collect();
            return Ok(Outcome::Planned { documents, unfit: self.unfit, attacked: attacked.map(Box::new) });
        }
        let mut opened = self.open(replayed, &looked)?;
        self.calibrate(&mut opened.models, attacked.as_ref(), &end_now).await?;
        let mut account = Account::new(&self, attacked.as_ref());
        let documents = self.documents(&opened, &end_now).await?;
        account.documents(documents);
        if let (Some(attacked), Some(folder)) = (&attacked, &opened.folder) {
            let options = self.of_cases(&opened.models);
            let played = attacked.play(folder, self.home.resume.is_some(), options, self.notes);
            let played = tokio::select! {
                played = played => played?,
                () = end_now.cancelled() => return Err(ended_at_once()),
            };
            account.evaluators(played);
        }
        let interrupted = self.options.end.is_cancelled();
        let mut ended = account.close(interrupted, self.evaluators.as_ref(), &opened.models);
        if let Some(folder) = &opened.folder {
            keep_again(&folder.join("report.json"), &ended.report)?;
        }
        ended.folder = opened.folder;
        Ok(Outcome::Ended(Box::new(ended)))
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
    async fn look(&mut self, end_now: &CancellationToken) -> Result<Option<Attacked>, Failure> {
        let (Some(evaluators), Some(target)) = (&self.evaluators, self.target.take()) else {
            return Ok(None);
        };
        let missing = if self.models.attacks() { Missing::LeaveToAttacker } else { Missing::Skip };
        tokio::select! {
            attacked = Attacked::plan(evaluators, target, &self.options, missing) => attacked,
            () = end_now.cancelled() => Err(ended_at_once()),
        }
    }

    /// A place for what is kept, and the models, which keep what they say there. Documents that are played for themselves have a
    /// place for each.
    fn open(&mut self, replayed: Option<Exchanges>, looked: &[Looked]) -> Result<Opened, Failure> {
        let for_documents = self.evaluators.is_none() && !self.models.is_asked() && replayed.is_none();
        let folder = if for_documents { None } else { Some(self.home.open(&self.name())?) };
        let exchanges = match replayed {
            Some(exchanges) => exchanges,
            None => self.models.exchanges(folder.as_deref())?,
        };
        if let Some(folder) = &folder {
            for Looked { file, discovery, .. } in looked {
                let path = folder.join(file);
                let kept = discovery.as_ref().map_or(Ok(()), |discovery| discovery.keep(&path));
                kept.map_err(|error| Failure::at(&path, "write", &error))?;
            }
        }
        Ok(Opened { folder, models: Models::open(&self.models, &exchanges)? })
    }

    /// What a new folder is called after.
    fn name(&self) -> String {
        match &self.evaluators {
            Some(evaluators) => evaluators.name(),
            None => "documents".to_owned(),
        }
    }

    /// Measures the judge before it says anything that counts, by the evaluators that are played.
    async fn calibrate(
        &self,
        models: &mut Models,
        attacked: Option<&Attacked>,
        end_now: &CancellationToken,
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
            measured = models.calibrate(&entries, self.at_once) => measured,
            () = self.options.end.cancelled() => Ok(()),
            () = end_now.cancelled() => Err(ended_at_once()),
        };
        if self.notes.terminal {
            eprintln!();
        }
        measured
    }

    async fn documents(
        &mut self,
        opened: &Opened,
        end_now: &CancellationToken,
    ) -> Result<PlayedDocuments, Failure> {
        let (semantic, generator) = (opened.models.semantic(), opened.models.generator());
        let mut prepared = std::mem::take(&mut self.documents);
        for Prepared { options, .. } in &mut prepared {
            options.semantic = semantic.clone().map(Semantic);
            options.generator = generator.clone().map(Generator);
        }
        let documents = Documents {
            prepared,
            at_once: self.at_once,
            home: &self.home,
            whole: opened.folder.as_deref(),
            lenient: self.lenient,
            semantic,
            interrupt: self.options.end.clone(),
            end_now: end_now.clone(),
            notes: self.notes,
        };
        documents.play().await
    }

    fn of_cases(&self, models: &Models) -> Options {
        Options {
            judge: models.judge(),
            attacker: models.attacker(),
            turns: self.models.turns,
            ..self.options.clone()
        }
    }
}

fn ended_at_once() -> Failure {
    Failure::new("ended at once; what was over is in the folder of the run, and `--resume` goes on")
}
