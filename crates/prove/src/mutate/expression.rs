//! CEL expressions that are nearly right.

use std::fmt::Write as _;
use std::ops::Range;

use sortie_expr::cel::{ExpressionPart, PartKind, Program};

use super::Operator;
use super::draft::{Drafts, Words};
use super::pattern::variants;
use super::text::{above, halves, named, quoted};
use crate::scene::Scene;

/// So many neighbours of a field are tried.
const MOST_NEIGHBOURS: usize = 2;

pub(super) fn mutate(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    let Some(expression) = &scene.indicator.expression else { return };
    let Ok(program) = Program::compile(&expression.cel) else { return };
    let parts = program.parts();
    let mut rewriting = Rewriting { scene, drafts, source: &expression.cel };
    let chain = |part: &&ExpressionPart| matches!(part.kind, PartKind::And(_) | PartKind::Or(_));
    if parts.first().filter(chain).is_none_or(|part| part.span != rewriting.whole()) {
        rewriting.negate(rewriting.whole());
    }
    for part in &parts {
        match &part.kind {
            PartKind::And(operands) => rewriting.chain(part, operands, true),
            PartKind::Or(operands) => rewriting.chain(part, operands, false),
            PartKind::Comparison { operator, left, right } => {
                rewriting.comparison(part, operator, left, right);
            }
            PartKind::Search { function, text, wanted, literal } => {
                rewriting.search(part, function, (text, wanted), literal.as_deref());
            }
            PartKind::Macro { name, at } => rewriting.quantifier(part, name, at),
            PartKind::Not(_) | PartKind::Has { .. } | PartKind::Field { .. } => {}
        }
    }
    rewriting.fields(&parts);
    variables(scene, drafts);
}

/// Writes an expression anew, one part at a time.
struct Rewriting<'r, 's, 'd> {
    scene: &'r Scene<'s>,
    drafts: &'r mut Drafts<'d>,
    source: &'r str,
}

impl<'r> Rewriting<'r, '_, '_> {
    /// The bytes of the expression without the space around it.
    fn whole(&self) -> Range<usize> {
        let start = self.source.len() - self.source.trim_start().len();
        start..start.max(self.source.trim_end().len())
    }

