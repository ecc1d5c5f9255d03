//! `--format sarif`: SARIF 2.1.0, for code scanning.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::{Value, json};
use sortie_syntax::{Diagnostic, Fix, Span};

use super::{Checked, FindingTotals, Reporter, message_and_help, rule};
use crate::{markdown, write_json};

/// Collects everything, and writes one log with one run at the end.
#[derive(Debug, Default)]
pub struct Sarif {
    results: Vec<Value>,
    /// Codes in the order of their first use.
    codes: Vec<&'static str>,
}

impl Reporter for Sarif {
    fn file(&mut self, checked: &Checked, _: &mut dyn Write) -> io::Result<()> {
        for finding in &checked.findings {
            let index = self.codes.iter().position(|code| *code == finding.code).unwrap_or_else(|| {
                self.codes.push(finding.code);
                self.codes.len() - 1
            });
            self.results.push(result(checked, finding, index));
        }
        Ok(())
    }

    fn finish(&mut self, totals: &FindingTotals, out: &mut dyn Write) -> io::Result<()> {
        let rules: Vec<_> = self.codes.iter().map(|code| descriptor(code)).collect();
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": {
                    "driver": {
                        "name": "sortie",
                        "version": env!("CARGO_PKG_VERSION"),
                        "rules": rules,
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [{ "executionSuccessful": totals.unread == 0 }],
                "results": self.results,
            }],
        });
        write_json(out, &log)
    }
}

/// What a code means, from the page of its rule.
fn descriptor(code: &str) -> Value {
    match rule(code) {
        None => json!({ "id": code }),
        Some(rule) => json!({
            "id": rule.code,
            "shortDescription": { "text": rule.title },
            "help": { "text": markdown(rule.explain, false), "markdown": rule.explain },
            "defaultConfiguration": { "level": rule.severity.as_str() },
        }),
    }
}

fn result(checked: &Checked, finding: &Diagnostic, index: usize) -> Value {
    let mut location = json!({ "physicalLocation": physical(checked, finding.span) });
    if let Some(path) = &finding.path {
        location["logicalLocations"] = json!([{ "fullyQualifiedName": path.to_string() }]);
    }
    let mut result = json!({
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity.as_str(),
        "message": { "text": message_and_help(finding) },
        "locations": [location],
    });
    if !finding.labels.is_empty() {
        let labels = finding.labels.iter().enumerate().map(|(id, label)| {
            json!({
                "id": id,
                "physicalLocation": physical(checked, Some(label.span)),
                "message": { "text": label.text },
            })
        });
        result["relatedLocations"] = labels.collect();
    }
    if let Some(fix) = &finding.fix {
        result["fixes"] = json!([repair(checked, fix)]);
    }
    result
}

fn physical(checked: &Checked, span: Option<Span>) -> Value {
    let mut location = json!({ "artifactLocation": { "uri": uri(&checked.name) } });
    if let Some(span) = span {
        location["region"] = region(checked, span);
    }
    location
}

fn region(checked: &Checked, span: Span) -> Value {
    let (start, end) = checked.region(span);
    json!({ "startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column })
}

fn repair(checked: &Checked, fix: &Fix) -> Value {
    let replacements: Vec<_> = fix
        .edits
        .iter()
        .map(|edit| {
            json!({
                "deletedRegion": region(checked, edit.span),
                "insertedContent": { "text": edit.replacement },
            })
        })
        .collect();
    json!({
        "description": { "text": fix.title },
        "artifactChanges": [{
            "artifactLocation": { "uri": uri(&checked.name) },
            "replacements": replacements,
        }],
    })
}

/// A path as a URI: relative ones stay relative, so that they mean the checkout they were found in.
pub(crate) fn uri(name: &str) -> String {
    let absolute = name.starts_with('/');
    let mut uri = String::from(if absolute { "file://" } else { "" });
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            byte => {
                // Writing to a string cannot fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn names_become_uris() {
        assert_eq!(uri("attacks/a b.yaml"), "attacks/a%20b.yaml");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
        assert_eq!(uri("/tmp/ü.yaml"), "file:///tmp/%C3%BC.yaml");
    }
}
