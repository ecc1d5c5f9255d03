//! One weakness, one finding: the cases of evaluators that show the same cause are told once, and so is a tool that never worked.
//!
//! A cause is a weakness (an entry of the Common Weakness Enumeration, or an evaluator that names none) at an argument of a tool. Where a
//! tool shows it whatever its argument is, the argument is not a part of the cause.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use sortie_detect::outcome::Weakness;
use sortie_detect::{EvaluatorCase, Evidence, FailureKind, Outcome, Standing};
use sortie_evaluators::Severity;
use sortie_trace::{Call, Role};

use crate::Report;
use crate::text::counted;

/// What is told once, and the cases that stand behind it.
#[derive(Debug, Default)]
pub struct Grouping<'r> {
    /// The findings, worst first.
    pub findings: Vec<GroupedFinding<'r>>,
    /// The tools that never worked.
    pub unusable: Vec<UnusableTool<'r>>,
    /// The cases that are not told by themselves: all but the first of each group.
    followers: HashSet<&'r str>,
}

/// A weakness of a server, with everything that shows it.
#[derive(Debug, Serialize)]
pub struct GroupedFinding<'r> {
    /// What people call it.
    pub name: &'r str,
    /// The evaluators that found it.
    pub evaluators: Vec<&'r str>,
    /// Its entry in the Common Weakness Enumeration.
    pub cwe: Option<&'r str>,
    /// How bad it is.
    pub severity: Option<Severity>,
    /// The tool; `None` where the list of tools is at fault.
    pub tool: Option<&'r str>,
    /// The argument; `None` where the tool shows it whatever it is given.
    pub argument: Option<&'r str>,
    /// What to change.
    pub remedy: Option<&'r str>,
    /// What shows it.
    pub evidence: Option<&'r Evidence>,
    /// The call that shows it again.
    pub call: Option<&'r Call>,
    /// The same as a command line.
    pub command: Option<String>,
    /// The trace that holds it.
    pub trace: Option<&'r str>,
    /// The cases behind it; the first is the one that is shown.
    pub cases: Vec<&'r str>,
}

/// A tool that never worked.
#[derive(Debug, Serialize)]
pub struct UnusableTool<'r> {
    /// The tools that failed for the same reason.
    pub tools: Vec<&'r str>,
    /// What the server said to the first, and what would help.
    pub why: &'r str,
    /// How many cases of them are undecided.
    pub cases: usize,
}

type Cause<'r> = (&'r str, &'r str, &'r str);

impl<'r> Grouping<'r> {
    /// Groups the cases of a report.
    pub fn of(report: &'r Report) -> Self {
        let mut grouping = Self::default();
        grouping.find_weaknesses(report);
        grouping.find_unusable(report);
        grouping
    }

    /// Whether another case is told in its place.
    pub fn is_follower(&self, run: &Outcome) -> bool {
        self.followers.contains(run.id.as_str())
    }

    /// The finding that a case is told as.
    pub fn finding_of(&self, run: &Outcome) -> Option<&GroupedFinding<'r>> {
        self.findings.iter().find(|finding| finding.cases.first() == Some(&run.id.as_str()))
    }

    fn find_weaknesses(&mut self, report: &'r Report) {
        let mut groups: BTreeMap<Cause<'r>, Vec<&'r Outcome>> = BTreeMap::new();
        for run in report.runs.iter().filter(|run| run.standing == Some(Standing::Exploited)) {
            if let Some(cause) = cause(run) {
                groups.entry(cause).or_default().push(run);
            }
        }
        // What a tool shows without any argument, it shows with each.
        let whatever: Vec<_> =
            groups.keys().filter(|(_, _, argument)| argument.is_empty()).copied().collect();
        for (weakness, tool, _) in whatever {
            let others: Vec<_> =
                groups.keys().filter(|(own, of, _)| (*own, *of) == (weakness, tool)).copied().collect();
            let merged = others.iter().flat_map(|cause| groups.remove(cause).unwrap_or_default()).collect();
            groups.insert((weakness, tool, ""), merged);
        }
        let target = report.run.as_ref().and_then(|run| run.targets.first());
        let sandbox = report.sandbox.as_ref().map(|_| "--sandbox");
        let caller: Option<Vec<&str>> = target
            .map(|target| ["sortie", "call"].into_iter().chain(sandbox).chain([target.as_str()]).collect());
        for ((_, tool, argument), mut runs) in groups {
            // The sort is stable: of equals, the first that was played leads.
            runs.sort_by_key(|run| {
                (run.verdict.severity, run.evaluator().is_some_and(|case| case.argument.is_some()))
            });
            self.followers.extend(runs.iter().skip(1).map(|run| run.id.as_str()));
            self.findings.push(GroupedFinding::of(&runs, tool, argument, caller.as_deref()));
        }
        self.findings.sort_by_key(|finding| (finding.severity.is_none(), finding.severity));
    }

    fn find_unusable(&mut self, report: &'r Report) {
        let mut tools: BTreeMap<&'r str, (&'r str, usize)> = BTreeMap::new();
        for run in &report.runs {
            let failure = run.failure.as_ref().filter(|failure| failure.kind == FailureKind::ControlFailed);
            let (Some(failure), Some(tool)) =
                (failure, run.evaluator().and_then(|case| case.tool.as_deref()))
            else {
                continue;
            };
            let (_, cases) = tools.entry(tool).or_insert((&failure.message, 0));
            if *cases > 0 {
                self.followers.insert(&run.id);
            }
            *cases += 1;
        }
        for (tool, (why, cases)) in tools {
            let same = self.unusable.iter_mut().find(|known| words_of(known.why) == words_of(why));
            match same {
                Some(known) => {
                    known.tools.push(tool);
                    known.cases += cases;
                }
                None => self.unusable.push(UnusableTool { tools: vec![tool], why, cases }),
            }
        }
    }
}

