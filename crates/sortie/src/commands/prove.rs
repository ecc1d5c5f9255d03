//! `sortie prove`

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sortie_prove::{MANIFEST, Proofs, ProofsError, ProofsReport, Proved, folder_of, prove, write_proofs};

use crate::console::Console;
use crate::documents;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::{self, Input};
use crate::record::{Ready, Session, USUAL, named};
use crate::render::{Checked, write_json};

const EXAMPLES: &str = "\
Examples:
  Prove a document by the recordings beside it:
    $ sortie prove attack.yaml

  Prove every document below a folder, and see each mutant and what became of it:
    $ sortie prove attacks/ --mutants

  Record what is missing, and prove it:
    $ sortie prove attack.yaml --record --prompt 'Add 20 and 22'
    $ sortie prove --record late,confused attack.yaml --prompt 'Add 20 and 22'

  Let another tool read what is proved:
    $ sortie prove attacks/ --format json --out proved.json

Exit codes:
  0    every document is proved
  1    a run gives another verdict than declared, or than the log of the agent that was recorded; an indicator does not fire
       or does not stay silent; a mutant survives that is not accepted; or there are no proofs
  2    wrong usage; a document, a manifest or a recording that cannot be read; something that could not be recorded
  130  interrupted: nothing was recorded";

/// Prove that every indicator of a document can fire, can stay silent, and would be missed if it were wrong.
///
/// The proofs of `attack.yaml` stand in `attack.proofs/`: recordings, and `proofs.yaml`, which says what each must give.
/// Each recording must give its verdict. Each indicator must fire in one of them, and look at something and stay silent in another.
/// Then each indicator is made wrong in every way that is known, one at a time, and every mutant that no
/// recording tells from the document is reported, with the recording that would.
///
/// With `--record`, recordings that are missing are made first. What each must give is taken from the log of the practice agent,
/// and not from what the indicators say. Nothing that is there is written over.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Prove {
    /// Documents: files or folders, or ids of the library
    #[arg(required_unless_present = "record", value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// First make the recordings that are missing, by playing the documents against practice agents. Without names, against
    /// `gullible`, `refuser` and `quoting-refuser`; then it stands behind the paths
    #[arg(
        long,
        value_name = "AGENT",
        value_delimiter = ',',
        num_args = 0..=1,
        default_missing_values = USUAL,
    )]
    record: Option<Vec<String>>,

    /// The task of the agents that are recorded; else the document's (`x-sortie.prompt`)
    #[arg(long, value_name = "TEXT", requires = "record")]
    prompt: Option<String>,

    /// How to report
    #[arg(long, value_enum, default_value = "human")]
    format: ProofsFormat,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// List every mutant and what became of it; JSON always does
    #[arg(long)]
    mutants: bool,
}

/// A format of what is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProofsFormat {
    /// What fires, what stays silent, and what would not be noticed
    Human,
    /// One object; its schema is docs/schema/prove-v1.json
    Json,
}

impl Prove {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let session = self.session()?;
        let found = inputs::find_or_named(&self.paths);
        if found.is_empty() {
            return Err(inputs::nothing_found(&self.paths));
        }
        let mut exit = Exit::Clean;
        let mut refuse = |failure: &Failure, console: &mut Console| {
            console.failure(failure);
            exit = exit.max(Exit::Invalid);
        };
        for failure in &found.failures {
            refuse(failure, console);
        }
        let mut documents = Vec::new();
        for input in &found.inputs {
            match documents::document(input, console) {
                Ok(document) => documents.push(Ready { input: input.clone(), document }),
                Err(failure) => refuse(&failure, console),
            }
        }
        if let Some(session) = session {
            let recorded = session.record(&documents, console, refused)?;
            if recorded == Exit::Interrupted {
                return Ok(recorded);
            }
            exit = exit.max(recorded);
        }
        let mut proved = Vec::new();
        for ready in &documents {
            match proved_by_its_proofs(ready, console) {
                Ok(document) => proved.push(document),
                Err(failure) => {
                    console.failure(&failure);
                    exit = exit.max(Exit::Invalid);
                }
            }
        }
        let report = ProofsReport::new(proved);
        if !report.is_proved() {
            exit = exit.max(Exit::Findings);
        }
        self.write(&report, console)?;
        for note in found.notes() {
            console.note(&note);
        }
        Ok(exit)
    }

    /// What is to be recorded, if anything is.
    fn session(&self) -> Result<Option<Session>, Failure> {
        let Some(names) = &self.record else { return Ok(None) };
        let agents = named(names)?;
        if self.paths.is_empty() {
            return Err(Failure::new("`--record`: there is no document to record")
                .help("name it: `sortie prove attack.yaml --record`"));
        }
        Ok(Some(Session { agents, prompt: self.prompt.clone() }))
    }

    fn write(&self, report: &ProofsReport, console: &mut Console) -> Result<(), Failure> {
        let color = console.color && self.out.is_none();
        let mut text = Vec::new();
        match self.format {
            ProofsFormat::Human => write_proofs(&mut text, report, color, self.mutants)?,
            ProofsFormat::Json => write_json(&mut text, report)?,
        }
        match &self.out {
            Some(path) => fs::write(path, &text).map_err(|error| Failure::at(path, "write", &error)),
            None => Ok(console.out.write_all(&text)?),
        }
    }
}

fn proved_by_its_proofs(ready: &Ready, console: &mut Console) -> Result<Proved, Failure> {
    let documents::Document { name, compiled } = &ready.document;
    let proofs = match &ready.input {
        Input::Stdin => Ok(None),
        Input::File(path) => Proofs::beside(path, compiled.document()),
        Input::Library(entry) => {
            let manifest = folder_of(Path::new(name)).join(MANIFEST);
            Proofs::carried(&manifest, entry.manifest, entry.traces, compiled.document()).map(Some)
        }
    };
    let proofs = proofs.map_err(|error| refused(error, console))?;
    Ok(prove(compiled, name, proofs.as_ref()))
}

/// Why proofs cannot be used; what is wrong with a manifest is shown to people.
fn refused(error: ProofsError, console: &mut Console) -> Failure {
    let message = error.to_string();
    if let ProofsError::Manifest { file, source_text, findings } = error {
        let name = file.to_string_lossy().into_owned();
        let checked = Checked { name, source: source_text, valid: false, findings };
        if let Err(error) = console.findings(&checked) {
            return error.into();
        }
    }
    Failure::new(message)
}
