//! `--format json`: version 1, as `docs/schema/check-v1.json` says.

use std::io::{self, Write};

use serde::Serialize;

use super::{Checked, FindingTotals, Reporter};
use crate::write_json;

/// The version of the shape. A change that could break a reader makes it 2.
const VERSION: u32 = 1;

/// Collects everything, and writes one object at the end.
#[derive(Debug, Default)]
pub struct Json {
    files: Vec<CheckedFile>,
}

#[derive(Serialize)]
struct Report<'r> {
    version: u32,
    files: &'r [CheckedFile],
}

#[derive(Debug, Serialize)]
struct CheckedFile {
    file: String,
    valid: bool,
    diagnostics: Vec<Finding>,
}

#[derive(Debug, Serialize)]
struct Finding {
    code: &'static str,
    severity: &'static str,
    path: Option<String>,
    line: Option<usize>,
    column: Option<usize>,
    message: String,
    help: Option<String>,
}

impl Reporter for Json {
    fn file(&mut self, checked: &Checked, _: &mut dyn Write) -> io::Result<()> {
        let diagnostics = checked.findings.iter().map(|finding| {
            let at = finding.span.map(|span| checked.source.line_column(span.start));
            Finding {
                code: finding.code,
                severity: finding.severity.as_str(),
                path: finding.path.as_ref().map(ToString::to_string),
                line: at.map(|at| at.line),
                column: at.map(|at| at.column),
                message: finding.message.clone(),
                help: (!finding.help.is_empty()).then(|| finding.help.join("\n")),
            }
        });
        let diagnostics = diagnostics.collect();
        self.files.push(CheckedFile { file: checked.name.clone(), valid: checked.valid, diagnostics });
        Ok(())
    }

    fn finish(&mut self, _: &FindingTotals, out: &mut dyn Write) -> io::Result<()> {
        write_json(out, &Report { version: VERSION, files: &self.files })
    }
}
