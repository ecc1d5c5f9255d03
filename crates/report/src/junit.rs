//! For CI: one test case for each run, as CI systems read it.
//!
//! `JUnit` XML has no standard, only readers. What they agree on is little: suites, cases, and in a case nothing,
//! `failure`, `error` or `skipped`. `docs/decisions/0009` says why it is written here.

use std::fmt::Write as _;
use std::io::{self, Write};

use sortie_detect::{CaseInfo, Outcome, Standing};

use crate::human::{outcome, rendered, title, why_undecided};
use crate::text::visible;
use crate::totals::{RunTotals, TaskCounts};
use crate::{Report, View};

/// A test case, as far as readers understand one.
struct TestCase {
    class: String,
    name: String,
    mark: Mark,
    /// One word about what is not passed.
    kind: &'static str,
    /// The same in a sentence.
    message: String,
    /// All there is to say.
    text: String,
}

/// What a case is to a reader that knows only this much.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Passed,
    Failure,
    Error,
    Skipped,
}

/// A skipped case is an error unless it may be skipped: readers count `skipped` as passed. What does not apply to the target
/// is nothing that it could have failed.
fn mark(run: &Outcome, allow_skipped: bool) -> Mark {
    match run.standing {
        Some(Standing::Resisted) => Mark::Passed,
        Some(Standing::Exploited) => Mark::Failure,
        Some(Standing::Undecided) => Mark::Error,
        Some(Standing::Skipped) if !allow_skipped => Mark::Error,
        Some(Standing::Skipped) | None => Mark::Skipped,
    }
}

/// Writes a report as `JUnit` XML.
pub fn write_junit(out: &mut dyn Write, report: &Report, view: View) -> io::Result<()> {
    let mut cases: Vec<_> = report.runs.iter().map(|run| TestCase::of(run, view)).collect();
    cases.extend(report.unfinished.iter().map(|id| TestCase::unfinished(id, report)));
    if let Some(case) = TestCase::whole(report, view, &cases) {
        cases.push(case);
    }
    let count = |wanted: Mark| cases.iter().filter(|case| case.mark == wanted).count();
    let counts = format!(
        r#"name="sortie" tests="{}" failures="{}" errors="{}" skipped="{}""#,
        cases.len(),
        count(Mark::Failure),
        count(Mark::Error),
        count(Mark::Skipped)
    );
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites {counts}>\n  <testsuite {counts}>"); // memory takes everything
    if let Some(TaskCounts { done, of }) = RunTotals::of(report).tasks {
        let tasks = format!("<property name=\"tasks done\" value=\"{done} of {of}\"/>");
        let _ = writeln!(xml, "    <properties>{tasks}</properties>");
    }
    for case in &cases {
        case.write(&mut xml);
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    out.write_all(xml.as_bytes())
}

impl TestCase {
    fn of(run: &Outcome, view: View) -> Self {
        let (class, name) = match &run.case {
            CaseInfo::Document { document } => (document.file.clone(), title(document)),
            CaseInfo::Evaluator { evaluator } => (evaluator.id.clone(), run.id.clone()),
        };
        let result = run.verdict.result.as_str();
        let (kind, message) = why_undecided(run)
            .unwrap_or_else(|| (result, run.verdict.reason.clone().unwrap_or_else(|| outcome(run))));
        let text = rendered(run, View { color: false, ..view });
        Self { class, name, mark: mark(run, view.allow_skipped), kind, message, text }
    }

    fn unfinished(id: &str, report: &Report) -> Self {
        let message = report.stopped.clone().unwrap_or_else(|| "the run ended before it was over".to_owned());
        let class = id.split_once('/').map_or(id, |(evaluator, _)| evaluator).to_owned();
        let text = format!("not played to its end: {message}\n");
        Self { class, name: id.to_owned(), mark: Mark::Error, kind: "unfinished", message, text }
    }

    /// What no case says by itself: that the run as a whole decided nothing. Without it, a run in which nothing applied would
    /// look like one that passed.
    fn whole(report: &Report, view: View, cases: &[Self]) -> Option<Self> {
        let undecided =
            matches!(report.standing(view.allow_skipped), Standing::Undecided | Standing::Skipped);
        if !undecided || cases.iter().any(|case| case.mark == Mark::Error) {
            return None;
        }
        let message = report.stopped.clone().unwrap_or_else(|| "no case was decided".to_owned());
        let text = format!("{message}\n");
        let (class, name) = ("sortie".to_owned(), "the run as a whole".to_owned());
        Some(Self { class, name, mark: Mark::Error, kind: "undecided", message, text })
    }

    fn write(&self, xml: &mut String) {
        let (class, name) = (escaped(&self.class), escaped(&self.name));
        let _ = writeln!(xml, r#"    <testcase classname="{class}" name="{name}">"#);
        let (kind, message, text) = (self.kind, escaped(&self.message), escaped(&self.text));
        let _ = match self.mark {
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
