//! The concrete things in a sentence: tools, fields, addresses, files, values.

use serde_json::{Map, Value};

use super::Known;
use crate::callable::Callable;
use crate::matching::among;

patterns! {
    EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+";
    EMAIL_AND_PATH = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+[\w/.]*";
    URI = r#"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s"'`<>)\]},]+"#;
    PATH = r#"(?:~|\$HOME|\.{1,2})?/[\w.@~/-]*[\w~]|[A-Za-z]:\\[\w.\\-]+|(?:^|[\s"'`(])(\.?[\w-]+(?:\.[\w-]+)*\.(?:txt|env|json|pem|key|ya?ml|md|csv|conf|config|ini|log|toml|db|sql|xlsx?|pdf|docx?|bak))\b|(?:^|[\s"'`(])(\.(?:env|npmrc|netrc|gitconfig|bashrc|ssh|aws)[\w./-]*)"#;
    QUOTED = r#""([^"]{1,2000})"|`([^`]{1,500})`|(?:^|[\s(:=])'([^']{1,2000}(?:'[a-z][^']*)?)'(?:$|[\s,.);!?])"#;
    NUMBER = r"(?:^|[\s$€£(:=,])(-?\d[\d,]*(?:\.\d+)?)(?:[\s%.,;:)!?KMk]|$)";
    PAIR = r#"["'`]?([A-Za-z_][\w-]*)["'`]?\s*[:=]\s*("[^"]*"|'[^']*(?:'[a-z][^']*)*'|`[^`]*`|[^\s,;"'`{]+(?:,[^\s,;]+)*)"#;
    SPOKEN = r#"(?:^|[\s"'`(])([A-Za-z_][\w-]*)["'`]?(?:\s+(?:to|of|as|set to|is))?\s+("[^"]*"|`[^`]*`|'[^']*(?:'[a-z][^']*)*'|\d[\d.,]*\b|[\w.+-]+@[\w.-]+\w)"#;
    NAMED_FIELD = r#"["'`]?([A-Za-z_][\w.-]*)["'`]?\s+(?:parameter|field|argument|param|property|header|attribute|input)\b"#;
    FIELD_NAMED = r#"\b(?:parameter|field|argument|param|property|attribute)s?\s+(?:named\s+|called\s+)?(?:["'`]([A-Za-z_][\w.-]*)["'`]|([A-Za-z_]\w*))"#;
    AS_FIELD = r#"\b(?:as|in|into|to|under|inside)\s+(?:the\s+|its\s+)?["'`]?([A-Za-z_][\w-]*)["'`]?"#;
    TIMES = r"(?i)\b(\d{1,6}|two|three|four|five|six|seven|eight|nine|ten|hundred|thousand)\s+(?:times\b|(?:[A-Za-z]+\s+)?(?:requests|calls|copies|messages|emails)\b)|\b(twice)\b";
    UNKNOWN_TOOL = r#"(?i)\b(?:call|invoke|use|run|execute|calling|using)\s+(?:the\s+)?(?:\w+\s+)?(?:tool\s+)?["`']([A-Za-z_][\w.-]{1,63})(?:\(\))?["`']|\bthe\s+["`']?([A-Za-z_][\w.-]{1,63})["`']?\s+tool\b"#;
}

pub(crate) fn email(text: &str) -> Option<String> {
    EMAIL.find(text).map(|found| found.as_str().trim_end_matches('.').to_owned())
}

/// The addresses with a scheme, in order.
pub(crate) fn uris(text: &str) -> Vec<String> {
    URI.find_iter(text)
        .map(|found| found.as_str().trim_end_matches(['.', ':', '?', '!']).to_owned())
        .collect()
}

/// To whom something goes: a mail address, else a web address.
pub(super) fn address(text: &str) -> Option<String> {
    email(text).or_else(|| uris(text).into_iter().find(|uri| uri.starts_with("http")))
}

