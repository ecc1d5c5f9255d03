//! The report of runs, in the format and at the place that were asked for.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sortie_report::sarif::{CASE_LIST, SarifCases, SarifLog, count_lines, is_case_list};
use sortie_report::{Report, View, write_human, write_json, write_junit, write_markdown};
use sortie_run::report_sources::{ReportSources, SarifRequest, StoredRun};

use crate::{Console, Exit, Failure, RunsFormat};

/// What `--format sarif` takes besides.
#[derive(Args, Debug, Default)]
pub(crate) struct SarifArgs {
    /// With `--format sarif`: the file and line to report for bundled cases, such as a line of the CI workflow. Default: the line
    /// of `sortie.toml` that names the agent or the target
    #[arg(long, value_name = "FILE:LINE", value_parser = anchor)]
    sarif_anchor: Option<(PathBuf, usize)>,

    /// With `--format sarif`: the cases to write as results
    #[arg(long, value_enum, value_name = "CASES")]
    sarif_cases: Option<CasesArg>,
}

/// Which cases are results.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum CasesArg {
    /// Every case, with its kind (the default)
    All,
    /// Only exploited cases that no baseline accepts. GitHub shows every result as an alert
    Findings,
}

impl SarifArgs {
    /// Refuses options that nothing comes of.
    pub(crate) fn validate(&self, format: RunsFormat) -> Result<(), Failure> {
        let option = match self {
            _ if format == RunsFormat::Sarif => return Ok(()),
            Self { sarif_anchor: Some(_), .. } => "--sarif-anchor",
            Self { sarif_cases: Some(_), .. } => "--sarif-cases",
            Self { .. } => return Ok(()),
        };
        Err(Failure::new(format!("`{option}` needs `--format sarif`")))
    }
}

/// What `FILE:LINE` says, where there is such a line.
fn anchor(text: &str) -> Result<(PathBuf, usize), String> {
    let (file, line) = text.rsplit_once(':').ok_or("write FILE:LINE")?;
    let line: usize = line.parse().map_err(|_| "write FILE:LINE")?;
    let lines = count_lines(Path::new(file)).ok_or_else(|| format!("there is no file `{file}`"))?;
    if !(1..=lines).contains(&line) {
        return Err(format!("`{file}` has {lines} lines"));
    }
    Ok((file.into(), line))
}

/// How the report of runs is written, and where.
pub(crate) struct ReportOutput<'o> {
    pub(crate) format: RunsFormat,
    /// The file; standard output, where there is none.
    pub(crate) out: Option<&'o Path>,
    pub(crate) sarif: &'o SarifArgs,
    /// The folders of the user's evaluators.
    pub(crate) evaluators: Vec<PathBuf>,
    /// The folder of the run.
    pub(crate) run: Option<&'o Path>,
    /// Traces that were named, where there is no folder.
    pub(crate) traces: &'o [PathBuf],
    /// Runs that a page shows beside this one.
    pub(crate) beside: &'o [StoredRun],
}

impl ReportOutput<'_> {
    /// The report in its format. The list of cases that SARIF may point at is written beside it.
    pub(crate) fn text(
        &self,
        report: &Report,
        view: View,
        exit: Exit,
        console: &mut Console,
    ) -> Result<Vec<u8>, Failure> {
        let mut text = Vec::new();
        match self.format {
            RunsFormat::Human => write_human(&mut text, report, view)?,
            RunsFormat::Json => write_json(&mut text, report)?,
            RunsFormat::Junit => write_junit(&mut text, report, view)?,
            RunsFormat::Sarif => self.sarif(report, exit, console)?.write(&mut text)?,
            RunsFormat::Markdown => write_markdown(&mut text, report, view)?,
            RunsFormat::Html => {
                self.sources().write_html(&mut text, report, self.beside, view.allow_skipped)?;
            }
            RunsFormat::Canonical => write_json(&mut text, &report.canonical())?,
        }
        Ok(text)
    }

    fn sources(&self) -> ReportSources<'_> {
        ReportSources { run: self.run, traces: self.traces, evaluators: &self.evaluators }
    }

    fn sarif(&self, report: &Report, exit: Exit, console: &mut Console) -> Result<SarifLog, Failure> {
        let folder = std::env::current_dir().map_err(|error| Failure::at(".", "read", &error))?;
        let list = self.out.and_then(Path::parent).unwrap_or(Path::new("")).join(CASE_LIST);
        let request = SarifRequest {
            folder: &folder,
            anchor: self.sarif.sarif_anchor.as_ref().map(|(file, line)| (file.as_path(), *line)),
            case_list: &list,
            cases: match self.sarif.sarif_cases {
                None | Some(CasesArg::All) => SarifCases::All,
                Some(CasesArg::Findings) => SarifCases::Findings,
            },
            exit_code: exit.code(),
        };
        let log = self.sources().sarif(report, &request);
        if let Some(text) = log.case_list() {
            if fs::read_to_string(&list).is_ok_and(|own| !is_case_list(&own)) {
                let message = format!("`{}` is not a list of cases, and is not written over", list.display());
                return Err(
                    Failure::new(message).help("name a line for them with `--sarif-anchor FILE:LINE`")
                );
            }
            fs::write(&list, text).map_err(|error| Failure::at(&list, "write", &error))?;
            console.note(&format!("cases that stand in no file of yours are listed in {}", list.display()));
        }
        Ok(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_is_a_line_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yml");
        fs::write(&file, "one\ntwo").unwrap();
        let at = |line: &str| anchor(&format!("{}{line}", file.display()));
        assert_eq!(at(":2"), Ok((file.clone(), 2)));
        for wrong in ["", ":", ":x", ":0", ":3", "nowhere:1"] {
            assert!(at(wrong).is_err(), "{wrong}");
        }
    }
}
