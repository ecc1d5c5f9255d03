//! Plays the documents of a run, or evaluates what was recorded of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sortie_detect::Outcome;
use sortie_engine::Watcher;
use sortie_engine::run::Folder;
use tokio_util::sync::CancellationToken;

use super::home::{DOCUMENTS, Home};
use super::recorded::{Semantic, evaluated, is_finished};
use crate::console::Notes;
use crate::documents::Document;
use crate::failure::Failure;
use crate::run::folders::{folder_for, names, set_aside};
use crate::run::progress::{Display, Progress};
use crate::run::resolve::Prepared;
use crate::run::turns::{Job, Turns, failure};

/// Documents that are to be played.
pub(super) struct Documents<'c> {
    pub(super) prepared: Vec<Prepared>,
    /// How many at once.
    pub(super) at_once: usize,
    pub(super) home: &'c Home,
    /// The folder of the whole run; a run of documents only may have none.
    pub(super) whole: Option<&'c Path>,
    pub(super) lenient: bool,
    pub(super) semantic: Semantic,
    /// Cancelled by the first Ctrl-C; the same as in the options of every run.
    pub(super) interrupt: CancellationToken,
    /// Cancelled by the second.
    pub(super) end_now: CancellationToken,
    /// Who is shown what happens.
    pub(super) notes: Notes,
}

/// What became of them.
#[derive(Default)]
pub(super) struct PlayedDocuments {
    /// In the order in which they were prepared.
    pub(super) runs: Vec<Outcome>,
    /// Those that were not played to their end.
    pub(super) unfinished: Vec<String>,
    /// Why.
    pub(super) failures: Vec<Failure>,
    /// How many lines were not shown, since the terminal was too slow.
    pub(super) left_out: u64,
}

/// What is done about a document.
enum Way {
    Play(PathBuf),
    Evaluate(PathBuf),
    /// It is to be repeated, and nothing is there of it.
    Missing,
}

impl Documents<'_> {
    pub(super) async fn play(self) -> Result<PlayedDocuments, Failure> {
        let ids: Vec<String> = self.prepared.iter().map(|one| id(&one.document)).collect();
        let names = names(self.prepared.iter().map(|one| &one.document));
        let several = self.prepared.len() > 1;
        let terminal = self.notes.terminal;
        let display = terminal.then(Display::new);
        let mut runs: Vec<Option<Result<Outcome, Failure>>> = ids.iter().map(|_| None).collect();
        let (mut jobs, mut places) = (Vec::new(), Vec::new());
        let ways = names.iter().map(|name| self.way(name, several)).collect::<Result<Vec<_>, _>>()?;
        for (index, (prepared, way)) in self.prepared.into_iter().zip(ways).enumerate() {
            match way {
                Way::Play(folder) => {
                    let watcher: Arc<dyn Watcher> =
                        Arc::new(Progress::new(&prepared.document, several, self.notes, display.clone()));
                    let new = self.whole.is_some() || self.home.resume.is_some();
                    let (asked, name) = (self.home.asked.clone(), names[index].clone());
                    let folder = Box::new(move || {
                        if new {
                            Folder::create(folder).map_err(|error| failure(&error))
                        } else {
                            folder_for(&name, asked.as_deref(), several)
                        }
                    });
                    jobs.push(Job { prepared, folder, watcher });
                    places.push(index);
                }
                Way::Evaluate(folder) => {
                    let (lenient, semantic) = (self.lenient, self.semantic.clone());
                    let work = move || evaluated(&prepared.document, &folder, lenient, semantic);
                    // It reads files, and may ask a model.
                    let done = tokio::task::spawn_blocking(work).await;
                    runs[index] = Some(done.unwrap_or_else(|error| {
                        Err(Failure::new(format!("an evaluation died; this is a bug: {error}")))
                    }));
                }
                Way::Missing => {
                    let failure = Failure::new(format!("there is no recording of `{}`", ids[index]));
                    runs[index] = Some(Err(failure.help("the run that is repeated did not play it")));
                }
            }
        }
        let turns =
            Turns { jobs, at_once: self.at_once, interrupt: self.interrupt.clone(), person: terminal };
        let ended = turns.play_until(Arc::new(()), &self.end_now).await;
        for (index, run) in places.into_iter().zip(ended.runs) {
            runs[index] = run;
        }
        let left_out = display.map_or(0, |display| display.finish());
        let mut played = PlayedDocuments { failures: ended.failures, left_out, ..Default::default() };
        for (id, run) in ids.into_iter().zip(runs) {
            match run {
                Some(Ok(run)) => played.runs.push(run),
                Some(Err(failure)) => {
                    played.failures.push(failure);
                    played.unfinished.push(id);
                }
                None => played.unfinished.push(id),
            }
        }
        Ok(played)
    }

    /// Whether a document is played, or was, and where.
    fn way(&self, name: &str, several: bool) -> Result<Way, Failure> {
        if self.home.replay.is_some() {
            return Ok(self.home.recorded(name, !several).map_or(Way::Missing, Way::Evaluate));
        }
        let folder = match (self.whole, &self.home.resume) {
            (Some(whole), _) => whole.join(DOCUMENTS).join(name),
            (None, Some(resumed)) if several => resumed.join(name),
            (None, Some(resumed)) => resumed.clone(),
            (None, None) => return Ok(Way::Play(PathBuf::new())),
        };
        if is_finished(&folder) {
            return Ok(Way::Evaluate(folder));
        }
        if folder.exists() {
            set_aside(&folder)?;
        }
        Ok(Way::Play(folder))
    }
}

/// What a document is called in a report.
pub(super) fn id(document: &Document) -> String {
    let attack = &document.compiled.document().attack;
    attack.id.clone().or_else(|| attack.name.clone()).unwrap_or_else(|| document.name.clone())
}
