//! The commands on a Markdown page.

/// Fences that may stand in the docs beside `console`: what is not a command, and is not run. Python is run by the tests of the
/// module, in `python/tests/test_page.py`.
const OTHER_FENCES: &[&str] = &["yaml", "json", "toml", "text", "rust", "mermaid", "python", "pycon"];

/// A command, and what the page says it does.
#[derive(Debug, PartialEq)]
pub(crate) struct Command {
    /// Its line on the page, from one.
    pub(crate) line: usize,
    pub(crate) text: String,
    /// The exit code.
    pub(crate) code: i32,
    /// What it prints; `None` when the page shows nothing.
    pub(crate) output: Option<String>,
}

/// A page, cut so that its commands can be written again.
pub(crate) struct Page {
    pub(crate) commands: Vec<Command>,
    /// What keeps commands from being run, by line.
    pub(crate) complaints: Vec<(usize, String)>,
    /// The text before each command's output, then the text after the last.
    between: Vec<String>,
}

impl Page {
    pub(crate) fn parse(text: &str) -> Self {
        let mut page = Self { commands: Vec::new(), complaints: Vec::new(), between: vec![String::new()] };
        let mut fence: Option<&str> = None;
        for (at, line) in text.lines().enumerate() {
            match (fence, line.strip_prefix("```")) {
                (None, Some(language)) => {
                    if language != "console" && !OTHER_FENCES.contains(&language) {
                        let advice = "commands are `console`, so that they are run; other blocks are one of";
                        page.complaints
                            .push((at + 1, format!("a `{language}` block: {advice} {OTHER_FENCES:?}")));
                    }
                    fence = Some(language);
                    page.keep(line);
                }
                (Some(_), Some("")) => {
                    fence = None;
                    page.keep(line);
                }
                (Some("console"), _) => page.console(at + 1, line),
                (Some(_), _) if line.starts_with("$ ") => {
                    page.complaints.push((at + 1, "a command outside a `console` block is not run".into()));
                    page.keep(line);
                }
                _ => page.keep(line),
            }
        }
        page
    }

    /// The page with the outputs its commands have now.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        for (at, between) in self.between.iter().enumerate() {
            text.push_str(between);
            if let Some(output) = self.commands.get(at).and_then(|command| command.output.as_ref()) {
                text.push_str(output);
            }
        }
        text
    }

    fn keep(&mut self, line: &str) {
        // There is always a last one: `parse` starts with one.
        let last = self.between.len() - 1;
        self.between[last].push_str(line);
        self.between[last].push('\n');
    }

    fn console(&mut self, at: usize, line: &str) {
        if let Some(text) = line.strip_prefix("$ ") {
            self.keep(line);
            self.between.push(String::new());
            self.commands.push(Command { line: at, text: text.to_owned(), code: 0, output: None });
            return;
        }
        let Some(command) = self.commands.last_mut() else {
            self.complaints.push((at, "output before any `$ command`".into()));
            return self.keep(line);
        };
        if command.output.is_none()
            && let Some(code) = line.strip_prefix("? ")
        {
            match code.parse() {
                Ok(code) => command.code = code,
                Err(_) => self.complaints.push((at, format!("`{line}` gives no exit code"))),
            }
            // The code stands between the command and its output, and what follows the output comes after it.
            let before = self.between.len() - 2;
            self.between[before].push_str(line);
            self.between[before].push('\n');
        } else {
            let output = command.output.get_or_insert_default();
            output.push_str(line);
            output.push('\n');
        }
    }
}

#[test]
fn commands_are_found_and_the_page_is_kept() {
    let text = "# A\n```console\n$ one\nfirst\n\n$ two\n? 2\nsecond\n```\nrest\n```yaml\na: 1\n```\n```console\n$ three\n```\n";
    let page = Page::parse(text);
    let found: Vec<_> = page
        .commands
        .iter()
        .map(|command| (command.line, command.text.as_str(), command.code, command.output.as_deref()))
        .collect();
    let expected =
        [(3, "one", 0, Some("first\n\n")), (6, "two", 2, Some("second\n")), (15, "three", 0, None)];
    assert_eq!(found, expected);
    assert_eq!(page.render(), text);
    assert!(page.complaints.is_empty(), "{:?}", page.complaints);
}

#[test]
fn commands_that_would_not_be_run_are_complained_about() {
    let page = Page::parse(
        "```sh\nsortie check\n```\n```text\n$ sortie check\n```\n```console\nsortie check\n```\n",
    );
    let lines: Vec<_> = page.complaints.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 5, 8]);
}
