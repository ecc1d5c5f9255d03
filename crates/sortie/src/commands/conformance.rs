//! `sortie conformance`

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use sortie_conformance::{ConformanceReport, ConformanceResult, FixtureFile, run};
use sortie_report::{style, visible, write_json};

use crate::{Console, Exit, Failure, Format};

const EXAMPLES: &str = "\
Examples:
  Run every fixture in a folder:
    $ sortie conformance fixtures/

  List every case as JSON:
    $ sortie conformance fixtures/ --format json

Exit codes:
  0  every case passed
  1  a case failed
  2  the folder cannot be read, or holds no case";

/// Run OATF conformance fixtures.
///
/// The folder has the layout of the official suite: raw documents in parse/valid and parse/invalid, suites, and one file for
/// each primitive. Rule and path must match, and every expected field is compared. Unknown files and fields are failures;
/// nothing is skipped.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Conformance {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Report format: failures and totals; JSON has every case
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

#[derive(Serialize)]
struct Report<'r> {
    version: u32,
    passed: usize,
    failed: usize,
    cases: &'r [ConformanceResult],
}

impl Conformance {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let mut files = Vec::new();
        collect(&self.folder, &mut String::new(), &mut files)?;
        let report = run(&files);
        if report.cases.is_empty() {
            return Err(Failure::new(format!("there is no case in `{}`", self.folder.display())).help(
                "a folder of fixtures has parse/valid, parse/invalid, primitives, or suites in folders",
            ));
        }
        match self.format {
            Format::Human => human(&report, console)?,
            Format::Json => {
                let (passed, failed) = (report.passed(), report.failed());
                write_json(&mut console.out, &Report { version: 1, passed, failed, cases: &report.cases })?;
            }
        }
        Ok(if report.failed() == 0 { Exit::Clean } else { Exit::Findings })
    }
}

fn human(report: &ConformanceReport, console: &mut Console) -> std::io::Result<()> {
    for case in report.cases.iter().filter(|case| !case.passed) {
        let failed = style::paint(console.color, style::ERROR, "failed");
        let (file, id, name) = (visible(&case.file), visible(&case.id), visible(&case.name));
        writeln!(console.out, "{failed} {file} {id}: {name}")?;
        for line in case.reason.iter().flat_map(|reason| reason.lines()) {
            writeln!(console.out, "    {}", visible(line))?;
        }
    }
    writeln!(console.out, "{} passed, {} failed", report.passed(), report.failed())
}

/// Every file below a folder, hidden ones too: what is not known must fail.
// Recursion ends where the system refuses longer paths.
fn collect(folder: &Path, prefix: &mut String, files: &mut Vec<FixtureFile>) -> Result<(), Failure> {
    let fail = |error: &std::io::Error| Failure::at(folder, "read", error);
    for entry in fs::read_dir(folder).map_err(|error| fail(&error))? {
        let entry = entry.map_err(|error| fail(&error))?;
        let length = prefix.len();
        prefix.push_str(&entry.file_name().to_string_lossy());
        if entry.file_type().map_err(|error| fail(&error))?.is_dir() {
            prefix.push('/');
            collect(&entry.path(), prefix, files)?;
        } else {
            let content = fs::read(entry.path());
            let content = content.map_err(|error| Failure::at(entry.path(), "read", &error))?;
            files.push(FixtureFile { path: prefix.clone(), content });
        }
        prefix.truncate(length);
    }
    Ok(())
}
