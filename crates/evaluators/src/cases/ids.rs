//! The names of cases: the same in every run, and safe in a path.

use std::collections::HashSet;

use ring::digest::{SHA256, digest};

/// How long a part of an id may be.
const MAX_PART: usize = 80;

/// The name of a pattern in an id: its words, in lower case, joined by hyphens.
pub(super) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars().flat_map(char::to_lowercase) {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    // Of a name in another script nothing is left: then it is known by what it is.
    if slug.is_empty() { format!("pattern-{}", &hash(name)[..6]) } else { shortened(slug.to_owned(), name) }
}

/// The name of a tool or of a property in an id. A server may call them anything.
pub(super) fn part(name: &str) -> String {
    use std::fmt::Write as _;
    let mut part = String::new();
    for (at, byte) in name.bytes().enumerate() {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' || (byte == b'.' && at > 0) {
            part.push(char::from(byte));
        } else {
            let _ = write!(part, "%{byte:02X}"); // writing to a string cannot fail
        }
    }
    if part.is_empty() { "%".to_owned() } else { shortened(part, name) }
}

fn shortened(mut part: String, name: &str) -> String {
    if part.len() > MAX_PART {
        // All of it is ASCII.
        part.truncate(MAX_PART - 11);
        part.push('-');
        part.push_str(&hash(name));
    }
    part
}

/// The folder of a case within that of its run, from its id: safe in a path.
pub fn case_folder(id: &str) -> String {
    let whole = id.replace('/', "+");
    let spaced = whole.replace(' ', "-");
    let harmless = |letter: &char| letter.is_ascii_alphanumeric() || "-_.+%".contains(*letter);
    let name: String = spaced.chars().filter(harmless).collect();
    let name = name.trim_start_matches('.');
    if name == whole && (1..=180).contains(&name.len()) {
        return format!("cases/{name}");
    }
    // All of it is ASCII.
    format!("cases/{}-{}", &name[..name.len().min(160)], hash(id))
}

/// Where an attempt at a case is kept, below the folder of a run: in that of the case, and where there are several, in one of its own.
///
/// ```
/// use sortie_evaluators::cases::attempt_folder;
///
/// assert_eq!(attempt_folder("SRT-001", None), "cases/SRT-001");
/// assert_eq!(attempt_folder("SRT-001", Some(3)), "cases/SRT-001/attempt-3");
/// ```
pub fn attempt_folder(id: &str, attempt: Option<u32>) -> String {
    let folder = case_folder(id);
    attempt.map_or(folder.clone(), |attempt| format!("{folder}/attempt-{attempt}"))
}

/// A made-up string for a case. It stands nowhere else, and is the same in every run.
pub fn canary(id: &str) -> String {
    format!("canary-{}", hash(id))
}

/// Ten hexadecimal digits.
pub fn hash(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    let number = digest.as_ref()[..5].iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte));
    format!("{number:010x}")
}

/// Ids that were given.
#[derive(Debug, Default)]
pub(super) struct Ids(HashSet<String>);

impl Ids {
    /// The id, or the next that nobody has: a server may list two tools of one name.
    pub(super) fn unique(&mut self, id: &str) -> String {
        let mut unique = id.to_owned();
        let mut number = 2;
        while !self.0.insert(unique.clone()) {
            unique = format!("{id}-{number}");
            number += 1;
        }
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_patterns_are_words() {
        assert_eq!(slug("Parent folders"), "parent-folders");
        assert_eq!(slug("  What's *this*?! "), "what-s-this");
        assert!(slug("日本").starts_with("pattern-") && slug("日本") != slug("中国"));
        assert!(slug(&"long ".repeat(100)).len() <= MAX_PART);
    }

    #[test]
    fn names_of_tools_cannot_leave_their_part() {
        assert_eq!(part("read_file"), "read_file");
        assert_eq!(part("../etc/passwd"), "%2E.%2Fetc%2Fpasswd");
        assert_eq!(part("."), "%2E");
        assert_eq!(part("a b\nc"), "a%20b%0Ac");
        assert_eq!(part(""), "%");
        assert!(part(&"x".repeat(1000)).len() <= MAX_PART);
        assert_ne!(part(&format!("{}a", "x".repeat(1000))), part(&format!("{}b", "x".repeat(1000))));
    }

    #[test]
    fn a_canary_is_stable_and_a_files_name_is_short() {
        assert_eq!(canary("path-escape/parent-folders"), canary("path-escape/parent-folders"));
        assert_eq!(canary("a").len(), "canary-".len() + 10);
        assert_ne!(canary("a"), canary("b"));
    }

    #[test]
    fn two_of_one_name_are_told_apart() {
        let mut ids = Ids::default();
        assert_eq!(["a", "a", "a"].map(|id| ids.unique(id)), ["a", "a-2", "a-3"]);
        assert_eq!(case_folder("a/b/c"), "cases/a+b+c");
        for id in ["../../etc", "a b", "\u{e4}", "", &"x/".repeat(500)] {
            let name = case_folder(id).replacen("cases/", "", 1);
            assert!(
                !name.contains('/') && !name.starts_with('.') && !name.is_empty() && name.len() < 200,
                "{name}"
            );
        }
        assert_ne!(case_folder("a b"), case_folder("ab"));
    }
}
