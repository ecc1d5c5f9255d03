//! `sortie fmt`

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use sortie_library::{DocumentInput, Found, LoadError};
use sortie_lint::{FormatError, format};
use sortie_report::files::replace;
use sortie_report::{counted, visible};

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Format every document in a folder:
    $ sortie fmt attacks/

  Check formatting in CI:
    $ sortie fmt --check attacks/

  Preview changes:
    $ sortie fmt --diff attack.yaml

  Use it as a filter:
    $ sortie new | sortie fmt -

Exit codes:
  0  formatted, or nothing to do
  1  with --check or --diff, a document is not formatted; or a comment could not be kept, so the file was not changed
  2  wrong usage, an input that cannot be read or has errors, or no document found";

/// Format documents. Comments are kept.
///
/// Fields are put in the order of the specification, with an indent of two. The meaning of a document does not change. Files
/// are replaced atomically. If a comment cannot be kept, the file is not changed and is named.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Fmt {
    /// Files, folders, or `-` to format standard input to standard output
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Write nothing; list the files that are not formatted
    #[arg(long)]
    check: bool,

    /// Write nothing; show the changes as a diff
    #[arg(long)]
    diff: bool,
}

impl Fmt {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let found = Found::documents(&self.paths)?;
        let notes = found.notes();
        let mut exit = Exit::Clean;
        for failure in found.failures {
            console.failure(&failure.into());
            exit = exit.max(Exit::Invalid);
        }
        let mut changed = 0;
        for input in &found.inputs {
            match self.format(input, console) {
                Ok(Some(true)) => changed += 1,
                Ok(Some(false)) => {}
                Ok(None) => exit = exit.max(Exit::Findings),
                Err(failure) => {
                    console.failure(&failure);
                    exit = exit.max(Exit::Invalid);
                }
            }
        }
        console.note_all(&notes);
        if self.writes_nothing() {
            return Ok(exit.max(if changed > 0 { Exit::Findings } else { Exit::Clean }));
        }
        if found.inputs.iter().any(|input| *input != DocumentInput::Stdin) {
            console.note(&format!("{} formatted", counted(changed, "file", "files")));
        }
        Ok(exit)
    }

    fn writes_nothing(&self) -> bool {
        self.check || self.diff
    }

    /// Formats a document, and says whether that changed it; `None` when it was left alone.
    fn format(&self, input: &DocumentInput, console: &mut Console) -> Result<Option<bool>, Failure> {
        let name = input.name();
        let no_document = || {
            Failure::new(format!("`{name}` has errors, so it was not formatted"))
                .help(format!("`sortie check {name}` says why"))
        };
        let text = match input.read() {
            Err(LoadError::Invalid(_)) => return Err(no_document()),
            text => text?,
        };
        let formatted = match format(&text) {
            Ok(formatted) => formatted,
            Err(FormatError::Parse(_)) => return Err(no_document()),
            Err(error @ FormatError::Comment { .. }) => {
                console.note(&format!("{name}:{error}"));
                return Ok(None);
            }
            Err(error) => return Err(Failure::new(format!("`{name}` was not formatted: {error}"))),
        };
        if self.diff {
            console.diff(&name, &text, &formatted.text)?;
        } else if self.check {
            if formatted.changed {
                writeln!(console.out, "{}", visible(&name))?;
            }
        } else {
            match input {
                DocumentInput::Stdin | DocumentInput::Library(_) => console.document(&formatted.text)?,
                DocumentInput::File(path) if formatted.changed => replace(path, &formatted.text)?,
                DocumentInput::File(_) => {}
            }
        }
        Ok(Some(formatted.changed))
    }
}