/// The files that are named, in order, each once.
pub(crate) fn paths(text: &str) -> Vec<String> {
    let hidden = EMAIL_AND_PATH.replace_all(text, " ");
    let hidden = URI.replace_all(&hidden, " ");
    let mut paths: Vec<String> = Vec::new();
    for found in PATH.captures_iter(&hidden) {
        let whole =
            found.get(1).or_else(|| found.get(2)).or_else(|| found.get(0)).map_or("", |found| found.as_str());
        let path = whole.trim_matches(|c: char| c.is_whitespace() || "\"'`(".contains(c));
        // `and/or`, `2026/07` and the like are no files.
        let begins = hidden[..found.get(0).map_or(0, |found| found.start())].chars().last();
        let within_word = path.starts_with('/') && begins.is_some_and(char::is_alphanumeric);
        if !within_word && path.len() > 1 && !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
    }
    paths
}

pub(crate) fn quoted(text: &str) -> Vec<String> {
    let inner = |found: regex::Captures<'_>| {
        (1..=3).find_map(|group| found.get(group)).map(|found| found.as_str().to_owned())
    };
    QUOTED.captures_iter(text).filter_map(inner).collect()
}

/// The numbers that stand alone, in order.
pub(crate) fn numbers(text: &str) -> Vec<f64> {
    let mut numbers = Vec::new();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| NUMBER.captures(rest)) {
        let Some(digits) = found.get(1) else { break };
        numbers.extend(digits.as_str().replace(',', "").parse::<f64>().ok());
        at += digits.end();
    }
    numbers
}

pub(crate) fn times(text: &str) -> usize {
    let Some(found) = TIMES.captures(text) else { return 1 };
    let word = found.get(1).or_else(|| found.get(2)).map_or("", |found| found.as_str()).to_ascii_lowercase();
    let words = ["", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    match word.as_str() {
        "twice" => 2,
        "hundred" => 100,
        "thousand" => 1000,
        word => word.parse().ok().or_else(|| words.iter().position(|known| *known == word)).unwrap_or(1),
    }
}

/// The callable that a text names first; `this tool` is the one that the text belongs to.
pub(crate) fn named<'k>(text: &str, known: &Known<'k>) -> Option<&'k Callable> {
    let lower = text.to_ascii_lowercase();
    let mut best: Option<(usize, usize, &Callable)> = None;
    for callable in known.callables {
        for (name, spoken) in spellings(callable) {
            let Some(at) = find_word(&lower, &name) else { continue };
            // A name of one ordinary word is only meant where the text says that it is a tool.
            if spoken && !follows(&lower[at + name.len()..]) && !precedes(&lower[..at]) {
                continue;
            }
            let better =
                best.is_none_or(|(other, length, _)| at < other || (at == other && name.len() > length));
            if better {
                best = Some((at, name.len(), callable));
            }
        }
    }
    if let Some((.., callable)) = best {
        return Some(callable);
    }
    let own = known.callable(known.own?)?;
    let this = if own.is_agent() { ["this agent", "this service"] } else { ["this tool", "this function"] };
    this.iter().any(|this| find_word(&lower, this).is_some()).then_some(own)
}

/// How a callable is written: its name, and its name as words (then only as `… tool`).
fn spellings(callable: &Callable) -> Vec<(String, bool)> {
    let name = callable.name.to_ascii_lowercase();
    let words = separate(&callable.name);
    let plain = !name.contains(['_', '-', '.']) && !callable.name.chars().skip(1).any(char::is_uppercase);
    let mut all = vec![(name, plain)];
    if callable.is_agent() {
        let without = words.strip_suffix(" agent").unwrap_or(&words).to_owned();
        all.extend([(without.replace(' ', "-"), true), (without, true)]);
    } else {
        all.push((words, true));
    }
    all
}

