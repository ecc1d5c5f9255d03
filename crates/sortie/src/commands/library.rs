//! `sortie library`

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use sortie_library::filter::{coverage, load_library};
use sortie_library::{self as library, BundledDocument, write_coverage, write_list, write_list_json};
use sortie_report::files::create;
use sortie_report::{counted, write_json};

use crate::filters::FilterArgs;
use crate::{Console, Exit, Failure, Format};

const EXAMPLES: &str = "\
Examples:
  List all attacks:
    $ sortie library list

  Print one attack:
    $ sortie library show SRT-010

  Run it against a practice agent:
    $ sortie run SRT-010 --agent builtin:refuser

  Copy attacks with their proofs, to change them:
    $ sortie library export my-attacks SRT-010 SRT-023

  Show what the attacks cover:
    $ sortie library coverage

Exit codes:
  0  success
  2  wrong usage, no such document, or a file that cannot be written";

/// List, show and copy the bundled attacks, and see what they cover.
///
/// Every command that takes a document (`run`, `eval`, `prove`, `check`, `trace show --document`) also takes the id, the name,
/// or the start of the name of a bundled attack. An existing path takes precedence.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Library {
    #[command(subcommand)]
    command: LibraryCommand,
}

subcommands! {
    enum LibraryCommand {
        List(List),
        Show(Show),
        Export(Export),
        Coverage(Coverage),
    }
}

impl Library {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.command.run(console)
    }
}

/// List the documents of the library.
///
/// All filters must match. It is an error if no document matches.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Attacks with several actors, one of them an A2A server:
    $ sortie library list --mode a2a_server --tag multi-actor

  Attacks for one entry of the coverage:
    $ sortie library list --covers MCP08 --covers audit  # ends with 2, since `audit` is a tag
    $ sortie library list --covers MCP08 --tag audit")]
struct List {
    #[command(flatten)]
    filter: FilterArgs,

    /// Output format; the JSON schema is docs/schema/library-list-v1.json
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl List {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let all = load_library();
        let count = all.len();
        let chosen = self.filter.filter().apply(all)?;
        match self.format {
            Format::Human => write_list(&mut console.out, &chosen, count, console.color)?,
            Format::Json => write_list_json(&mut console.out, &chosen)?,
        }
        Ok(Exit::Clean)
    }
}

/// Print the source of a bundled document.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Start from a bundled attack:
    $ sortie library show SRT-003 > mine.yaml")]
struct Show {
    /// Its id, its name, or the start of its name
    #[arg(value_name = "ID")]
    name: String,
}

impl Show {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        console.document(library::find(&self.name)?.text)?;
        Ok(Exit::Clean)
    }
}

/// Copy documents of the library into a folder, with their proofs.
///
/// `sortie prove` works on the copies too. Nothing is overwritten: if one of the files exists, nothing is copied.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Copy one attack, and prove it again after a change:
    $ sortie library export mine SRT-001
    $ sortie prove mine

  Copy all attacks:
    $ sortie library export all-attacks")]
struct Export {
    /// The folder to copy to; created if needed
    folder: PathBuf,

    /// The documents to copy. Default: all
    #[arg(value_name = "ID")]
    names: Vec<String>,
}

impl Export {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let mut chosen: Vec<&BundledDocument> = Vec::new();
        for name in &self.names {
            let entry = library::find(name)?;
            if !chosen.contains(&entry) {
                chosen.push(entry);
            }
        }
        if self.names.is_empty() {
            chosen = library::documents().iter().collect();
        }
        let files: Vec<(PathBuf, &str)> = chosen.iter().flat_map(|entry| entry.files()).collect();
        // Also a link that leads nowhere is there.
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
        if let Some(there) = files.iter().map(|(path, _)| self.folder.join(path)).find(is_there) {
            let message = format!("`{}` is there already, so nothing was copied", there.display());
            return Err(Failure::new(message).help("name a folder that is new or empty"));
        }
        for (path, text) in &files {
            let path = self.folder.join(path);
            let parent = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(parent).map_err(|error| Failure::at(parent, "make", &error))?;
            create(&path, text, false)?;
        }
        let count = counted(chosen.len(), "document", "documents");
        console.note(&format!("{count} copied to `{}`, with proofs", self.folder.display()));
        Ok(Exit::Clean)
    }
}

/// Show what the library covers, and what it does not.
///
/// The number of documents for each mode, category, impact, tier, kind of indicator, place and disguise of the payload,
/// operation, and entry of a security framework.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Write JSON, with the ids of the documents:
    $ sortie library coverage --format json")]
struct Coverage {
    /// Output format; the JSON schema is docs/schema/library-coverage-v1.json
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl Coverage {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let coverage = coverage(&load_library());
        match self.format {
            Format::Human => write_coverage(&mut console.out, &coverage, console.color)?,
            Format::Json => write_json(&mut console.out, &coverage)?,
        }
        Ok(Exit::Clean)
    }
}
