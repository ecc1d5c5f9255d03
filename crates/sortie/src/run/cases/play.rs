//! Discovers, plans, plays.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sortie_engine::cases::{Missing, Options, Planned, Played, Results, discover, plan, run};
use sortie_engine::targets::Target;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use super::Chosen;
use crate::console::Notes;
use crate::failure::Failure;
use crate::run::jobs::folder_of;
use crate::run::signals;

/// An attack with evaluators.
pub(crate) struct Attack<'a> {
    pub(crate) chosen: &'a Chosen,
    pub(crate) target: Target,
    pub(crate) options: Options,
    /// Where to, if that was said.
    pub(crate) folder: Option<PathBuf>,
    /// The folder of a run that is taken up.
    pub(crate) resume: Option<PathBuf>,
    pub(crate) dry: bool,
    pub(crate) notes: Notes,
}

/// What came of it.
pub(crate) enum Outcome {
    /// What would be done.
    Planned(Vec<Planned>),
    /// What was done, and where it is kept.
    Played { played: Played, folder: PathBuf, interrupted: bool },
}

impl Attack<'_> {
    pub(crate) fn play(self) -> Result<Outcome, Failure> {
        let fail = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
        let runtime = Builder::new_multi_thread().enable_all().build().map_err(fail)?;
        let outcome = runtime.block_on(async {
            let at_once = CancellationToken::new();
            signals::watch(self.options.end.clone(), at_once.clone(), self.notes.terminal).map_err(fail)?;
            tokio::select! {
                outcome = self.go() => outcome,
                () = at_once.cancelled() => Err(Failure::new("ended at once; what was over is in `results.jsonl`, and `--resume` goes on")),
            }
        });
        runtime.shutdown_background();
        outcome
    }

    async fn go(&self) -> Result<Outcome, Failure> {
        let options = &self.options;
        let kind = self.target.kind();
        let discovered = options.end.run_until_cancelled(discover(&self.target, options)).await;
        let offer = discovered.ok_or_else(|| Failure::new("interrupted before anything was played"))?;
        let offer = offer.map_err(|error| {
            Failure::new(options.redactor.text(&error.to_string()))
                .help("nothing was played: is the target running, and is it what you named?")
        })?;
        let planned = plan(&self.chosen.entries(), &offer, kind, &self.chosen.values, Missing::Skip)
            .map_err(|error| Failure::new(error.to_string()))?;
        if self.dry {
            return Ok(Outcome::Planned(planned));
        }
        let failed = |error: sortie_engine::cases::ResultsError| Failure::new(error.to_string());
        let (folder, results) = if let Some(folder) = &self.resume {
            (folder.clone(), Results::resume(folder, &planned).map_err(failed)?)
        } else {
            let folder = folder_of(&format!("evaluators-{}", kind.as_str()), self.folder.as_deref())?;
            let folder = folder.path().to_owned();
            let results = Results::create(&folder, &planned).map_err(failed)?;
            (folder, results)
        };
        let mut options = options.clone();
        if self.notes.terminal {
            let (done, all) = (AtomicUsize::new(results.len()), planned.len());
            options.seen = Arc::new(move |_| {
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                if done % 10 == 0 || done == all {
                    eprint!("\r{done} of {all} cases");
                }
            });
        }
        let played = run(&self.target, &offer, &planned, results, &folder, options).await.map_err(failed)?;
        if self.notes.terminal {
            eprintln!();
        }
        let interrupted = self.options.end.is_cancelled();
        Ok(Outcome::Played { played, folder, interrupted })
    }
}
