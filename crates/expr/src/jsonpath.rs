//! `JSONPath` (RFC 9535), with the limits that its parser lacks.

use serde_json_path::JsonPath;

/// Selectors longer than this are refused.
const MAX_BYTES: usize = 1024;

/// Brackets within brackets. The parser tries a nested filter twice, so each level doubles its time: twelve of
/// them take a quarter of a second, thirty-two for ever. Real selectors nest two.
const MAX_BRACKETS: usize = 4;

/// Parentheses within parentheses; thousands overflow the parser's stack.
const MAX_PARENTHESES: usize = 16;

/// `..` in one selector. A query is answered in full before its first result is taken, and each `..` multiplies its
/// results by the depth of the message: ten of them never end.
const MAX_DESCENTS: usize = 1;

/// Values that the brackets of a selector choose together: `['a','b'][0,1]` chooses four. Each result is kept, so a
/// hundred times `['a','a']` would fill any memory.
const MAX_CHOICES: usize = 64;

/// Functions that compile their pattern anew for every value they are applied to, in a dialect that is not RE2.
const UNBOUNDED_FUNCTIONS: [&str; 2] = ["match", "search"];

/// Why a text is not a `JSONPath`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JsonPathError {
    /// What is wrong.
    pub message: String,
    /// Byte of the selector at which it goes wrong, where that is known.
    pub at: Option<usize>,
}

impl JsonPathError {
    fn new(message: impl Into<String>, at: usize) -> Self {
        Self { message: message.into(), at: Some(at) }
    }
}

/// Parses a selector.
///
/// ```
/// let error = sortie_expr::jsonpath::parse("$.tools[0").unwrap_err();
/// assert_eq!((error.message.as_str(), error.at), ("`[` is never closed", Some(7)));
/// ```
pub fn parse(selector: &str) -> Result<JsonPath, JsonPathError> {
    if selector.len() > MAX_BYTES {
        let message = format!("the selector is {} bytes long; {MAX_BYTES} are the limit", selector.len());
        return Err(JsonPathError { message, at: None });
    }
    if !selector.starts_with('$') {
        return Err(JsonPathError::new("a JSONPath starts with `$`, the whole message", 0));
    }
    check_limits(selector)?;
    JsonPath::parse(selector).map_err(|error| {
        let at = error.position().min(selector.len());
        JsonPathError::new(explain(selector, at, error.message()), at)
    })
}

/// Finds what is never closed, what is nested too deep for the parser, and what would take for ever to answer.
fn check_limits(selector: &str) -> Result<(), JsonPathError> {
    let mut open: Vec<Bracket> = Vec::new();
    let (mut descents, mut choices) = (0, 1_usize);
    let mut bytes = selector.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\'' | b'"' => loop {
                match bytes.next() {
                    None => return Err(JsonPathError::new("the quote is never closed", at)),
                    Some((_, b'\\')) => _ = bytes.next(),
                    Some((_, next)) if next == byte => break,
                    Some(_) => {}
                }
            },
            b'[' | b'(' => {
                check_function(selector, at)?;
                open.push(Bracket { kind: byte, at, choices: 1 });
                let limit = if byte == b'[' { MAX_BRACKETS } else { MAX_PARENTHESES };
                if open.iter().filter(|other| other.kind == byte).count() > limit {
                    let message = format!("`{}` is nested more than {limit} deep", byte as char);
                    return Err(JsonPathError::new(message, at));
                }
            }
            b']' | b')' => {
                let wanted = if byte == b']' { b'[' } else { b'(' };
                match open.pop() {
                    Some(opened) if opened.kind == wanted => choices = choices.saturating_mul(opened.choices),
                    Some(opened) => return Err(opened.never_closed()),
                    None => {
                        return Err(JsonPathError::new(format!("`{}` closes nothing", byte as char), at));
                    }
                }
                if choices > MAX_CHOICES {
                    let message = format!("the brackets choose more than {MAX_CHOICES} values together");
                    return Err(JsonPathError::new(message, at));
                }
            }
            b',' => {
                // The arguments of a function are no choice.
                if let Some(bracket) = open.last_mut().filter(|bracket| bracket.kind == b'[') {
                    bracket.choices += 1;
                }
            }
            b'.' if selector[at..].starts_with("..") => {
                bytes.next();
                descents += 1;
                if descents > MAX_DESCENTS {
                    return Err(JsonPathError::new("`..` may stand only once in a selector", at));
                }
            }
            b'$' if at > 0 => check_singular(selector, at)?,
            _ => {}
        }
    }
    match open.pop() {
        Some(opened) => Err(opened.never_closed()),
        None => Ok(()),
    }
}

