//! Secrets in JSON, taken out of its text.

use std::ops::Range;

use super::rule::Step;
use super::{REDACTED, Redactor};
use crate::json_text::{Edits, Token, Tokens, decoded, inside, places};

const REDACTED_STRING: &str = "\"[redacted]\"";

/// An open object: what is known of it so far, if it should be a header (`{"name": …, "value": …}`).
#[derive(Default)]
struct Header {
    names_one: bool,
    value: Option<Range<usize>>,
}

impl Redactor {
    /// The text without its secrets, if it has any. `text` is JSON.
    pub(super) fn redacted_json(&self, text: &str) -> Option<String> {
        let mut edits = Edits::new(text);
        let mut tokens = Tokens::new(text);
        // Where the value is that comes next, and one `Header` for each container that is open.
        let mut place: Vec<Step> = Vec::new();
        let mut open: Vec<Header> = Vec::new();
        while let Some((token, range)) = tokens.next() {
            match token {
                Token::Key => {
                    let inner = &text[inside(&range)];
                    if let Some(step) = place.last_mut().filter(|_| self.looks_at_places()) {
                        *step = Step::Member(decoded(inner).into_owned());
                    }
                    self.in_string(text, &range, &mut edits);
                }
                Token::Close => {
                    place.pop();
                    open.pop();
                }
                Token::OpenObject | Token::OpenArray => {
                    if self.is_secret(&place, open.last()) {
                        let end = tokens.skip_container();
                        edits.replace(range.start..end, REDACTED_STRING);
                    } else {
                        place.push(match token {
                            Token::OpenObject => Step::Member(String::new()),
                            _ => Step::Element,
                        });
                        open.push(Header::default());
                    }
                }
                Token::String | Token::Number | Token::Word => {
                    if self.is_secret(&place, open.last()) {
                        edits.replace(range, REDACTED_STRING);
                        continue;
                    }
                    if let Some(header) = open.last_mut() {
                        self.header_part(text, token, &range, &place, header, &mut edits);
                    }
                    match token {
                        Token::String => self.in_string(text, &range, &mut edits),
                        Token::Number if self.text.finds_in(&text[range.clone()]) => {
                            edits.replace(range, REDACTED_STRING);
                        }
                        _ => {}
                    }
                }
            }
        }
        edits.finish()
    }

    /// Whether the value in this place is a secret, whatever it is.
    fn is_secret(&self, place: &[Step], object: Option<&Header>) -> bool {
        if !self.looks_at_places() {
            return false;
        }
        let by_name = match place.last() {
            Some(Step::Member(name)) => {
                let name = name.to_lowercase();
                self.fields.contains(&name)
                    || self.headers.contains(&name)
                    || (name == "value" && object.is_some_and(|header| header.names_one))
            }
            _ => false,
        };
        by_name || self.paths.iter().any(|path| path.leads_to(place))
    }

    /// Watches for `{"name": "x-key", "value": …}`, in either order.
    fn header_part(
        &self,
        text: &str,
        token: Token,
        range: &Range<usize>,
        place: &[Step],
        header: &mut Header,
        edits: &mut Edits<'_>,
    ) {
        let Some(Step::Member(name)) = place.last().filter(|_| !self.headers.is_empty()) else { return };
        if name.eq_ignore_ascii_case("value") {
            header.value = Some(range.clone());
        } else if token == Token::String && ["name", "key"].iter().any(|key| name.eq_ignore_ascii_case(key)) {
            let named = decoded(&text[inside(range)]).to_lowercase();
            if self.headers.contains(&named) {
                header.names_one = true;
                if let Some(value) = header.value.take() {
                    edits.replace(value, REDACTED_STRING);
                }
            }
        }
    }

