//! The formats that commands offer, and renderers of what no library knows.

mod demo;
mod plan;
mod runs;

use clap::ValueEnum;
use sortie_report::findings::{GitHub, Human, Json, Reporter, Sarif};

use crate::console::Console;

pub(crate) use demo::{DemoFormat, DemoView, demo_report};
pub(crate) use plan::{Shown, write_plans, write_plans_json};
pub(crate) use runs::{RunsFormat, RunsView};
pub(crate) use sortie_report::findings::{Checked, Totals};
pub(crate) use sortie_report::{TraceView, style, visible, write_json};

/// A format of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// The source, underlined
    Human,
    /// One object; its schema is docs/schema/check-v1.json
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

impl FindingsFormat {
    /// What reports in this format.
    pub(crate) fn reporter(self, console: &Console) -> Box<dyn Reporter> {
        match self {
            Self::Human => Box::new(Human::new(console.color, console.width())),
            Self::Json => Box::<Json>::default(),
            Self::Sarif => Box::<Sarif>::default(),
            Self::Github => Box::new(GitHub),
        }
    }
}