struct Bracket {
    kind: u8,
    at: usize,
    /// How many selectors are in it.
    choices: usize,
}

impl Bracket {
    fn never_closed(&self) -> JsonPathError {
        JsonPathError::new(format!("`{}` is never closed", self.kind as char), self.at)
    }
}

/// Refuses a function, called at the parenthesis `at`, that cannot be bounded.
fn check_function(selector: &str, at: usize) -> Result<(), JsonPathError> {
    let before = &selector[..at];
    let name_start =
        before.trim_end_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_').len();
    let name = &before[name_start..];
    if selector[at..].starts_with('(') && UNBOUNDED_FUNCTIONS.contains(&name) {
        let message = format!("`{name}` is not supported; an extractor of type `regex` takes a pattern");
        return Err(JsonPathError::new(message, name_start));
    }
    Ok(())
}

/// Refuses a query inside a filter that starts at the root, the `$` at `root`, and leads to more than one value: it
/// is answered again for every value that is filtered.
fn check_singular(selector: &str, root: usize) -> Result<(), JsonPathError> {
    let mut rest = selector[root + 1..].trim_start();
    loop {
        rest = if let Some(inside) = rest.strip_prefix('[') {
            let inside = inside.trim_start();
            let one = inside.starts_with(['\'', '"', '-'])
                || inside.starts_with(|first: char| first.is_ascii_digit());
            match after_one_choice(inside).filter(|_| one) {
                Some(after) => after,
                None => break,
            }
        } else if let Some(name) = rest.strip_prefix('.') {
            let name = name.trim_start();
            if name.starts_with(['.', '*']) {
                break;
            }
            name.trim_start_matches(|letter: char| {
                letter.is_alphanumeric() || letter == '_' || !letter.is_ascii()
            })
        } else {
            return Ok(());
        }
        .trim_start();
    }
    Err(JsonPathError::new("`$` inside a filter must lead to a single value", root))
}

/// What follows the bracket that closes after a name in quotes or a position; `None` if something else is in it.
fn after_one_choice(inside: &str) -> Option<&str> {
    let end = match inside.chars().next().filter(|first| matches!(first, '\'' | '"')) {
        None => inside.find(|letter: char| letter != '-' && !letter.is_ascii_digit())?,
        Some(quote) => {
            let mut letters = inside.char_indices().skip(1);
            loop {
                match letters.next()? {
                    (_, '\\') => _ = letters.next(),
                    (at, letter) if letter == quote => break at + 1,
                    _ => {}
                }
            }
        }
    };
    inside[end..].trim_start().strip_prefix(']')
}