    /// Takes secrets out of a key or a string. What is left of it stays escaped as it was.
    fn in_string(&self, text: &str, range: &Range<usize>, edits: &mut Edits<'_>) {
        if self.text.is_empty() {
            return;
        }
        let inner = inside(range);
        let raw = &text[inner.clone()];
        let said = decoded(raw);
        let secrets = self.text.secrets_in(&said);
        if secrets.is_empty() {
            return;
        }
        if self.text.spoils(&said, &secrets) {
            edits.replace(inner, REDACTED);
            return;
        }
        let ends: Vec<usize> = secrets.iter().flat_map(|secret| [secret.start, secret.end]).collect();
        for place in places(raw, &ends).chunks_exact(2) {
            edits.replace(inner.start + place[0]..inner.start + place[1], REDACTED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RedactRule;
    use super::*;

    fn redactor(rules: &[&str]) -> Redactor {
        Redactor::new(rules.iter().map(|rule| rule.parse::<RedactRule>().unwrap())).unwrap()
    }

    #[test]
    fn a_literal_is_taken_out_of_keys_strings_and_numbers() {
        let redactor = redactor(&["value:12345678", "value:hunter2"]);
        let text =
            r#"{"a hunter2": "\u0068unter2 \u0041", "n":[ 12345678, 1.00,-12345678.5 ],"x":"12345678"}"#;
        let expected = r#"{"a [redacted]": "[redacted] \u0041", "n":[ "[redacted]", 1.00,"[redacted]" ],"x":"[redacted]"}"#;
        assert_eq!(redactor.json(text), expected);
        assert_eq!(redactor.json(expected), expected);
    }

    #[test]
    fn a_field_is_taken_out_whatever_it_holds() {
        let redactor = redactor(&["field:Password"]);
        assert_eq!(
            redactor.json(
                r#"{"PASSWORD":"x","a":[{"pass\u0077ord":{"b":[1,{}]},"c":1}],"password":null,"passwords":1}"#
            ),
            r#"{"PASSWORD":"[redacted]","a":[{"pass\u0077ord":"[redacted]","c":1}],"password":"[redacted]","passwords":1}"#
        );
    }

    #[test]
    fn a_path_leads_from_the_root_or_from_below_the_envelope() {
        let redactor = redactor(&["path:arguments.token", "path:tools[*].key"]);
        assert_eq!(
            redactor.json(
                r#"{"params":{"arguments":{"token":1,"b":{"token":2}}},"arguments":{"token":[3]},"token":4}"#
            ),
            r#"{"params":{"arguments":{"token":"[redacted]","b":{"token":2}}},"arguments":{"token":"[redacted]"},"token":4}"#
        );
        assert_eq!(
            redactor.json(r#"{"result":{"tools":[{"key":1},{"key":2,"x":{"key":3}}]},"tools":{"key":4}}"#),
            r#"{"result":{"tools":[{"key":"[redacted]"},{"key":"[redacted]","x":{"key":3}}]},"tools":{"key":4}}"#
        );
        assert_eq!(self::redactor(&["path:"]).json("[1]"), REDACTED_STRING);
    }

    #[test]
    fn a_header_is_taken_out_where_json_repeats_it() {
        let redactor = redactor(&["header:X-Key"]);
        assert_eq!(
            redactor.json(r#"{"headers":{"x-key":"a"},"list":[{"name":"X-KEY","value":"b"},{"value":"c","key":"x-key"}]}"#),
            r#"{"headers":{"x-key":"[redacted]"},"list":[{"name":"X-KEY","value":"[redacted]"},{"value":"[redacted]","key":"x-key"}]}"#
        );
        assert_eq!(redactor.json(r#"{"name":"other","value":"d"}"#), r#"{"name":"other","value":"d"}"#);
        assert_eq!(redactor.header("x-KEY", "e"), REDACTED);
        assert_eq!(redactor.header("accept", "e"), "e");
    }

    #[test]
    fn credentials_that_an_agent_gives_away_stay_evidence_unless_a_rule_names_them() {
        let leak = r#"{"params":{"arguments":{"headers":{"Authorization":"Bearer abcdef"}}}}"#;
        assert_eq!(Redactor::default().json(leak), leak);
        assert_ne!(redactor(&["header:authorization"]).json(leak), leak);
    }

    #[test]
    fn deep_nesting_costs_no_stack() {
        let text = format!("{}\"hunter2\"{}", "[{\"a\":".repeat(50_000), "}]".repeat(50_000));
        let redacted = redactor(&["value:hunter2", "field:b", "path:c.d"]).redacted_json(&text).unwrap();
        assert_eq!(redacted, text.replace("hunter2", REDACTED));
    }
}
