//! What reports are written from besides themselves: the folder of the run, the user's evaluators, `sortie.toml`, and other runs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sortie_library::rule_infos;
use sortie_report::compare::ComparedRun;
use sortie_report::sarif::{SarifCases, SarifLog, SarifOptions, checkout_root};
use sortie_report::{HtmlOptions, Report, write_html};

use crate::config::selecting_lines;
use crate::trace_files::TraceFiles;
use crate::{RunInfo, StoreError, load_info, load_report};

/// A run that is over, read from its folder.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// The folder, as it was named.
    pub name: String,
    /// The report.
    pub report: Report,
    /// What the run is.
    pub info: RunInfo,
    digests: BTreeMap<String, String>,
}

impl StoredRun {
    /// Reads the folder of a run.
    pub fn load(folder: &Path) -> Result<Self, StoreError> {
        let (report, info) = (load_report(folder)?, load_info(folder)?);
        let digests = info.digests();
        Ok(Self { name: folder.display().to_string(), report, info, digests })
    }

    /// The run, as comparisons take it.
    pub fn compared(&self) -> ComparedRun<'_> {
        ComparedRun { name: &self.name, report: &self.report, digests: &self.digests }
    }
}

/// Where reports look for what they tell besides.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportSources<'s> {
    /// The folder of the run.
    pub run: Option<&'s Path>,
    /// Traces that were named, where there is no folder.
    pub traces: &'s [PathBuf],
    /// The folders of the user's evaluators.
    pub evaluators: &'s [PathBuf],
}

/// What is asked of a log in SARIF.
#[derive(Clone, Copy, Debug)]
pub struct SarifRequest<'s> {
    /// The folder that the program runs in.
    pub folder: &'s Path,
    /// The line that stands for cases that come with Sortie. Without one, the line of `sortie.toml` does that names the agent or
    /// the target of the run.
    pub anchor: Option<(&'s Path, usize)>,
    /// Where the list of cases is written that stand in no file of the user's.
    pub case_list: &'s Path,
    /// Which cases are results.
    pub cases: SarifCases,
    /// The exit code of the run.
    pub exit_code: u8,
}

impl ReportSources<'_> {
    /// Writes a report as a page, with other runs beside it.
    pub fn write_html(
        &self,
        out: &mut dyn Write,
        report: &Report,
        beside: &[StoredRun],
        allow_skipped: bool,
    ) -> io::Result<()> {
        let traces = self.run.map_or(TraceFiles::Named(self.traces), TraceFiles::Run);
        let read = |name: &str| traces.read(name);
        // Where the run is not known any more, neither is its command.
        let info = self.info();
        let digests = info.as_ref().map(RunInfo::digests);
        let beside: Vec<_> = beside.iter().map(StoredRun::compared).collect();
        let options = HtmlOptions {
            command: info.as_ref().map_or(&[], |info| &info.asked),
            rules: &rule_infos(report, self.evaluators),
            beside: &beside,
            digests: digests.as_ref(),
            allow_skipped,
            ..HtmlOptions::new(&read)
        };
        write_html(out, report, &options)
    }

    /// A report as SARIF.
    pub fn sarif(&self, report: &Report, request: &SarifRequest<'_>) -> SarifLog {
        let SarifRequest { folder, anchor, case_list, cases, exit_code } = *request;
        let mut rules = rule_infos(report, self.evaluators);
        let lines = anchor.is_none().then(|| self.info()).flatten();
        let lines = lines.map(|info| selecting_lines(folder, &info)).unwrap_or_default();
        for rule in rules.iter_mut().filter(|rule| rule.selected_by.is_none()) {
            // Evaluators attack the target, and documents the agent.
            let is_evaluator = rule.fail_criteria.is_some();
            rule.selected_by = if is_evaluator { lines.of_evaluators() } else { lines.of_documents() };
        }
        let root = checkout_root(folder);
        let run = self.run;
        let options =
            SarifOptions { root: &root, folder, anchor, case_list, rules: &rules, cases, exit_code, run };
        SarifLog::new(report, &options)
    }

    fn info(&self) -> Option<RunInfo> {
        load_info(self.run?).ok()
    }
}