/// What the server said, without how often it was asked and the advice that names the tool.
fn words_of(why: &str) -> &str {
    let quoted = why.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
    quoted.or_else(|| why.split_once(';')).map_or(why, |(words, _)| words)
}

/// The cause of a case; `None` for one that stands for itself.
fn cause(run: &Outcome) -> Option<Cause<'_>> {
    let EvaluatorCase { id, tool, argument, weakness, .. } = run.evaluator()?;
    let of_list = |found: &Evidence| found.path.starts_with("tools") || found.path.starts_with("server");
    match tool {
        Some(tool) => {
            let cwe = weakness.as_ref().and_then(|weakness| weakness.cwe.as_deref());
            Some((cwe.unwrap_or(id), tool, argument.as_deref().unwrap_or_default()))
        }
        None => run.evidence.iter().any(of_list).then_some((id.as_str(), "", "")),
    }
}

impl<'r> GroupedFinding<'r> {
    /// `caller` is how the command begins that calls the target again.
    fn of(runs: &[&'r Outcome], tool: &'r str, argument: &'r str, caller: Option<&[&str]>) -> Self {
        // A group has a case.
        let lead = runs[0];
        let case = lead.evaluator();
        let weakness = case.and_then(|case| case.weakness.as_ref());
        let of = |get: fn(&Weakness) -> Option<&str>| weakness.and_then(get);
        let mut evaluators: Vec<&str> =
            runs.iter().filter_map(|run| Some(run.evaluator()?.id.as_str())).collect();
        evaluators.dedup();
        let call = decisive_call(lead);
        let command = call.zip(caller).map(|(call, caller)| {
            let arguments = serde_json::Value::Object(call.arguments.clone()).to_string();
            let words = caller.iter().copied().chain([call.name.as_str(), &arguments]);
            words.map(quoted).collect::<Vec<_>>().join(" ")
        });
        let named = |text: &'r str| Some(text).filter(|text| !text.is_empty());
        Self {
            name: weakness.map_or(lead.id.as_str(), |weakness| &weakness.name),
            evaluators,
            cwe: of(|weakness| weakness.cwe.as_deref()),
            severity: lead.verdict.severity,
            tool: named(tool),
            argument: named(argument),
            remedy: of(|weakness| weakness.remedy.as_deref()),
            evidence: lead.evidence.first(),
            call,
            command,
            trace: lead.trace.as_deref(),
            cases: runs.iter().map(|run| run.id.as_str()).collect(),
        }
    }

    /// What it is, where, in one line.
    pub fn title(&self) -> String {
        let cwe = self.cwe.map(|cwe| format!(" ({cwe})")).unwrap_or_default();
        let place = match (self.tool, self.argument) {
            (Some(tool), Some(argument)) => format!(" in `{tool}` at `{argument}`"),
            (Some(tool), None) => format!(" in `{tool}`"),
            (None, _) => String::new(),
        };
        format!("{}{cwe}{place}", self.name)
    }

    /// The cases behind it, counted.
    pub fn behind(&self) -> String {
        let others: Vec<_> = self.evaluators.iter().map(|id| format!("`{id}`")).collect();
        format!("{} of {}", counted(self.cases.len(), "case", "cases"), others.join(", "))
    }
}

/// The last call before what shows the weakness.
fn decisive_call(run: &Outcome) -> Option<&Call> {
    let turn = run.evidence.first().and_then(|found| found.turn).unwrap_or(usize::MAX);
    let turns = run.transcript.as_ref()?.turns().iter().take(turn).rev();
    turns.filter(|turn| turn.role == Role::Attacker).find_map(|turn| turn.call.as_ref())
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