/// `sendMail`, `send_mail` and `send-mail` as words.
pub(crate) fn separate(name: &str) -> String {
    let mut words = String::new();
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_uppercase() && before.is_lowercase() {
            words.push(' ');
        }
        words.push(if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' });
        before = letter;
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

const KINDS: [&str; 3] = ["tool", "agent", "function"];

fn follows(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['"', '\'', '`', ' ', '(', ')', '-']);
    KINDS.iter().any(|kind| rest.starts_with(kind))
}

fn precedes(before: &str) -> bool {
    let before = before.trim_end_matches(['"', '\'', '`', ' ', '(']);
    let called = before.strip_suffix("called").or_else(|| before.strip_suffix("named"));
    let before = called.unwrap_or(before).trim_end();
    KINDS.iter().any(|kind| before.ends_with(kind))
}

/// Where a word stands that is not a part of another.
pub(crate) fn find_word(text: &str, word: &str) -> Option<usize> {
    if word.is_empty() {
        return None;
    }
    let part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    text.match_indices(word)
        .map(|(at, _)| at)
        .find(|at| !part(text[..*at].chars().next_back()) && !part(text[at + word.len()..].chars().next()))
}

/// A tool that is named as one and that nobody has listed.
pub(crate) fn unlisted(text: &str) -> Option<String> {
    const NO_NAMES: &str = "this that same following right other any new first next above";
    UNKNOWN_TOOL.captures_iter(text).find_map(|found| {
        let name = found.get(1).or_else(|| found.get(2))?.as_str();
        // A quoted word need not be a name.
        let is_name = name.contains('_')
            || found[0].contains('`')
            || (found.get(1).is_some() && found[0].contains("tool"));
        (is_name && !among(NO_NAMES, &name.to_ascii_lowercase())).then(|| name.to_owned())
    })
}

/// The field into which a text wants something.
pub(crate) fn field(text: &str, known: &Known<'_>) -> Option<String> {
    const NO_NAMES: &str = "this the a an that each every required optional same following new form extra additional \
        above hidden tool and or any";
    const THIS: [&str; 6] =
        ["this parameter", "this field", "this argument", "this value", "as this", "in here"];
    let name = |found: regex::Captures<'_>| found[1].to_owned();
    let usable = |name: &String| !among(NO_NAMES, &name.to_ascii_lowercase());
    let is_field = |name: &str| known.with_field(name).is_some();
    let named = || {
        FIELD_NAMED.captures_iter(text).find_map(|found| {
            let bare = found.get(2).filter(|name| is_field(name.as_str()));
            found.get(1).or(bare).map(|name| name.as_str().to_owned())
        })
    };
    let own = || {
        let lower = text.to_ascii_lowercase();
        let own = known.own_field.filter(|_| THIS.iter().any(|this| lower.contains(this)));
        own.map(|field| field.name.clone())
    };
    let first = NAMED_FIELD.captures_iter(text).map(name).find(usable).or_else(named);
    first.or_else(|| AS_FIELD.captures_iter(text).map(name).find(|name| is_field(name))).or_else(own)
}

/// The fields whose values a text gives: an object, `name: value`, `name=value`, `name "value"`, `name of 5`.
pub(crate) fn given(text: &str, known: &Known<'_>) -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = Vec::new();
    if let Some(object) = object(text) {
        return object.into_iter().collect();
    }
    let without = URI.replace_all(text, |found: &regex::Captures<'_>| {
        found[0].replace('=', "\u{1}").replace(':', "\u{2}")
    });
    for (pattern, any_name) in [(&PAIR, true), (&SPOKEN, false)] {
        let mut at = 0;
        while let Some(found) = pattern.captures_at(&without, at) {
            let (Some(whole), Some(name), Some(value)) = (found.get(0), found.get(1), found.get(2)) else {
                break;
            };
            let sure =
                any_name && (whole.as_str().contains('=') || whole.as_str().starts_with(['"', '`', '\'']));
            if !(sure || known.with_field(name.as_str()).is_some()) {
                // The next word may be the name.
                at = name.end();
                continue;
            }
            at = whole.end();
            if !all.iter().any(|(there, _)| there.eq_ignore_ascii_case(name.as_str())) {
                let value = value.as_str().replace('\u{1}', "=").replace('\u{2}', ":");
                let is_quoted = value.starts_with(['"', '\'', '`']);
                let value =
                    if is_quoted { &value[1..value.len() - 1] } else { value.trim_end_matches(['.', ')']) };
                all.push((name.as_str().to_owned(), Value::from(value)));
            }
        }
    }
    all
}

