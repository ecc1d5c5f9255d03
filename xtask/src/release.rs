//! `cargo xtask release`: the program as it is shipped, and beside it a file with the lines of its code.
//!
//! A backtrace has lines when `sortie.debug` stands beside `sortie`, and names of functions without it.

use std::path::Path;
use std::process::Command;

use crate::step::{Failure, Runner, cargo, root};

/// What the program may take on disk.
const MAX_BYTES: u64 = 40_000_000;

const BINUTILS: &str = "`objcopy` is part of binutils, as the linker is";

pub(crate) fn run(runner: &mut Runner) -> Result<(), Failure> {
    let built = root().join("target/dist/sortie");
    let folder = root().join("target/ship");
    let (program, lines) = (folder.join("sortie"), folder.join("sortie.debug"));
    runner.command(
        "build",
        &mut cargo(["build", "--profile", "dist", "--package", "sortie", "--locked"]),
        "the program does not compile",
    )?;
    runner.step("folder", "make target/ship", || {
        std::fs::create_dir_all(&folder).map_err(|error| format!("`{}`: {error}", folder.display()))
    })?;
    let mut keep = Command::new("objcopy");
    keep.args(["--only-keep-debug", "--compress-debug-sections=zlib"]).arg(&built).arg(&lines);
    runner.command("lines", &mut keep, BINUTILS)?;
    let mut strip = Command::new("objcopy");
    // The link names the file, without a folder: it is looked for beside the program.
    strip.arg("--strip-debug").arg("--add-gnu-debuglink=sortie.debug").arg(&built).arg("sortie");
    runner.command("program", strip.current_dir(&folder), BINUTILS)?;
    runner.step("size", "at most 40 MB", || {
        let bytes =
            |path: &Path| std::fs::metadata(path).map(|file| file.len()).map_err(|error| error.to_string());
        println!("    sortie {} bytes, sortie.debug {} bytes", bytes(&program)?, bytes(&lines)?);
        if bytes(&program)? <= MAX_BYTES { Ok(()) } else { Err("the program is too big".into()) }
    })
}
