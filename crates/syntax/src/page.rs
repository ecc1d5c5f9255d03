//! The page of a rule.
//!
//! A page is Markdown: prose, then one `## Wrong` and one `## Right` section, each with one or more fenced
//! `yaml` blocks. Every block is a whole document and is tested: a wrong one must give the rule's code, a
//! right one must not, and must have no errors at all. `text` blocks hold what is not YAML on purpose and
//! count too.

/// A document on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Whether it breaks the rule.
    pub wrong: bool,
    /// The document.
    pub text: String,
}

/// The explanation of a rule, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Everything, as Markdown.
    pub markdown: String,
    /// The documents on it, in order.
    pub examples: Vec<Example>,
}

impl Page {
    pub(crate) fn parse(markdown: &str) -> Self {
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
