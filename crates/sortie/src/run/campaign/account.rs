//! What came of a run, on its way to a report.

use std::path::PathBuf;

use sortie_detect::{CaseInfo, Document as Named, Outcome};
use sortie_engine::cases::Played;
use sortie_report::Report;

use super::documents::PlayedDocuments;
use super::evaluators::{Attacked, without_target};
use super::play::Campaign;
use crate::failure::Failure;
use crate::run::chosen::Evaluators;
use crate::run::models::Models;
use crate::run::resolve::Unfit;

/// What was done.
pub(crate) struct Ended {
    pub(crate) report: Report,
    /// What could not be done.
    pub(crate) failures: Vec<Failure>,
    /// The user did not want to wait.
    pub(crate) interrupted: bool,
    /// How many lines were not shown, since the terminal was too slow.
    pub(crate) left_out: u64,
    /// The folder of the whole run, where it has one.
    pub(crate) folder: Option<PathBuf>,
}

/// What came of everything so far.
pub(super) struct Account {
    runs: Vec<Outcome>,
    unfit: Vec<Outcome>,
    cases: Vec<Outcome>,
    unfinished: Vec<String>,
    /// Cases that nobody has begun.
    waiting: Vec<String>,
    stopped: Option<String>,
    failures: Vec<Failure>,
    left_out: u64,
}

impl Account {
    pub(super) fn new(campaign: &Campaign, attacked: Option<&Attacked>) -> Self {
        let unfit = campaign.unfit.iter().map(|Unfit { document, reason }| {
            let attack = &document.compiled.document().attack;
            let name = attack.name.clone().unwrap_or_default();
            let document = Named { file: document.name.clone(), id: attack.id.clone(), name };
            Outcome::not_applicable(
                document.case_id().to_owned(),
                CaseInfo::Document { document },
                reason.clone(),
            )
        });
        let (mut cases, mut waiting) = (Vec::new(), Vec::new());
        match (&campaign.evaluators, attacked) {
            (Some(_), Some(attacked)) => waiting = attacked.ids(),
            (Some(evaluators), None) if campaign.options.end.is_cancelled() => {
                waiting = evaluators.entries().iter().map(|entry| entry.evaluator.id.clone()).collect();
            }
            (Some(evaluators), None) => {
                cases = without_target(evaluators).into_iter().map(Into::into).collect();
            }
            (None, _) => {}
        }
        Self {
            runs: Vec::new(),
            unfit: unfit.collect(),
            cases,
            unfinished: Vec::new(),
            waiting,
            stopped: None,
            failures: Vec::new(),
            left_out: 0,
        }
    }

    pub(super) fn documents(&mut self, played: PlayedDocuments) {
        self.runs = played.runs;
        self.unfinished = played.unfinished;
        self.failures = played.failures;
        self.left_out = played.left_out;
    }

    pub(super) fn evaluators(&mut self, played: Played) {
        self.cases = played.results.into_iter().map(Into::into).collect();
        self.waiting = played.unfinished;
        self.stopped = played.stopped;
    }

    pub(super) fn close(self, interrupted: bool, evaluators: Option<&Evaluators>, models: &Models) -> Ended {
        let Self { runs, unfit, cases, unfinished, waiting, stopped, failures, left_out } = self;
        let mut report = Report::new(runs.into_iter().chain(unfit).chain(cases));
        report.unfinished = unfinished.into_iter().chain(waiting).collect();
        let refused = || models.budget().exhausted().map(|refused| refused.to_string());
        report.stopped = stopped.or_else(|| interrupted.then(|| "interrupted".to_owned())).or_else(refused);
        report.suites = evaluators.map(|evaluators| evaluators.tables(&report)).unwrap_or_default();
        report.models = models.report();
        Ended { report, failures, interrupted, left_out, folder: None }
    }
}
