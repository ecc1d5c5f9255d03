//! `cargo xtask release`: the program as it is shipped, and every package that people install it from.
//!
//! A backtrace has names and lines when `sortie.debug` stands beside `sortie`.

use std::path::PathBuf;
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
}

pub(crate) fn run(runner: &mut Runner, options: &ReleaseOptions) -> Result<(), Failure> {
    let targets = if options.targets.is_empty() { default_targets(runner) } else { options.targets.clone() };
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
    Ok(())
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
