//! `--format json`: version 1, as `docs/schema/check-v1.json` says.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Checked, FindingTotals, Reporter};
use crate::write_json;

/// The version of the shape. A change that could break a reader makes it 2.
const VERSION: u32 = 1;

/// Collects everything, and writes one object at the end.
#[derive(Debug, Default)]
pub struct Json {
    files: Vec<Value>,
}

impl Reporter for Json {
    fn file(&mut self, checked: &Checked, _: &mut dyn Write) -> io::Result<()> {
        let diagnostics = checked.findings.iter().map(|finding| {
            let at = finding.span.map(|span| checked.source.line_column(span.start));
            json!({
                "code": finding.code,
                "severity": finding.severity.as_str(),
                "path": finding.path.as_ref().map(ToString::to_string),
                "line": at.map(|at| at.line),
                "column": at.map(|at| at.column),
                "message": finding.message,
                "help": (!finding.help.is_empty()).then(|| finding.help.join("\n")),
            })
        });
        let diagnostics: Vec<_> = diagnostics.collect();
        self.files.push(json!({"file": checked.name, "valid": checked.valid, "diagnostics": diagnostics}));
        Ok(())
    }

    fn finish(&mut self, _: &FindingTotals, out: &mut dyn Write) -> io::Result<()> {
        write_json(out, &json!({"version": VERSION, "files": self.files}))
    }
}
