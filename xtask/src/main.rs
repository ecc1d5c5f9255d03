//! Everything a contributor and CI do with this repository: `cargo xtask COMMAND`.
//!
//! A task is a list of steps; a step is a command that is announced, run and timed. The first one that fails
//! ends the task. Nothing here depends on the crates of the workspace, so that a task starts even when one of
//! them does not compile.

mod bench;
mod docs;
mod fuzz;
mod licences;
mod package;
mod pages;
mod peers;
mod python;
mod release;
mod scale;
mod site;
mod source;
mod step;
mod test;
mod vscode;

use std::process::ExitCode;

use release::ReleaseOptions;
use step::{Failure, Runner};

const USAGE: &str = "\
Usage: cargo xtask COMMAND [OPTIONS]

Commands:
  test [--only PART]   Run everything: format, licences, lints, tests, docs, conformance; or one part of it
                       (an unknown PART lists them)
  names                List public type names that are defined more than once
  size                 Count lines and root exports of every crate
  docs [--check]       Write the generated pages and the console output in the docs again,
                       or say which of them are stale
  bench [--quick]      Compare with crate `oatf` 0.4.0, as ratios of CPU time
  bench wire [--quick] Compare the MCP server, trace on, with a bare axum handler
  bench wrap [--quick] Compare `tools/call` through `sortie wrap` with the same server direct (needs the peers)
  bench evaluators [--quick]
                       Check and catalogue 2,000 evaluators, and compare with a YAML parser
  bench runs [--quick] Play 500 cases against a slow target, compare with the ideal; kill it, take it up
  bench campaigns [--quick]
                       Play the library twice against agents that give in never and now and then, by a gate
  bench imports [--quick]
                       Judge a gigabyte of spans and of session files, and compare with a bare parse
  bench python [--quick]
                       Evaluate messages and traces from Python, and compare with the same in Rust
  bench watch [--quick]
                       Watch a `nats-server` for ten minutes at full rate, kill both, and compare with a scan
  bench scan [--quick] Scan a gigabyte of traffic, and compare with `rsigma-eval` and a bare parse
  bench lsp [--quick]  Type into a document of 2,000 lines, and compare with a full check
  fuzz [TARGET] [--seconds N]
                       Fuzz one target or all of them, for N seconds each (60)
  peers [--lock | --coding]
                       Install the programs that end-to-end tests talk to into target/peers, or
                       resolve their lock files in peers/ again; with --coding, install the coding
                       agents of `test --only coding` (1.3 GB)
  python               Build the wheel with the program and the Python module, and test it in a fresh environment
                       with every Python from 3.11 on that is on PATH
  release [--verify] [--twice] [--target TARGET]... [--url URL]
                       Build the program as it is shipped, and every package of it into
                       target/release-artifacts. --verify installs and runs each of them; --twice builds the
                       last commit again in another folder, and compares the bytes. Where the first target is
                       for another processor, the program for this one is built too
  scale [--quick]      Build and test the workspace for DataFusion and Ballista, scan a million messages in every way, compare the
                       findings and print the rates (an hour where nothing is built yet; 3 GB)
  site                 Build docs/ as a site with search into target/site, and follow every link; installs mdBook
                       into target/tools where it is missing
  vscode               Pack the VS Code extension into target/vscode/sortie.vsix, and test it
  package              Package every crate, and install the program from the packages alone, outside the checkout
  deny                 Check dependencies with cargo-deny against deny.toml

Options:
  --dry-run            Say what would run, and run nothing
  -h, --help           Print this

Environment:
  SORTIE_FIXTURES      Folder with the official fixtures (`conformance/`, `scenarios/`).
                       Unset: what needs them is left out, and named at the end.
  SORTIE_CHROMIUM      The browser that opens HTML reports. Unset: `/usr/bin/chromium`, which is installed where that is
                       allowed; else pages are left out, and named at the end.
