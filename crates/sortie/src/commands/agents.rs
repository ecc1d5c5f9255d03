//! `sortie agents`

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use sortie_agents::{Server, UserFolders, ask_versions, find_server_files};
use sortie_report::{style, visible};
use sortie_run::Config;
use sortie_syntax::suggestion;
use tokio::runtime::Builder;

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  List the presets, and which of the agents are installed:
    $ sortie agents list

  Show how an agent is started, and what it needs:
    $ sortie agents show claude-code

  List the MCP servers that your clients are configured with:
    $ sortie agents find";

/// List agent presets, and find the MCP servers that clients on this machine use.
///
/// A preset describes how to start an agent with the servers of an attack, without changing the user's files. Use it with
/// `sortie run --agent NAME`. sortie.toml can define more.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Agents {
    #[command(subcommand)]
    what: What,
}

subcommands! {
    enum What {
        List(List),
        Show(Show),
        Find(Find),
    }
}

impl Agents {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.what.run(console)
    }
}

/// List agent presets, with the tested and the installed version.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Include the agents of sortie.toml:
    $ sortie agents list")]
struct List {
    /// Configuration file with your own agents. Default: `sortie.toml` in this folder
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl List {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let presets = Config::load(self.config.as_deref())?.all_agents();
        let versions = Builder::new_current_thread().enable_all().build()?.block_on(ask_versions(&presets));
        let width = presets.keys().map(String::len).max().unwrap_or(0);
        for (name, preset) in &presets {
            let shown = style::paint(console.color, style::STRONG, &format!("{:width$}", visible(name)));
            let tested = match &preset.tested {
                Some(version) => format!("tested {version}"),
                None => "untested".to_owned(),
            };
            let installed = match (preset.find_program(), versions.get(name)) {
                (Err(_), _) => "not installed".to_owned(),
                (Ok(_), Some(version)) => format!("installed: {version}"),
                (Ok(_), None) => "installed".to_owned(),
            };
            writeln!(console.out, "{shown}  {tested:16}  {}", visible(&installed))?;
        }
        Ok(Exit::Clean)
    }
}

/// Show a preset: its command, the files Sortie writes for it, and what it needs.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Show the files that Sortie writes for an agent:
    $ sortie agents show codex")]
struct Show {
    /// The name of the preset
    name: String,

    /// Configuration file with your own agents. Default: `sortie.toml` in this folder
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Show {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let presets = Config::load(self.config.as_deref())?.all_agents();
        let Some(preset) = presets.get(&self.name) else {
            let failure = Failure::new(format!("there is no agent `{}`", self.name));
            let known = suggestion(&self.name, presets.keys().map(String::as_str));
            return Err(failure.help(known.unwrap_or_else(|| "`sortie agents list` has them all".to_owned())));
        };
        let mut facts = vec![("command", preset.command.join(" "))];
        facts.extend((!preset.model.is_empty()).then(|| ("model", preset.model.join(" "))));
        let variables = preset.variables.iter().map(|(name, value)| format!("{name}={value}"));
        facts.extend(variables.map(|variable| ("sets", variable)));
        facts.extend(preset.env.iter().map(|name| ("inherits", name.clone())));
        let passes = preset.passes.iter().map(|(name, about)| format!("--env {name}: {about}"));
        facts.extend(passes.map(|pass| ("takes", pass)));
        facts.extend(preset.install.iter().map(|install| ("install", install.clone())));
        let tested =
            preset.tested.as_ref().map_or("untested".to_owned(), |version| format!("tested {version}"));
        let title = format!("{}: {}, {tested}", self.name, preset.title.as_deref().unwrap_or("an agent"));
        writeln!(console.out, "{}", style::paint(console.color, style::STRONG, &visible(&title)))?;
        for (name, fact) in facts {
            writeln!(console.out, "  {name:8}  {}", visible(&fact))?;
        }
        let example = [Server::http("default", "http://127.0.0.1:PORT/mcp")];
        let files = preset.configuration(&example, None).map_err(|error| Failure::new(error.to_string()))?;
        for (file, text) in files {
            let heading = format!("\n{}, with one server", visible(&file));
            writeln!(console.out, "{}", style::paint(console.color, style::HEADING, &heading))?;
            for line in text.lines() {
                writeln!(console.out, "{}", format!("  {}", visible(line)).trim_end())?;
            }
        }
        Ok(Exit::Clean)
    }
}

/// Find configuration files with MCP servers, for this user and in the current folder.
///
/// Files are only read. Arguments, values of variables and URL paths are not printed, because they may be secrets.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  List the servers of this user and this project:
    $ sortie agents find")]
struct Find {}

impl Find {
    #[expect(clippy::unused_self, reason = "every command is run by its value")]
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let found = find_server_files(&UserFolders::current());
        if found.is_empty() {
            console.note("no client has a file with servers here");
        }
        for file in found {
            let scope = if file.is_project { "project" } else { "user" };
            let heading =
                format!("{} ({scope}): {}", file.client.title, visible(&file.path.to_string_lossy()));
            writeln!(console.out, "{}", style::paint(console.color, style::STRONG, &heading))?;
            let servers = match file.servers {
                Ok(servers) => servers,
                Err(error) => {
                    writeln!(console.out, "  {}", visible(&error.to_string()))?;
                    continue;
                }
            };
            for server in &servers.servers {
                let names: Vec<_> = server.value_names().collect();
                let with =
                    if names.is_empty() { String::new() } else { format!(", with {}", names.join(", ")) };
                let shown = format!("{}: {}{with}", server.name, server.transport);
                writeln!(console.out, "  {}", visible(&shown))?;
            }
            for skipped in &servers.skipped {
                let shown = format!("{}: left out, since it {}", skipped.name, skipped.why);
                writeln!(console.out, "  {}", visible(&shown))?;
            }
        }
        Ok(Exit::Clean)
    }
}
