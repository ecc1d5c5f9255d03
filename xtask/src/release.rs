//! `cargo xtask release`: the program as it is shipped, and every package that people install it from.
//!
//! A backtrace has names and lines when `sortie.debug` stands beside `sortie`.

use std::process::Command;

use crate::python;
use crate::step::{Failure, Runner, cargo, root};

/// What is built when no target is named. It is static all the same; `docs/install.md` says what musl would change.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Where the artefacts are written.
const OUT: &str = "target/release-artifacts";
const BINUTILS: &str = "`objcopy` is part of binutils, as the linker is";

/// What to build, and what to do with it.
pub(crate) struct ReleaseOptions {
    /// As Rust names it; its standard library has to be installed.
    pub(crate) target: Option<String>,
    /// Where the artefacts will be published, for the formula.
    pub(crate) url: Option<String>,
    /// Whether every package is installed and run.
    pub(crate) verify: bool,
}

pub(crate) fn run(runner: &mut Runner, options: &ReleaseOptions) -> Result<(), Failure> {
    let target = options.target.as_deref().unwrap_or(TARGET);
    build(runner, target)?;
    let wheels = python::release(runner, target, &path_prefixes())?;
    let mut pack = packer();
    pack.args(["pack", target, "target/ship/sortie", "target/ship/sortie.debug"]);
    pack.arg(wheels).arg(OUT).args(&options.url);
    runner.command("pack", &mut pack, "the message above says which artefact")?;
    if options.verify {
        let mut verify = packer();
        verify.args(["verify", target, OUT]);
        let needs = "this needs bwrap, dpkg, Python 3 with venv, npm, and PyPI for CycloneDX and pre-commit";
        runner.command("verify", &mut verify, needs)?;
    }
    Ok(())
}

/// The program without names and lines, and a file with them, into `target/ship`.
fn build(runner: &mut Runner, target: &str) -> Result<(), Failure> {
    let built = root().join("target").join(target).join("dist/sortie");
    let folder = root().join("target/ship");
    let mut build =
        cargo(["build", "--profile", "dist", "--package", "sortie", "--locked", "--target", target]);
    build.env("CARGO_ENCODED_RUSTFLAGS", rust_flags().join("\x1f"));
    build.env("CFLAGS", path_prefixes().map(|prefix| format!("-ffile-prefix-map={prefix}")).join(" "));
    let advice = "the program does not compile; if the target is missing: `rustup target add`";
    runner.command("build", &mut build, advice)?;
    runner.step("folder", "make target/ship", || {
        std::fs::create_dir_all(&folder).map_err(|error| format!("`{}`: {error}", folder.display()))
    })?;
    let mut keep = Command::new("objcopy");
    keep.args(["--only-keep-debug", "--compress-debug-sections=zlib"]).arg(&built).arg("sortie.debug");
    runner.command("debug file", keep.current_dir(&folder), BINUTILS)?;
    let mut strip = Command::new("objcopy");
    // The link names the file, without a folder: it is looked for beside the program.
    strip.arg("--strip-all").arg("--add-gnu-debuglink=sortie.debug").arg(&built).arg("sortie");
    runner.command("program", strip.current_dir(&folder), BINUTILS)
}

/// Static, without the folders of whoever builds it, with equal functions once and relocations packed.
fn rust_flags() -> Vec<String> {
    let mut flags: Vec<String> =
        ["target-feature=+crt-static", "link-arg=-Wl,--icf=all", "link-arg=-Wl,-z,pack-relative-relocs"]
            .iter()
            .map(|option| format!("-C{option}"))
            .collect();
    flags.extend(path_prefixes().map(|prefix| format!("--remap-path-prefix={prefix}")));
    flags
}

/// Folders whose names would be in the program, and what is written instead.
fn path_prefixes() -> [String; 2] {
    let home = std::env::var("HOME").unwrap_or_default();
    let cargo_home = std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{home}/.cargo"));
    [format!("{cargo_home}=/cargo"), format!("{}=/sortie", root().display())]
}

/// The program that packs and verifies.
fn packer() -> Command {
    cargo(["run", "--quiet", "--package", "sortie-release", "--"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_folder_of_the_builder_is_in_the_program() {
        let flags = rust_flags();
        let remapped = format!("--remap-path-prefix={}=/sortie", root().display());
        assert!(flags.contains(&remapped), "{flags:?}");
    }

    #[test]
    fn the_level_of_every_package_is_written_for_what_is_shipped() {
        let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let packages = |profile: &str| -> Vec<String> {
            let table = manifest.split_once(&format!("\n[profile.{profile}.package]\n")).unwrap().1;
            let lines = table.split("\n[").next().unwrap().lines();
            lines.filter_map(|line| Some(line.split_once(" = {")?.0.to_owned())).collect()
        };
        let shipped = packages("dist");
        let forgotten: Vec<_> =
            packages("release").into_iter().filter(|name| !shipped.contains(name)).collect();
        assert!(forgotten.is_empty(), "{forgotten:?} keep the level of `release`");
    }
}
