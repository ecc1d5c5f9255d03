//! Reads patterns, conditions and predicates.

use indexmap::IndexMap;

use sortie_syntax::yaml::{Entry, Node, NodeKind};
use sortie_syntax::{Diagnostic, Field, ParseErrorKind, Reader, is_null, listed};

use crate::model::fields::Object;
use crate::model::{Condition, MatchCondition, MatchPredicate, OPERATORS, PatternMatch};

pub(crate) fn pattern<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> PatternMatch {
    let mut pattern = PatternMatch::default();
    let Some(entries) = reader.mapping(node, "a pattern") else { return pattern };
    let mut shorthand = MatchCondition::default();
    let mut operators: Vec<Entry> = Vec::new();
    for entry in entries {
        match reader.field(entries, *entry, "a pattern", PatternMatch::FIELDS, false) {
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

/// A condition: operators, or a value to compare with.
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
        } else {
            condition.read_field(operator, reader, node);
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

pub(crate) fn variables<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<IndexMap<String, String>> {
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
