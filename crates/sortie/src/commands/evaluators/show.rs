//! `sortie evaluators show`

use clap::Args;
use serde_json::{Value, json};
use sortie_evaluators::CatalogueEntry;
use sortie_library::EvaluatorSet;
use sortie_report::{EvaluatorView, write_json};

use crate::{Console, Exit, Failure, Format, Sources};

const EXAMPLES: &str = "\
Examples:
  Show what it tries, and when a target passes:
    $ sortie evaluators show goal-hijack

  Start from a bundled evaluator:
    $ sortie evaluators show goal-hijack --source > my-goal-hijack.yaml";

/// Show an evaluator: criteria, checks, patterns, placeholders, suites and fixtures.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Show {
    /// Its id
    id: String,

    /// Print its source, followed by its pattern files
    #[arg(long, conflicts_with = "format")]
    source: bool,

    #[command(flatten)]
    sources: Sources,

    /// Output format; JSON is its catalogue entry
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl Show {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let used = self.sources.load(console)?;
        let entry = used.entry(&self.id)?;
        if self.source {
            for (at, (path, text)) in used.texts(entry).into_iter().enumerate() {
                if at > 0 {
                    console.document(&format!("\n# {path}\n"))?;
                }
                console.document(text)?;
            }
            return Ok(Exit::Clean);
        }
        match self.format {
            Format::Human => {
                let suites = used.loaded.suites.of_evaluator(&self.id).collect();
                let view = EvaluatorView { entry, file: used.file(entry), suites };
                view.write(&mut console.out, console.color)?;
            }
            Format::Json => write_json(&mut console.out, &catalogued(&used, entry))?,
        }
        Ok(Exit::Clean)
    }
}

/// Its entry in the catalogue, so that nothing has two forms.
fn catalogued(used: &EvaluatorSet, entry: &CatalogueEntry) -> Value {
    let (id, class) = (entry.evaluator.id.as_str(), entry.class);
    let catalogue = used.loaded.catalogue.to_json(class, &used.loaded.suites);
    let mut catalogue: Value = serde_json::from_str(&catalogue).unwrap_or_default();
    let entries = catalogue["evaluators"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let entry = entries.into_iter().find(|entry| entry["id"] == id);
    json!({ "version": catalogue["version"], "catalogue": class.as_str(), "evaluator": entry })
}