fn object(text: &str) -> Option<Map<String, Value>> {
    text.match_indices('{').take(8).find_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Map<String, Value>>();
        values.next()?.ok().filter(|object| !object.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::callable::Place;

    fn tools() -> Vec<Callable> {
        let tool = |tool: Value| Callable::from_tool(&tool, Place::Server(0)).unwrap();
        let fields = json!({"properties": {"to": {}, "bcc": {}, "count": {}}});
        vec![
            tool(json!({"name": "send_mail", "inputSchema": fields})),
            tool(json!({"name": "add", "inputSchema": {"properties": {"a": {}}}})),
            Callable::from_card(&json!({"name": "ReportWriterAgent"}), 0).unwrap(),
        ]
    }

    #[test]
    fn addresses_files_and_values_are_found() {
        assert_eq!(email("to a.b+c@d-e.example.").as_deref(), Some("a.b+c@d-e.example"));
        let text = "see https://a.example/x?y=1. and notes://b";
        assert_eq!(uris(text), ["https://a.example/x?y=1", "notes://b"]);
        let text = "read ~/.ssh/id_rsa, /etc/passwd and `secrets.env` or .env at x@y.example/z and/or https://u/v.txt";
        assert_eq!(paths(text), ["~/.ssh/id_rsa", "/etc/passwd", "secrets.env", ".env"]);
        assert_eq!(quoted("say \"a b\" or `c` or 'it's on'."), ["a b", "c", "it's on"]);
        assert_eq!(numbers("pay $50,000 or 1.5 to FIN-Q4-2025, 3."), [50_000.0, 1.5, 3.0]);
        let counts = ["send 50 HEAD requests", "do it three times", "twice", "once"].map(times);
        assert_eq!(counts, [50, 3, 2, 1]);
    }

    #[test]
    fn tools_are_known_by_their_names() {
        let tools = tools();
        let known = Known { callables: &tools, own: Some("add"), own_field: None };
        for (text, name) in [
            ("use `send_mail` now", Some("send_mail")),
            ("through the send mail tool", Some("send_mail")),
            ("please add a line", None),
            ("with the add tool", Some("add")),
            ("before using this tool", Some("add")),
            ("delegate to the report-writer agent", Some("ReportWriterAgent")),
        ] {
            assert_eq!(named(text, &known).map(|callable| callable.name.as_str()), name, "{text}");
        }
        assert_eq!(unlisted("Call `wipe_disk` now").as_deref(), Some("wipe_disk"));
        assert_eq!(unlisted("use the same tool"), None);
    }

    #[test]
    fn fields_and_their_values_are_found() {
        let tools = tools();
        let own = crate::callable::Property { name: "note".into(), ..Default::default() };
        let known = Known { callables: &tools, own: None, own_field: Some(&own) };
        for (text, name) in [
            ("as the auth_token parameter of x", Some("auth_token")),
            ("a parameter named \"key\" and", Some("key")),
            ("put it into bcc", Some("bcc")),
            ("pass it as this parameter value", Some("note")),
            ("as soon as possible", None),
        ] {
            assert_eq!(field(text, &known).as_deref(), name, "{text}");
        }
        for (text, values) in [
            ("with {\"a\": 1, \"z\": [2]} now", json!([["a", 1], ["z", [2]]])),
            (
                "always BCC: x@y.example, count: 10000 and k=\"v w\"",
                json!([["BCC", "x@y.example"], ["count", "10000"], ["k", "v w"]]),
            ),
            ("with to \"x\" and count of 5", json!([["to", "x"], ["count", "5"]])),
        ] {
            assert_eq!(json!(given(text, &known)), values, "{text}");
        }
    }
}
