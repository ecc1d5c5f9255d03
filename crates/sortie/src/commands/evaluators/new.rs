//! `sortie evaluators new`

use std::fs;
use std::path::PathBuf;

use clap::Args;
use sortie_evaluators::{TargetClass, is_kebab_case};
use sortie_report::files::create;
use sortie_setup::EvaluatorStarter;
use sortie_syntax::suggestion;

use crate::{Console, Exit, Failure, Sources};

const EXAMPLES: &str = "\
Examples:
  An evaluator for agents, with fixtures, in two files:
    $ sortie evaluators new order-takeover --output my-evaluators
    $ sortie evaluators check my-evaluators

  An evaluator for MCP servers, with a file for each pattern:
    $ sortie evaluators new export-escape --surface mcp --directory --output my-evaluators
    $ sortie evaluators test --evaluators my-evaluators export-escape";

/// Write a commented starter evaluator, with fixtures.
///
/// It passes `sortie evaluators check`, and its checks agree with its fixtures.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct New {
    /// Its unique id: lower-case words separated by hyphens
    id: String,

    /// The catalogue it belongs to: `agent` or `mcp`
    #[arg(long, value_name = "SURFACE", default_value = "agent")]
    surface: String,

    /// Write a folder with a file for each pattern
    #[arg(long)]
    directory: bool,

    /// The folder of evaluators to write to; created if needed
    #[arg(long, short, value_name = "DIR", default_value = "evaluators")]
    output: PathBuf,

    #[command(flatten)]
    sources: Sources,
}

impl New {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        if !is_kebab_case(&self.id) {
            return Err(Failure::new(format!("`{}` is not an id", self.id))
                .help("an id is lower-case words with hyphens between them, such as `refund-limit`"));
        }
        let class: TargetClass = self.surface.parse().map_err(|()| {
            let failure = Failure::new(format!("there is no surface `{}`", self.surface));
            failure.help(suggestion(&self.surface, TargetClass::WORDS.iter().copied()).unwrap_or_default())
        })?;
        let used = self.sources.load(console);
        if let Some(entry) = used.as_ref().ok().and_then(|used| used.loaded.catalogue.get(&self.id)) {
            let message = format!("there is an evaluator `{}` already: `{}`", self.id, entry.file);
            let help = "ids are unique over all evaluators that are loaded together: choose another";
            return Err(Failure::new(message).help(help));
        }
        let files = EvaluatorStarter { id: &self.id, class, directory: self.directory }.files(&self.output);
        if let Some((there, _)) = files.iter().find(|(path, _)| path.exists()) {
            let message = format!("`{}` is there already, so nothing was written", there.display());
            return Err(Failure::new(message).help("choose another id"));
        }
        for (path, text) in &files {
            let folder = path.parent().unwrap_or(&self.output);
            fs::create_dir_all(folder).map_err(|error| Failure::at(folder, "write", &error))?;
            create(path, text, false)?;
        }
        let (first, folder) = (files[0].0.display(), self.output.display());
        console.note(&format!("wrote `{first}`; next: `sortie evaluators check {folder}`"));
        Ok(Exit::Clean)
    }
}