    fn text(&self, span: &Range<usize>) -> &'r str {
        self.source.get(span.clone()).unwrap_or_default()
    }

    /// "a trace in which the agent sends a `tools/call` request for which …"
    fn trace(&self, what: &str) -> String {
        format!("a trace in which {} for which {what}", self.scene.sent())
    }

    /// Puts another text in the place of a span. `change` is what was done, `telling` what a trace must hold to show it.
    fn rewrite(
        &mut self,
        operator: Operator,
        key: (&str, &str),
        span: &Range<usize>,
        to: &str,
        (change, telling): (String, &str),
    ) {
        let words = (change, self.trace(telling));
        self.rewrite_all(operator, key, &[span], to, words);
    }

    /// Puts another text in the place of each span. What is not an expression any more is not a mutant. `key` says what
    /// stood there and what stands there, as far as it makes this mutant another than the others.
    fn rewrite_all(
        &mut self,
        operator: Operator,
        key: (&str, &str),
        spans: &[&Range<usize>],
        to: &str,
        words: Words,
    ) {
        let mut written = String::with_capacity(self.source.len() + to.len());
        let mut at = 0;
        for span in spans {
            written.push_str(self.source.get(at..span.start).unwrap_or_default());
            written.push_str(to);
            at = span.end;
        }
        written.push_str(self.source.get(at..).unwrap_or_default());
        if Program::compile(&written).is_err() {
            return;
        }
        self.drafts.add(operator, key, words, None, |indicator| {
            if let Some(expression) = &mut indicator.expression {
                expression.cel.clone_from(&written);
            }
        });
    }

    fn chain(&mut self, part: &ExpressionPart, operands: &[Range<usize>], and: bool) {
        let (sign, other) = if and { ("&&", "||") } else { ("||", "&&") };
        for (index, operand) in operands.iter().enumerate() {
            let others = operands.iter().enumerate().filter(|(other, _)| *other != index);
            let others: Vec<_> = others.map(|(_, span)| self.text(span)).collect();
            let left = format!("({})", others.join(&format!(" {sign} ")));
            let shown = quoted(self.text(operand));
            let (operator, telling) = if and {
                (Operator::DropConjunct, format!("{shown} is false, or cannot be said, and all else holds"))
            } else {
                (Operator::DropAlternative, format!("{shown} holds, and no other alternative"))
            };
            let words = (format!("does not ask for {shown}"), telling.as_str());
            self.rewrite(operator, (self.text(operand), ""), &part.span, &left, words);
        }
        for operand in operands {
            self.negate(operand.clone());
        }
        let all: Vec<_> = operands.iter().map(|span| format!("({})", self.text(span))).collect();
        let turned = format!("({})", all.join(&format!(" {other} ")));
        let key = self.text(&part.span);
        let change = format!("has `{other}` for `{sign}` in {}", quoted(key));
        let telling = format!("some of the parts of {} hold, and not all", quoted(key));
        self.rewrite(Operator::AnyAll, (key, other), &part.span, &turned, (change, &telling));
    }

    fn negate(&mut self, operand: Range<usize>) {
        let text = self.text(&operand);
        let words = (format!("asks for the opposite of {}", quoted(text)), "it matches");
        self.rewrite(Operator::NegateConjunct, (text, "!"), &operand, &format!("!({text})"), words);
    }

    fn comparison(
        &mut self,
        part: &ExpressionPart,
        operator: &str,
        left: &Range<usize>,
        right: &Range<usize>,
    ) {
        let (key, left, right) = (self.text(&part.span), self.text(left), self.text(right));
        let others: &[&str] = match operator {
            "<" => &["<="],
            "<=" => &["<"],
            ">" => &[">="],
            ">=" => &[">"],
            "==" => &["contains", "startsWith", "endsWith"],
            _ => &[],
        };
        for other in others {
            let searches = other.starts_with(|letter: char| letter.is_ascii_alphabetic());
            // Only a text has something else in it.
            if searches && !is_text(right) {
                continue;
            }
            let (to, telling) = if searches {
                let to = format!("{left}.{other}({right})");
                let telling = format!("`{to}` holds, and they are not equal");
                (to, telling)
            } else {
                (format!("{left} {other} {right}"), format!("`{left} == {right}`"))
            };
            let words = (format!("has {} for {}", quoted(&to), quoted(key)), telling.as_str());
            self.rewrite(Operator::OtherOperator, (key, other), &part.span, &format!("({to})"), words);
        }
    }

    fn search(
        &mut self,
        part: &ExpressionPart,
        function: &str,
        (text, wanted): (&Range<usize>, &Range<usize>),
        literal: Option<&str>,
    ) {
        let Some(literal) = literal else { return };
        let key = self.text(&part.span);
        let (shown, searched) = (quoted(key), self.text(text));
        if function == "matches" {
            for variant in variants(literal) {
                let change = format!("asks for a match of {}", variant.change);
                let telling = format!("{} is a text {}", quoted(searched), variant.telling);
                let (key, to) = ((literal, variant.pattern.as_str()), written(&variant.pattern));
                self.rewrite(variant.operator, key, wanted, &to, (change, &telling));
            }
            return;
        }
        if let Some((first, last)) = halves(literal) {
            let kept: &[&str] = match function {
                "contains" => &[first, last],
                "startsWith" => &[first],
                _ => &[last],
            };
            for half in kept {
                let (text, kept, whole) = (quoted(searched), quoted(half), quoted(literal));
                let telling = format!("{text} has {kept} and not {whole}");
                let words = (format!("looks for {kept} in {shown}"), telling.as_str());
                self.rewrite(Operator::Widen, (literal, half), wanted, &written(half), words);
            }
        }
        let wanted = self.text(wanted);
        for other in
            ["contains", "startsWith", "endsWith", "=="].into_iter().filter(|other| *other != function)
        {
            let to = match other {
                "==" => format!("({searched} == {wanted})"),
                other => format!("{searched}.{other}({wanted})"),
            };
            let telling = format!("one of {shown} and {} holds, and the other does not", quoted(&to));
            let words = (format!("has {} for {shown}", quoted(&to)), telling.as_str());
            self.rewrite(Operator::OtherOperator, (key, other), &part.span, &to, words);
        }
    }

    fn quantifier(&mut self, part: &ExpressionPart, name: &str, at: &Range<usize>) {
        let other = if name == "all" { "exists" } else { "all" };
        let key = self.text(&part.span);
        let change = format!("has `{other}` for `{name}` in {}", quoted(key));
        let words = (change, "it holds for some elements, and not for all");
        self.rewrite(Operator::AnyAll, (key, other), at, other, words);
    }

    /// Every field that is read to the end, with its neighbours in its place.
    fn fields(&mut self, parts: &[ExpressionPart]) {
        let fields = parts.iter().filter_map(|part| match &part.kind {
            PartKind::Field { path, name } => Some((path.as_str(), name)),
            _ => None,
        });
        let fields: Vec<(&str, &Range<usize>)> = fields.collect();
        let leads_on = |rest: &str| rest.starts_with(['.', '[']);
        let is_leaf =
            |path: &str| !fields.iter().any(|(other, _)| other.strip_prefix(path).is_some_and(leads_on));
        for (at, (path, _)) in fields.iter().enumerate() {
            if fields[..at].iter().any(|(before, _)| before == path) || !is_leaf(path) {
                continue;
            }
            let Some(target) = self.scene.target_of(path) else { continue };
            let mut spans: Vec<_> =
                fields.iter().filter(|(other, _)| other == path).map(|(_, name)| *name).collect();
            spans.sort_by_key(|span| span.start);
            for neighbour in self.scene.neighbours(&target).into_iter().take(MOST_NEIGHBOURS) {
                let name = neighbour.rsplit('.').next().unwrap_or_default();
                let (own, other) = (quoted(&target), quoted(&neighbour));
                let words = (format!("reads {other} instead of {own}"), told_apart(&own, &other));
                self.rewrite_all(Operator::ShiftTarget, (&target, &neighbour), &spans, name, words);
            }
        }
    }
}

