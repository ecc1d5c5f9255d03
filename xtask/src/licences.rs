//! What we may depend on: the policy is `deny.toml`, and cargo-deny reads all of it (`cargo xtask deny`).
//!
//! cargo-deny takes minutes to install, so that `cargo xtask test` does not ask for it. It checks the two parts
//! of the policy that matter most with Cargo alone: every licence is on the list, every source is the registry.

use std::process::Command;

use crate::step::{Failure, Runner, cargo, is_installed, root};

/// Runs cargo-deny, without the advisories: these come from the network.
pub(crate) fn deny(runner: &mut Runner) -> Result<(), Failure> {
    if !runner.is_dry_run() && !is_installed(&mut cargo(["deny", "--version"])) {
        return Err(Failure::Step(
            "cargo-deny is not installed\n  install it: `cargo install --locked cargo-deny`".into(),
        ));
    }
    runner.command(
        "deny",
        &mut cargo(["deny", "check", "bans", "licenses", "sources"]),
        "replace the dependency, or argue for a change of deny.toml",
    )
}

/// Checks licences and sources with Cargo alone.
pub(crate) fn check(runner: &mut Runner) -> Result<(), Failure> {
    runner.step("licences", "every dependency against deny.toml", || {
        let policy = read("deny.toml")?;
        let allowed = allowed_licences(&policy);
        if allowed.is_empty() {
            return Err("deny.toml has no `allow` list of licences".into());
        }
        let lock = read("Cargo.lock")?;
        if let Some(line) = lock.lines().find(|line| line.starts_with("source = \"git+")) {
            return Err(format!("a dependency does not come from the registry: {line}"));
        }
        let tree = cargo([
            "tree",
            "--workspace",
            "--edges",
            "normal,build,dev",
            "--prefix",
            "none",
            "--format",
            "{p}\t{l}",
        ]);
        let refused: Vec<String> = output(tree)?
            .lines()
            // A package that stands twice in the tree is marked the second time.
            .filter_map(|line| line.trim_end_matches(" (*)").split_once('\t'))
            .filter(|(_, licence)| !is_allowed(licence, &allowed))
            .map(|(package, licence)| format!("{package}: `{licence}`"))
            .collect();
        if refused.is_empty() {
            Ok(())
        } else {
            Err(format!("licences that deny.toml does not allow:\n  {}", refused.join("\n  ")))
        }
    })
}

fn read(file: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(file)).map_err(|error| format!("`{file}` cannot be read: {error}"))
}

fn output(mut command: Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("`cargo tree` could not be started: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The strings of the first `allow = [ … ]` in the policy.
fn allowed_licences(policy: &str) -> Vec<&str> {
    policy
        .lines()
        .skip_while(|line| !line.starts_with("allow = ["))
        .skip(1)
        .take_while(|line| !line.starts_with(']'))
        .filter_map(|line| line.trim().strip_prefix('"')?.split('"').next())
        .collect()
}

/// Whether a licence expression can be met: one side of each `OR`, both sides of each `AND`. `AND` binds
/// closer, and a slash is how `OR` was written once.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    !words.is_empty() && any(&mut rest, allowed) && rest.is_empty()
}

fn any(words: &mut &[&str], allowed: &[&str]) -> bool {
    let mut met = all(words, allowed);
    while let Some((&"OR", rest)) = words.split_first() {
        *words = rest;
        met |= all(words, allowed);
    }
    met
}

fn all(words: &mut &[&str], allowed: &[&str]) -> bool {
    let mut met = one(words, allowed);
    while let Some((&"AND", rest)) = words.split_first() {
        *words = rest;
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut &[&str], allowed: &[&str]) -> bool {
    let Some((&first, rest)) = words.split_first() else { return false };
    *words = rest;
    if first == "(" {
        let met = any(words, allowed);
        if let Some((&")", rest)) = words.split_first() {
            *words = rest;
        }
        return met;
    }
    match words {
        ["WITH", exception, rest @ ..] => {
            let licence = format!("{first} WITH {exception}");
            *words = rest;
            allowed.contains(&licence.as_str())
        }
        _ => allowed.contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_met_by_one_side_of_or_and_both_sides_of_and() {
        let allowed = ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];
        for good in [
            "MIT",
            "MIT OR GPL-3.0",
            "MIT/Apache-2.0",
            "(GPL-3.0 OR MIT) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0",
            "GPL-3.0 AND Unicode-3.0 OR MIT",
        ] {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR GPL-3.0) AND GPL-3.0", "Apache-2.0", "MIT MIT"]
        {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn the_list_is_read_from_the_policy() {
        let policy =
            "[licenses]\nallow = [\n    \"MIT\", # why\n    \"ISC\",\n]\nother = [\n    \"no\",\n]\n";
        assert_eq!(allowed_licences(policy), ["MIT", "ISC"]);
    }
}
