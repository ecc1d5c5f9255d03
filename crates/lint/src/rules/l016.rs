use std::cmp::Ordering;
use std::collections::HashMap;

use serde_json::Number;
use sortie_expr::json::{compare_numbers, sorted_text};
use sortie_oatf::model::{Condition, MatchCondition};
use sortie_syntax::DiagnosticSeverity::Warning;

use super::Rule;
use super::payload::weight;

/// A condition can hold.
pub(super) const L_016: Rule = Rule {
    code: "L-016",
    spec: "§5.3",
    title: "a condition can hold",
    severity: Warning,
    explain: include_str!("l016.md"),
    check: Some(|document, report| {
        for (path, condition) in document.conditions() {
            let Condition::Match(operators) = condition else { continue };
            if operators.exists == Some(false) && operators.operator_count() > 1 {
                report
                    .add(
                        &L_016,
                        path.clone().key("exists"),
                        "this condition can never hold: what is absent has no value",
                    )
                    .label("asks for the field to be absent")
                    .help("leave `exists` out to look at the value, or leave the other operators out");
                continue;
            }
            if let Some((low, high)) = empty_interval(&operators) {
                report
                    .add(
                        &L_016,
                        path.clone().key(low),
                        format!(
                            "this condition can never hold: no number is above `{low}` and below `{high}`"
                        ),
                    )
                    .label("the lower bound")
                    .also(&path.clone().key(high), "the upper bound")
                    .help("swap the bounds, or make two indicators of it");
                continue;
            }
            if let Some(list) = &operators.any_of {
                let rest = Condition::Match(MatchCondition { any_of: None, ..operators.clone() });
                let Some(check) = report.compile(&rest) else { continue };
                if !report.can_try(&check, list.iter().map(weight).sum()) {
                    continue;
                }
                let at = path.clone().key("any_of");
                if operators.operator_count() > 1
                    && !list.is_empty()
                    && !list.iter().any(|value| check.matches(value))
                {
                    report
                        .add(&L_016, at, "this condition can never hold: nothing in the list satisfies the other operators")
                        .help("operators are combined with AND; make two indicators where OR is meant");
                    continue;
                }
                let mut first_seen = HashMap::new();
                for (index, value) in list.iter().enumerate() {
                    if let Some(first) = first_seen.insert(sorted_text(value), index) {
                        report
                            .add(&L_016, at.clone().index(index), "this value is in the list already")
                            .label("again")
                            .also(&at.clone().index(first), "first here")
                            .help("remove one of them, or write what was meant");
                    }
                }
            }
        }
    }),
};

/// The bounds that leave no number between them.
fn empty_interval(operators: &MatchCondition) -> Option<(&'static str, &'static str)> {
    let low = [("gt", &operators.gt, true), ("gte", &operators.gte, false)];
    let high = [("lt", &operators.lt, true), ("lte", &operators.lte, false)];
    for (low_name, low, low_open) in low {
        for (high_name, high, high_open) in high {
            let (Some(low), Some(high)): (&Option<Number>, &Option<Number>) = (low, high) else { continue };
            let order = compare_numbers(low, high)?;
            if order == Ordering::Greater || (order == Ordering::Equal && (low_open || high_open)) {
                return Some((low_name, high_name));
            }
        }
    }
    None
}
