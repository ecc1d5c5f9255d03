//! Parses checks, and finds out whether they can be asked.

use sortie_expr::cel::{PartKind, Program, TextLiteral, string_literals};
use sortie_expr::path::WildcardPath;
use sortie_expr::re2;
use sortie_oatf::fragment;
use sortie_oatf::model::{Condition, MatchCondition, PatternMatch};
use sortie_syntax::yaml::{Entry, Node, NodeKind};
use sortie_syntax::{Reader, Span};

use super::fields::{Mapping, name, refuse, report_key, text_of, value_at, word};
use super::pattern::{look_at_placeholders, part};
use super::transcript::dead_end;
use crate::limits::MAX_TEXT_BYTES;
use crate::model::{Check, CheckSays, Measure, Test};
use crate::rules::{checks, files};

const CHECK: Mapping = Mapping {
    what: "a check",
    form: "a check: `name`, `says` and `pattern`, `cel` or `measure`",
    fields: &["name", "says", "pattern", "cel", "measure"],
    required: &[
        ("name", "say what it means when it holds, in a few words"),
        ("says", "`pass`, `fail` or `hint`: what is said about the target when it holds"),
    ],
};
const PATTERN: Mapping = Mapping {
    what: "the pattern of a check",
    form: "a pattern: `target` and a condition",
    fields: PatternMatch::FIELDS,
    required: &[("target", "name what it looks at, such as `target: answers[*]`")],
};

/// So many fields that no transcript has are pointed out in one expression.
const MOST_DEAD_ENDS: usize = 16;

/// A check, and where its name stands.
pub(super) fn check<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<(Check, Span)> {
    let mut name_at = reader.headline(node);
    let (mut title, mut says, mut test) = (None, None, None);
    let given = CHECK.read(reader, node, |reader, entry, field| match field {
        "name" => {
            name_at = value_at(reader, entry);
            title = name(reader, entry);
        }
        "says" => says = word(reader, entry, "what a check may say", CheckSays::WORDS),
        "measure" => {
            let measure = word(reader, entry, "what a check may measure", Measure::WORDS);
            test = measure.map(Test::Measure).or(test.take());
        }
        "pattern" => test = reader.under(entry, pattern).or(test.take()),
        _ => test = reader.under(entry, cel).or(test.take()),
    })?;
    let tests = ["pattern", "cel", "measure"].iter().filter(|test| given.contains(test)).count();
    if tests != 1 {
        return refuse(reader, node, |at| checks::one_test(tests > 1, at));
    }
    let line = reader.tree().source().line_column(name_at.start).line;
    Some((Check { name: title?, says: says?, test: test?, line }, name_at))
}

/// The patterns of all checks are compiled for every case that needs them, so they have a limit together.
pub(super) fn together(reader: &mut Reader<'_>, entry: Entry, all: &[Check]) {
    let cost = |check: &Check| match &check.test {
        Test::Pattern { condition: Condition::Match(MatchCondition { regex: Some(regex), .. }), .. } => {
            re2::cost(regex).unwrap_or_default()
        }
        Test::Pattern { .. } | Test::Measure(_) => 0,
        Test::Cel(cel) => Program::compile(cel).map(|program| program.pattern_cost()).unwrap_or_default(),
    };
    if all.iter().map(cost).sum::<usize>() > re2::MAX_TOGETHER {
        report_key(reader, entry, files::large_patterns);
    }
}

/// `{target, <operators>}` or `{target, condition}`.
fn pattern<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Test> {
    let mut target = None;
    let mut condition = None;
    let mut operators = MatchCondition::default();
    let mut first_operator: Option<Entry> = None;
    PATTERN.read(reader, node, |reader, entry, field| match field {
        "target" => target = reader.under(entry, path),
        "condition" => {
            condition = Some(reader.under(entry, |reader, node| {
                look_at_values(reader, node);
                fragment::condition(reader, node)
            }));
        }
        operator => {
            first_operator = first_operator.or(Some(entry));
            fragment::operator(reader, entry, operator, &mut operators);
            reader.under(entry, look_at_values);
        }
    })?;
    let condition = match (condition, first_operator) {
        (Some(_), Some(operator)) => {
            report_key(reader, operator, checks::two_conditions);
            return None;
        }
        (Some(condition), None) => condition,
        (None, Some(_)) => Condition::Match(operators),
        (None, None) => return refuse(reader, node, checks::no_condition),
    };
    if says_nothing(&condition) {
        return refuse(reader, node, checks::empty_condition);
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
    if let Err(problem) = WildcardPath::parse(&path) {
        return refuse(reader, node, |at| checks::no_path(&problem, at));
    }
    if let Some(dead_end) = dead_end(&path) {
        return refuse(reader, node, |at| checks::never_found(dead_end, at));
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
    reader.report(|_| checks::not_re2(problem, at));
}

fn cel<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Test> {
    let source = text_of(reader, node, MAX_TEXT_BYTES)?;
    let program = match Program::compile(&source) {
        Ok(program) => program,
        Err(problem) => {
            let span = problem.span.map_or_else(|| reader.headline(node), |range| part(reader, node, range));
            reader.report(|_| checks::not_cel(problem.message, problem.help, span));
            return None;
        }
    };
    let errors = reader.errors();
    let place = |reader: &Reader<'t>, word: &str| {
        let start = source.find(word).unwrap_or(0);
        part(reader, node, start..start + word.len())
    };
    let variables = program.variables().into_iter().filter(|name| *name != "transcript");
    for variable in variables.take(MOST_DEAD_ENDS) {
        reader.report(|reader| checks::unknown_variable(variable, place(reader, variable)));
    }
    for function in program.unsupported_functions().into_iter().take(MOST_DEAD_ENDS) {
        reader.report(|reader| checks::unknown_function(function, place(reader, function)));
    }
    let dead_ends = program.parts().into_iter().filter_map(|read| match read.kind {
        PartKind::Field { path, name } => Some((dead_end(path.strip_prefix("transcript.")?)?, name)),
        _ => None,
    });
    for (dead_end, name) in dead_ends.take(MOST_DEAD_ENDS) {
        reader.report(|reader| checks::never_holds(dead_end, part(reader, node, name)));
    }
    let sound = reader.errors() == errors;
    // Only texts are filled; a map in a map has braces too.
    for TextLiteral { span, text } in string_literals(&source).unwrap_or_default() {
        // A literal with escapes has other bytes than its text, and is not looked at.
        if let Some(begins) = source[span.clone()].find(&*text) {
            look_at_placeholders(reader, node, &text, span.start + begins);
        }
    }
    sound.then_some(Test::Cel(source))
}
