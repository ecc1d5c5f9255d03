//! `sortie library`

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use sortie_oatf::Attack;

use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::counted;
use crate::library::{self, ENTRIES, Entry};
use crate::render::{Coverage, style, write_json};

const EXAMPLES: &str = "\
Examples:
  What there is:
    $ sortie library list

  One of them, as it is written:
    $ sortie library show SRT-010

  A copy of some, to change them:
    $ sortie library export my-attacks SRT-010 SRT-023

  What they cover, and what not:
    $ sortie library coverage";

/// Look at the attacks that come with Sortie: list, show and copy them, and see what they cover.
///
/// Wherever documents are played or judged (`run`, `eval`) one of the library can be named by its id, its name, or the
/// beginning of its name. A path that exists is always a path.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Library {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    List(List),
    Show(Show),
    Export(Export),
    Cover(Cover),
}

impl Library {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        match self.what {
            What::List(list) => list.run(console),
            What::Show(show) => show.run(console),
            What::Export(export) => export.run(console),
            What::Cover(cover) => cover.run(console),
        }
    }
}

/// How to report
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Format {
    /// For people
    Human,
    /// One JSON object
    Json,
}

/// List the documents of the library.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  The ones with several actors that attack over A2A:
    $ sortie library list --mode a2a_server --tag multi-actor")]
struct List {
    /// Only those with an actor of this mode
    #[arg(long)]
    mode: Option<String>,

    /// Only those of this category
    #[arg(long)]
    category: Option<String>,

    /// Only those with this tag; may be given more than once
    #[arg(long)]
    tag: Vec<String>,

    /// How to report
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl List {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let all = documents();
        let chosen: Vec<_> = all.iter().filter(|(_, attack)| self.takes(attack)).collect();
        if self.format == Format::Json {
            let documents: Vec<_> = chosen.iter().map(|(entry, attack)| described(entry, attack)).collect();
            write_json(&mut console.out, &json!({"version": 1, "documents": documents}))?;
            return Ok(Exit::Clean);
        }
        let width = chosen.iter().map(|(_, attack)| modes(attack).len()).max().unwrap_or(0);
        for (entry, attack) in &chosen {
            let id = style::paint(console.color, style::STRONG, entry.id());
            let name = attack.name.as_deref().unwrap_or_default();
            writeln!(console.out, "{id}  {:width$}  {name}", modes(attack))?;
        }
        let of = if chosen.len() == all.len() { String::new() } else { format!(" of {}", all.len()) };
        writeln!(console.out, "\n{}{of}", counted(chosen.len(), "document", "documents"))?;
        Ok(Exit::Clean)
    }

    fn takes(&self, attack: &Attack) -> bool {
        let category = attack.classification.as_ref().and_then(|class| class.category);
        let tags = attack.classification.as_ref().and_then(|class| class.tags.as_ref());
        let mut actors = attack.execution.actors.iter().flatten();
        self.mode.as_ref().is_none_or(|mode| actors.any(|actor| actor.mode == *mode))
            && self.category.as_deref().is_none_or(|wanted| category.is_some_and(|is| is.as_str() == wanted))
            && self.tag.iter().all(|tag| tags.is_some_and(|tags| tags.contains(tag)))
    }
}

/// Print a document of the library, as it is written.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Start from one of them:
    $ sortie library show SRT-003 > mine.yaml")]
struct Show {
    /// Its id, its name, or the beginning of its name
    #[arg(value_name = "ID")]
    name: String,
}

impl Show {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        console.document(library::find(&self.name)?.text)?;
        Ok(Exit::Clean)
    }
}

/// Copy documents of the library into a folder.
///
/// Nothing is overwritten: when one of them is there already, nothing is copied. The recordings that prove them are not
/// part of the program; they stand beside the documents in Sortie's repository.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  All of them:
    $ sortie library export all-attacks")]
struct Export {
    /// Where to; made when it is not there
    folder: PathBuf,

    /// Which; all of them, when none is named
    #[arg(value_name = "ID")]
    names: Vec<String>,
}

impl Export {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let chosen = self.names.iter().map(|name| library::find(name)).collect::<Result<Vec<_>, _>>()?;
        let chosen: Vec<&Entry> = if chosen.is_empty() { ENTRIES.iter().collect() } else { chosen };
        let place = |entry: &Entry| self.folder.join(entry.path);
        if let Some(there) = chosen.iter().map(|entry| place(entry)).find(|path| path.exists()) {
            return Err(Failure::new(format!(
                "`{}` is there already, so nothing was copied",
                there.display()
            ))
            .help("name a folder that is new or empty"));
        }
        for entry in &chosen {
            let path = place(entry);
            let failed = |error| Failure::at(&path, "write", &error);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
            fs::write(&path, entry.text).map_err(failed)?;
        }
        let count = counted(chosen.len(), "document", "documents");
        console.note(&format!("{count} copied to `{}`", self.folder.display()));
        Ok(Exit::Clean)
    }
}

/// Say what the library covers, and what it does not.
///
/// Modes, categories, impacts, tiers, how indicators decide, the operations that attacks are delivered by and looked for in, and the
/// entries of security frameworks; each with how many documents.
#[derive(Args, Debug)]
#[command(
    name = "coverage",
    after_long_help = "\
Examples:
  For another tool:
    $ sortie library coverage --format json"
)]
struct Cover {
    /// How to report
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl Cover {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let documents = documents();
        let coverage = Coverage::of(documents.iter().map(|(_, attack)| attack));
        match self.format {
            Format::Human => coverage.write(&mut console.out, console.color)?,
            Format::Json => write_json(&mut console.out, &coverage.json())?,
        }
        Ok(Exit::Clean)
    }
}

fn documents() -> Vec<(&'static Entry, Attack)> {
    let load = |entry: &'static Entry| Some((entry, entry.document()?.into_inner().attack));
    ENTRIES.iter().filter_map(load).collect()
}

/// The modes of its actors, each once.
fn modes(attack: &Attack) -> String {
    let mut modes: Vec<&str> =
        attack.execution.actors.iter().flatten().map(|actor| actor.mode.as_str()).collect();
    modes.dedup();
    modes.join("+")
}

fn described(entry: &Entry, attack: &Attack) -> serde_json::Value {
    let class = attack.classification.as_ref();
    let actors = attack.execution.actors.iter().flatten();
    let tier = attack.indicators.iter().flatten().filter_map(|indicator| indicator.tier).max();
    json!({
        "id": entry.id(),
        "name": attack.name,
        "file": entry.path,
        "modes": actors.map(|actor| actor.mode.as_str()).collect::<Vec<_>>(),
        "category": class.and_then(|class| class.category).map(sortie_oatf::Category::as_str),
        "severity": attack.severity.as_ref().map(|severity| severity.level.as_str()),
        "tier": tier.map(sortie_oatf::Tier::as_str),
        "tags": class.and_then(|class| class.tags.clone()).unwrap_or_default(),
    })
}
