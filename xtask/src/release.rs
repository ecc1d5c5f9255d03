//! `cargo xtask release`: the program as it is shipped, and every package that people install it from.
//!
//! A backtrace has names and lines when `sortie.debug` stands beside `sortie`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python;
use crate::step::{Failure, Runner, cargo, is_installed, root, target_folder};

/// What is built when no target is named: the first has to be there, the others are left out where a tool is missing.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];
/// The Python module is loaded by a Python, so it needs the C library of that Python.
const MODULE_TARGET: &str = "x86_64-unknown-linux-gnu";
/// Where the artefacts are written.
const OUT: &str = "target/release-artifacts";
/// Where the programs are, in a folder for each target.
const SHIP: &str = "target/ship";

/// What to build, and what to do with it.
pub(crate) struct ReleaseOptions {
    /// As Rust names them; none stands for [`TARGETS`].
    pub(crate) targets: Vec<String>,
    /// Where the artefacts will be published, for the formula.
    pub(crate) url: Option<String>,
    /// Whether every package is installed and run.
    pub(crate) verify: bool,
    /// Whether everything is built once more, elsewhere, and compared.
    pub(crate) twice: bool,
}

pub(crate) fn run(runner: &mut Runner, options: &ReleaseOptions) -> Result<(), Failure> {
    let targets =
        if options.targets.is_empty() { default_targets(runner) } else { named_targets(&options.targets) };
    for target in &targets {
        build(runner, target)?;
    }
    // The first program is the one that runs here: the module is tested with it, and it writes its own man pages.
    let program = ship(&targets[0]).join("sortie");
    let wheels = python::release(runner, &program, MODULE_TARGET, &path_prefixes())?;
    let mut pack = packer();
    pack.arg("pack").arg(SHIP).arg(wheels).arg(OUT);
    pack.arg(options.url.as_deref().unwrap_or_default()).arg(MODULE_TARGET).args(&targets);
    runner.command("pack", &mut pack, "the message above says which artefact")?;
    if options.verify {
        let mut verify = packer();
        verify.args(["verify", OUT, MODULE_TARGET]).args(&targets);
        let needs = "this needs bwrap, dpkg, Python 3 with venv, npm, PyPI for CycloneDX and pre-commit, and \
                     qemu-aarch64-static for a program of aarch64";
        runner.command("verify", &mut verify, needs)?;
    }
    if options.twice { build_again(runner, options, &targets) } else { Ok(()) }
}

/// The targets that somebody named, and before them the one of this machine if the first is for another processor: its program writes the
/// man pages.
fn named_targets(named: &[String]) -> Vec<String> {
    let own = named.first().filter(|first| is_foreign(first)).map(|_| TARGETS[0].to_owned());
    own.iter().chain(named).cloned().collect()
}

/// Builds the last commit in a clone, in another folder and from nothing, and compares every artefact.
fn build_again(runner: &mut Runner, options: &ReleaseOptions, targets: &[String]) -> Result<(), Failure> {
    let clone = std::env::temp_dir().join(format!("sortie-again-{}", std::process::id()));
    runner.step("clean checkout", "look for what is not committed", || {
        let listed = Command::new("git").args(["status", "--porcelain"]).current_dir(root()).output();
        match listed {
            Ok(listed) if listed.status.success() && listed.stdout.is_empty() => Ok(()),
            Ok(_) => Err("commit first: the second build is of the last commit".into()),
            Err(error) => Err(format!("`git` could not be started: {error}")),
        }
    })?;
    let mut fetch = Command::new("git");
    fetch.args(["clone", "--quiet", "--no-hardlinks"]).arg(root()).arg(&clone);
    runner.command("clone", &mut fetch, "git cannot clone this checkout")?;
    let mut build = cargo(["xtask", "release"]);
    build.current_dir(&clone).env_remove("CARGO_TARGET_DIR");
    for target in targets {
        build.args(["--target", target]);
    }
    build.args(options.url.iter().flat_map(|url| ["--url", url]));
    runner.command("second build", &mut build, "it is the same commit, in another folder")?;
    let (first, second) = (root().join(OUT), clone.join(OUT));
    runner.step("compare", &format!("{} and {}", first.display(), second.display()), || {
        compare(&checksums(&first)?, &checksums(&second)?)
    })?;
    if !runner.is_dry_run() {
        // Nothing depends on whether it is gone.
        let _ = std::fs::remove_dir_all(&clone);
    }
    Ok(())
}

