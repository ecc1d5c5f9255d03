//! `sortie init`

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use clap::{Args, Parser as _};
use sortie_setup::{BuildService, FIRST_RUN, Project, WriteResult};

use crate::cli::Cli;
use crate::options::words;
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Set up a project on GitHub. Attacks run against a practice agent until you name yours:
    $ sortie init --build github

  Use your own agent, and skip the first run:
    $ sortie init --agent 'python agent.py --server {mcp_url}' --build none --no-run";

const SERVICES: [(&str, &str, BuildService); 3] = [
    ("github", "GitHub Actions", BuildService::Github),
    ("gitlab", "GitLab CI", BuildService::Gitlab),
    ("none", "Write no CI job", BuildService::Other),
];

/// Set up this folder: write `sortie.toml`, a baseline and a CI job, and do a first run.
///
/// On a terminal, it asks for missing options. Otherwise it chooses values that fit the folder. Existing files are never changed. The first
/// run uses two attacks and a practice agent that resists them, so it passes.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Init {
    /// The agent to attack: the name of a preset, or a command
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// The CI service of the project. Default: detected from the folder
    #[arg(long, value_name = "SERVICE", value_parser = words(SERVICES))]
    build: Option<BuildService>,

    /// Skip the first run
    #[arg(long)]
    no_run: bool,
}

impl Init {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let asks = io::stdin().is_terminal() && console.terminal;
        let agent = match self.agent {
            None if asks => {
                ask(console, "Agent to attack, a preset or a command (empty: a practice agent):")?
            }
            agent => agent,
        };
        let build = match self.build {
            None if asks => {
                let word = ask(console, "Build service, `github`, `gitlab` or `none` (empty: detect it):")?;
                let find =
                    |word| SERVICES.into_iter().find(|(name, ..)| *name == word).map(|(.., service)| service);
                let unknown = || Failure::new("a build service is `github`, `gitlab` or `none`");
                word.map(|word| find(word).ok_or_else(unknown)).transpose()?
            }
            build => build,
        };
        let here = Path::new(".");
        let build = build.unwrap_or_else(|| BuildService::detect(here));
        let written =
            Project { agent, build }.write(here).map_err(|error| Failure::new(error.to_string()))?;
        for (path, result) in written {
            let verb = if result == WriteResult::Written { "wrote" } else { "kept " };
            writeln!(console.out, "{verb} {}", path.display())?;
        }
        let skips = self.no_run
            || asks
                && ask(console, "Do the first run now? (empty: yes)")?
                    .is_some_and(|word| word.starts_with('n'));
        let line = std::iter::once("sortie").chain(FIRST_RUN);
        if skips {
            console.note(&format!("next: {}", line.collect::<Vec<_>>().join(" ")));
            return Ok(Exit::Clean);
        }
        let first = Cli::try_parse_from(line).map_err(|error| Failure::new(error.to_string()))?;
        first.command.run(console)
    }
}

/// Reads a line from the user; `None` if it is empty.
fn ask(console: &mut Console, question: &str) -> Result<Option<String>, Failure> {
    write!(console.out, "{question} ")?;
    console.out.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty()))
}
