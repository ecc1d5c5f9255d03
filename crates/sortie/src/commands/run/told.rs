//! What is shown, and where to.

use std::io::{self, Write as _};

use sortie_engine::run::DocumentPlan;
use sortie_report::Report;

use super::Run;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{RunsFormat, RunsView, Shown, write_plans, write_plans_json};
use crate::run::{Attacked, Unfit};

impl Run {
    /// What would be done.
    pub(super) fn show(
        &self,
        plans: &[DocumentPlan],
        unfit: &[Unfit],
        attacked: Option<&Attacked>,
        console: &mut Console,
    ) -> Result<(), Failure> {
        let unfit: Vec<_> =
            unfit.iter().map(|one| (one.document.name.as_str(), one.reason.as_str())).collect();
        let shown = Shown { plans, cases: attacked.map(|attacked| &attacked.planned[..]), unfit: &unfit };
        let mut text = Vec::new();
        match self.output.format {
            RunsFormat::Json => write_plans_json(&mut text, &shown)?,
            _ => write_plans(&mut text, &shown, console.color && self.output.out.is_none())?,
        }
        self.put(&text, console)
    }

    /// What was done.
    pub(super) fn write(&self, report: &Report, console: &mut Console) -> Result<(), Failure> {
        let color = console.color && self.output.out.is_none() && !self.servers.stdio;
        let mut text = Vec::new();
        let view = RunsView {
            format: self.output.format,
            color,
            allow_skipped: self.output.allow_skipped,
            live: true,
        };
        view.write(report, &mut text)?;
        self.put(&text, console)
    }

    /// With `--stdio`, standard output belongs to the protocol.
    fn put(&self, text: &[u8], console: &mut Console) -> Result<(), Failure> {
        if self.servers.stdio && self.output.out.is_none() {
            return Ok(io::stderr().write_all(text)?);
        }
        console.put(text, self.output.out.as_deref())
    }
}