/// The names of the artefacts in a folder, and their checksums.
fn checksums(folder: &Path) -> Result<BTreeMap<String, String>, String> {
    let path = folder.join("SHA256SUMS");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    Ok(lines.map(|(sum, name)| (name.to_owned(), sum.to_owned())).collect())
}

/// Whether an artefact is known to differ: the wheel with the module. `python/` is a workspace of its own, so the compiler is told the absolute
/// paths of the crates that it uses, and puts the code in another order in another folder.
fn may_differ(name: &str) -> bool {
    name.contains("-abi3-")
}

/// Says which artefacts have the same bytes. Every other one is a failure, unless it is known to differ.
fn compare(first: &BTreeMap<String, String>, second: &BTreeMap<String, String>) -> Result<(), String> {
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let mut other = Vec::new();
    for name in names {
        if first.get(name).is_some() && first.get(name) == second.get(name) {
            println!("    same bytes: {name}");
        } else if may_differ(name) && first.contains_key(name) && second.contains_key(name) {
            println!("    other bytes, as is known: {name}");
        } else {
            other.push(name.as_str());
        }
    }
    match (other.is_empty(), first.is_empty()) {
        (true, false) => Ok(()),
        (true, true) => Err("there are no artefacts".into()),
        (false, _) => Err(format!("other bytes: {}", other.join(", "))),
    }
}

/// The targets that can be built here. The first is among them in any case, so that its build says what is missing.
fn default_targets(runner: &mut Runner) -> Vec<String> {
    let (first, others) = (TARGETS[0], &TARGETS[1..]);
    let mut targets = vec![first.to_owned()];
    for target in others {
        if has_standard_library(target) && is_installed(Command::new(tool(target, "gcc")).arg("--version")) {
            targets.push((*target).to_owned());
        } else {
            let gcc = tool(target, "gcc");
            runner.leave_out(&format!(
                "the program for {target} (it needs `rustup target add {target}` and `{gcc}`)"
            ));
        }
    }
    targets
}

fn has_standard_library(target: &str) -> bool {
    let printed = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    printed.is_ok_and(|printed| PathBuf::from(String::from_utf8_lossy(&printed.stdout).trim()).is_dir())
}

/// The program without names and lines, and a file with them, into the folder of its target.
fn build(runner: &mut Runner, target: &str) -> Result<(), Failure> {
    let built = target_folder().join(target).join("dist/sortie");
    let folder = ship(target);
    let mut build =
        cargo(["build", "--profile", "dist", "--package", "sortie", "--locked", "--target", target]);
    build.env("CARGO_ENCODED_RUSTFLAGS", rust_flags(target).join("\x1f"));
    build.env("CFLAGS", c_flags());
    // mimalloc has the time of its compilation in a message; compilers of C write this time instead.
    build.env("SOURCE_DATE_EPOCH", "0");
    if is_foreign(target) {
        build.env(format!("CC_{}", target.replace('-', "_")), tool(target, "gcc"));
        build.env(format!("AR_{}", target.replace('-', "_")), tool(target, "ar"));
    }
    let advice = format!(
        "the program does not compile; if its standard library is missing: `rustup target add {target}`; \
         if a C compiler is missing: `musl-gcc` is in the package musl-tools"
    );
    runner.command("build", &mut build, &advice)?;
    runner.step("folder", &format!("make {}", folder.display()), || {
        std::fs::create_dir_all(&folder).map_err(|error| format!("`{}`: {error}", folder.display()))
    })?;
    let binutils = "`objcopy` is part of binutils, as the linker is";
    let mut keep = Command::new(tool(target, "objcopy"));
    keep.args(["--only-keep-debug", "--compress-debug-sections=zlib"]).arg(&built).arg("sortie.debug");
    runner.command("debug file", keep.current_dir(&folder), binutils)?;
    let mut strip = Command::new(tool(target, "objcopy"));
    // The link names the file, without a folder: it is looked for beside the program.
    strip.arg("--strip-all").arg("--add-gnu-debuglink=sortie.debug").arg(&built).arg("sortie");
    runner.command("program", strip.current_dir(&folder), binutils)
}

