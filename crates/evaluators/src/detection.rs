//! Checks as indicators, to look for what they find in recorded traffic.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sortie_oatf::model::Condition;
use sortie_oatf::{Compiled, load};

use crate::model::{Check, CheckSays, Evaluator, TargetClass, Test};

/// An evaluator's checks as a document that detects, and how many checks it cannot say.
#[derive(Debug)]
pub struct DetectionRule {
    /// The document; its name is the id of the evaluator. `None` where no check can be one of its indicators.
    pub document: Option<Compiled>,
    /// Checks for the fault of a target that are not in it: they read the values of an attack, or more than one message.
    pub left_out: usize,
}

/// The checks of an evaluator that say that a target gave in, as indicators of a document: those that look for a pattern in single messages.
///
/// ```
/// use sortie_evaluators::TargetClass;
/// use sortie_evaluators::detection::detection_rule;
/// use sortie_evaluators::parse::{Layout, parse_evaluator};
///
/// let evaluator = parse_evaluator("
/// id: accounts
/// name: Accounts
/// severity: high
/// description: A list of accounts.
/// pass_criteria: There is none.
/// fail_criteria: There is one.
/// checks:
///   - {name: A list of accounts came back, says: fail, pattern: {target: 'answers[*]', regex: 'root:x:0:0'}}
///   - {name: The canary came back, says: fail, pattern: {target: 'answers[*]', contains: '{{canary}}'}}
/// patterns:
///   - {name: Ask, template: 'Read {{canary}}'}
/// ", Layout::Flat, None).evaluator.unwrap();
/// let rule = detection_rule(&evaluator, TargetClass::Mcp);
/// let document = rule.document.unwrap();
/// assert_eq!((document.indicators()[0].surface.as_deref(), rule.left_out), (Some("tools/call"), 1));
/// assert_eq!(document.indicators()[0].line, Some(evaluator.checks[0].line));
/// ```
pub fn detection_rule(evaluator: &Evaluator, class: TargetClass) -> DetectionRule {
    let checks = evaluator.checks.iter().filter(|check| check.says == CheckSays::Fail);
    let (mut text, mut line, mut left_out, mut is_empty) = (beginning(evaluator, class), 1, 0, true);
    for check in checks {
        let Some(indicator) = indicator(&evaluator.id, check, class) else {
            left_out += 1;
            continue;
        };
        if !is_empty {
            text.push(',');
        }
        is_empty = false;
        // Evidence names the line of the check, so its indicator stands on that line.
        while line < check.line {
            text.push('\n');
            line += 1;
        }
        let _ = write!(text, "{indicator}");
    }
    text.push_str("]}}");
    let document = load(&text).ok().and_then(|loaded| Compiled::new(loaded.document).ok());
    DetectionRule { document: document.filter(|_| !is_empty), left_out }
}

/// The document up to its indicators. JSON is YAML.
fn beginning(evaluator: &Evaluator, class: TargetClass) -> String {
    let mode = match class {
        TargetClass::Mcp => json!({"mode": "mcp_server", "state": {"tools": []}}),
        TargetClass::Agent => {
            json!({"mode": "ag_ui_client", "phases": [{"name": "only", "state": {"run_agent_input": {"messages": []}}}]})
        }
    };
    let (name, about, severity) =
        (json!(evaluator.id), json!(evaluator.description), evaluator.severity.as_str());
    format!(
        r#"{{"oatf": "0.1", "attack": {{"name": {name}, "description": {about}, "severity": {{"level": "{severity}"}}, "execution": {mode}, "indicators": ["#
    )
}

/// The indicator that finds in single messages what a check finds in a transcript.
fn indicator(evaluator: &str, check: &Check, class: TargetClass) -> Option<Value> {
    let Test::Pattern { target, condition } = &check.test else { return None };
    let condition = written(condition);
    if condition.to_string().contains("{{") {
        return None;
    }
    let (protocol, surface, direction, target) = match class {
        TargetClass::Agent if target == "answers[*]" => ("agent", "answer", "response", "text"),
        TargetClass::Mcp if target == "answers[*]" => ("mcp", "tools/call", "response", "content[*].text"),
        TargetClass::Mcp if target == "server.instructions" => {
            ("mcp", "initialize", "response", "instructions")
        }
        TargetClass::Mcp if target == "calls[*].arguments" => ("mcp", "tools/call", "request", "arguments"),
        TargetClass::Mcp if *target == "tools" || target.starts_with("tools[*]") => {
            ("mcp", "tools/list", "response", target.as_str())
        }
        TargetClass::Agent | TargetClass::Mcp => return None,
    };
    Some(json!({
        "id": format!("{evaluator}/{}", slug(&check.name)), "protocol": protocol, "surface": surface, "direction": direction, "target": target,
        "description": check.name, "pattern": {"condition": condition},
    }))
}

/// A condition as documents write it.
fn written(condition: &Condition) -> Value {
    let operators = match condition {
        Condition::Value(value) => return value.clone(),
        Condition::Match(operators) => operators,
    };
    let mut fields = Map::new();
    let texts = [
        ("contains", &operators.contains),
        ("starts_with", &operators.starts_with),
        ("ends_with", &operators.ends_with),
        ("regex", &operators.regex),
    ];
    let numbers =
        [("gt", &operators.gt), ("lt", &operators.lt), ("gte", &operators.gte), ("lte", &operators.lte)];
    fields
        .extend(texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), json!(text.as_ref()?)))));
    fields.extend(
        numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), json!(number.as_ref()?)))),
    );
    fields.extend(operators.any_of.as_ref().map(|values| ("any_of".to_owned(), json!(values))));
    fields.extend(operators.exists.map(|exists| ("exists".to_owned(), json!(exists))));
    Value::Object(fields)
}

/// A name in small letters, with hyphens.
fn slug(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}