/// Variables that stand for another field.
fn variables(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    let Some(expression) = &scene.indicator.expression else { return };
    for (name, path) in expression.variables.iter().flatten() {
        let shifted = scene.neighbours(path).into_iter().take(MOST_NEIGHBOURS);
        let shifted = shifted.map(|to| (Operator::ShiftTarget, to));
        let wider = above(path).map(|to| (Operator::TruncateTarget, to.to_owned()));
        for (operator, to) in shifted.chain(wider) {
            let (own, other) = (quoted(path), named(&to));
            let words = (format!("{} is {other} instead of {own}", quoted(name)), told_apart(&own, &other));
            drafts.add(operator, (path, &to), words, None, |indicator| {
                let variables =
                    indicator.expression.as_mut().and_then(|expression| expression.variables.as_mut());
                if let Some(place) = variables.and_then(|variables| variables.get_mut(name)) {
                    to.clone_into(place);
                }
            });
        }
    }
}

fn told_apart(own: &str, other: &str) -> String {
    format!("a trace in which {own} is what is looked for, and {other} is not")
}

/// Whether a side of a comparison is a text as it stands there.
fn is_text(side: &str) -> bool {
    side.starts_with(['\'', '"']) && side.ends_with(['\'', '"'])
}

/// A text as CEL writes it.
fn written(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('\'');
    for letter in text.chars() {
        match letter {
            '\'' | '\\' => literal.extend(['\\', letter]),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            letter if letter.is_control() => _ = write!(literal, "\\u{:04x}", u32::from(letter)),
            letter => literal.push(letter),
        }
    }
    literal.push('\'');
    literal
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_survives_being_written_as_cel() {
        for text in ["", "plain", "it's", "a\\b\n\t\r", "\u{1}\u{7f}é\"", "(?i)\\d+\\."] {
            let program = Program::compile(&written(text)).unwrap();
            assert_eq!(program.evaluate(&[]).unwrap(), json!(text), "{}", written(text));
        }
    }
}