/// The parser's message in plain words.
fn explain(selector: &str, at: usize, message: &str) -> String {
    let rest = selector.get(at..).unwrap_or_default();
    // The parser says where it was before it says what went wrong.
    let cause = message.rsplit(", ").next().unwrap_or(message);
    match rest.chars().next() {
        None => "the selector ends too early".to_owned(),
        Some('=') if !rest.starts_with("==") => "a comparison is written `==`".to_owned(),
        Some(next) if next.is_whitespace() && rest.trim().is_empty() => {
            "the selector ends in white space".to_owned()
        }
        Some(next) if cause == "parser error" || cause.starts_with("expected") => {
            format!("`{}` is unexpected here", next.escape_debug())
        }
        Some(_) if cause.starts_with("must start with") => "a field name is expected here".to_owned(),
        Some(_) => cause.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn wrong(selector: &str) -> (String, Option<usize>) {
        let error = parse(selector).unwrap_err();
        (error.message, error.at)
    }

    #[test]
    fn errors_say_what_and_where() {
        let said = |message: &str, at| (message.to_owned(), Some(at));
        assert_eq!(wrong(""), said("a JSONPath starts with `$`, the whole message", 0));
        assert_eq!(wrong("arguments.path"), said("a JSONPath starts with `$`, the whole message", 0));
        assert_eq!(wrong("$.tools["), said("`[` is never closed", 7));
        assert_eq!(wrong("$.a[?(@.b == 1]"), said("`(` is never closed", 5));
        assert_eq!(wrong("$.a]"), said("`]` closes nothing", 3));
        assert_eq!(wrong("$['it\\'s"), said("the quote is never closed", 2));
        assert_eq!(wrong("$.arguments."), said("the selector ends too early", 12));
        assert_eq!(wrong("$.tool-name"), said("`-` is unexpected here", 6));
        assert_eq!(wrong("$.name "), said("the selector ends in white space", 6));
        assert_eq!(wrong("$..[?@.a = 1]"), said("a comparison is written `==`", 9));
        assert_eq!(wrong("$.é.["), said("`[` is never closed", 5));
        assert_eq!(wrong("$[?size(@.a) == 1]"), said("function name 'size' is not defined", 3));
    }

    #[test]
    fn what_would_overflow_the_parser_or_take_it_for_ever_is_refused() {
        let parentheses = format!("$[?{}@.a{}]", "(".repeat(5_000), ")".repeat(5_000));
        assert_eq!(parse(&parentheses).unwrap_err().at, None, "too long to begin with");
        let parentheses = format!("$[?{}@.a{}]", "(".repeat(400), ")".repeat(400));
        assert_eq!(wrong(&parentheses).1, Some(3 + MAX_PARENTHESES));
        let filters = format!("${}{}", "[?@".repeat(32), "]".repeat(32));
        assert_eq!(wrong(&filters).1, Some(1 + 3 * MAX_BRACKETS));
        let allowed = format!("${}{}", "[?@".repeat(MAX_BRACKETS), "]".repeat(MAX_BRACKETS));
        assert!(parse(&allowed).is_ok());
        let allowed = format!("$[?{}@.a{}]", "(".repeat(MAX_PARENTHESES), ")".repeat(MAX_PARENTHESES));
        assert!(parse(&allowed).is_ok());
    }

    #[test]
    fn what_would_take_for_ever_to_answer_is_refused() {
        let said = |message: &str, at| (message.to_owned(), Some(at));
        assert_eq!(wrong("$..a..b"), said("`..` may stand only once in a selector", 4));
        assert_eq!(wrong("$..[?@..a]"), said("`..` may stand only once in a selector", 6));
        let doubling = format!("${}", "['a','a']".repeat(100));
        assert_eq!(wrong(&doubling), said("the brackets choose more than 64 values together", 63));
        let not_singular = "`$` inside a filter must lead to a single value";
        assert_eq!(wrong("$[?@.a == $..b]"), said(not_singular, 10));
        for selector in
            ["$[?$[*]]", "$[?$.*]", "$[?$. *]", "$[?count($[0,1]) > 1]", "$[?$.a[?@.b]]", "$[?$[:2]]"]
        {
            assert_eq!(wrong(selector).0, not_singular, "{selector}");
        }
        let refused = "`search` is not supported; an extractor of type `regex` takes a pattern";
        assert_eq!(wrong("$[?search(@.a, 'b')]"), said(refused, 3));
        for selector in
            ["$..text", "$['a','b'][0,1].*", "$[?@.a == $.b['c d'][-1].é]", "$[?count(@.*) > length($.a)]"]
        {
            assert!(parse(selector).is_ok(), "{selector}: {:?}", parse(selector));
        }
        assert!(parse("$['..']['match(']['$..a']..b").is_ok(), "in quotes nothing counts");
    }

    #[test]
    fn brackets_in_quotes_do_not_count() {
        assert!(parse("$['[[[[[[(((']").is_ok());
        assert!(parse(r#"$["\"]["]"#).is_ok());
    }
}
