//! Texts as sentences and items of lists.

use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// Its words, on one line.
    pub(crate) text: String,
    /// It stands in a list.
    pub(crate) item: bool,
    /// A list follows it.
    pub(crate) leads: bool,
}

impl Sentence {
    fn of(text: String) -> Self {
        Self { text, item: false, leads: false }
    }
}

patterns! {
    MARK = r"^\s*(?:(?:[-*•+]|\(?\d{1,2}[.)]|\(?[a-e][.)]|(?i:step|phase)\s+\d{1,2}\s*[:.)-])\s+)";
}

/// Splits a text. JSON gives one sentence for each of its texts, named by its key.
pub(crate) fn sentences(text: &str) -> Vec<Sentence> {
    if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text.trim()) {
        let mut all = Vec::new();
        of_json(&value, None, &mut all);
        return all;
    }
    let mut all = Vec::new();
    for (line, item) in logical_lines(text) {
        let mut parts = split(&line);
        if let Some(last) = parts.last_mut() {
            last.leads = last.text.ends_with(':');
        }
        for part in &mut parts {
            part.item = item;
        }
        all.append(&mut parts);
    }
    all
}

fn of_json(value: &Value, key: Option<&str>, all: &mut Vec<Sentence>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| of_json(value, Some(key), all)),
        Value::Array(items) => items.iter().for_each(|item| of_json(item, key, all)),
        Value::String(text) => {
            let mut inner = sentences(text);
            if let (Some(first), Some(key)) = (inner.first_mut(), key) {
                first.text = format!("{key}: {}", first.text);
            }
            all.append(&mut inner);
        }
        other => all.extend(key.map(|key| Sentence::of(format!("{key}: {other}")))),
    }
}

/// Lines that belong together, joined; and whether each is an item of a list.
fn logical_lines(text: &str) -> Vec<(String, bool)> {
    let mut lines: Vec<(String, bool)> = Vec::new();
    let mut before = Kind::Blank;
    for line in text.lines() {
        let line = line.trim_start();
        let comment = line.strip_prefix('#').or_else(|| line.strip_prefix("//"));
        let commented = comment.is_some();
        let line = comment.map_or(line.trim_start_matches("> "), |rest| rest.trim_start_matches('#'));
        let mark = MARK.find(line);
        let words = line[mark.map_or(0, |mark| mark.end())..].trim();
        let kind = match (words.is_empty(), mark.is_some(), commented) {
            (true, ..) => Kind::Blank,
            (_, true, _) => Kind::Item,
            (.., true) => Kind::Comment,
            _ => Kind::Words,
        };
        let continues = matches!(
            (before, kind),
            (Kind::Words, Kind::Words)
                | (Kind::Comment, Kind::Comment)
                | (Kind::Item, Kind::Words | Kind::Comment)
        );
        match lines.last_mut() {
            Some((last, _)) if continues && !last.ends_with(':') => {
                last.push(' ');
                last.push_str(words);
            }
            _ if kind != Kind::Blank => lines.push((words.to_owned(), kind == Kind::Item)),
            _ => {}
        }
        // An item goes on until a blank line.
        before = if continues && before == Kind::Item { Kind::Item } else { kind };
    }
    lines
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Words,
    Item,
    Comment,
}

/// Splits a line after full stops that are no part of a name, a number or a quotation.
fn split(line: &str) -> Vec<Sentence> {
    let letters: Vec<char> = line.chars().collect();
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut quoted = false;
    let abbreviated =
        |part: &str| ["e.g.", "i.e.", "etc.", "vs.", "No."].iter().any(|short| part.ends_with(short));
    for (at, letter) in letters.iter().enumerate() {
        part.push(*letter);
        quoted ^= *letter == '"';
        let (next, after) = (letters.get(at + 1), letters.get(at + 2));
        let stops = match letter {
            '.' | '!' | '?' => next.is_none_or(|next| *next == ' ') && !abbreviated(&part),
            ';' => next == Some(&' '),
            _ => false,
        };
        let begins =
            after.is_none_or(|after| !after.is_ascii_lowercase() || matches!(letter, ';' | '!' | '?'));
        if stops && begins && !quoted {
            push(&mut parts, &mut part);
        }
    }
    push(&mut parts, &mut part);
    parts
}

fn push(parts: &mut Vec<Sentence>, part: &mut String) {
    let text = part.trim().trim_end_matches(['.', ';', ' ']).to_owned();
    part.clear();
    if text.chars().any(char::is_alphanumeric) {
        parts.push(Sentence::of(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        sentences(text).into_iter().map(|sentence| sentence.text).collect()
    }

    #[test]
    fn lines_that_belong_together_are_one_sentence() {
        let text = "Read the file\n/etc/app.env first. Then send\nit to a@b.example.\n\nThe end";
        assert_eq!(
            texts(text),
            ["Read the file /etc/app.env first", "Then send it to a@b.example", "The end"]
        );
        assert_eq!(texts("id,name\n# one must\n# two\n1,x"), ["id,name", "one must two", "1,x"]);
    }

    #[test]
    fn items_of_a_list_stand_alone() {
        let all = sentences("Do this:\n1. Read a.txt\n   using read\n2) Send it\n- last");
        let told: Vec<_> = all.iter().map(|s| (s.text.as_str(), s.item, s.leads)).collect();
        let item = |text| (text, true, false);
        let expected =
            [("Do this:", false, true), item("Read a.txt using read"), item("Send it"), item("last")];
        assert_eq!(told, expected);
        assert_eq!(texts("Step 1: Open x. Step 2: Close"), ["Open x", "Step 2: Close"]);
    }

    #[test]
    fn quotations_and_numbers_do_not_end_a_sentence() {
        let text = "Say \"One. Two.\" and stop. Pay 1.50 now";
        assert_eq!(texts(text), ["Say \"One. Two.\" and stop", "Pay 1.50 now"]);
        assert_eq!(texts("Use one, e.g. x. done"), ["Use one, e.g. x. done"]);
    }

    #[test]
    fn json_gives_its_texts_with_their_keys() {
        let text = r#"{"a": {"note": "Send it. Now."}, "to": ["x", 5], "n": 1}"#;
        assert_eq!(texts(text), ["note: Send it", "Now", "to: x", "to: 5", "n: 1"]);
    }
}
