//! `cargo xtask package`: every crate as it would be published, and the program installed from these packages alone.
//!
//! They are unpacked and installed outside the checkout, so that nothing can be read from it that is in no package. This takes
//! as long as a build from nothing, which is why `cargo xtask test` leaves it out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::step::{Failure, Runner, cargo, root};

pub(crate) fn run(runner: &mut Runner) -> Result<(), Failure> {
    let packages = root().join("target/package");
    runner.step("clean", "remove packages of former times", || {
        for path in packages_in(&packages) {
            std::fs::remove_file(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
        }
        Ok(())
    })?;
    runner.command(
        "package",
        &mut cargo([
            "package",
            "--workspace",
            "--exclude",
            "xtask",
            "--exclude",
            "sortie-release",
            "--no-verify",
            "--allow-dirty",
            "--quiet",
        ]),
        "a crate reads or names something that is not in its folder",
    )?;

    let outside = std::env::temp_dir().join(format!("sortie-packages-{}", std::process::id()));
    runner.step("unpack", "all packages, outside the checkout", || unpack(&packages, &outside))?;
    let program = outside.join("installed/bin/sortie");
    let built = runner
        .command(
            "install",
            cargo(["install", "--quiet", "--debug", "--path", "sortie"])
                .args(["--root", "installed", "--target-dir", "target"])
                .env_remove("CARGO_TARGET_DIR")
                .current_dir(&outside),
            "a package lacks something that is in the checkout",
        )
        .and_then(|()| {
            runner.step("run", "sortie run SRT-001 --agent builtin:gullible", || {
                let status = Command::new(&program)
                    .args(["run", "SRT-001", "--agent", "builtin:gullible"])
                    .current_dir(&outside)
                    .stdin(Stdio::null())
                    .status()
                    .map_err(|error| format!("`{}`: {error}", program.display()))?;
                if status.code() == Some(1) {
                    Ok(())
                } else {
                    Err(format!("it ended with {status}, not with 1"))
                }
            })
        });
    if !runner.is_dry_run() {
        // Nothing depends on whether it is gone.
        let _ = std::fs::remove_dir_all(&outside);
    }
    built
}

fn packages_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "crate"))
        .collect()
}

/// Unpacks every package into a folder of its own name, and has Cargo take them instead of the registry's.
fn unpack(packages: &Path, outside: &Path) -> Result<(), String> {
    let made = |path: &Path, error: std::io::Error| format!("`{}`: {error}", path.display());
    let mut patches = String::from("[patch.crates-io]\n");
    let found = packages_in(packages);
    if found.is_empty() {
        return Err("there are no packages".into());
    }
    for package in found {
        // `sortie-oatf-0.1.0`: the version begins behind the last hyphen.
        let stem = package.file_stem().unwrap_or_default().to_string_lossy();
        let (name, _) = stem.rsplit_once('-').ok_or_else(|| format!("`{stem}` has no version"))?;
        let folder = outside.join(name);
        std::fs::create_dir_all(&folder).map_err(|error| made(&folder, error))?;
        let status = Command::new("tar")
            .arg("-xzf")
            .arg(&package)
            .args(["--strip-components", "1", "-C"])
            .arg(&folder)
            .status()
            .map_err(|error| format!("`tar` could not be started: {error}"))?;
        if !status.success() {
            return Err(format!("`{}` could not be unpacked", package.display()));
        }
        if name != "sortie" {
            // A string of TOML is written as one of Rust is. Writing to a string cannot fail.
            let _ = writeln!(patches, "{name} = {{ path = {:?} }}", folder.display().to_string());
        }
    }
    let config = outside.join(".cargo");
    std::fs::create_dir_all(&config).map_err(|error| made(&config, error))?;
    std::fs::write(config.join("config.toml"), patches).map_err(|error| made(&config, error))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn every_crate_says_what_a_registry_asks_for() {
        for entry in std::fs::read_dir(root().join("crates")).unwrap() {
            let manifest = entry.unwrap().path().join("Cargo.toml");
            let text = std::fs::read_to_string(&manifest).unwrap();
            for field in
                ["\ndescription = \"", "\nlicense.workspace = true", "\nreadme", "\nversion.workspace = true"]
            {
                assert!(text.contains(field), "{} lacks `{}`", manifest.display(), field.trim());
            }
            // Tests read fixtures of the whole repository, and are of no use without it.
            let has_tests = manifest.with_file_name("tests").is_dir();
            assert!(
                !has_tests || text.contains("\nexclude = [\"/tests\"]"),
                "{} packs its tests",
                manifest.display()
            );
        }
    }

    /// A crate can be published after everything that it names with a version, tests included.
    #[test]
    fn crates_can_be_published_one_after_the_other() {
        let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for entry in std::fs::read_dir(root().join("crates")).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).unwrap();
            let name = text.lines().find_map(|line| line.strip_prefix("name = \"")).unwrap();
            let versioned = text.lines().filter_map(|line| line.split_once(".workspace = true"));
            let own = versioned.map(|(name, _)| name.to_owned()).filter(|name| name.starts_with("sortie-"));
            needs.insert(name.trim_end_matches('"').to_owned(), own.collect());
        }
        assert!(needs.len() > 20 && needs.values().any(|own| own.len() > 5), "{needs:?}");
        let mut published = BTreeSet::new();
        while let Some(next) = needs
            .iter()
            .find(|(_, own)| own.iter().all(|name| published.contains(name)))
            .map(|(name, _)| name.clone())
        {
            needs.remove(&next);
            published.insert(next);
        }
        assert!(needs.is_empty(), "these need each other: {:?}", needs.keys());
    }
}
