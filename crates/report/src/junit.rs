//! For CI: one test case for each run, as CI systems read it.
//!
//! `JUnit` XML has no standard, only readers. What they agree on is little: suites, cases, and in a case nothing,
//! `failure`, `error` or `skipped`. `docs/decisions/0009` says why it is written here.

use std::fmt::Write as _;
use std::io::{self, Write};

use sortie_detect::{CaseInfo, Outcome, Standing};
use sortie_stats::ConfidenceInterval;

use crate::RunTotals;
use crate::grouping::{GroupedFinding, Grouping};
use crate::human::{outcome, rendered, rendered_finding, title, why_undecided};
use crate::text::visible;
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
    /// How often it was exploited, attempt by attempt; empty where it was played once.
    properties: Vec<(String, String)>,
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
    let grouping = Grouping::of(report);
    // A weakness is one test case, and so is a tool that never worked.
    let told = report.runs.iter().filter(|run| !grouping.is_follower(run));
    let mut cases: Vec<_> = told.map(|run| TestCase::of(run, &grouping, view)).collect();
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
    let totals = RunTotals::of(report);
    let shares = [("tasks done", totals.tasks), ("tasks done without the attack", totals.controls)];
    let shares = shares.iter().filter_map(|(name, share)| Some((name, (*share)?)));
    let shares = shares.map(|(name, share)| format!("<property name=\"{name}\" value=\"{share}\"/>"));
    let shares: String = shares.collect();
    if !shares.is_empty() {
        let _ = writeln!(xml, "    <properties>{shares}</properties>");
    }
    for case in &cases {
        case.write(&mut xml);
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    out.write_all(xml.as_bytes())
}

impl TestCase {
    fn of(run: &Outcome, grouping: &Grouping<'_>, view: View) -> Self {
        let (class, name) = match &run.case {
            CaseInfo::Document { document } => (document.file.clone(), title(document)),
            CaseInfo::Evaluator { evaluator } => (evaluator.id.clone(), run.id.clone()),
        };
        let result = run.verdict.result.as_str();
        let (kind, message) = why_undecided(run)
            .unwrap_or_else(|| (result, run.verdict.reason.clone().unwrap_or_else(|| outcome(run))));
        let mut text = rendered(run, View { color: false, ..view });
        let finding = grouping.finding_of(run);
        if let Some(finding) = finding {
            text = format!("{}\n{text}", rendered_finding(finding, false));
        }
        let name = finding.map_or(name, GroupedFinding::title);
        let properties = properties(run);
        Self { class, name, mark: mark(run, view.allow_skipped), kind, message, properties, text }
    }

    fn unfinished(id: &str, report: &Report) -> Self {
        let message =
            report.stopped.clone().unwrap_or_else(|| "the run stopped before this case ended".to_owned());
        let class = id.split_once('/').map_or(id, |(evaluator, _)| evaluator).to_owned();
        let text = format!("not run to its end: {message}\n");
        let (name, properties) = (id.to_owned(), Vec::new());
        Self { class, name, mark: Mark::Error, kind: "unfinished", message, properties, text }
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
        let properties = Vec::new();
        Some(Self { class, name, mark: Mark::Error, kind: "undecided", message, properties, text })
    }

    fn write(&self, xml: &mut String) {
        let (class, name) = (escaped(&self.class), escaped(&self.name));
        let _ = writeln!(xml, r#"    <testcase classname="{class}" name="{name}">"#);
        if !self.properties.is_empty() {
            xml.push_str("      <properties>\n");
            for (name, value) in &self.properties {
                let (name, value) = (escaped(name), escaped(value));
                let _ = writeln!(xml, r#"        <property name="{name}" value="{value}"/>"#);
            }
            xml.push_str("      </properties>\n");
        }
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

/// How often a case was exploited, with both intervals by name, and what became of each attempt.
fn properties(run: &Outcome) -> Vec<(String, String)> {
    let Some(rate) = &run.rate else { return Vec::new() };
    let mut properties = vec![
        ("rate.hits".to_owned(), rate.hits.to_string()),
        ("rate.n".to_owned(), rate.n.to_string()),
        ("rate.undecided".to_owned(), rate.undecided.to_string()),
    ];
    let intervals = [
        ("exact", "Clopper-Pearson, for a number of attempts that was fixed before", rate.exact),
        ("anytime", "valid whenever attempts end", rate.anytime),
        ("if_undecided_hit", "exact, if every undecided attempt were a hit", rate.if_undecided_hit),
    ];
    for (name, meaning, ConfidenceInterval { low, high, level }) in intervals {
        properties.push((format!("rate.{name}"), meaning.to_owned()));
        for (end, value) in [("low", low), ("high", high), ("level", level)] {
            properties.push((format!("rate.{name}.{end}"), value.to_string()));
        }
    }
    if let Some(decision) = rate.decision {
        properties.push(("rate.decision".to_owned(), decision.to_string()));
    }
    for attempt in &run.attempts {
        let failure = attempt.failure.as_ref().map(|word| format!(" ({word})")).unwrap_or_default();
        let trace = attempt.trace.as_ref().map(|trace| format!(", {trace}")).unwrap_or_default();
        let name = format!("attempt.{}", attempt.attempt);
        properties.push((name, format!("{}{failure}{trace}", attempt.result)));
    }
    properties
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
