//! An evaluator, for people.

use std::io::{self, Write};

use sortie_evaluators::{CatalogueEntry, Check, Evaluator, RUNNER_NAMES, Test, Verdict};
use sortie_oatf::model::{Condition, MatchCondition};

use crate::{counted, style, visible};

/// An evaluator, and what is known about it from elsewhere.
#[derive(Debug)]
pub struct EvaluatorView<'e> {
    /// The evaluator.
    pub entry: &'e CatalogueEntry,
    /// How people are told about its file.
    pub file: String,
    /// The suites it is in.
    pub suites: Vec<&'e str>,
}

impl EvaluatorView<'_> {
    /// Writes it.
    pub fn write(&self, out: &mut dyn Write, color: bool) -> io::Result<()> {
        let evaluator = &self.entry.evaluator;
        let title = format!("{}: {}", evaluator.id, visible(&evaluator.name));
        writeln!(out, "{}", style::paint(color, style::STRONG, &title))?;
        if let Some(description) = &evaluator.description {
            writeln!(out, "{}", visible(description.trim()))?;
        }
        writeln!(out)?;
        self.facts(out)?;
        let heading = |text: &str| style::paint(color, style::HEADING, text);
        section(out, &heading("Passes when"), &evaluator.pass_criteria)?;
        section(out, &heading("Fails when"), &evaluator.fail_criteria)?;
        if let Some(hint) = &evaluator.judge_hint {
            section(out, &heading("To the judge"), hint)?;
        }
        if !evaluator.checks.is_empty() {
            writeln!(out, "\n{}", heading("Checks"))?;
            for check in &evaluator.checks {
                write_check(out, check)?;
            }
        }
        writeln!(out, "\n{}", heading("Patterns"))?;
        for pattern in &evaluator.patterns {
            writeln!(out, "  {}", visible(&pattern.name))?;
            indented(out, "    ", pattern.template.text())?;
            if let Some(hint) = &pattern.judge_hint {
                indented(out, "    to the judge: ", hint)?;
            }
        }
        Ok(())
    }

    fn facts(&self, out: &mut dyn Write) -> io::Result<()> {
        let (entry, evaluator) = (self.entry, &self.entry.evaluator);
        let mut fact = |name: &str, value: String| match value.as_str() {
            "" => Ok(()),
            value => writeln!(out, "  {name:13} {}", visible(value)),
        };
        fact("severity", evaluator.severity.to_string())?;
        let surface = [entry.class.to_string()].into_iter().chain(entry.categories.iter().cloned());
        fact("catalogue", surface.collect::<Vec<_>>().join(" / "))?;
        let standards = evaluator.standards.iter().map(|(standard, id)| format!("{standard} {id}"));
        fact("standards", standards.collect::<Vec<_>>().join(", "))?;
        fact("weakness", evaluator.cwe.clone().unwrap_or_default())?;
        fact("suites", self.suites.join(", "))?;
        fact("tags", entry.tags().collect::<Vec<_>>().join(", "))?;
        let surfaces = evaluator.surfaces.iter().map(ToString::to_string);
        fact("surfaces", surfaces.collect::<Vec<_>>().join(", "))?;
        fact("turns", evaluator.turn_mode.map(|mode| mode.to_string()).unwrap_or_default())?;
        fact("runs after", evaluator.depends_on.join(", "))?;
        match evaluator.not_applicable() {
            Some(reason) => fact("not run", reason)?,
            None => fact("decided by", decided_by(evaluator).to_owned())?,
        }
        if evaluator.applies_to_all_tools {
            fact("tools", "every pattern is tried on every tool".to_owned())?;
        }
        fact("placeholders", placeholders(evaluator))?;
        fact("fixtures", self.fixtures())?;
        fact("file", self.file.clone())
    }

    fn fixtures(&self) -> String {
        let Some(fixtures) = &self.entry.fixtures else { return "none".to_owned() };
        let of = |verdict: Verdict| fixtures.cases.iter().filter(|case| case.expect == verdict).count();
        let mut parts = vec![format!("{} pass", of(Verdict::Pass)), format!("{} fail", of(Verdict::Fail))];
        if of(Verdict::Undecided) > 0 {
            parts.push(format!("{} only a judge can tell", of(Verdict::Undecided)));
        }
        format!("{}: {}", counted(fixtures.cases.len(), "case", "cases"), parts.join(", "))
    }
}

fn decided_by(evaluator: &Evaluator) -> &'static str {
    match (evaluator.checks.is_empty(), evaluator.judge_needs_llm) {
        (false, false) => "its checks, without a judge",
        (false, true) => "its checks first, and a judge where they cannot tell",
        (true, true) => "a judge",
        (true, false) => "nothing: it promises checks and has none, so its cases are skipped",
    }
}

/// The names that are filled in, and by whom.
fn placeholders(evaluator: &Evaluator) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in evaluator.patterns.iter().flat_map(|pattern| pattern.template.placeholders()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let filled = names.iter().map(|name| {
        let whose = if RUNNER_NAMES.contains(name) { "" } else { " (yours, or a model's)" };
        format!("{{{{{name}}}}}{whose}")
    });
    filled.collect::<Vec<_>>().join(", ")
}

fn section(out: &mut dyn Write, heading: &str, text: &str) -> io::Result<()> {
    writeln!(out, "\n{heading}")?;
    indented(out, "  ", text)
}

fn indented(out: &mut dyn Write, indent: &str, text: &str) -> io::Result<()> {
    text.trim_end().lines().try_for_each(|line| writeln!(out, "{indent}{}", visible(line)))
}

fn write_check(out: &mut dyn Write, check: &Check) -> io::Result<()> {
    writeln!(out, "  {}: {}", check.says, visible(&check.name))?;
    match &check.test {
        Test::Pattern { target, condition } => {
            writeln!(out, "    {} {}", visible(target), visible(&words(condition)))
        }
        Test::Cel(expression) => indented(out, "    ", expression),
        Test::Measure(measure) => writeln!(out, "    measures a {measure}"),
    }
}

/// A condition on one line, as it could be written.
fn words(condition: &Condition) -> String {
    let MatchCondition { contains, starts_with, ends_with, regex, any_of, gt, lt, gte, lte, exists } =
        match condition {
            Condition::Value(value) => return format!("is {value}"),
            Condition::Match(condition) => condition,
        };
    let mut parts = Vec::new();
    for (word, text) in
        [("contains", contains), ("starts_with", starts_with), ("ends_with", ends_with), ("regex", regex)]
    {
        parts.extend(text.as_ref().map(|text| format!("{word} '{text}'")));
    }
    let values = any_of.as_ref().map(|values| values.iter().map(ToString::to_string).collect::<Vec<_>>());
    parts.extend(values.map(|values| format!("any_of [{}]", values.join(", "))));
    for (word, number) in [("gt", gt), ("lt", lt), ("gte", gte), ("lte", lte)] {
        parts.extend(number.as_ref().map(|number| format!("{word} {number}")));
    }
    parts.extend(exists.map(|exists| format!("exists {exists}")));
    parts.join(", ")
}
