//! The root of the command line: what is the same for every command.

use std::ffi::OsString;
use std::io::Write;

use anstream::ColorChoice;
use clap::{CommandFactory, FromArgMatches, Parser};

use crate::Console;
use crate::commands::Command;
use crate::exit::{self, Exit};
use crate::options::words;

/// Attacks AI agents over MCP, A2A and AG-UI, and reports with evidence whether they gave in.
///
/// Attacks are OATF documents: YAML files that describe what a hostile server or client does, phase by phase, and the messages
/// that show that the agent obeyed it. `sortie demo` needs no setup.
#[derive(Debug, Parser)]
#[command(name = "sortie", version, after_long_help = exit::TABLE, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// When to use colour; `auto` also honours `NO_COLOR`
    #[arg(
        long,
        global = true,
        // After the options of the command.
        display_order = 900,
        value_name = "WHEN",
        default_value = "auto",
        value_parser = words([
            ("auto", "On a terminal", ColorChoice::Auto),
            ("always", "Also in files and pipes", ColorChoice::Always),
            ("never", "Nowhere", ColorChoice::Never),
        ]),
        hide_possible_values = false
    )]
    color: ColorChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Reads the command line, runs the command, and says how it ended.
pub(crate) fn main() -> Exit {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let root = Cli::command().color(help_color(&arguments));
    let cli = match root.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing can be done for someone who closed the stream that would have told them.
            let _ = error.print();
            return if error.use_stderr() { Exit::Invalid } else { Exit::Clean };
        }
    };
    let mut console = Console::new(cli.color);
    let ended = cli.command.run(&mut console).and_then(|exit| {
        console.out.flush()?;
        Ok(exit)
    });
    ended.unwrap_or_else(|failure| {
        console.failure(&failure);
        Exit::Invalid
    })
}

/// Help and usage errors are printed before the arguments are known, and follow `--color` all the same.
fn help_color(arguments: &[OsString]) -> clap::ColorChoice {
    let words = arguments.iter().filter_map(|argument| argument.to_str());
    let mut after_option = false;
    for word in words.take_while(|word| *word != "--") {
        let value = if after_option { Some(word) } else { word.strip_prefix("--color=") };
        match value {
            Some("always") => return clap::ColorChoice::Always,
            Some("never") => return clap::ColorChoice::Never,
            _ => after_option = word == "--color",
        }
    }
    clap::ColorChoice::Auto
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_follows_the_color_option() {
        let color = |line: &str| help_color(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(color("sortie --color never --help"), clap::ColorChoice::Never);
        assert_eq!(color("sortie check --color=always --help"), clap::ColorChoice::Always);
        assert_eq!(color("sortie --color auto --help"), clap::ColorChoice::Auto);
        assert_eq!(color("sortie check -- --color=never"), clap::ColorChoice::Auto);
    }
}
