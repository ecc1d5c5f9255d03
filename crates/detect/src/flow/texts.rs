//! The texts of messages: of raw JSON, of values with their paths, and the URLs in a text.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use memchr::memchr2;
use serde_json::Value;
use sortie_oatf::extension::flow::TextPart;

use super::reading::is_digit;

/// Every string and number of a JSON text that has at least so many bytes. Names of members are strings too. Nothing is parsed
/// but what is shown: most texts of most messages are short.
pub(super) fn each_raw_text(json: &str, least: usize, see: &mut dyn FnMut(&str)) {
    let bytes = json.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        if bytes[at] == b'"' {
            at += 1;
            let mut is_plain = true;
            // Most of a message is in its strings.
            while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
                at += found;
                if bytes[at] == b'"' {
                    break;
                }
                is_plain = false;
                at += 2;
            }
            if bytes.get(at) != Some(&b'"') {
                at = bytes.len();
            }
            at = (at + 1).min(bytes.len());
            // An escape may be cut off in what is not JSON.
            let Some(string) = json.get(start..at).filter(|string| string.len() >= least + 2) else {
                continue;
            };
            let text = if is_plain {
                Cow::Borrowed(string.trim_matches('"'))
            } else {
                Cow::Owned(serde_json::from_str(string).unwrap_or_else(|_| string.to_owned()))
            };
            see(&text);
        } else if is_of_number(bytes[at]) {
            at += bytes[at..].iter().take_while(|byte| is_of_number(**byte)).count();
            if at - start >= least {
                see(&json[start..at]);
            }
        } else {
            at += 1;
        }
    }
}

/// All forms of a text together are at most so many times as long as it is, see [`each_reading`](super::reading::each_reading).
pub(super) const MOST_FORMS: usize = 12;

/// Runs of digits are read in four alignments of base64 (three quarters of their length) and two of hexadecimal digits (half of it).
const FORMS_OF_RUNS: usize = 4;

/// At least as much room as the texts of a JSON text take in all their forms. `length` is that
/// of a piece; spaces take none where they do not count. Nothing is decoded for that.
pub(super) fn most_room(json: &str, length: usize, counts_spaces: bool) -> usize {
    let bytes = json.as_bytes();
    let (mut in_runs, mut run, mut at, mut spaces) = (0, 0, 0, 0);
    let mut has_plus = false;
    let mut end_run = |run: &mut usize| {
        if *run * 6 / 8 >= length {
            in_runs += *run;
        }
        *run = 0;
    };
    while at < bytes.len() {
        let byte = bytes[at];
        at += 1;
        if is_digit(byte) {
            run += 1;
            has_plus |= byte == b'+';
            continue;
        }
        match (byte, bytes.get(at)) {
            // What a line break separates is one run, since long lines are wrapped. `u` may begin a digit.
            (b'\\', Some(b'n' | b'r')) => at += 1,
            (b'\\', Some(b'/' | b'u')) | (b'\r' | b'\n', _) => {}
            (b'\\', Some(b'\\')) => {
                at += 1;
                end_run(&mut run);
            }
            // Decoded, it may be anything.
            (b'%', Some(next)) if next.is_ascii_hexdigit() || *next == b'\\' => {
                return MOST_FORMS * bytes.len();
            }
            _ => {
                spaces += usize::from(byte == b' ' && !counts_spaces);
                end_run(&mut run);
            }
        }
    }
    end_run(&mut run);
    let once = bytes.len() - spaces + FORMS_OF_RUNS * in_runs;
    // With `+` for spaces it is read once more, and its runs are no longer than before.
    if has_plus { 2 * once } else { once }
}

fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.')
}

/// Fields that are added to what was on the wire, and repeat what was in other messages.
const ADDED: [&str; 2] = ["_request", "_transcript"];

