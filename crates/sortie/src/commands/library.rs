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
  What there is:
    $ sortie library list

  One of them, as it is written:
    $ sortie library show SRT-010

  One of them, against a practice agent:
    $ sortie run SRT-010 --agent builtin:refuser

  A copy of some with their proofs, to change them:
    $ sortie library export my-attacks SRT-010 SRT-023

  What they cover, and what not:
    $ sortie library coverage

Exit codes:
  0  it is there
  2  wrong usage, no such document, or a file that cannot be written";

/// Look at the attacks that come with Sortie: list, show and copy them, and see what they cover.
///
/// Wherever documents are used (`run`, `eval`, `prove`, `check`, `trace show --document`) one of the library can be named by its
/// id, its name, or the beginning of its name. A path that exists is always a path.
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
/// What is asked for must be true of a document all at once. When it is true of none, that is an error.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Those with several actors, one of them an A2A server:
    $ sortie library list --mode a2a_server --tag multi-actor

  Those that an entry of the coverage stands for:
    $ sortie library list --covers MCP08 --covers audit  # ends with 2, since `audit` is a tag
    $ sortie library list --covers MCP08 --tag audit")]
struct List {
    #[command(flatten)]
    filter: FilterArgs,

    /// How to report; the schema of JSON is docs/schema/library-list-v1.json
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

/// Copy documents of the library into a folder, with their proofs.
///
/// `sortie prove` proves the copies as it proves the originals. Nothing is overwritten: when one of the files is there already,
/// nothing is copied.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  One, to change it and see whether it is still proved:
    $ sortie library export mine SRT-001
    $ sortie prove mine

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

/// Say what the library covers, and what it does not.
///
/// Modes, categories, impacts, tiers, how indicators decide, where attacks stand and how they are hidden, the operations by which
/// they are delivered and seen, and the entries of security frameworks; each with how many documents.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  For another tool, with the ids of the documents:
    $ sortie library coverage --format json")]
struct Coverage {
    /// How to report; the schema of JSON is docs/schema/library-coverage-v1.json
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
