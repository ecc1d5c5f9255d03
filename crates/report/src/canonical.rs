//! What a repeated run has in common with the first.

use std::collections::HashMap;

use serde_json::Value;

use crate::Report;

/// Addresses of this machine, behind which a port is whatever was free.
const LOOPBACK: [&str; 4] = ["127.0.0.1:", "localhost:", "[::1]:", "0.0.0.0:"];

/// How an id is written that somebody made up: hexadecimal digits in groups.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

impl Report {
    /// The report without what no run can repeat: times, ports, made-up ids, the folder it was kept in, what the
    /// agent wrote there, and what it took.
    ///
    /// Times, folders and costs are left out. A port of this machine is `PORT`. Made-up ids are numbered in the order in
    /// which they come, so that those that were the same stay the same, and others stay different.
    pub fn canonical(&self) -> Value {
        // Its keys are texts, so that nothing can fail; and if it did, two that say nothing must not look the same.
        let mut report = serde_json::to_value(self).expect("a report is data");
        for run in report.get_mut("runs").and_then(Value::as_array_mut).into_iter().flatten() {
            remove(Some(run), &["trace"]);
            remove(run.get_mut("failure"), &["files", "stderr", "stdout"]);
            let verdict = run.get_mut("verdict");
            let indicators = verdict.and_then(|verdict| {
                remove(Some(verdict), &["timestamp"]);
                verdict.get_mut("indicator_verdicts")?.as_array_mut()
            });
            for indicator in indicators.into_iter().flatten() {
                remove(Some(indicator), &["timestamp"]);
            }
        }
        for finding in report.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten() {
            remove(Some(finding), &["trace"]);
        }
        // When a process is seen, and how often, is a matter of moments.
        remove(Some(&mut report), &["sandbox"]);
        remove(report.get_mut("models"), &["spent", "calibration_calls", "reused"]);
        remove(report.get_mut("run"), &["started", "seconds"]);
        Names::default().value(&mut report);
        report
    }
}

fn remove(from: Option<&mut Value>, keys: &[&str]) {
    let Some(map) = from.and_then(Value::as_object_mut) else { return };
    for key in keys {
        // What comes after it keeps its place.
        map.shift_remove(*key);
    }
}

/// The made-up ids so far, and what stands for them.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    // A report is as deep as its transcripts, and readers of JSON stop at 128 levels.
    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            // Keys stay: two that became the same would hide one of them.
            Value::Object(map) => map.values_mut().for_each(|value| self.value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &mut String) {
        let mut canonical = String::new();
        let mut plain = 0;
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let found = port(rest).or_else(|| self.id(text, at));
            match found {
                Some((length, stand_in)) => {
                    canonical.push_str(&text[plain..at]);
                    canonical.push_str(&stand_in);
                    at += length;
                    plain = at;
                }
                None => at += rest.chars().next().map_or(1, char::len_utf8),
            }
        }
        if plain > 0 {
            canonical.push_str(&text[plain..]);
            *text = canonical;
        }
    }

    /// The id that begins here, unless something longer does.
    fn id(&mut self, text: &str, at: usize) -> Option<(usize, String)> {
        let bytes = text.as_bytes();
        if at > 0 && bytes[at - 1].is_ascii_alphanumeric() {
            return None;
        }
        let mut end = at;
        for (index, length) in UUID.iter().enumerate() {
            if index > 0 {
                (bytes.get(end) == Some(&b'-')).then_some(())?;
                end += 1;
            }
            bytes.get(end..end + length)?.iter().all(u8::is_ascii_hexdigit).then_some(())?;
            end += length;
        }
        if bytes.get(end).is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        let next = self.0.len() + 1;
        // All of it is ASCII.
        let number = self.0.entry(text[at..end].to_ascii_lowercase()).or_insert(next);
        Some((end - at, format!("ID-{number}")))
    }
}

/// The address with a port that begins here.
fn port(rest: &str) -> Option<(usize, String)> {
    let host = LOOPBACK.iter().find(|host| rest.starts_with(**host))?;
    let digits = rest[host.len()..].bytes().take_while(u8::is_ascii_digit).count();
    (1..=5).contains(&digits).then(|| (host.len() + digits, format!("{host}PORT")))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        let mut text = text.to_owned();
        Names::default().text(&mut text);
        text
    }

    #[test]
    fn ports_of_this_machine_are_all_the_same() {
        assert_eq!(
            canonical("no answer from http://127.0.0.1:43121/mcp"),
            "no answer from http://127.0.0.1:PORT/mcp"
        );
        assert_eq!(canonical("[::1]:80 localhost:8080"), "[::1]:PORT localhost:PORT");
        for other in ["http://agent.example:8080", "127.0.0.1:", "127.0.0.1:http", "ümläut 🦀", ""] {
            assert_eq!(canonical(other), other);
        }
    }

    #[test]
    fn made_up_ids_that_are_the_same_stay_the_same() {
        let (one, other) = ("0c7dbb1f-6b1c-4a5e-9a3e-0123456789ab", "ffffffff-ffff-4fff-8fff-ffffffffffff");
        assert_eq!(canonical(&format!("{one} {other} {one}")), "ID-1 ID-2 ID-1");
        assert_eq!(canonical(&one.to_uppercase()), "ID-1");
        for whole in [format!("a{one}"), format!("{one}0"), one[1..].to_owned(), one.replace('-', "_")] {
            assert_eq!(canonical(&whole), whole, "no id");
        }
    }

    proptest! {
        /// Whatever a target says: nothing panics, and what is canonical stays as it is.
        #[test]
        fn what_is_canonical_stays_so(pieces in vec(piece(), 0..12)) {
            let once = canonical(&pieces.concat());
            prop_assert_eq!(canonical(&once), once);
        }
    }

    /// Things that look like what is replaced, and pieces of them.
    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            "127.0.0.1:",
            "[::1]:",
            "[0-9]{0,7}",
            "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
            "[0-9a-fA-F-]{1,9}",
            "\\PC{0,3}"
        ]
    }
}
