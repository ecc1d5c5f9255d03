//! `sortie prove`

use std::path::{Path, PathBuf};

use clap::Args;
use sortie_library::{DocumentInput, Found, NamedDocument};
use sortie_practice::Behaviour;
use sortie_prove::{
    MANIFEST, Proofs, ProofsReport, Proved, RecordError, RecordRequest, RecordedEvent, USUAL_AGENTS,
    folder_of, parse_agents, prove, write_proofs,
};
use sortie_report::write_json;
use tokio_util::sync::CancellationToken;

use crate::{Console, Exit, Failure, Format, SignalSender, block_on};

const EXAMPLES: &str = "\
Examples:
  Prove a document by the recordings beside it:
    $ sortie prove attack.yaml

  Prove every document in a folder, and list the result of every mutant:
    $ sortie prove attacks/ --mutants

  Record what is missing, and prove it:
    $ sortie prove attack.yaml --record --prompt 'Add 20 and 22'
    $ sortie prove --record late,confused attack.yaml --prompt 'Add 20 and 22'

  Write the result as JSON:
    $ sortie prove attacks/ --format json --out proved.json

Exit codes:
  0    every document is proved
  1    a recording gives another verdict than declared, or than the practice agent's log; an indicator does not fire
       or does not stay silent; a mutant survives that is not accepted; or there are no proofs
  2    wrong usage; a document, a manifest or a recording that cannot be read; something that could not be recorded
  130  interrupted: nothing was recorded";

/// Prove that every indicator of a document fires when it should, stays silent when it should, and is fully covered by its
/// recordings.
///
/// The proofs of `attack.yaml` are in `attack.proofs/`: recordings, and `proofs.yaml` with the expected verdict of each. Each
/// indicator must match in one recording, and inspect a message and stay silent in another. Then Sortie mutates each indicator.
/// A mutant survives if every recording gives the same verdict; the report says which recording would catch it.
///
/// `--record` first makes the missing recordings. The expected verdict comes from the practice agent's log, not from the
/// indicators. A document without proofs also gets near misses: messages that only a wrong indicator would match. Existing
/// files are not overwritten.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Prove {
    /// Documents: files, folders or library ids
    #[arg(required_unless_present = "record", value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Make missing recordings first, by running the documents against practice agents. Default agents: `gullible`, `refuser`
    /// and `quoting-refuser`. A document without proofs also gets near misses
    #[arg(
        long,
        value_name = "AGENT",
        value_delimiter = ',',
        num_args = 0..=1,
        default_missing_values = USUAL_AGENTS,
    )]
    record: Option<Vec<String>>,

    /// The task for the recorded agents. Default: the task in the document (`x-sortie.prompt`)
    #[arg(long, value_name = "TEXT", requires = "record")]
    prompt: Option<String>,

    /// Report format; the JSON schema is docs/schema/prove-v1.json
    #[arg(long, value_enum, default_value = "human")]
    format: Format,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// List the result of every mutant (JSON always does)
    #[arg(long)]
    mutants: bool,
}

impl Prove {
    pub(crate) fn run(mut self, console: &mut Console) -> Result<Exit, Failure> {
        self.take_paths();
        let request = self.request()?;
        let found = Found::documents_or_names(&self.paths)?;
        let notes = found.notes();
        let mut exit = Exit::Clean;
        for failure in found.failures {
            exit = exit.max(refused(&failure.into(), console));
        }
        let mut documents = Vec::new();
        for input in &found.inputs {
            match NamedDocument::load(input) {
                Ok(document) => documents.push((input.clone(), document)),
                Err(error) => exit = exit.max(refused(&error.into(), console)),
            }
        }
        if let Some(request) = request {
            let stop = CancellationToken::new();
            let (events, interrupted) = block_on(None, &stop, SignalSender::Program, async |abort| {
                request.record(&documents, (&stop, abort)).await
            })??;
            for event in events {
                exit = exit.max(told(event, console));
            }
            if interrupted {
                console.note("interrupted, so nothing was recorded");
                return Ok(Exit::Interrupted);
            }
        }
        let mut proved = Vec::new();
        for (input, document) in &documents {
            match proved_by_its_proofs(input, document) {
                Ok(document) => proved.push(document),
                Err(failure) => exit = exit.max(refused(&failure, console)),
            }
        }
        let report = ProofsReport::new(proved);
        if !report.is_proved() {
            exit = exit.max(Exit::Findings);
        }
        self.write(&report, console)?;
        console.note_all(&notes);
        Ok(exit)
    }

    /// `--record attack.yaml` means the usual agents: what exists is a path, and no agent is called like one.
    fn take_paths(&mut self) {
        let Some(names) = &mut self.record else { return };
        let is_path = |name: &String| name.parse::<Behaviour>().is_err() && Path::new(name).exists();
        let (paths, agents): (Vec<String>, Vec<String>) = names.drain(..).partition(is_path);
        *names = if agents.is_empty() { USUAL_AGENTS.map(str::to_owned).to_vec() } else { agents };
        self.paths.extend(paths.into_iter().map(PathBuf::from));
    }

    fn request(&self) -> Result<Option<RecordRequest>, Failure> {
        let Some(names) = &self.record else { return Ok(None) };
        let agents = parse_agents(names)?;
        if self.paths.is_empty() {
            return Err(Failure::new("`--record`: there is no document to record")
                .help("name it: `sortie prove attack.yaml --record`"));
        }
        Ok(Some(RecordRequest { agents, prompt: self.prompt.clone() }))
    }

    fn write(&self, report: &ProofsReport, console: &mut Console) -> Result<(), Failure> {
        let color = console.color && self.out.is_none();
        let mut text = Vec::new();
        match self.format {
            Format::Human => write_proofs(&mut text, report, color, self.mutants)?,
            Format::Json => write_json(&mut text, report)?,
        }
        console.put(&text, self.out.as_deref())
    }
}

fn proved_by_its_proofs(
    input: &DocumentInput,
    NamedDocument { name, compiled }: &NamedDocument,
) -> Result<Proved, Failure> {
    let proofs = match input {
        DocumentInput::Stdin => Ok(None),
        DocumentInput::File(path) => Proofs::beside(path, compiled.document()),
        DocumentInput::Library(entry) => {
            let manifest = folder_of(Path::new(name)).join(MANIFEST);
            Proofs::carried(&manifest, entry.manifest, entry.traces, compiled.document()).map(Some)
        }
    };
    Ok(prove(compiled, name, proofs?.as_ref()))
}

fn refused(failure: &Failure, console: &mut Console) -> Exit {
    console.failure(failure);
    Exit::Invalid
}

/// Says what was recorded, or why not.
fn told(event: RecordedEvent, console: &mut Console) -> Exit {
    match event {
        RecordedEvent::Note(note) => {
            console.note(&note);
            Exit::Clean
        }
        RecordedEvent::Failed(error) => {
            let disagrees = matches!(error, RecordError::Disagreement { .. });
            let exit = refused(&error.into(), console);
            if disagrees { Exit::Findings } else { exit }
        }
    }
}
