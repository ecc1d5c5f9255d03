//! `--format junit`: one test case for each run, as CI systems read it.
//!
//! `JUnit` XML has no standard, only readers. What they agree on is little: suites, cases, and in a case nothing,
//! `failure`, `error` or `skipped`. `docs/decisions/0009` says why it is written here.

use std::fmt::Write as _;
use std::io::{self, Write};

use sortie_detect::{Run, Standing};
use sortie_report::Report;

use super::human::{documents, rendered};
use super::{RunsView, outcome, title, why_undecided};
use crate::render::visible;

/// What a case is to a reader that knows only this much.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Passed,
    Failure,
    Error,
    Skipped,
}

/// A skipped case is an error unless it may be skipped: readers count `skipped` as passed.
fn mark(run: &Run, allow_skipped: bool) -> Mark {
    match run.standing() {
        Standing::Resisted => Mark::Passed,
        Standing::Exploited => Mark::Failure,
        Standing::Undecided => Mark::Error,
        Standing::Skipped if !allow_skipped => Mark::Error,
        Standing::Skipped if run.is_decided() => Mark::Passed,
        Standing::Skipped => Mark::Skipped,
    }
}

pub(super) fn write(out: &mut dyn Write, report: &Report, view: RunsView) -> io::Result<()> {
    let marks: Vec<_> = documents(report).map(|run| mark(run, view.allow_skipped)).collect();
    let count = |wanted: Mark| marks.iter().filter(|mark| **mark == wanted).count();
    let counts = format!(
        r#"name="sortie" tests="{}" failures="{}" errors="{}" skipped="{}""#,
        marks.len(),
        count(Mark::Failure),
        count(Mark::Error),
        count(Mark::Skipped)
    );
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites {counts}>\n  <testsuite {counts}>"); // memory takes everything
    for (run, mark) in documents(report).zip(&marks) {
        case(&mut xml, run, *mark, view.live);
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    out.write_all(xml.as_bytes())
}

fn case(xml: &mut String, run: &Run, mark: Mark, live: bool) {
    let (class, name) = (escaped(&run.document.file), escaped(&title(run)));
    let _ = writeln!(xml, r#"    <testcase classname="{class}" name="{name}">"#);
    let text = escaped(&rendered(run, false, live));
    let (kind, message) = why_undecided(run).unwrap_or_else(|| (run.verdict.result.as_str(), outcome(run)));
    let message = escaped(&message);
    let _ = match mark {
        Mark::Passed => writeln!(xml, "      <system-out>{text}</system-out>"),
        Mark::Failure => {
            writeln!(xml, r#"      <failure type="{kind}" message="{message}">{text}</failure>"#)
        }
        Mark::Error => writeln!(xml, r#"      <error type="{kind}" message="{message}">{text}</error>"#),
        Mark::Skipped => {
            writeln!(xml, "      <skipped message=\"{message}\"/>\n      <system-out>{text}</system-out>")
        }
    };
    xml.push_str("    </testcase>\n");
}

/// Text that may stand in XML, also between quotes: no control characters, which XML 1.0 does not have.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in visible(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_document_holds_is_text_to_xml() {
        let all: String = (0..=u32::from(char::MAX)).filter_map(char::from_u32).collect();
        let xml = format!("<a b=\"{0}\">{0}]]></a>", escaped(&all)).replace("]]>", "]]&gt;");
        let parsed = roxmltree::Document::parse(&xml).expect("well-formed");
        let text = parsed.root_element().text().unwrap();
        assert!(text.contains('&') && text.contains('<') && text.contains('🦀'));
    }
}
