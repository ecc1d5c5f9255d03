//! Checks, and what they promise.

use std::collections::HashSet;

use sortie_expr::path::PathError;
use sortie_expr::re2::Re2Error;
use sortie_oatf::model::OPERATORS;
use sortie_syntax::listed;

use super::{Diagnostic, Rule, Span, error, findings, found, warning};
use crate::model::{Check, CheckSays, Evaluator};
use crate::parse::{DeadEnd, Places};
use crate::template::RUNNER_NAMES;

pub(super) const E_011: Rule = error("E-011", "a check has one condition", include_str!("e011.md"));
pub(super) const E_012: Rule =
    error("E-012", "the regular expression of a check is valid RE2", include_str!("e012.md"));
pub(super) const E_013: Rule =
    error("E-013", "the target of a check exists in the transcript", include_str!("e013.md"));
pub(super) const E_014: Rule =
    error("E-014", "the expression of a check is valid CEL", include_str!("e014.md"));
pub(super) const E_104: Rule =
    warning("E-104", "`judge_needs_llm: false` needs checks", include_str!("e104.md"));
pub(super) const E_110: Rule = warning("E-110", "checks can decide both ways", include_str!("e110.md"));
pub(super) const E_111: Rule =
    warning("E-111", "a check uses placeholders of a template", include_str!("e111.md"));

findings! {
    E_011 one_test(has_both: bool): "{}" = if has_both {
            "a check has one of `pattern`, `cel` and `measure`"
        } else {
            "a check needs `pattern`, `cel` or `measure`"
        },
        help "`pattern: {target: 'answers[*]', contains: text}` compares values",
        help "`cel: transcript.calls.exists(c, c.name == 'send_email')` is for any other condition",
        help "`measure: delay` and `measure: condition` compare the calls of a series";
    E_011 two_conditions(): "a pattern has either `condition` or operators",
        help "move the operator into `condition`";
    E_011 no_condition(): "the pattern of a check needs a condition",
        help format!("give one of {}", listed(OPERATORS));
    E_011 empty_condition(): "this condition is empty",
        help format!("give one of {}", listed(OPERATORS));
    E_012 not_re2(problem: Re2Error): "{}" = problem.message,
        help problem.help.unwrap_or_else(|| "use RE2 syntax".to_owned());
    E_013 no_path(problem: &PathError): "this is not a path: {problem}",
        help "a path is made of keys with dots between them; `[*]` looks into every item of a list";
    E_014 not_cel(message: String, help: Option<String>): "{message}",
        help help.unwrap_or_else(|| {
            "an expression looks like `transcript.answers.exists(a, a.contains('secret'))`".to_owned()
        });
    E_014 unknown_variable(variable: &str): "there is no `{variable}` here",
        help "a check sees `transcript`: its turns, sent, answers, calls, tools and server";
    E_014 unknown_function(function: &str): "the function `{function}` is not supported",
        help "`sortie explain V-014` lists what expressions may call";
    E_104 no_checks(): "`judge_needs_llm: false` needs checks, and there are none",
        help "add `checks`, or remove this: its cases are skipped otherwise";
}

pub(crate) fn never_found(dead_end: DeadEnd, at: Span) -> Diagnostic {
    dead_end.explain("this target can never be found", &E_013, at)
}

pub(crate) fn never_holds(dead_end: DeadEnd, at: Span) -> Diagnostic {
    dead_end.explain("this expression can never hold", &E_014, at)
}

impl DeadEnd {
    fn explain(self, what: &str, rule: &Rule, at: Span) -> Diagnostic {
        let finding = found(rule, format!("{what}: {}", self.message)).at(at).help(self.help);
        match self.meant {
            Some(meant) => finding.label(format!("did you mean `{meant}`?")),
            None => finding,
        }
    }
}

/// What `judge_needs_llm: false` promises, checks must be able to keep, for either verdict.
pub(crate) fn broken_promise(checks: &[Check], at: Span) -> Option<Diagnostic> {
    if checks.is_empty() {
        return Some(no_checks(at));
    }
    let verdicts = [
        (CheckSays::Pass, "a target that resists stays undecided"),
        (CheckSays::Fail, "a target that gives in stays undecided"),
    ];
    let is_missing = |says: CheckSays| checks.iter().all(|check| check.says != says);
    let (missing, otherwise) = verdicts.into_iter().find(|(says, _)| is_missing(*says))?;
    Some(
        found(&E_110, format!("no check says `{missing}`: {otherwise}")).at(at).help(format!(
            "add a check with `says: {missing}`; `cel: 'true'` holds whenever no other decides"
        )),
    )
}

/// Placeholders of checks that no template has: nothing that was said could hold their values.
pub(crate) fn unknown_placeholders(evaluator: &Evaluator, places: &Places) -> Vec<Diagnostic> {
    let templates = evaluator.patterns.iter().flat_map(|pattern| pattern.template.placeholders());
    let known: HashSet<&str> = templates.chain(RUNNER_NAMES.iter().copied()).collect();
    let mut findings = Vec::new();
    for (check, at) in evaluator.checks.iter().zip(&places.checks) {
        // One name says enough.
        let unknown = check.test.placeholders().into_iter().find(|name| !known.contains(name.as_str()));
        if let Some(name) = unknown {
            let finding = found(&E_111, format!("no template has `{{{{{name}}}}}`, which this looks for"));
            let help = "use it in a template too: otherwise no message contains its value";
            findings.push(finding.at(*at).help(help));
        }
    }
    findings
}