/// Every string and number in a value, with its path. `path` is that of the value, and is the same afterwards.
// Values are at most 128 deep, so recursion is bounded.
pub(super) fn each_text(value: &Value, path: &mut String, see: &mut dyn FnMut(&str, &str)) {
    let length = path.len();
    match value {
        Value::String(text) => see(path, text),
        Value::Number(number) => see(path, &number.to_string()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                // Writing to a string cannot fail.
                let _ = write!(path, "[{index}]");
                each_text(item, path, see);
                path.truncate(length);
            }
        }
        Value::Object(fields) => {
            let is_root = length == 0;
            for (name, field) in fields.iter().filter(|(name, _)| !is_root || !ADDED.contains(&name.as_str()))
            {
                if !is_root {
                    path.push('.');
                }
                path.push_str(name);
                each_text(field, path, see);
                path.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// The parts of a text by which it leaves; all of it where no part is asked for.
pub(super) fn parts(text: &str, within: Option<TextPart>) -> Vec<Range<usize>> {
    match within {
        None => std::iter::once(0..text.len()).collect(),
        Some(TextPart::Url) => urls(text).collect(),
        Some(TextPart::ImageUrl) => urls(text).filter(|url| is_image(&text[..url.start])).collect(),
    }
}

/// What begins with `http://` or `https://`, up to what ends a URL in Markdown and HTML.
fn urls(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let colon = from + text[from..].find("://")?;
            from = colon + 3;
            let scheme = text[..colon].trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).len();
            let is_web =
                ["http", "https"].iter().any(|web| text[..colon][scheme..].eq_ignore_ascii_case(web));
            if !is_web {
                continue;
            }
            let ends = |letter: char| letter.is_whitespace() || "\"'<>`)]}".contains(letter);
            from += text[from..].find(ends).unwrap_or(text.len() - from);
            return Some(scheme..from);
        }
    })
}

/// Whether what stands before a URL makes it that of an image: `![…](`, `src="`, or the definition of a link (`[1]: `), which
/// an image may refer to.
fn is_image(before: &str) -> bool {
    // As much as fits in front of an image. A longer description is cut, and found by its bracket.
    let start = before.floor_char_boundary(before.len().saturating_sub(1024));
    let before = before[start..].trim_end_matches(['<', '"', '\'']);
    if let Some(text) = before.strip_suffix("](") {
        return text.rfind("![").is_some_and(|at| !text[at + 2..].contains("]("));
    }
    let trimmed = before.trim_end();
    let lower = trimmed.to_ascii_lowercase();
    lower.strip_suffix('=').is_some_and(|tag| {
        let tag = tag.trim_end();
        ["src", "srcset", "poster", "background"].iter().any(|name| tag.ends_with(name))
    }) || lower.ends_with("url(")
        || trimmed.ends_with("]:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn raw_texts_are_read_without_a_parser() {
        let mut seen = Vec::new();
        let json = r#"{"name": "short", "a": ["a longer \"text\"\n", 12345678901234567890], "deep": {"long member name": true}}"#;
        each_raw_text(json, 10, &mut |text| seen.push(text.to_owned()));
        assert_eq!(seen, ["a longer \"text\"\n", "12345678901234567890", "long member name"]);
        for broken in ["\"open and never closed", "\"escape at the end \\", "\"é\\"] {
            each_raw_text(broken, 1, &mut |_| {});
        }
    }

    #[test]
    fn texts_have_paths_and_what_was_added_is_left_out() {
        let mut seen = Vec::new();
        let value =
            json!({"content": [{"text": "a"}, {"n": 7}], "_request": {"name": "b"}, "x": {"_request": "c"}});
        each_text(&value, &mut String::new(), &mut |path, text| seen.push(format!("{path}={text}")));
        assert_eq!(seen, ["content[0].text=a", "content[1].n=7", "x._request=c"]);
    }

    #[test]
    fn the_urls_of_images_are_told_from_others() {
        let text = "See https://a.example/x, ![chart](https://b.example/?q=1) <img src='HTTP://c.example/2'> \
                    [link](https://d.example) ftp://e.example\n[1]: https://f.example/3";
        let found = |within| parts(text, Some(within)).into_iter().map(|at| &text[at]).collect::<Vec<_>>();
        let images = ["https://b.example/?q=1", "HTTP://c.example/2", "https://f.example/3"];
        assert_eq!(found(TextPart::ImageUrl), images);
        assert_eq!(found(TextPart::Url).len(), 5);
        assert_eq!(parts(text, None).first(), Some(&(0..text.len())));
    }
}
