//! Reads indicators, conditions and predicates.

use indexmap::IndexMap;

use sortie_syntax::yaml::{Entry, Node, NodeKind};
use sortie_syntax::{Diagnostic, Field, ParseErrorKind, Reader, is_null, listed};

use super::extension;
use crate::model::{
    Condition, Direction, ExpressionMatch, Indicator, IndicatorMethod, MatchCondition, MatchPredicate,
    OPERATORS, PatternMatch, SemanticExamples, SemanticIntentClass, SemanticMatch, SeverityLevel, Tier,
    fields,
};

/// An indicator.
pub fn indicator<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Indicator {
    let mut indicator = Indicator::default();
    let Some(entries) = reader.mapping(node, "an indicator") else { return indicator };
    let mut has_target = false;
    let mut after = None;
    for entry in entries {
        let field = match reader.field(entries, *entry, "an indicator", fields::INDICATOR, true) {
            Field::Known(field) => field,
            Field::Extension => {
                extension(reader, *entry, after, &mut indicator.extensions);
                continue;
            }
            Field::Unknown => continue,
        };
        after = Some(field);
        reader.under(*entry, |reader, node| match field {
            "id" => indicator.id = reader.string(node),
            "protocol" => indicator.protocol = reader.string(node),
            "surface" => indicator.surface = reader.string(node),
            "target" => {
                has_target = !is_null(node);
                indicator.target = reader.string(node).unwrap_or_default();
            }
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
    }
    if !has_target {
        let help = "name the field to examine, such as `target: \"arguments\"`; `\"\"` is the whole message";
        reader.missing(node, "P-010", "an indicator", "target", help);
    }
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
    let Some(entries) = reader.mapping(node, "an expression") else { return expression };
    let mut has_cel = false;
    for entry in entries {
        match reader.field(entries, *entry, "an expression", fields::EXPRESSION, false) {
            Field::Known("cel") => {
                has_cel = reader.is_given(*entry);
                expression.cel = reader.under(*entry, Reader::string).unwrap_or_default();
            }
            Field::Known("variables") => {
                expression.variables = reader.under(*entry, variables);
            }
            _ => {}
        }
    }
    if !has_cel {
        let help = "for example `cel: message.name == \"send_email\"`";
        reader.missing(node, "P-010", "an expression", "cel", help);
    }
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
    let Some(entries) = reader.mapping(node, "a semantic match") else { return semantic };
    let mut has_intent = false;
    for entry in entries {
        match reader.field(entries, *entry, "a semantic match", fields::SEMANTIC, false) {
            Field::Known("target") => semantic.target = reader.under(*entry, Reader::string),
            Field::Known("intent") => {
                has_intent = reader.is_given(*entry);
                semantic.intent = reader.under(*entry, Reader::string).unwrap_or_default();
            }
            Field::Known("intent_class") => {
                semantic.intent_class = reader.under(*entry, |reader, node| {
                    reader.variant(node, "V-005", "an intent class", SemanticIntentClass::WORDS)
                });
            }
            Field::Known("threshold") => {
                semantic.threshold = reader.under(*entry, Reader::number).and_then(|number| number.as_f64());
            }
            Field::Known("examples") => {
                semantic.examples = reader.under(*entry, examples);
            }
            _ => {}
        }
    }
    if !has_intent {
        let help = "describe in a sentence what to look for";
        reader.missing(node, "P-010", "a semantic match", "intent", help);
    }
    semantic
}

fn examples<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<SemanticExamples> {
    if is_null(node) {
        return None;
    }
    let mut examples = SemanticExamples::default();
    let entries = reader.mapping(node, "a mapping").unwrap_or_default();
    for entry in entries {
        match reader.field(entries, *entry, "examples", fields::EXAMPLES, false) {
            Field::Known("positive") => examples.positive = reader.under(*entry, Reader::strings),
            Field::Known("negative") => examples.negative = reader.under(*entry, Reader::strings),
            _ => {}
        }
    }
    Some(examples)
}
