//! Tells documents from other files, cheaply, and also when they are broken.

/// How much of a file is looked at.
pub(crate) const LOOK_AT: usize = 64 * 1024;

const KEYS: &[&str] = &["oatf", "attack"];

/// How much a name says about what is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// `.yaml`, `.yml` or `.json`: it may be a broken document.
    LikeADocument,
    /// Anything else. A page about documents has `oatf:` at the start of a line too, so only the first
    /// line counts.
    LikeAnything,
}

/// Whether the start of a file looks like a document: `oatf` or `attack` is a key at the top level.
///
/// Lines are looked at, not YAML, so that a document with a syntax error is still found.
pub(crate) fn looks_like_document(start: &[u8], named: Named) -> bool {
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().filter(|line| has_content(line)).peekable();
    let Some(first) = lines.peek() else { return false };
    if first.trim_start().starts_with('{') {
        let body = &text[text.find('{').unwrap_or_default()..];
        return has_flow_key(body);
    }
    let level = indentation(first);
    let looked_at = if named == Named::LikeADocument { usize::MAX } else { 1 };
    lines.take(looked_at).any(|line| indentation(line) <= level && is_entry(line.trim_start()))
}

/// Neither blank, nor a comment, nor a marker or directive of YAML.
fn has_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with(['#', '%']) && line != "---"
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// `oatf: …`, `"attack":`, `--- oatf: …`.
fn is_entry(line: &str) -> bool {
    let line = line.strip_prefix("--- ").unwrap_or(line);
    let Some((key, value)) = line.split_once(':') else { return false };
    let key = key.trim_end();
    let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key);
    let key = key.strip_prefix('\'').and_then(|key| key.strip_suffix('\'')).unwrap_or(key);
    KEYS.contains(&key) && (value.is_empty() || value.starts_with([' ', '\t']))
}

/// The same in `{…}`, which JSON is: a key directly inside the outer braces.
fn has_flow_key(text: &str) -> bool {
    let mut depth = 0usize;
    let mut word = String::new();
    let mut quote = None;
    let mut escaped = false;
    for letter in text.chars() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some('"') if letter == '\\' => escaped = true,
            Some(open) if letter == open => quote = None,
            Some(_) => word.push(letter),
            None => match letter {
                '"' | '\'' => quote = Some(letter),
                ':' if depth == 1 && KEYS.contains(&word.trim()) => return true,
                '{' | '[' | '}' | ']' | ',' | ':' => {
                    word.clear();
                    match letter {
                        '{' | '[' => depth += 1,
                        '}' | ']' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                }
                _ => word.push(letter),
            },
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_document(text: &str) -> bool {
        looks_like_document(text.as_bytes(), Named::LikeADocument)
    }

    #[test]
    fn documents_are_recognised() {
        for text in [
            "oatf: \"0.1\"\nattack: {}\n",
            "# a comment\n---\nattack:\n  name: x\n",
            "\u{feff}oatf: 0.1",
            "\"oatf\" : 0.1",
            "  'oatf': 0.1\n  attack: {}",
            "--- oatf: 0.1",
            "%YAML 1.2\n---\noatf: 0.1",
            "{\"oatf\": \"0.1\"}",
            "{x: {attack: 1}, attack: {}}",
            "{\n  \"a\": \"}\\\"{\",\n  \"attack\": {}\n}",
            "name: first\noatf:\n",
        ] {
            assert!(is_document(text), "{text}");
        }
    }

    #[test]
    fn broken_documents_are_recognised() {
        for text in [
            "\tbad\noatf: 0.1\nattack: [",
            "oatf: \"0.1\nattack: {{",
            "@x\nattack:\n  a: b: c\n",
            "oatf: \u{fffd}\u{1b}[31m",
            "{\"oatf\": ",
        ] {
            assert!(is_document(text), "{text}");
        }
    }

    #[test]
    fn other_files_are_not() {
        for text in [
            "",
            "# oatf: 0.1\n",
            "name: x\nsteps:\n  attack: 1\n",
            "attacks:\n  - 1\n",
            "oatf:0.1",
            "{\"x\": {\"attack\": 1}, \"y\": \"attack\"}",
            "[{oatf: 1}]",
            "just prose about an attack: it is bad",
        ] {
            assert!(!is_document(text), "{text}");
        }
    }

    #[test]
    fn a_page_about_documents_is_not_one() {
        let page = "# Title\n\nNote: this is how one looks.\n```yaml\noatf: \"0.1\"\nattack:\n```\n";
        assert!(!looks_like_document(page.as_bytes(), Named::LikeAnything));
        assert!(looks_like_document(b"# mine\noatf: '0.1'\n", Named::LikeAnything));
    }
}
