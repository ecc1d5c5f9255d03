//! Reads checks, and finds out whether they can be asked.

use sortie_oatf::cel::{PartKind, Program, TextLiteral, string_literals};
use sortie_oatf::reading::{Field, Reader};
use sortie_oatf::yaml::{Entry, Node, NodeKind};
use sortie_oatf::{Condition, MatchCondition, OPERATORS, Span, WildcardPath, re2};

use super::placeholders::{look_at_placeholders, part};
use super::shape::{DeadEnd, dead_end};
use super::words::{name, text_of, value_at};
use crate::limits::MAX_TEXT_BYTES;
use crate::model::{Check, Says, Test};
use crate::rules::error;

const CHECK: &[&str] = &["name", "says", "pattern", "cel"];
const PATTERN: &[&str] = &[
    "target",
    "condition",
    "contains",
    "starts_with",
    "ends_with",
    "regex",
    "any_of",
    "gt",
    "lt",
    "gte",
    "lte",
    "exists",
];

/// So many fields that no transcript has are pointed out in one expression.
const MOST_DEAD_ENDS: usize = 16;

/// A check, and where its name stands.
pub(super) fn check<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<(Check, Span)> {
    let entries = reader.mapping(node, "a check: `name`, `says` and `pattern` or `cel`")?;
    let at = reader.headline(node);
    let mut name_at = at;
    let (mut title, mut says, mut test) = (None, None, None);
    let mut given = Vec::new();
    for entry in entries {
        let field = reader.field(entries, *entry, "a check", CHECK, false);
        if let Field::Known(field) = field
            && reader.is_given(*entry)
        {
            given.push(field);
        }
        match field {
            Field::Known("name") => {
                name_at = value_at(reader, *entry);
                title = name(reader, *entry);
            }
            Field::Known("says") => {
                says = reader.under(*entry, |reader, node| {
                    reader.variant(node, "E-004", "what a check may say", Says::WORDS)
                });
            }
            Field::Known("pattern") => test = reader.under(*entry, pattern).or(test),
            Field::Known("cel") => test = reader.under(*entry, cel).or(test),
            _ => {}
        }
    }
    for (field, help) in [
        ("name", "say what it means when it holds, in a few words"),
        ("says", "`pass` or `fail`: what is said about the target when it holds"),
    ] {
        if !given.contains(&field) {
            reader.missing(node, "P-010", "a check", field, help);
        }
    }
    let (has_pattern, has_cel) = (given.contains(&"pattern"), given.contains(&"cel"));
    if has_pattern == has_cel {
        let message = if has_cel {
            "a check has `pattern` or `cel`, not both"
        } else {
            "a check needs `pattern` or `cel`"
        };
        reader.report(|_| {
            error("E-011", message)
                .at(at)
                .help("`pattern: {target: 'answers[*]', contains: text}` looks at values")
                .help("`cel: transcript.calls.exists(c, c.name == 'send_email')` says anything else")
        });
        return None;
    }
    let line = reader.tree().source().line_column(name_at.start).line;
    Some((Check { name: title?, says: says?, test: test?, line }, name_at))
}

/// The patterns of all checks are compiled for every case that needs them, so they have a limit together.
pub(super) fn together(reader: &mut Reader<'_>, entry: Entry, checks: &[Check]) {
    let cost = |check: &Check| match &check.test {
        Test::Pattern { condition: Condition::Match(MatchCondition { regex: Some(regex), .. }), .. } => {
            re2::cost(regex).unwrap_or_default()
        }
        Test::Pattern { .. } => 0,
        Test::Cel(cel) => Program::compile(cel).map(|program| program.pattern_cost()).unwrap_or_default(),
    };
    if checks.iter().map(cost).sum::<usize>() > re2::MAX_TOGETHER {
        let at = reader.tree().node(entry.key).span;
        reader.report(|_| {
            error("E-027", "the regular expressions of these checks are too large together")
                .at(at)
                .help("count less far in their repeats, or split the evaluator")
        });
    }
}

/// `{target, <operators>}` or `{target, condition}`.
fn pattern<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Test> {
    let entries = reader.mapping(node, "a pattern: `target` and a condition")?;
    let mut target = None;
    let mut condition = None;
    let mut operators = MatchCondition::default();
    let mut first_operator: Option<Entry> = None;
    let mut given = Vec::new();
    for entry in entries {
        let field = reader.field(entries, *entry, "the pattern of a check", PATTERN, false);
        if let Field::Known(field) = field
            && reader.is_given(*entry)
        {
            given.push(field);
        }
        match field {
            Field::Known("target") => target = reader.under(*entry, path),
            Field::Known("condition") => {
                condition = Some(reader.under(*entry, |reader, node| {
                    look_at_values(reader, node);
                    reader.condition(node)
                }));
            }
            Field::Known(operator) => {
                first_operator = first_operator.or(Some(*entry));
                reader.operator(*entry, operator, &mut operators);
                reader.under(*entry, look_at_values);
            }
            _ => {}
        }
    }
    if !given.contains(&"target") {
        let help = "name what it looks at, such as `target: answers[*]`";
        reader.missing(node, "P-010", "the pattern of a check", "target", help);
    }
    let condition = match (condition, first_operator) {
        (Some(_), Some(operator)) => {
            let at = reader.tree().node(operator.key).span;
            reader.report(|_| {
                error("E-011", "a pattern has `condition` or operators of its own, not both")
                    .at(at)
                    .help("move the operator into `condition`")
            });
            return None;
        }
        (Some(condition), None) => condition,
        (None, Some(_)) => Condition::Match(operators),
        (None, None) => {
            let at = reader.headline(node);
            reader.report(|_| {
                error("E-011", "the pattern of a check needs a condition")
                    .at(at)
                    .help(format!("give one of {}", sortie_oatf::reading::listed(OPERATORS)))
            });
            return None;
        }
    };
    if says_nothing(&condition) {
        let at = reader.headline(node);
        reader.report(|_| {
            error("E-011", "this condition compares with nothing")
                .at(at)
                .help(format!("give one of {}", sortie_oatf::reading::listed(OPERATORS)))
        });
        return None;
    }
    regex(reader, node, &condition);
    Some(Test::Pattern { target: target?, condition })
}

