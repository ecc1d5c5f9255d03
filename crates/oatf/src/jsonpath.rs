//! `JSONPath` (RFC 9535), with the limits that its parser lacks.

use serde_json_path::JsonPath;

/// Selectors longer than this are refused.
const MAX_BYTES: usize = 1024;

/// Brackets within brackets. The parser tries a nested filter twice, so each level doubles its time: twelve of
/// them take a quarter of a second, thirty-two for ever. Real selectors nest two.
const MAX_BRACKETS: usize = 4;

/// Parentheses within parentheses; thousands overflow the parser's stack.
const MAX_PARENTHESES: usize = 16;

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
/// let error = sortie_oatf::jsonpath::parse("$.tools[0").unwrap_err();
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
    check_nesting(selector)?;
    JsonPath::parse(selector).map_err(|error| {
        let at = error.position().min(selector.len());
        JsonPathError::new(explain(selector, at, error.message()), at)
    })
}

/// Finds what is never closed, and what is nested too deep for the parser.
fn check_nesting(selector: &str) -> Result<(), JsonPathError> {
    let mut open: Vec<(u8, usize)> = Vec::new();
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
                open.push((byte, at));
                let limit = if byte == b'[' { MAX_BRACKETS } else { MAX_PARENTHESES };
                if open.iter().filter(|(other, _)| *other == byte).count() > limit {
                    let message = format!("`{}` is nested more than {limit} deep", byte as char);
                    return Err(JsonPathError::new(message, at));
                }
            }
            b']' | b')' => {
                let wanted = if byte == b']' { b'[' } else { b'(' };
                match open.pop() {
                    Some((opened, _)) if opened == wanted => {}
                    Some((opened, start)) => {
                        return Err(JsonPathError::new(
                            format!("`{}` is never closed", opened as char),
                            start,
                        ));
                    }
                    None => {
                        return Err(JsonPathError::new(format!("`{}` closes nothing", byte as char), at));
                    }
                }
            }
            _ => {}
        }
    }
    match open.pop() {
        Some((opened, at)) => Err(JsonPathError::new(format!("`{}` is never closed", opened as char), at)),
        None => Ok(()),
    }
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
    fn brackets_in_quotes_do_not_count() {
        assert!(parse("$['[[[[[[(((']").is_ok());
        assert!(parse(r#"$["\"]["]"#).is_ok());
    }
}
