//! Reads indicators, conditions and predicates.

use indexmap::IndexMap;

use sortie_syntax::yaml::{Entry, Node, NodeKind};
use sortie_syntax::{Diagnostic, Field, ParseErrorKind, Reader, is_null, listed};

use super::{object, require};
use crate::model::{
    Condition, Direction, ExpressionMatch, Indicator, IndicatorMethod, MatchCondition, MatchPredicate,
    OPERATORS, PatternMatch, SemanticExamples, SemanticIntentClass, SemanticMatch, SeverityLevel, Tier,
    fields,
};

/// An indicator.
pub fn indicator<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Indicator {
    let mut indicator = Indicator::default();
    let extensions = Some(&mut indicator.extensions);
    let what = ("an indicator", "an indicator");
    let given =
        object(reader, node, what, fields::INDICATOR, extensions, |reader, field, node| match field {
            "id" => indicator.id = reader.string(node),
            "protocol" => indicator.protocol = reader.string(node),
            "surface" => indicator.surface = reader.string(node),
            "target" => indicator.target = reader.string(node).unwrap_or_default(),
            "actor" => indicator.actor = reader.string(node),
            "direction" => {
                indicator.direction = reader.variant(node, "V-005", "a direction", Direction::WORDS);
            }
            "method" => {
                indicator.method =
                    reader.variant(node, "V-005", "an evaluation method", IndicatorMethod::WORDS);
            }
            "description" => indicator.description = reader.string(node),
            "pattern" => indicator.pattern = Some(pattern(reader, node)),
            "expression" => indicator.expression = Some(expression(reader, node)),
            "semantic" => indicator.semantic = Some(semantic(reader, node)),
            "confidence" => indicator.confidence = reader.integer(node),
            "tier" => indicator.tier = reader.variant(node, "V-050", "an outcome tier", Tier::WORDS),
            "severity" => {
                indicator.severity = reader.variant(node, "V-005", "a severity level", SeverityLevel::WORDS);
            }
            "false_positives" => indicator.false_positives = reader.strings(node),
            _ => {}
        });
    let help = "name the field to examine, such as `target: \"arguments\"`; `\"\"` is the whole message";
    require(reader, node, ("P-010", "an indicator"), given, &[("target", help)]);
    indicator
}

fn pattern<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> PatternMatch {
    let mut pattern = PatternMatch::default();
    let Some(entries) = reader.mapping(node, "a pattern") else { return pattern };
    let mut shorthand = MatchCondition::default();
    let mut operators: Vec<Entry> = Vec::new();
    for entry in entries {
        match reader.field(entries, *entry, "a pattern", fields::PATTERN, false) {
            Field::Known("target") => pattern.target = reader.under(*entry, Reader::string),
            Field::Known("condition") => {
                pattern.condition = Some(reader.under(*entry, condition));
            }
            Field::Known(name) => {
                operators.push(*entry);
                operator(reader, *entry, name, &mut shorthand);
            }
            _ => {}
        }
    }
    if !operators.is_empty() {
        check_shorthand(reader, &pattern, &operators);
        pattern.shorthand = Some(shorthand);
    }
    pattern
}

/// The shorthand form takes one operator that looks at a value, and nothing beside it.
fn check_shorthand(reader: &mut Reader<'_>, pattern: &PatternMatch, operators: &[Entry]) {
    let first = operators[0];
    let standard = "use the standard form: `condition:` with the operators below it";
    let problem = if pattern.condition.is_some() {
        Some((
            first,
            "a pattern has `condition` or a shorthand operator, not both",
            "move the operator into `condition`",
        ))
    } else if let Some(second) = operators.get(1) {
        Some((*second, "the shorthand form takes one operator", standard))
    } else if reader.tree().key(first) == "exists" {
        Some((first, "`exists` has no shorthand form", standard))
    } else if pattern.target.is_some() {
        Some((first, "the shorthand form takes no `target` of its own", standard))
    } else {
        None
    };
    if let Some((entry, message, help)) = problem {
        reader.report(|reader| {
            Diagnostic::parse(ParseErrorKind::TypeMismatch, "P-013", message)
                .at(reader.tree().node(entry.key).span)
                .help(help)
        });
    }
}

