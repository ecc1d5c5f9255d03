//! `sortie eval`

use std::fs::{self, File};
use std::io::{BufReader, Write as _};
use std::path::PathBuf;

use clap::Args;
use sortie_detect::{Detector, NoIndicators, Place, Report, replay};
use sortie_oatf::{Compiled, Diagnostic, Source, analyze, load};

use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::{self, Content, Input, counted};
use crate::render::{Checked, RunsFormat, write_runs};

const EXAMPLES: &str = "\
Examples:
  Say what a recorded run means for a document:
    $ sortie eval --trace run.jsonl attack.yaml

  Look for every attack of a folder, and let CI show what was found:
    $ sortie eval --trace run.jsonl --format junit --out report.xml attacks/

Exit codes:
  0  every case resisted
  1  at least one case was exploited, wholly or in part
  2  wrong usage, a document that is not valid or has no indicators, a trace that cannot be read
  3  nothing was exploited, but a case errored, was skipped or never happened, or none was decided";

/// Say what a recorded run means: was the agent exploited, and which message shows it.
///
/// The verdict is the one that the run itself gave. With a document whose indicators have changed since, it is what the run
/// would have given with them. A run that was not a whole one (nobody connected, something crashed, the
/// payload was not served) never counts as resistance.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Eval {
    /// Documents: files or folders, or `-` for standard input
    #[arg(required = true, value_name = "DOC")]
    documents: Vec<PathBuf>,

    /// The recording
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,

    /// How to report
    #[arg(long, value_enum, default_value = "human")]
    format: RunsFormat,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Let silence count as resistance even when the payload was not served
    #[arg(long)]
    lenient: bool,

    /// Do not mind cases that could not be evaluated for want of an engine, as long as others were
    #[arg(long)]
    allow_skipped: bool,
}

impl Eval {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let (names, mut detectors) = self.load(console)?;
        let failed = |error: &std::io::Error| Failure::at(&self.trace, "read", error);
        let trace = File::open(&self.trace).map_err(|error| failed(&error))?;
        replay(BufReader::new(trace), &mut detectors)
            .map_err(|error| Failure::new(format!("cannot read `{}`: {error}", self.trace.display())))?;
        let runs = names.into_iter().zip(&detectors).map(|(document, detector)| {
            let trace = Some(self.trace.to_string_lossy().into_owned());
            detector.run(Place { document, trace })
        });
        let report = Report::new(runs.collect());
        self.write(&report, console)?;
        Ok(report.standing(self.allow_skipped).into())
    }

    /// Reads every document before anything is evaluated, and refuses all of them when one cannot be.
    fn load(&self, console: &mut Console) -> Result<(Vec<String>, Vec<Detector>), Failure> {
        let found = inputs::find(&self.documents);
        if found.is_empty() {
            return Err(inputs::nothing_found(&self.documents));
        }
        let mut refused = found.failures.len();
        for failure in &found.failures {
            console.failure(failure);
        }
        let (mut names, mut detectors) = (Vec::new(), Vec::new());
        for input in &found.inputs {
            match detector(input, console) {
                Ok(detector) => {
                    names.push(input.name());
                    detectors.push(detector.lenient(self.lenient));
                }
                Err(failure) => {
                    console.failure(&failure);
                    refused += 1;
                }
            }
        }
        for note in found.notes() {
            console.note(&note);
        }
        match refused {
            0 => Ok((names, detectors)),
            refused => {
                let refused = counted(refused, "input was", "inputs were");
                Err(Failure::new(format!("{refused} refused, so nothing was evaluated")))
            }
        }
    }

    fn write(&self, report: &Report, console: &mut Console) -> Result<(), Failure> {
        let color = console.color && self.out.is_none();
        let mut text = Vec::new();
        write_runs(&mut text, report, self.format, color, self.allow_skipped)?;
        match &self.out {
            Some(path) => fs::write(path, &text).map_err(|error| Failure::at(path, "write", &error)),
            None => Ok(console.out.write_all(&text)?),
        }
    }
}

/// What evaluates a document, or why there is no such thing.
fn detector(input: &Input, console: &mut Console) -> Result<Detector, Failure> {
    let name = input.name();
    let invalid = match input.read()? {
        Content::Refused(source, finding) => (source, vec![*finding]),
        Content::Text(text) => {
            if let Ok(loaded) = load(&text) {
                let compiled = Compiled::new(loaded.document)
                    .map_err(|error| Failure::new(format!("`{name}` cannot be evaluated: {error}")))?;
                return Detector::new(compiled).map_err(|NoIndicators| {
                    Failure::new(format!("`{name}` has no indicators, so it says nothing about an agent"))
                        .help("add `indicators`, which say how one sees that the agent gave in")
                });
            }
            let findings = analyze(&text).diagnostics.into_iter().filter(Diagnostic::is_error);
            (Source::new(text.as_str()), findings.collect())
        }
    };
    let (source, findings) = invalid;
    console.findings(&Checked { name: name.clone(), source, valid: false, findings })?;
    Err(Failure::new(format!("`{name}` is not valid")))
}
