//! `sortie freeze`

use std::path::PathBuf;

use clap::Args;
use sortie_prove::{FreezeRequest, Frozen, ProofsReport, write_proofs};
use sortie_report::counted;
use sortie_report::files::FileError;

use crate::options::variable;
use crate::{Console, Exit, Failure, Sources};

const EXAMPLES: &str = "\
Examples:
  Attack a server, and keep a finding:
    $ sortie run path-escape --target 'mcp=stdio:./server.sh weak' --run-dir run # ends with 1
    $ sortie freeze run path-escape/parent-folders/read_note --out escape.yaml
    $ sortie prove escape.yaml

  Test the repaired server, without evaluators and without a model:
    $ sortie run escape.yaml --target 'mcp=stdio:./server.sh fixed'

Exit codes:
  0    the document was written and proved
  1    the document was written, but the printed notes need a review
  2    wrong usage, or a run or case that cannot be frozen; nothing was written";

/// Turn a finding into a document with proofs: a regression test that needs no model.
///
/// The document has a client actor that repeats the messages of the case, and indicators that look where the check or the judge
/// found the evidence. Proofs for `sortie prove` are written beside it: the trace of the finding, traces of resisted cases, the
/// evaluator's fixtures, and near misses.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Freeze {
    /// The folder of the run (`sortie run … --run-dir DIR`)
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// The id of the case, as in the report
    #[arg(value_name = "CASE")]
    case: String,

    /// The file to write. Default: named after the case, in this folder
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    /// The id of the document: a prefix and a number of at least three digits
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Value of a placeholder that the trace does not record. Repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    var: Vec<String>,

    #[command(flatten)]
    sources: Sources,
}

impl Freeze {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let values = self.var.iter().map(|text| variable(text)).collect::<Result<_, _>>()?;
        let used = self.sources.load(console)?;
        let request =
            FreezeRequest { folder: self.run, case: self.case, file: self.out, id: self.id, values };
        let frozen = request.draft(&used.loaded.catalogue)?.proved()?;
        frozen.write().map_err(|error| match error {
            FileError::IsThere(_) => Failure::from(error).help("name another file with `--out FILE`"),
            error => error.into(),
        })?;
        let Frozen { file, traces, accepted, proved, .. } = frozen;
        let report = ProofsReport::new(vec![proved]);
        write_proofs(&mut console.out, &report, console.color, false)?;
        let traces = counted(traces.len(), "trace", "traces");
        console.note(&format!("wrote `{}`, and {traces} beside it", file.display()));
        if report.documents.iter().flat_map(|proved| &proved.indicators).any(|one| one.silent.is_empty()) {
            console.note(
                "no case of the run shows this target resisting, so only messages that were made up show that the document stays \
                 silent: record the target once it resists, and add that",
            );
        }
        if accepted > 0 {
            let accepted = counted(accepted, "mutant is", "mutants are");
            console.note(&format!(
                "{accepted} accepted, since no message was found that tells them from the document"
            ));
        }
        Ok(if report.is_proved() { Exit::Clean } else { Exit::Findings })
    }
}
