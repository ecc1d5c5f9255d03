//! `sortie evaluators list`

use std::io::Write as _;

use clap::Args;
use serde_json::{Value, json};
use sortie_evaluators::{CatalogueEntry, Severity, TargetClass};
use sortie_library::EvaluatorSet;
use sortie_report::{counted, style, visible, write_json};
use sortie_syntax::suggestion;

use crate::{Console, Exit, Failure, Format, Sources};

const EXAMPLES: &str = "\
Examples:
  Critical evaluators for MCP servers:
    $ sortie evaluators list --surface mcp --severity critical

  The evaluators of a suite, as JSON:
    $ sortie evaluators list --suite owasp-llm --format json";

/// List evaluators.
///
/// All filters must match. Unknown names are errors. A filter that matches nothing prints an empty list and a note.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct List {
    /// Only evaluators of this suite
    #[arg(long, value_name = "SUITE")]
    suite: Option<String>,

    /// Only evaluators of this catalogue: `agent` or `mcp`
    #[arg(long, value_name = "SURFACE")]
    surface: Option<String>,

    /// Only evaluators of this severity. Repeatable: any may match
    #[arg(long, value_name = "SEVERITY")]
    severity: Vec<String>,

    /// Only evaluators with this tag or category. Repeatable: all must match
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,

    #[command(flatten)]
    sources: Sources,

    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl List {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let used = self.sources.load(console)?;
        let all = used.loaded.catalogue.entries();
        let takes = self.filter(&used)?;
        let chosen: Vec<&CatalogueEntry> = all.iter().filter(|entry| takes(entry)).collect();
        if self.format == Format::Json {
            let evaluators: Vec<_> = chosen.iter().map(|entry| described(entry, &used)).collect();
            write_json(&mut console.out, &json!({"version": 1, "evaluators": evaluators}))?;
            return Ok(Exit::Clean);
        }
        let width = chosen.iter().map(|entry| entry.evaluator.id.len()).max().unwrap_or(0);
        for entry in &chosen {
            let evaluator = &entry.evaluator;
            let id = style::paint(console.color, style::STRONG, &format!("{:width$}", evaluator.id));
            let (class, severity) = (entry.class.as_str(), evaluator.severity.as_str());
            writeln!(console.out, "{id}  {class:5}  {severity:8}  {}", visible(&evaluator.name))?;
        }
        if !chosen.is_empty() {
            writeln!(console.out)?;
        }
        let of = if chosen.len() == all.len() { String::new() } else { format!(" of {}", all.len()) };
        writeln!(console.out, "{}{of}", counted(chosen.len(), "evaluator", "evaluators"))?;
        Ok(Exit::Clean)
    }

    /// Whether an evaluator is asked for, once every name is known.
    fn filter(&self, used: &EvaluatorSet) -> Result<impl Fn(&CatalogueEntry) -> bool, Failure> {
        let suite = self.suite.as_deref().map(|name| used.suite(name)).transpose()?;
        let class = self.surface.as_deref().map(|word| one_of("surface", word, TargetClass::WORDS));
        let class: Option<TargetClass> = class.transpose()?;
        let severities = self.severity.iter().map(|word| one_of("severity", word, Severity::WORDS));
        let severities: Vec<Severity> = severities.collect::<Result<_, _>>()?;
        let entries = used.loaded.catalogue.entries();
        for tag in &self.tag {
            if !entries.iter().any(|entry| entry.has_tag(tag)) {
                let mut known: Vec<&str> = entries.iter().flat_map(CatalogueEntry::tags).collect();
                known.sort_unstable();
                known.dedup();
                return Err(unknown("tag", tag, &known));
            }
        }
        Ok(move |entry: &CatalogueEntry| {
            suite.is_none_or(|suite| suite.evaluators.contains(&entry.evaluator.id))
                && class.is_none_or(|class| entry.class == class)
                && (severities.is_empty() || severities.contains(&entry.evaluator.severity))
                && self.tag.iter().all(|tag| entry.has_tag(tag))
        })
    }
}

fn one_of<T: std::str::FromStr>(what: &str, word: &str, known: &[&str]) -> Result<T, Failure> {
    word.parse().map_err(|_| unknown(what, word, known))
}

fn unknown(what: &str, word: &str, known: &[&str]) -> Failure {
    let failure = Failure::new(format!("there is no {what} `{word}`"));
    match suggestion(word, known.iter().copied()) {
        Some(help) => failure.help(help),
        None => failure,
    }
}

fn described(entry: &CatalogueEntry, used: &EvaluatorSet) -> Value {
    let evaluator = &entry.evaluator;
    json!({
        "id": evaluator.id,
        "name": evaluator.name,
        "surface": entry.class.as_str(),
        "severity": evaluator.severity.as_str(),
        "file": used.file(entry),
        "description": evaluator.description,
        "suites": used.loaded.suites.of_evaluator(&evaluator.id).collect::<Vec<_>>(),
        "tags": entry.tags().collect::<Vec<_>>(),
        "patterns": evaluator.patterns.len(),
        "checks": evaluator.checks.len(),
        "fixtures": entry.fixtures.as_ref().map_or(0, |fixtures| fixtures.cases.len()),
        "judge_needs_llm": evaluator.judge_needs_llm,
    })
}
