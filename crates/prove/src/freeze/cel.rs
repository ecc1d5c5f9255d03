//! A check's expression over a transcript, as one over a message.
//!
//! A check goes through lists of what was said in all turns; an indicator sees one message. What asks whether something of a list
//! exists can be asked of each message in turn. What counts, or compares one turn with another, cannot, and is not translated.

use std::ops::Range;

use sortie_expr::cel::{PartKind, Program, string_literals};

use super::place::{Place, Shows};

/// The expression for messages that are looked at in a place; `None` for one that is about more than a message.
pub(super) fn translated(source: &str, place: &Place) -> Option<String> {
    let source = source.trim();
    if place.shows == Shows::Tools {
        return of_tools(source);
    }
    let mut operands = Vec::new();
    for operand in conjuncts(source) {
        match Exists::read(&operand) {
            Some(exists) => operands.push(exists.translated(place)?),
            // It held in the run, and the document says and calls the same again.
            None if is_about_us(&operand) => {}
            None => return None,
        }
    }
    // Two that exist need not be in one message, and what looks back at the conversation is about more than one.
    let is_one = operands.len() == 1 && words(&operands[0], "transcript").next().is_none();
    operands.pop().filter(|_| is_one)
}

/// What is about the list of tools alone is about a message already.
fn of_tools(source: &str) -> Option<String> {
    let translated =
        replaced(source, "transcript", |field| (field == "tools").then(|| "message.tools".to_owned()))?;
    let guarded = format!("has(message.tools) && {translated}");
    Program::compile(&guarded).ok().map(|_| guarded)
}

/// The operands of an expression that is a chain of `&&`, else all of it.
fn conjuncts(source: &str) -> Vec<String> {
    let source = unwrapped(source);
    let parts = Program::compile(source).map(|program| program.parts()).unwrap_or_default();
    match parts.first() {
        Some(part) if part.span == (0..source.len()) => match &part.kind {
            PartKind::And(operands) => {
                operands.iter().map(|span| unwrapped(&source[span.clone()]).to_owned()).collect()
            }
            _ => vec![source.to_owned()],
        },
        _ => vec![source.to_owned()],
    }
}

/// Without space and parentheses around all of it.
fn unwrapped(source: &str) -> &str {
    let source = source.trim();
    match source.strip_prefix('(') {
        Some(rest) if closing(source, 0) == Some(source.len() - 1) => unwrapped(&rest[..rest.len() - 1]),
        _ => source,
    }
}

