//! A code that can stand in a diagnostic, and the page that explains it.
//!
//! A page is Markdown: prose, then one `## Wrong` and one `## Right` section, each with one or more fenced
//! `yaml` blocks. Every block is a whole text of the language and is tested by it: a wrong one must give the rule's code,
//! a right one must not, and must have no errors at all. `text` blocks hold what is not YAML on purpose and
//! count too.

use std::fmt;

use crate::diagnostic::DiagnosticSeverity;

/// One code: its words, its page, and what checks it (`C`; nothing where the parser finds it, or where only the words
/// are wanted).
#[derive(Clone, Copy)]
pub struct Rule<C = ()> {
    /// The code, stable for ever. Its first letter is the family of the rule.
    pub code: &'static str,
    /// Where a specification says so; empty for rules of ours.
    pub spec: &'static str,
    /// What must hold, in a few words.
    pub title: &'static str,
    /// How bad a violation is.
    pub severity: DiagnosticSeverity,
    /// What, why, a wrong and a right example, as Markdown (see [`Page`]).
    pub explain: &'static str,
    /// Finds every violation.
    pub check: C,
}

impl<C> Rule<C> {
    /// A rule whose violation refuses the text. [`Rule::titled`] and [`Rule::check`] complete it.
    pub const fn error(code: &'static str, spec: &'static str, explain: &'static str) -> Rule {
        Rule { code, spec, title: "", severity: DiagnosticSeverity::Error, explain, check: () }
    }

    /// A rule whose violation is worth a word. [`Rule::titled`] and [`Rule::check`] complete it.
    pub const fn warning(code: &'static str, spec: &'static str, explain: &'static str) -> Rule {
        Rule { code, spec, title: "", severity: DiagnosticSeverity::Warning, explain, check: () }
    }

    /// The rule without its check.
    pub const fn words(&self) -> Rule {
        let Self { code, spec, title, severity, explain, .. } = *self;
        Rule { code, spec, title, severity, explain, check: () }
    }

    /// The letter that the codes of its family begin with.
    pub fn family(&self) -> char {
        self.code.chars().next().unwrap_or_default()
    }

    /// The explanation, taken apart.
    pub fn page(&self) -> Page {
        Page::parse(self.explain)
    }
}

impl Rule {
    /// Says what must hold.
    #[must_use]
    pub const fn titled(self, title: &'static str) -> Self {
        Self { title, ..self }
    }

    /// Says what finds the violations.
    pub const fn check<C>(self, check: C) -> Rule<C> {
        let Self { code, spec, title, severity, explain, check: () } = self;
        Rule { code, spec, title, severity, explain, check }
    }
}

impl<C> fmt::Debug for Rule<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("code", &self.code).field("title", &self.title).finish_non_exhaustive()
    }
}

/// A text on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Whether it breaks the rule.
    pub wrong: bool,
    /// The text.
    pub text: String,
}

/// The explanation of a rule, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Everything, as Markdown.
    pub markdown: String,
    /// The texts on it, in order.
    pub examples: Vec<Example>,
}

impl Page {
    /// Takes a page apart.
    pub fn parse(markdown: &str) -> Self {
        let mut page = Self { markdown: markdown.to_owned(), examples: Vec::new() };
        let mut wrong = None;
        let mut block: Option<String> = None;
        for line in markdown.lines() {
            match &mut block {
                Some(text) if line == "```" => {
                    if let Some(wrong) = wrong {
                        page.examples.push(Example { wrong, text: std::mem::take(text) });
                    }
                    block = None;
                }
                Some(text) => {
                    text.push_str(line);
                    text.push('\n');
                }
                None => match line {
                    "## Wrong" => wrong = Some(true),
                    "## Right" => wrong = Some(false),
                    "```yaml" | "```text" => block = Some(String::new()),
                    line if line.starts_with("## ") => wrong = None,
                    _ => {}
                },
            }
        }
        page
    }
}
