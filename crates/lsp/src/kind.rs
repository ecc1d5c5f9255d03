//! Which language a file is written in.

use std::path::Path;

use sortie_library::{FileLooks, recognize};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DocumentKind {
    /// An OATF document.
    Attack,
    Evaluator,
    /// A pattern of an evaluator, in a file of its own.
    Pattern,
    Fixtures,
    Suite,
    /// `sortie.toml`.
    Settings,
    /// Nothing of ours: no feature says anything about it.
    Other,
}

impl DocumentKind {
    /// Recognises a file as `sortie check` does: by its keys, and of evaluators by its place.
    pub(crate) fn of(path: &Path, text: &str) -> Self {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name == "sortie.toml" {
            return Self::Settings;
        }
        let is_below =
            |folder: &str| path.parent().is_some_and(|above| above.iter().any(|part| part == folder));
        match recognize(path, text.as_bytes()) {
            FileLooks::Document => Self::Attack,
            FileLooks::Evaluator if name.ends_with(".test.yaml") => Self::Fixtures,
            FileLooks::Evaluator if is_below("suites") => Self::Suite,
            FileLooks::Evaluator if is_suite(text) => Self::Suite,
            FileLooks::Evaluator => Self::Evaluator,
            FileLooks::Pattern if path.parent().is_some_and(|folder| folder.ends_with("patterns")) => {
                Self::Pattern
            }
            FileLooks::Pattern | FileLooks::Other => Self::Other,
        }
    }

    /// Whether the file is checked with the folder of evaluators it lies in.
    pub(crate) fn is_of_evaluators(self) -> bool {
        matches!(self, Self::Evaluator | Self::Pattern | Self::Fixtures | Self::Suite)
    }
}

/// A suite that lies outside a folder of suites: only suites include something.
fn is_suite(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("include:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_their_keys_and_places() {
        for (path, text, expected) in [
            ("/w/sortie.toml", "", DocumentKind::Settings),
            ("/w/a.yaml", "oatf: '0.1'\nattack: [", DocumentKind::Attack),
            ("/w/agent/a.yaml", "id: a\npass_criteria: x\n", DocumentKind::Evaluator),
            ("/w/agent/a.test.yaml", "kind: response\npass_case: x\n", DocumentKind::Fixtures),
            ("/w/suites/a.yaml", "id: a\ninclude: [{tag: x}]\n", DocumentKind::Suite),
            ("/w/a.yaml", "id: a\ninclude:\n- {tag: x}\n", DocumentKind::Suite),
            ("/w/a/patterns/b.yaml", "name: a\ntemplate: b\n", DocumentKind::Pattern),
            ("/w/a.yaml", "name: a\ntemplate: b\n", DocumentKind::Other),
            ("/w/ci.yaml", "jobs: {}\n", DocumentKind::Other),
        ] {
            assert_eq!(DocumentKind::of(Path::new(path), text), expected, "{path}: {text}");
        }
    }
}