/// Where the parenthesis that opens at a place is closed.
fn closing(source: &str, open: usize) -> Option<usize> {
    let literals = literals(source);
    let mut depth = 0_usize;
    for (at, byte) in source.bytes().enumerate().skip(open) {
        if literals.iter().any(|span| span.contains(&at)) {
            continue;
        }
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn literals(source: &str) -> Vec<Range<usize>> {
    string_literals(source).unwrap_or_default().into_iter().map(|literal| literal.span).collect()
}

/// Whether an operand asks nothing about what the target says or does: only what we send, and what there is.
fn is_about_us(operand: &str) -> bool {
    let squeezed: String = operand.chars().filter(|letter| !letter.is_whitespace()).collect();
    let ours = |rest: &str| {
        let own = rest.strip_prefix(".exists(").and_then(|rest| rest.split_once(','));
        own.is_some_and(|(name, body)| {
            let role = body.strip_prefix(name).and_then(|body| body.strip_prefix(".role=="));
            role.is_some_and(|role| role.starts_with("\"attacker\"&&") || role.starts_with("'attacker'&&"))
        })
    };
    words(&squeezed, "transcript").all(|at| {
        let rest = &squeezed[at.end..];
        [".sent", ".tools", ".server"].iter().any(|field| rest.starts_with(field))
            || rest.strip_prefix(".turns").is_some_and(ours)
    })
}

/// `transcript.LIST.exists(VARIABLE, BODY)`.
struct Exists<'s> {
    list: &'s str,
    variable: &'s str,
    body: &'s str,
}

impl<'s> Exists<'s> {
    fn read(source: &'s str) -> Option<Self> {
        let rest = source.strip_prefix("transcript.")?;
        let (list, rest) = rest.split_once(".exists(")?;
        let open = source.len() - rest.len() - 1;
        let body = rest.strip_suffix(')').filter(|_| closing(source, open) == Some(source.len() - 1))?;
        let (variable, body) = body.split_once(',')?;
        let variable = variable.trim();
        let is_name = |text: &str| !text.is_empty() && text.bytes().all(is_word);
        // A variable of the same name further in is another one.
        let bound_again = words(body, variable).any(|at| {
            body[..at.start].trim_end().ends_with('(') && body[at.end..].trim_start().starts_with(',')
        });
        (is_name(list) && is_name(variable) && !bound_again).then_some(Self {
            list,
            variable,
            body: body.trim(),
        })
    }

    fn translated(&self, place: &Place) -> Option<String> {
        match (self.list, place.shows) {
            ("answers", Shows::Words) => {
                wrapped(place, &|leaf| Some(substituted(self.body, self.variable, leaf)))
            }
            ("turns", Shows::Words) => wrapped(place, &|leaf| self.turn(place, leaf)),
            ("calls", Shows::Calls) => self.call(),
            _ => None,
        }
    }

    /// What is asked of a turn, asked of its words. That the turn is the target's is so for every answer.
    fn turn(&self, place: &Place, leaf: &str) -> Option<String> {
        let of = |field: &str| format!("{}.{field}", self.variable);
        let (role, result) = (of("role"), of("result"));
        let is_role = |operand: &str| {
            let squeezed: String = operand.chars().filter(|letter| !letter.is_whitespace()).collect();
            squeezed == format!("{role}==\"target\"") || squeezed == format!("{role}=='target'")
        };
        let all = conjuncts(self.body);
        if !all.iter().any(|operand| is_role(operand)) {
            return None;
        }
        let mut operands = Vec::new();
        for operand in all.iter().filter(|operand| !is_role(operand)) {
            if operand.replace(' ', "") == format!("has({result})") {
                continue;
            }
            let fields = |field: &str| match field {
                "text" => Some(leaf.to_owned()),
                "is_error" => Some(place.is_error.to_owned()),
                "result" => Some("message".to_owned()),
                _ => None,
            };
            operands.push(grouped(&replaced(operand, self.variable, fields)?));
        }
        (!operands.is_empty()).then(|| operands.join(" && "))
    }

    /// What is asked of a call, asked of the event that ends it: whether it failed comes later, and is not asked.
    fn call(&self) -> Option<String> {
        let not_error = format!("!{}.is_error", self.variable);
        let mut operands = vec!["has(message.toolCallName)".to_owned(), "has(message._arguments)".to_owned()];
        for operand in conjuncts(self.body).iter().filter(|operand| **operand != not_error) {
            let fields = |field: &str| match field {
                "name" => Some("message.toolCallName".to_owned()),
                "arguments" => Some("message._arguments".to_owned()),
                _ => None,
            };
            operands.push(grouped(&replaced(operand, self.variable, fields)?));
        }
        let expression = operands.join(" && ");
        Program::compile(&expression).ok().map(|_| expression)
    }
}

/// A body for every value that the path of a place leads to.
fn wrapped(place: &Place, body: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let expression = wrap("message", &place.path, 0, body)?;
    Program::compile(&expression).ok().map(|_| expression)
}

/// An operand that can stand beside others.
fn grouped(operand: &str) -> String {
    let parts = Program::compile(operand).map(|program| program.parts()).unwrap_or_default();
    let is_chain = parts
        .first()
        .is_some_and(|part| matches!(part.kind, PartKind::Or(_)) && part.span.len() == operand.len());
    if is_chain || operand.contains('?') { format!("({operand})") } else { operand.to_owned() }
}

/// An expression that holds when a body does for one of the values that a path leads to.
fn wrap(above: &str, path: &str, depth: usize, body: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (step, rest) = path.split_once('.').unwrap_or((path, ""));
    let name = step.trim_end_matches("[*]");
    let here = format!("{above}.{name}");
    let inner = |leaf: &str| if rest.is_empty() { body(leaf) } else { wrap(leaf, rest, depth + 1, body) };
    if !step.ends_with("[*]") {
        return Some(format!("has({here}) && {}", inner(&here)?));
    }
    let one = match name {
        "artifacts" => "artifact".to_owned(),
        "parts" | "content" => "part".to_owned(),
        _ => format!("item_{depth}"),
    };
    Some(format!("has({here}) && {here}.exists({one}, {})", inner(&one)?))
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Where a name stands as a variable: outside of texts, and behind no dot.
fn words<'s>(source: &'s str, name: &'s str) -> impl Iterator<Item = Range<usize>> + 's {
    let literals = literals(source);
    let bytes = source.as_bytes();
    source.match_indices(name).map(|(at, name)| at..at + name.len()).filter(move |at| {
        let ends = |byte: Option<&u8>| byte.is_none_or(|byte| !is_word(*byte));
        let before = at.start.checked_sub(1).and_then(|before| bytes.get(before));
        !literals.iter().any(|span| span.contains(&at.start))
            && ends(before)
            && ends(bytes.get(at.end))
            && before != Some(&b'.')
    })
}

/// An expression with something else in place of a variable.
fn substituted(source: &str, variable: &str, by: &str) -> String {
    let mut text = String::new();
    let mut done = 0;
    for at in words(source, variable) {
        text.push_str(&source[done..at.start]);
        text.push_str(by);
        done = at.end;
    }
    text.push_str(&source[done..]);
    text
}

/// An expression with something else in place of each field of a variable; `None` where a field, or the variable itself, has
/// nothing that stands for it.
fn replaced(source: &str, variable: &str, by: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut text = String::new();
    let mut done = 0;
    for at in words(source, variable) {
        let rest = source[at.end..].strip_prefix('.')?;
        let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
        text.push_str(&source[done..at.start]);
        text.push_str(&by(&rest[..length])?);
        done = at.end + 1 + length;
    }
    text.push_str(&source[done..]);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::super::place::places;
    use super::*;

    fn of(protocol: &str, list: &str, cel: &str) -> Option<String> {
        translated(cel, &places(protocol, list)[0])
    }

    #[test]
    fn what_is_asked_of_answers_is_asked_of_each_part() {
        assert_eq!(
            of(
                "mcp",
                "answers[*]",
                r#"transcript.answers.exists(a, a.matches("a[.]a") && !a.contains('a.'))"#
            )
            .unwrap(),
            r#"has(message.content) && message.content.exists(part, has(part.text) && part.text.matches("a[.]a") && !part.text.contains('a.'))"#
        );
        assert_eq!(
            of("a2a", "answers[*]", "transcript.answers.exists(a, a == 'x')").unwrap(),
            "has(message.artifacts) && message.artifacts.exists(artifact, has(artifact.parts) && artifact.parts.exists(part, has(part.text) && part.text == 'x'))"
        );
    }

    #[test]
    fn a_turn_is_the_targets_and_says_whether_it_failed() {
        assert_eq!(
            of("mcp", "answers[*]", r#"transcript.turns.exists(t, t.role == "target" && !t.is_error && (t.text == "a" || t.text == "b"))"#)
                .unwrap(),
            r#"has(message.content) && message.content.exists(part, has(part.text) && !(has(message.isError) && message.isError == true) && (part.text == "a" || part.text == "b"))"#
        );
        assert_eq!(
            of("mcp", "answers[*]", r#"transcript.turns.exists(t, t.role == "attacker" && t.text == "a")"#),
            None
        );
    }

    #[test]
    fn calls_are_events_and_what_we_send_is_the_same_again() {
        let cel = "size(transcript.sent) == 1 && transcript.calls.exists(c, c.name == 'pay' && c.arguments.exists(k, k == 'to'))";
        assert_eq!(
            of("ag_ui", "calls[*]", cel).unwrap(),
            "has(message.toolCallName) && has(message._arguments) && message.toolCallName == 'pay' && message._arguments.exists(k, k == 'to')"
        );
        let asked = "transcript.answers.exists(a, a == 'x') && !transcript.tools.exists(x, transcript.turns.exists(t, t.role == 'attacker' && t.text == x.name))";
        assert!(of("mcp", "answers[*]", asked).is_some());
        assert_eq!(of("mcp", "answers[*]", &asked.replace("'attacker'", "'target'")), None);
    }

    #[test]
    fn what_is_about_more_than_a_message_is_not_translated() {
        for cel in [
            "size(transcript.calls) > 25",
            "transcript.answers.filter(a, a == 'x').size() > 1",
            "transcript.answers.exists(a, transcript.sent.exists(s, s == a))",
            "transcript.answers.exists(a, a == 'x') && transcript.answers.exists(a, a == 'y')",
            "!transcript.answers.exists(a, a == 'x')",
            "transcript.turns.exists(t, t.role == 'target' && t.calls.size() > 0)",
            "transcript.answers.exists(a, ['b'].exists(a, a == 'x'))",
        ] {
            assert_eq!(of("mcp", "answers[*]", cel), None, "{cel}");
        }
    }
}
