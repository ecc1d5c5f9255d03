//! `sortie suites`

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use sortie_evaluators::suites::{ALIASES, SuiteOrigin};
use sortie_evaluators::{Standard, Suite};
use sortie_library::{EvaluatorSet, suite_documents};
use sortie_report::{counted, style, visible, write_json};

use crate::{Console, Exit, Failure, Format, Sources};

const EXAMPLES: &str = "\
Examples:
  List suites:
    $ sortie suites list

  Show the content of a suite, entry by entry:
    $ sortie suites show owasp-mcp-top10";

/// List suites: sets of evaluators and documents that are run together.
///
/// A standard's suite (OWASP lists, MITRE ATLAS, EU AI Act) has every evaluator and document that is mapped to an entry of the
/// standard. Other suites are YAML files in a folder `suites/`.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Suites {
    #[command(subcommand)]
    what: What,
}

subcommands! {
    enum What {
        List(List),
        Show(Show),
    }
}

impl Suites {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.what.run(console)
    }
}

/// List suites.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Write JSON:
    $ sortie suites list --format json")]
struct List {
    #[command(flatten)]
    sources: Sources,

    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl List {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let used = self.sources.load(console)?;
        let suites: Vec<&Suite> = used.loaded.suites.iter().collect();
        if self.format == Format::Json {
            let suites: Vec<_> = suites.iter().map(|suite| described(suite)).collect();
            write_json(&mut console.out, &json!({"version": 1, "suites": suites}))?;
            return Ok(Exit::Clean);
        }
        let width = suites.iter().map(|suite| suite.id.len()).max().unwrap_or(0);
        for suite in suites {
            let id = style::paint(console.color, style::STRONG, &format!("{:width$}", suite.id));
            let evaluators = counted(suite.evaluators.len(), "evaluator", "evaluators");
            let documents = counted(suite.documents.len(), "document", "documents");
            writeln!(console.out, "{id}  {evaluators:>14}  {documents:>13}  {}", visible(&suite.name))?;
        }
        let aliases: Vec<_> = ALIASES.iter().map(|(alias, id)| format!("{alias} = {id}")).collect();
        writeln!(console.out, "\nother names: {}", aliases.join(", "))?;
        Ok(Exit::Clean)
    }
}

/// Show the content of a suite, by entry of its standard.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Use another name of the suite:
    $ sortie suites show eu-ai-act

  Include your own evaluators:
    $ sortie suites show owasp-llm-top10 --evaluators my-evaluators")]
struct Show {
    /// Its id or alias
    name: String,

    #[command(flatten)]
    sources: Sources,

    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl Show {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let used = self.sources.load(console)?;
        let suite = used.suite(&self.name)?;
        let entries = by_entry(suite, &used);
        if self.format == Format::Json {
            let mut shown = described(suite);
            shown["entries"] = json!(entries);
            shown["uncovered"] = json!(uncovered(&entries));
            write_json(&mut console.out, &json!({"version": 1, "suite": shown}))?;
            return Ok(Exit::Clean);
        }
        let title = format!("{}: {}", suite.id, visible(&suite.name));
        writeln!(console.out, "{}", style::paint(console.color, style::STRONG, &title))?;
        if let Some(description) = &suite.description {
            writeln!(console.out, "{}", visible(description.trim()))?;
        }
        for entry in &entries {
            writeln!(console.out, "\n{}", style::paint(console.color, style::HEADING, &entry.name))?;
            for (what, names) in [("evaluator", &entry.evaluators), ("document", &entry.documents)] {
                for name in names {
                    writeln!(console.out, "  {what:9}  {}  {}", name, visible(&title_of(&used, what, name)))?;
                }
            }
            if entry.is_empty() {
                writeln!(console.out, "  nothing")?;
            }
        }
        let evaluators = counted(suite.evaluators.len(), "evaluator", "evaluators");
        writeln!(console.out, "\n{evaluators}, {}", counted(suite.documents.len(), "document", "documents"))?;
        let uncovered = uncovered(&entries);
        if !uncovered.is_empty() {
            writeln!(console.out, "nothing covers {}", uncovered.join(", "))?;
        }
        Ok(Exit::Clean)
    }
}

/// What belongs to one entry of a standard; all there is, for a suite that somebody wrote.
#[derive(Serialize)]
struct Listed {
    #[serde(rename = "entry")]
    name: String,
    evaluators: BTreeSet<String>,
    documents: BTreeSet<String>,
}

impl Listed {
    fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), evaluators: BTreeSet::new(), documents: BTreeSet::new() }
    }

    fn is_empty(&self) -> bool {
        self.evaluators.is_empty() && self.documents.is_empty()
    }
}

fn uncovered(entries: &[Listed]) -> Vec<&str> {
    entries.iter().filter(|entry| entry.is_empty()).map(|entry| entry.name.as_str()).collect()
}

fn by_entry(suite: &Suite, used: &EvaluatorSet) -> Vec<Listed> {
    let SuiteOrigin::Standard(standard) = suite.origin else {
        let mut all = Listed::new("Everything");
        all.evaluators.extend(suite.evaluators.iter().cloned());
        all.documents.extend(suite.documents.iter().cloned());
        return vec![all];
    };
    let mut entries: BTreeMap<String, Listed> = BTreeMap::new();
    entries.extend(standard.entries().map(|entry| (entry.clone(), Listed::new(entry))));
    let catalogue = &used.loaded.catalogue;
    for entry in suite.evaluators.iter().filter_map(|id| catalogue.get(id)) {
        for name in entry.evaluator.standards.entries(standard) {
            let listed = entries.entry(name.to_owned()).or_insert_with(|| Listed::new(name));
            listed.evaluators.insert(entry.evaluator.id.clone());
        }
    }
    for document in suite_documents() {
        let of_this =
            document.mappings.iter().filter(|(name, _)| Standard::of_framework(name) == Some(standard));
        for name in of_this.filter_map(|(_, id)| standard.entry(id).ok()) {
            let listed = entries.entry(name.clone()).or_insert_with(|| Listed::new(name));
            listed.documents.insert(document.id.clone());
        }
    }
    entries.into_values().collect()
}

fn title_of(used: &EvaluatorSet, what: &str, name: &str) -> String {
    if what == "evaluator" {
        return used.loaded.catalogue.get(name).map(|entry| entry.evaluator.name.clone()).unwrap_or_default();
    }
    let entry = sortie_library::find(name).ok();
    entry.and_then(|entry| entry.document()?.into_inner().attack.name).unwrap_or_default()
}

fn described(suite: &Suite) -> Value {
    let origin = match &suite.origin {
        SuiteOrigin::Standard(standard) => json!({ "standard": standard.as_str() }),
        SuiteOrigin::File(file) => json!({ "file": file }),
    };
    let aliases = ALIASES.iter().filter(|(_, id)| *id == suite.id).map(|(alias, _)| *alias);
    json!({
        "id": suite.id,
        "name": suite.name,
        "description": suite.description,
        "origin": origin,
        "aliases": aliases.collect::<Vec<_>>(),
        "evaluators": suite.evaluators,
        "documents": suite.documents,
    })
}