/// A condition: operators, or a value to be equal to.
pub fn condition<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Condition {
    let NodeKind::Mapping(entries) = node.kind else {
        return Condition::Value(reader.value(node));
    };
    let (operators, others): (Vec<Entry>, Vec<Entry>) =
        entries.iter().partition(|entry| OPERATORS.contains(&reader.tree().key(**entry)));
    if operators.is_empty() && !others.is_empty() {
        return Condition::Value(reader.value(node));
    }
    if let (Some(operator), Some(other)) = (operators.first(), others.first()) {
        reader.report(|reader| {
            Diagnostic::parse(
                ParseErrorKind::TypeMismatch,
                "P-014",
                format!("`{}` is not an operator", reader.tree().key(*other)),
            )
            .at(reader.tree().node(other.key).span)
            .label("not an operator")
            .also(reader.tree().node(operator.key).span, "this is one, so all must be")
            .help(format!("operators are {}", listed(OPERATORS)))
            .help("to compare with an object that has such a key, use a CEL expression")
        });
    }
    let mut condition = MatchCondition::default();
    for entry in operators {
        // The key was just found in the list.
        let name = OPERATORS.iter().find(|known| **known == reader.tree().key(entry));
        operator(reader, entry, name.copied().unwrap_or_default(), &mut condition);
    }
    Condition::Match(condition)
}

/// Reads one operator of a condition.
pub fn operator(reader: &mut Reader<'_>, entry: Entry, operator: &str, condition: &mut MatchCondition) {
    reader.under(entry, |reader, node| {
        if is_null(node) {
            reader.mismatch(node, "an operand");
            return;
        }
        match operator {
            "contains" => condition.contains = reader.string(node),
            "starts_with" => condition.starts_with = reader.string(node),
            "ends_with" => condition.ends_with = reader.string(node),
            "regex" => condition.regex = reader.string(node),
            "any_of" => {
                condition.any_of =
                    reader.list(node, "a list of values", |reader, item| Some(reader.value(item)));
            }
            "gt" => condition.gt = reader.number(node),
            "lt" => condition.lt = reader.number(node),
            "gte" => condition.gte = reader.number(node),
            "lte" => condition.lte = reader.number(node),
            "exists" => condition.exists = reader.boolean(node),
            _ => {}
        }
    });
}

/// A predicate: conditions by path.
pub fn predicate<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<MatchPredicate> {
    if is_null(node) {
        return None;
    }
    let mut predicate = IndexMap::new();
    for entry in reader.mapping(node, "a mapping of paths to conditions").unwrap_or_default() {
        let condition = reader.under(*entry, condition);
        predicate.insert(reader.tree().key(*entry).to_owned(), condition);
    }
    Some(predicate)
}

fn expression<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> ExpressionMatch {
    let mut expression = ExpressionMatch::default();
    let what = ("an expression", "an expression");
    let given = object(reader, node, what, fields::EXPRESSION, None, |reader, field, node| match field {
        "cel" => expression.cel = reader.string(node).unwrap_or_default(),
        "variables" => expression.variables = variables(reader, node),
        _ => {}
    });
    let needed = [("cel", "for example `cel: message.name == \"send_email\"`")];
    require(reader, node, ("P-010", "an expression"), given, &needed);
    expression
}

fn variables<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<IndexMap<String, String>> {
    if is_null(node) {
        return None;
    }
    let mut variables = IndexMap::new();
    for entry in reader.mapping(node, "a mapping of names to paths").unwrap_or_default() {
        let path = reader.under(*entry, |reader, node| {
            if is_null(node) {
                reader.mismatch(node, "a path");
            }
            reader.string(node)
        });
        variables.insert(reader.tree().key(*entry).to_owned(), path.unwrap_or_default());
    }
    Some(variables)
}

fn semantic<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> SemanticMatch {
    let mut semantic = SemanticMatch::default();
    let what = ("a semantic match", "a semantic match");
    let given = object(reader, node, what, fields::SEMANTIC, None, |reader, field, node| match field {
        "target" => semantic.target = reader.string(node),
        "intent" => semantic.intent = reader.string(node).unwrap_or_default(),
        "intent_class" => {
            semantic.intent_class =
                reader.variant(node, "V-005", "an intent class", SemanticIntentClass::WORDS);
        }
        "threshold" => semantic.threshold = reader.number(node).and_then(|number| number.as_f64()),
        "examples" => semantic.examples = examples(reader, node),
        _ => {}
    });
    let needed = [("intent", "describe in a sentence what to look for")];
    require(reader, node, ("P-010", "a semantic match"), given, &needed);
    semantic
}

fn examples<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<SemanticExamples> {
    if is_null(node) {
        return None;
    }
    let mut examples = SemanticExamples::default();
    let what = ("a mapping", "examples");
    object(reader, node, what, fields::EXAMPLES, None, |reader, field, node| match field {
        "positive" => examples.positive = reader.strings(node),
        "negative" => examples.negative = reader.strings(node),
        _ => {}
    });
    Some(examples)
}