";

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let dry_run = take_flag(&mut arguments, "--dry-run");
    if arguments.is_empty() || take_flag(&mut arguments, "--help") || take_flag(&mut arguments, "-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let task = arguments.remove(0);
    let mut runner = Runner::new(dry_run);
    match run(&task, arguments, &mut runner) {
        Ok(()) => {
            runner.finish(&task);
            ExitCode::SUCCESS
        }
        Err(Failure::Usage(message)) => {
            eprintln!("error: {message}\n\n{USAGE}");
            ExitCode::from(2)
        }
        Err(Failure::Step(message)) => {
            eprintln!("\nerror: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &str, mut arguments: Vec<String>, runner: &mut Runner) -> Result<(), Failure> {
    match task {
        "test" => {
            let only = take_option(&mut arguments, "--only")?;
            no_more(&arguments)?;
            test::run(runner, only.as_deref())
        }
        "names" => {
            no_more(&arguments)?;
            source::names(runner)
        }
        "size" => {
            no_more(&arguments)?;
            source::size(runner)
        }
        "docs" => {
            let check = take_flag(&mut arguments, "--check");
            no_more(&arguments)?;
            docs::run(runner, check)
        }
        "bench" => {
            let quick = take_flag(&mut arguments, "--quick");
            let which = if arguments.is_empty() { None } else { Some(arguments.remove(0)) };
            no_more(&arguments)?;
            match which.as_deref() {
                None => bench::run(runner, quick),
                Some("wire") => bench::wire(runner, quick),
                Some("wrap") => bench::wrap(runner, quick),
                Some("evaluators") => bench::evaluators(runner, quick),
                Some("runs") => bench::runs(runner, quick),
                Some("campaigns") => bench::campaigns(runner, quick),
                Some("imports") => bench::imports(runner, quick),
                Some("lsp") => bench::lsp(runner, quick),
                Some("scan") => bench::scan(runner, quick),
                Some("watch") => bench::watch(runner, quick),
                Some("python") => python::bench(runner, quick),
                Some(_) => {
                    let known = "`bench` takes one of `wire`, `wrap`, `evaluators`, `runs`, `campaigns`, `imports`, `lsp`, `scan`, `watch` and `python`";
                    Err(Failure::Usage(known.into()))
                }
            }
        }
        "fuzz" => {
            let seconds = take_option(&mut arguments, "--seconds")?;
            let target = if arguments.is_empty() { None } else { Some(arguments.remove(0)) };
            no_more(&arguments)?;
            fuzz::run(runner, target.as_deref(), seconds.as_deref())
        }
        "peers" => {
            let lock = take_flag(&mut arguments, "--lock");
            let coding = take_flag(&mut arguments, "--coding");
            no_more(&arguments)?;
            match (lock, coding) {
                (false, false) => {
                    peers::run(runner)?;
                    peers::run_model(runner)
                }
                (true, false) => peers::lock(runner),
                (false, true) => peers::run_coding(runner),
                (true, true) => {
                    Err(Failure::Usage("`--lock` resolves all lock files: leave out `--coding`".into()))
                }
            }
        }
        "python" => {
            no_more(&arguments)?;
            python::run(runner)
        }
        "release" => {
            let verify = take_flag(&mut arguments, "--verify");
            let twice = take_flag(&mut arguments, "--twice");
            let mut targets = Vec::new();
            while let Some(target) = take_option(&mut arguments, "--target")? {
                targets.push(target);
            }
            let url = take_option(&mut arguments, "--url")?;
            no_more(&arguments)?;
            release::run(runner, &ReleaseOptions { targets, url, verify, twice })
        }
        "scale" => {
            let quick = take_flag(&mut arguments, "--quick");
            no_more(&arguments)?;
            scale::run(runner, quick)
        }
        "site" => {
            no_more(&arguments)?;
            site::run(runner)
        }
        "vscode" => {
            no_more(&arguments)?;
            vscode::run(runner)
        }
        "package" => {
            no_more(&arguments)?;
            package::run(runner)
        }
        "deny" => {
            no_more(&arguments)?;
            licences::deny(runner)
        }
        other => Err(Failure::Usage(format!("there is no task `{other}`"))),
    }
}

/// Removes a flag, and says whether it was there.
fn take_flag(arguments: &mut Vec<String>, flag: &str) -> bool {
    let before = arguments.len();
    arguments.retain(|argument| argument != flag);
    arguments.len() < before
}

/// Removes an option and its value (`--name VALUE` or `--name=VALUE`).
fn take_option(arguments: &mut Vec<String>, name: &str) -> Result<Option<String>, Failure> {
    let Some(at) =
        arguments.iter().position(|argument| argument.split('=').next().is_some_and(|key| key == name))
    else {
        return Ok(None);
    };
    let argument = arguments.remove(at);
    match argument.split_once('=') {
        Some((_, value)) => Ok(Some(value.to_owned())),
        None if at < arguments.len() => Ok(Some(arguments.remove(at))),
        None => Err(Failure::Usage(format!("`{name}` needs a value"))),
    }
}

fn no_more(arguments: &[String]) -> Result<(), Failure> {
    match arguments.first() {
        None => Ok(()),
        Some(argument) => Err(Failure::Usage(format!("unexpected argument `{argument}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_taken_wherever_they_stand() {
        for line in ["parse --seconds 5", "--seconds 5 parse", "--seconds=5 parse"] {
            let mut given = arguments(line);
            assert_eq!(take_option(&mut given, "--seconds").ok().flatten().as_deref(), Some("5"), "{line}");
            assert_eq!(given, ["parse"], "{line}");
        }
        assert!(take_option(&mut arguments("--seconds"), "--seconds").is_err());
    }

    #[test]
    fn an_unknown_task_or_argument_is_a_usage_error() {
        let mut runner = Runner::new(true);
        for line in [
            "tset",
            "test --quick",
            "test --only unti",
            "bench now",
            "fuzz parse load",
            "docs --chek",
            "peers mcp1",
            "peers --lock --coding",
        ] {
            let mut given = arguments(line);
            let task = given.remove(0);
            assert!(matches!(run(&task, given, &mut runner), Err(Failure::Usage(_))), "{line}");
        }
    }
}
