//! `sortie run` with evaluators.

use sortie_engine::cases::{self, CaseVerdict, Played};
use sortie_engine::targets::Settings;
use sortie_trace::Rule;
use tokio_util::sync::CancellationToken;

use super::{Run, all};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::counted;
use crate::render::{RunsFormat, write_cases, write_cases_json, write_planned, write_planned_json};
use crate::run::{Attack, Chosen, Config, Outcome};

impl Run {
    /// Plays evaluators.
    pub(super) fn attack(
        &self,
        chosen: &Chosen,
        config: &Config,
        console: &mut Console,
    ) -> Result<Exit, Failure> {
        if self.output.format == RunsFormat::Junit {
            return Err(Failure::new("evaluators have no JUnit form yet: use `human` or `json`"));
        }
        let interrupt = CancellationToken::new();
        let mut resolved = self.resolve(config, Vec::new(), true, &interrupt)?;
        let redactor = resolved.redact(&all::<Rule>("--redact", &self.output.redact)?, Vec::new())?;
        let target = resolved.target.ok_or_else(|| {
            Failure::new("evaluators need a target").help("name it with `--target KIND=SPEC`")
        })?;
        let settings = Settings {
            limits: self.limits.of_peers(),
            connect_timeout: self.targets.connect_timeout,
            answer_timeout: self.cases.answer_timeout,
        };
        let (jobs, rate) = (self.jobs.get(), self.cases.rate);
        let options =
            cases::Options { jobs, rate, settings, redactor, end: interrupt, ..cases::Options::default() };
        let attack = Attack {
            chosen,
            target,
            options,
            folder: self.output.run_dir.clone(),
            resume: self.cases.resume.clone(),
            dry: self.dry,
            notes: console.notes(),
        };
        let mut text = Vec::new();
        let exit = match attack.play()? {
            Outcome::Planned(planned) => {
                match self.output.format {
                    RunsFormat::Json => write_planned_json(&mut text, &planned)?,
                    _ => write_planned(&mut text, &planned)?,
                }
                Exit::Clean
            }
            Outcome::Played { played, folder, interrupted } => {
                match self.output.format {
                    RunsFormat::Json => write_cases_json(&mut text, &played)?,
                    _ => write_cases(&mut text, &played, &folder)?,
                }
                if interrupted { Exit::Interrupted } else { self.standing(&played, chosen) }
            }
        };
        if !chosen.documents.is_empty() {
            let documents = counted(chosen.documents.len(), "document", "documents");
            console.note(&format!(
                "{documents} of the suite are not played with evaluators: name them, and what they attack"
            ));
        }
        self.put(&text, console)?;
        Ok(exit)
    }

    /// Nothing that was not decided counts as resistance; what does not apply to the target does not count.
    fn standing(&self, played: &Played, chosen: &Chosen) -> Exit {
        let any = |verdict| played.results.iter().any(|result| result.verdict == verdict);
        let skipped = any(CaseVerdict::Skipped) || !chosen.documents.is_empty();
        if any(CaseVerdict::Exploited) {
            Exit::Findings
        } else if any(CaseVerdict::Error)
            || (skipped && !self.output.allow_skipped)
            || !any(CaseVerdict::NotExploited)
            || !played.unfinished.is_empty()
        {
            Exit::Undecided
        } else {
            Exit::Clean
        }
    }
}