/// Static, without the folders of whoever builds it, with equal functions once and relocations packed.
///
/// Rust's own linker links for musl, with the C library that comes with Rust's standard library: the system's linker and C library
/// are not in the program.
fn rust_flags(target: &str) -> Vec<String> {
    let options: &[&str] = if target.ends_with("-musl") {
        &["linker=rust-lld", "link-arg=--icf=all", "link-arg=-zpack-relative-relocs"]
    } else {
        &["link-arg=-Wl,--icf=all", "link-arg=-Wl,-z,pack-relative-relocs"]
    };
    let options = ["target-feature=+crt-static"].iter().chain(options);
    let mut flags: Vec<String> = options.map(|option| format!("-C{option}")).collect();
    flags.extend(path_prefixes().iter().map(|prefix| format!("--remap-path-prefix={prefix}")));
    flags
}

fn c_flags() -> String {
    path_prefixes().map(|prefix| format!("-ffile-prefix-map={prefix}")).join(" ")
}

/// Whether the program is for another processor than that of this machine.
fn is_foreign(target: &str) -> bool {
    target.split('-').next() != Some(std::env::consts::ARCH)
}

/// A tool for C, such as `objcopy`, that knows the processor of a target: `aarch64-linux-gnu-objcopy`.
fn tool(target: &str, name: &str) -> String {
    let processor = target.split('-').next().unwrap_or_default();
    if is_foreign(target) { format!("{processor}-linux-gnu-{name}") } else { name.to_owned() }
}

/// Folders whose names would be in the program, and what is written instead.
fn path_prefixes() -> [String; 3] {
    let home = std::env::var("HOME").unwrap_or_default();
    let cargo_home = std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{home}/.cargo"));
    // The last one that fits counts: what is built may be below the root.
    [
        format!("{cargo_home}=/cargo"),
        format!("{}=/sortie", root().display()),
        format!("{}=/sortie/target", target_folder().display()),
    ]
}

/// Where the program for a target is put.
fn ship(target: &str) -> PathBuf {
    root().join(SHIP).join(target)
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
        let flags = rust_flags(TARGETS[0]);
        let remapped = format!("--remap-path-prefix={}=/sortie", root().display());
        assert!(flags.contains(&remapped), "{flags:?}");
    }

    #[test]
    fn a_program_of_this_machine_is_built_first() {
        let named =
            |names: &[&str]| named_targets(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        let foreign = if std::env::consts::ARCH == "aarch64" { "x86_64-other" } else { "aarch64-other" };
        let own = format!("{}-other", std::env::consts::ARCH);
        assert_eq!(named(&[foreign]), [TARGETS[0], foreign]);
        assert_eq!(named(&[&own, foreign]), [own.as_str(), foreign]);
    }

    #[test]
    fn an_artefact_with_other_bytes_or_in_one_build_only_is_a_failure() {
        let sums = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|&(name, sum)| (name.to_owned(), sum.to_owned())).collect()
        };
        let both = sums(&[("a.deb", "1"), ("b.whl", "2")]);
        assert!(compare(&both, &both).is_ok());
        assert!(
            compare(&both, &sums(&[("a.deb", "1"), ("b.whl", "3")]))
                .is_err_and(|told| told.ends_with(": b.whl"))
        );
        assert!(compare(&both, &sums(&[("b.whl", "2")])).is_err_and(|told| told.ends_with(": a.deb")));
        assert!(compare(&sums(&[("b.whl", "2")]), &both).is_err());
        let module = |sum| sums(&[("a-abi3-b.whl", sum)]);
        assert!(compare(&module("1"), &module("2")).is_ok());
        assert!(compare(&module("1"), &sums(&[])).is_err());
        assert!(compare(&sums(&[]), &sums(&[])).is_err());
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
