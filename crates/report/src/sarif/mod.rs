//! `--format sarif`: a report as SARIF 2.1.0, for code scanning.
//!
//! A document or an evaluator is a rule, a case is a result. Every location exists: a line of the user's document or evaluator; where the
//! case comes with Sortie, a line of the file that asks for it; and where nobody names one, a line of a list of cases that is written
//! beside the log ([`SarifLog::case_list`]).
//!
//! ```
//! use std::path::Path;
//! use sortie_report::Report;
//! use sortie_report::sarif::{SarifLog, SarifOptions};
//!
//! let options = SarifOptions::new(Path::new("."), Path::new("sortie-cases.md"));
//! let report = Report::default();
//! let log = SarifLog::new(&report, &options);
//! assert!(log.case_list().is_none(), "nothing points there");
//! let mut text = Vec::new();
//! log.write(&mut text)?;
//! assert!(String::from_utf8_lossy(&text).contains("\"results\": []"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod fingerprint;
mod flow;
mod invocation;
mod places;
mod results;
mod rules;

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::origin::RunOrigin;
use crate::rules::RuleInfo;
use crate::{Report, write_json};
use places::{BASE, LIST_TITLE, Places};
use rules::Rules;

/// The name of the list of cases, where nobody chooses another.
pub const CASE_LIST: &str = "sortie-cases.md";

/// What a log needs to know besides the report.
#[derive(Clone, Copy, Debug)]
pub struct SarifOptions<'o> {
    /// The folder that the paths of the log are relative to: the root of the checkout.
    pub root: &'o Path,
    /// The folder that relative paths of the report and of these options are relative to.
    pub folder: &'o Path,
    /// A line of a file of the user's that asks for what comes with Sortie.
    pub anchor: Option<(&'o Path, usize)>,
    /// Where the list of cases is written that stand in no file of the user's.
    pub case_list: &'o Path,
    /// What is known about documents and evaluators. Those that are not here have what the report says.
    pub rules: &'o [RuleInfo],
    /// Which cases are results.
    pub cases: SarifCases,
    /// The exit code of the run.
    pub exit_code: u8,
    /// The folder of the run, in which traces are looked for that are not where the report says.
    pub run: Option<&'o Path>,
}

impl<'o> SarifOptions<'o> {
    /// A log of all cases, with paths relative to a folder.
    pub fn new(root: &'o Path, case_list: &'o Path) -> Self {
        Self {
            root,
            folder: root,
            anchor: None,
            case_list,
            rules: &[],
            cases: SarifCases::All,
            exit_code: 0,
            run: None,
        }
    }
}

/// Which cases of a report are results of its log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SarifCases {
    /// Each of them, with its kind.
    #[default]
    All,
    /// Those that were exploited and that no baseline accepts. GitHub shows every result as an alert, whatever its kind.
    Findings,
}

/// What is known about documents and evaluators, by their ids.
type KnownRules<'o> = HashMap<&'o str, &'o RuleInfo>;

/// A report as SARIF, and the list of cases that it points at.
#[derive(Debug)]
pub struct SarifLog {
    log: Value,
    case_list: Option<String>,
}

impl SarifLog {
    /// The log of a report.
    pub fn new(report: &Report, options: &SarifOptions<'_>) -> Self {
        let known: KnownRules<'_> = options.rules.iter().map(|rule| (rule.id.as_str(), rule)).collect();
        let (rules, places) = (Rules::new(report, &known), Places::new(report, options, &known));
        let (results, left_out) = results::results(report, &rules, &places, options);
        let mut run = json!({
            "tool": {
                "driver": {
                    "name": "Sortie",
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": rules.descriptors(),
                    "notifications": invocation::descriptors(),
                    "supportedTaxonomies": rules.supported(),
                }
            },
            "automationDetails": { "id": automation_id(report.run.as_ref()) },
            "originalUriBaseIds": {
                BASE: { "description": { "text": "The root of the checkout." } }
            },
            "columnKind": "unicodeCodePoints",
            "invocations": [invocation::invocation(report, &rules, left_out, options)],
            "results": results,
        });
        let taxonomies = rules.taxonomy_components();
        if !taxonomies.is_empty() {
            run["taxonomies"] = taxonomies.into();
        }
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [run],
        });
        Self { log, case_list: places.list() }
    }

    /// Writes the log.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(out, &self.log)
    }

    /// What [`SarifOptions::case_list`] has to hold, where a result points there.
    pub fn case_list(&self) -> Option<&str> {
        self.case_list.as_deref()
    }
}

/// Writes a report as SARIF. The list of cases is left to the caller: see [`SarifLog`].
pub fn write_sarif(out: &mut dyn Write, report: &Report, options: &SarifOptions<'_>) -> io::Result<()> {
    SarifLog::new(report, options).write(out)
}

/// Whether a text is a list of cases that was written with a log, and may be written again.
pub fn is_case_list(text: &str) -> bool {
    text.starts_with(LIST_TITLE)
}

/// How many lines a file has; `None` where it is not a file that can be read.
pub fn count_lines(path: &Path) -> Option<usize> {
    places::count_lines(path)
}

/// The root of the checkout that a folder is in, or the folder where it is in none.
pub fn checkout_root(folder: &Path) -> PathBuf {
    let root = folder.ancestors().find(|above| above.join(".git").exists());
    root.unwrap_or(folder).to_owned()
}

/// What tells this analysis from others of the same checkout: what was attacked, and then which run it was.
fn automation_id(run: Option<&RunOrigin>) -> String {
    let Some(run) = run else { return "sortie/recording/".to_owned() };
    let command = run.agent.as_ref().map(|agent| agent.command.as_str());
    let attacked = command.or_else(|| run.targets.first().map(String::as_str)).unwrap_or("agent");
    // Ports and folders change from run to run; the program or the kind of target does not.
    let first =
        attacked.split(|letter: char| letter.is_whitespace() || letter == '=').next().unwrap_or_default();
    let word = first.rsplit(['/', '\\', ':']).next().unwrap_or_default();
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let word: String = word.chars().filter(is_plain).take(60).collect();
    let started: String =
        run.started.chars().filter(|letter| is_plain(letter) || *letter == ':').take(40).collect();
    format!("sortie/{}/{started}", if word.is_empty() { "agent" } else { &word })
}

/// Text of a message: what would be a link is none.
fn plain(text: &str) -> String {
    text.replace("](", "] (")
}
