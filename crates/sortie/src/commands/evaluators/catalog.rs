//! `sortie evaluators catalog`

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use sortie_evaluators::TargetClass;
use sortie_report::files::create;
use sortie_report::{counted, visible};

use crate::{Console, Exit, Failure, Sources};

const EXAMPLES: &str = "\
Examples:
  Write the catalogues of all evaluators:
    $ sortie evaluators catalog --out all

  Write the catalogues of your own evaluators, and check later that they are up to date:
    $ sortie evaluators catalog --evaluators my-evaluators --without-bundled
    $ sortie evaluators catalog --evaluators my-evaluators --without-bundled --check

Exit codes:
  0  written, or up to date
  1  with `--check`: a catalogue is stale
  2  an evaluator with errors, or a file that cannot be read or written";

/// Write the catalogues, one JSON file for each surface: `agent.json` and `mcp.json`.
///
/// A catalogue has every evaluator with its patterns, suites and placeholders. The same evaluators always give the same bytes,
/// so a catalogue can be kept in a repository and checked.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Catalog {
    /// The folder to write to or to check; created if needed
    #[arg(long, value_name = "DIR", default_value = "catalog")]
    out: PathBuf,

    /// Write nothing; list evaluators that were added, removed or changed
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    sources: Sources,
}

/// No catalogue of ours is larger.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

impl Catalog {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let used = self.sources.load(console)?;
        let mut exit = Exit::Clean;
        for class in TargetClass::ALL {
            let path = self.out.join(format!("{class}.json"));
            let text = used.loaded.catalogue.to_json(*class, &used.loaded.suites);
            let there = read(&path)?;
            if there.as_deref() == Some(text.as_bytes()) {
                console.note(&format!("`{}` is up to date", path.display()));
            } else if self.check {
                exit = Exit::Findings;
                stale(&path, there.as_deref(), &text, console)?;
            } else {
                self.write(&path, there.as_deref(), &text)?;
                let count = counted(used.loaded.catalogue.of(*class).count(), "evaluator", "evaluators");
                console.note(&format!("wrote `{}`: {count}", path.display()));
            }
        }
        if exit == Exit::Findings {
            console.note("`sortie evaluators catalog` without `--check` writes them again");
        }
        Ok(exit)
    }

    fn write(&self, path: &Path, there: Option<&[u8]>, text: &str) -> Result<(), Failure> {
        // What is replaced was written by this command, and is no other file that has the same name.
        if there.is_some_and(|there| evaluators(there).is_none()) {
            return Err(Failure::new(format!(
                "`{}` is there already, and is not a catalogue",
                path.display()
            ))
            .help("name another folder with `--out DIR`, or move the file away"));
        }
        fs::create_dir_all(&self.out).map_err(|error| Failure::at(&self.out, "write", &error))?;
        Ok(create(path, text, true)?)
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let failed = |error| Failure::at(path, "read", &error);
    match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
        // A pipe would be waited for.
        Ok(metadata) if !metadata.is_file() => {
            return Err(Failure::new(format!("`{}` is not a file", path.display())));
        }
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    fs::File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes)).map_err(failed)?;
    Ok(Some(bytes))
}

/// The evaluators of a catalogue by id; `None` where it is none.
fn evaluators(bytes: &[u8]) -> Option<BTreeMap<String, Value>> {
    let Value::Object(mut catalogue) = serde_json::from_slice(bytes).ok()? else { return None };
    catalogue.get("catalogue")?;
    let Value::Array(entries) = catalogue.remove("evaluators")? else { return None };
    entries.into_iter().map(|entry| Some((entry.get("id")?.as_str()?.to_owned(), entry))).collect()
}

fn stale(path: &Path, there: Option<&[u8]>, text: &str, console: &mut Console) -> Result<(), Failure> {
    let name = path.display().to_string();
    let why = if there.is_some() { "stale" } else { "not there" };
    writeln!(console.out, "{} is {why}", visible(&name))?;
    let Some(there) = there else { return Ok(()) };
    let (Some(before), Some(now)) = (evaluators(there), evaluators(text.as_bytes())) else {
        writeln!(console.out, "  it is not a catalogue")?;
        return Ok(());
    };
    let new = now.iter().filter_map(|(id, entry)| match before.get(id) {
        None => Some(("added", id.clone())),
        Some(other) if other != entry => Some(("changed", format!("{id} ({})", fields(other, entry)))),
        Some(_) => None,
    });
    let removed = before.keys().filter(|id| !now.contains_key(*id)).map(|id| ("removed", id.clone()));
    let said: Vec<_> = new.chain(removed).collect();
    for (word, id) in &said {
        writeln!(console.out, "  {word:8} {}", visible(id))?;
    }
    if said.is_empty() {
        writeln!(console.out, "  the same evaluators, not as they are written here")?;
    }
    Ok(())
}

/// The names of the fields that differ.
fn fields(before: &Value, now: &Value) -> String {
    let keys = |value: &Value| -> Vec<String> {
        value.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    };
    let mut names = keys(now);
    names.extend(keys(before).into_iter().filter(|key| now.get(key).is_none()));
    names.retain(|name| before.get(name) != now.get(name));
    names.join(", ")
}