/// Whether a condition holds for everything, or for nothing, because it has nothing to compare with.
fn says_nothing(condition: &Condition) -> bool {
    match condition {
        Condition::Value(_) => false,
        Condition::Match(condition) => {
            condition.is_empty() || condition.any_of.as_ref().is_some_and(Vec::is_empty)
        }
    }
}

fn path<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<String> {
    let path = reader.string(node)?;
    let at = reader.headline(node);
    if let Err(problem) = WildcardPath::parse(&path) {
        reader.report(|_| {
            error("E-013", format!("this is no path: {problem}"))
                .at(at)
                .help("a path is made of keys with dots between them; `[*]` looks into every item of a list")
        });
        return None;
    }
    if let Some(DeadEnd { message, help, meant }) = dead_end(&path) {
        reader.report(|_| {
            let finding =
                error("E-013", format!("this target can never be found: {message}")).at(at).help(help);
            match meant {
                Some(meant) => finding.label(format!("did you mean `{meant}`?")),
                None => finding,
            }
        });
        return None;
    }
    Some(path)
}

/// Looks at the placeholders in the values of a condition.
// The tree is at most 100 deep.
fn look_at_values<'t>(reader: &mut Reader<'t>, node: Node<'t>) {
    match node.kind {
        NodeKind::Scalar(text, _) => look_at_placeholders(reader, node, text, 0),
        NodeKind::Sequence(items) => {
            for (index, id) in items.iter().enumerate() {
                reader.item(index, *id, look_at_values);
            }
        }
        NodeKind::Mapping(entries) => {
            for entry in entries {
                reader.under(*entry, look_at_values);
            }
        }
        NodeKind::Refused => {}
    }
}

/// Whether the regular expression of a condition is RE2.
fn regex<'t>(reader: &mut Reader<'t>, node: Node<'t>, condition: &Condition) {
    let Condition::Match(MatchCondition { regex: Some(pattern), .. }) = condition else { return };
    let Err(problem) = re2::check(pattern) else { return };
    let tree = reader.tree();
    let holder = tree.entry(node.id, "condition").map_or(node.id, |entry| entry.value);
    let at = match tree.entry(holder, "regex") {
        Some(entry) => reader.under(entry, |reader, node| part(reader, node, problem.span.clone())),
        None => reader.headline(node),
    };
    reader.report(|_| {
        let help = problem.help.unwrap_or_else(|| "write it as RE2 takes it".to_owned());
        error("E-012", problem.message).at(at).help(help)
    });
}

fn cel<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Test> {
    let source = text_of(reader, node, MAX_TEXT_BYTES)?;
    let program = match Program::compile(&source) {
        Ok(program) => program,
        Err(problem) => {
            let span = problem.span.map_or_else(|| reader.headline(node), |range| part(reader, node, range));
            let example = "an expression looks like `transcript.answers.exists(a, a.contains('secret'))`";
            reader.report(|_| {
                error("E-014", problem.message)
                    .at(span)
                    .help(problem.help.unwrap_or_else(|| example.to_owned()))
            });
            return None;
        }
    };
    let mut sound = true;
    for variable in program.variables().into_iter().filter(|name| *name != "transcript").take(MOST_DEAD_ENDS)
    {
        sound = false;
        let start = source.find(variable).unwrap_or(0);
        let span = part(reader, node, start..start + variable.len());
        reader.report(|_| {
            error("E-014", format!("there is no `{variable}` here"))
                .at(span)
                .help("a check sees `transcript`: its turns, sent, answers, calls, tools and server")
        });
    }
    for function in program.unsupported_functions().into_iter().take(MOST_DEAD_ENDS) {
        sound = false;
        let start = source.find(function).unwrap_or(0);
        let span = part(reader, node, start..start + function.len());
        reader.report(|_| {
            error("E-014", format!("the function `{function}` is not supported"))
                .at(span)
                .help("`sortie explain V-014` lists what expressions may call")
        });
    }
    let dead_ends = program.parts().into_iter().filter_map(|read| match read.kind {
        PartKind::Field { path, name } => Some((dead_end(path.strip_prefix("transcript.")?)?, name)),
        _ => None,
    });
    for (DeadEnd { message, help, meant }, name) in dead_ends.take(MOST_DEAD_ENDS) {
        sound = false;
        let span = part(reader, node, name);
        reader.report(|_| {
            let finding =
                error("E-014", format!("this expression can never hold: {message}")).at(span).help(help);
            match meant {
                Some(meant) => finding.label(format!("did you mean `{meant}`?")),
                None => finding,
            }
        });
    }
    // Only texts are filled; a map in a map has braces too.
    for TextLiteral { span, text } in string_literals(&source).unwrap_or_default() {
        // A literal with escapes has other bytes than its text, and is not looked at.
        if let Some(begins) = source[span.clone()].find(&*text) {
            look_at_placeholders(reader, node, &text, span.start + begins);
        }
    }
    sound.then_some(Test::Cel(source))
}
