//! The report as one HTML page that opens from disk.
//!
//! | file | holds |
//! |---|---|
//! | `page.html`, `style.css`, `script.js` | the page, embedded as they are |
//! | `view.rs`, `summary.rs`, `plots.rs` | what the template is given: the headline, a row for each case, plots |
//! | `matrix.rs`, `coverage.rs` | cases by runs, and cases by entries of frameworks |
//! | `details.rs` | what is known about a case, in blocks that the script shows |
//! | `story.rs`, `pack.rs` | a trace message by message, cut and compressed |
//!
//! Everything in a report may be hostile. Text reaches the page in two ways: through the template, which escapes it, or as
//! compressed JSON, which the script shows with `textContent`. The policy of the page allows its own script and style by their
//! hashes and nothing else, and no text becomes markup, an attribute that is run, or an `id`.

mod coverage;
mod details;
mod matrix;
mod pack;
mod plots;
mod story;
mod summary;
mod view;

use std::collections::BTreeMap;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value};
use ring::digest::{SHA256, digest};

use crate::Report;
use crate::compare::ComparedRun;
use crate::rules::RuleInfo;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// What a page needs besides the report.
#[derive(Clone, Copy)]
pub struct HtmlOptions<'o> {
    /// Reads the trace that an outcome names; `None` where it is not there or must not be read.
    pub traces: &'o dyn Fn(&str) -> Option<Vec<u8>>,
    /// The words of the command line that made the run, without the program; empty where nobody knows them.
    pub command: &'o [String],
    /// What is known about documents and evaluators: what they are mapped to. Without it the page has no coverage by entries.
    pub rules: &'o [RuleInfo],
    /// Runs of the same cases to stand beside this one in a matrix: other agents, targets or versions.
    pub beside: &'o [ComparedRun<'o>],
    /// What tells cases of the same name apart, by their ids, for this run; `None` where nobody knows.
    pub digests: Option<&'o BTreeMap<String, String>>,
    /// Whether skipped cases are accepted, as long as others were decided.
    pub allow_skipped: bool,
    /// The most bytes of the page that details of cases take, compressed. What does not fit is left out with a note.
    pub max_details: usize,
    /// The same for traces.
    pub max_traces: usize,
}

impl std::fmt::Debug for HtmlOptions<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("HtmlOptions")
            .field("command", &self.command)
            .field("rules", &self.rules.len())
            .field("beside", &self.beside.len())
            .field("allow_skipped", &self.allow_skipped)
            .field("max_details", &self.max_details)
            .field("max_traces", &self.max_traces)
            .finish_non_exhaustive()
    }
}

impl<'o> HtmlOptions<'o> {
    /// The default bounds.
    pub fn new(traces: &'o dyn Fn(&str) -> Option<Vec<u8>>) -> Self {
        Self {
            traces,
            command: &[],
            rules: &[],
            beside: &[],
            digests: None,
            allow_skipped: false,
            max_details: 1_200_000,
            max_traces: 8_000_000,
        }
    }
}

/// Writes a report as an HTML page.
///
/// ```
/// use sortie_report::{HtmlOptions, Report, write_html};
///
/// let mut page = Vec::new();
/// write_html(&mut page, &Report::new([]), &HtmlOptions::new(&|_| None)).unwrap();
/// assert!(page.starts_with(b"<!DOCTYPE html>"));
/// ```
pub fn write_html(out: &mut dyn Write, report: &Report, options: &HtmlOptions<'_>) -> io::Result<()> {
    let mut environment = Environment::empty();
    // A name that the view does not have is a mistake of ours, and not an empty text.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // The name ends with `.html`, which turns escaping on.
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::Html);
    environment.add_template("page.html", PAGE).map_err(io::Error::other)?;
    let (view, packs) = view::PageView::of(report, options)?;
    // Base64 has nothing that would have to be escaped, and must not be: a script element knows no entities.
    let safe = |packs: Vec<String>| packs.into_iter().map(Value::from_safe_string).collect::<Vec<_>>();
    let context = minijinja::context! {
        policy => policy(),
        style => Value::from_safe_string(STYLE.to_owned()),
        script => Value::from_safe_string(SCRIPT.to_owned()),
        chunks => safe(packs.chunks),
        stories => safe(packs.stories),
        page => Value::from(Serde(view)),
    };
    let template = environment.get_template("page.html").map_err(io::Error::other)?;
    let text = template.render(context).map_err(io::Error::other)?;
    out.write_all(text.as_bytes())
}

/// The content security policy. Trusted types turn every way from text to markup into an error of the script.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(digest(&SHA256, text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_files_end_nothing_and_start_nothing() {
        for text in [STYLE, SCRIPT] {
            let text = text.to_ascii_lowercase();
            for wrong in ["</script", "</style", "<!--", "http:", "https:", "@import", "url("] {
                assert!(!text.contains(wrong), "{wrong}");
            }
        }
        // A browser reads carriage returns as line feeds, which would change the hash.
        assert!(!STYLE.contains('\r') && !SCRIPT.contains('\r'));
    }

    #[test]
    fn the_template_has_neither_handlers_nor_styles_of_elements() {
        for wrong in [" style=", " onclick", " onload", "javascript:", "|safe", "src=", "autoescape"] {
            assert!(!PAGE.contains(wrong), "{wrong}");
        }
        for wrong in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("]
        {
            assert!(!SCRIPT.contains(wrong), "{wrong}");
        }
    }
}
