//! Tells documents and evaluators from other files, cheaply, and also when they are broken.

use std::path::Path;

/// How much of a file is looked at.
pub(crate) const LOOK_AT: usize = 64 * 1024;

/// How many keys are looked at: neither a document nor an evaluator has as many.
const MAX_KEYS: usize = 256;

/// How much a name says about what is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// `.yaml`, `.yml` or `.json`: it may be a broken document.
    LikeADocument,
    /// Anything else. A page about documents has `oatf:` at the start of a line too, so only the first
    /// line counts.
    LikeAnything,
}

/// What a file looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLooks {
    /// A document: `oatf` or `attack` is a key at the top level.
    Document,
    /// An evaluator, the fixtures of one, or a suite.
    Evaluator,
    /// A pattern of an evaluator, if it lies in the folder of one: other files have a `name` and a `template` too.
    Pattern,
    /// Something else.
    Other,
}

/// What only evaluators and fixtures have at their top level.
const OF_EVALUATORS: &[&str] = &[
    "pass_criteria",
    "fail_criteria",
    "judge_needs_llm",
    "judge_hint",
    "applies_to_all_tools",
    "turn_mode",
    "pass_case",
    "fail_case",
];

/// What a file looks like, by its name and the start of its content. Evaluators are YAML by name too.
///
/// ```
/// use std::path::Path;
/// use sortie_library::{FileLooks, recognize};
///
/// assert_eq!(recognize(Path::new("a.yaml"), b"oatf: '0.1'\nattack: ["), FileLooks::Document);
/// assert_eq!(recognize(Path::new("ci.yaml"), b"jobs: {}"), FileLooks::Other);
/// ```
pub fn recognize(path: &Path, content: &[u8]) -> FileLooks {
    let start = &content[..content.len().min(LOOK_AT)];
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is = |known: &str| extension.eq_ignore_ascii_case(known);
    let named =
        if is("yaml") || is("yml") || is("json") { Named::LikeADocument } else { Named::LikeAnything };
    match looks(start, named) {
        FileLooks::Evaluator | FileLooks::Pattern if is("json") => FileLooks::Other,
        looks => looks,
    }
}

/// What the start of a file looks like, by the keys at its top level.
///
/// Lines are looked at, not YAML, so that a file with a syntax error is still found.
fn looks(start: &[u8], named: Named) -> FileLooks {
    let text = String::from_utf8_lossy(start);
    let keys = keys(text.trim_start_matches('\u{feff}'), named);
    let has = |key: &str| keys.iter().any(|own| own == key);
    if has("oatf") || has("attack") {
        return FileLooks::Document;
    }
    if named == Named::LikeAnything {
        return FileLooks::Other;
    }
    let is_evaluator = has("patterns") && (has("severity") || has("standards"));
    // A pipeline may include something too, and has no id.
    let is_suite = has("id") && has("include");
    if OF_EVALUATORS.iter().any(|key| has(key)) || is_evaluator || is_suite {
        return FileLooks::Evaluator;
    }
    if has("name") && has("template") { FileLooks::Pattern } else { FileLooks::Other }
}

/// The keys at the top level.
fn keys(text: &str, named: Named) -> Vec<String> {
    let mut lines = text.lines().filter(|line| has_content(line)).peekable();
    let Some(first) = lines.peek() else { return Vec::new() };
    if first.trim_start().starts_with('{') {
        return flow_keys(&text[text.find('{').unwrap_or_default()..]);
    }
    let level = indentation(first);
    let looked_at = if named == Named::LikeADocument { usize::MAX } else { 1 };
    let at_top = lines.take(looked_at).filter(|line| indentation(line) <= level);
    at_top.filter_map(|line| key(line.trim_start())).take(MAX_KEYS).map(str::to_owned).collect()
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
fn key(line: &str) -> Option<&str> {
    let line = line.strip_prefix("--- ").unwrap_or(line);
    let (key, value) = line.split_once(':')?;
    let key = key.trim_end();
    let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key);
    let key = key.strip_prefix('\'').and_then(|key| key.strip_suffix('\'')).unwrap_or(key);
    (value.is_empty() || value.starts_with([' ', '\t'])).then_some(key)
}

/// The same in `{…}`, which JSON is: the keys directly inside the outer braces.
fn flow_keys(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
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
                '{' | '[' | '}' | ']' | ',' | ':' => {
                    if letter == ':' && depth == 1 && keys.len() < MAX_KEYS {
                        keys.push(word.trim().to_owned());
                    }
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
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_document(text: &str) -> bool {
        looks(text.as_bytes(), Named::LikeADocument) == FileLooks::Document
    }

    #[test]
    fn documents_are_recognised_also_when_they_are_broken_and_other_files_are_not() {
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
            // Broken.
            "\tbad\noatf: 0.1\nattack: [",
            "oatf: \"0.1\nattack: {{",
            "@x\nattack:\n  a: b: c\n",
            "oatf: \u{fffd}\u{1b}[31m",
            "{\"oatf\": ",
        ] {
            assert!(is_document(text), "{text}");
        }
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
        assert_eq!(looks(page.as_bytes(), Named::LikeAnything), FileLooks::Other);
        assert_eq!(looks(b"# mine\noatf: '0.1'\n", Named::LikeAnything), FileLooks::Document);
    }

    #[test]
    fn evaluators_and_what_belongs_to_them_are_recognised() {
        for (text, expected) in [
            ("id: a\nname: A\npass_criteria: x\n", FileLooks::Evaluator),
            ("id: a\nseverity: high\npatterns:\n  - {name: a, template: b}\n", FileLooks::Evaluator),
            ("{id: a, standards: {owasp-mcp: MCP01}, patterns: [", FileLooks::Evaluator),
            ("kind: response\npass_case: No.\n", FileLooks::Evaluator),
            ("id: smoke\nname: Smoke\ninclude:\n  - tag: x\n", FileLooks::Evaluator),
            ("name: A\ntemplate: Do it.\n", FileLooks::Pattern),
            // A pipeline, a deployment, a page of settings.
            ("include:\n  - local: a.yml\nstages: [x]\n", FileLooks::Other),
            ("kind: Deployment\nmetadata: {name: x}\nspec: {template: {}}\n", FileLooks::Other),
            ("name: x\npatterns: ['*.rs']\n", FileLooks::Other),
        ] {
            assert_eq!(looks(text.as_bytes(), Named::LikeADocument), expected, "{text}");
        }
        assert_eq!(looks(b"pass_criteria: x\n", Named::LikeAnything), FileLooks::Other);
    }
}
