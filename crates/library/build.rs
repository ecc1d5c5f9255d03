//! Packs the folders that the crate carries: the texts of a folder one after the other, compressed, and a table with their paths and
//! lengths.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use miniz_oxide::deflate::compress_to_vec;

/// The most that deflate can do.
const LEVEL: u8 = 9;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["documents", "servers", "evaluators"] {
        pack(name)?;
    }
    Ok(())
}

fn pack(name: &str) -> io::Result<()> {
    // Asked for when it runs: a build script that was built elsewhere would look there.
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let root = package.join(name);
    // Cargo looks through the whole of it.
    println!("cargo::rerun-if-changed={}", root.display());
    let mut texts = String::new();
    let mut table = String::from("&[\n");
    for file in files_below(&root)? {
        let text = fs::read_to_string(&file)?;
        // Writing to a string cannot fail.
        let _ = writeln!(table, "({:?}, {}),", relative(&root, &file), text.len());
        texts.push_str(&text);
    }
    table.push(']');
    fs::write(out.join(format!("{name}.rs")), table)?;
    fs::write(out.join(format!("{name}.deflate")), compress_to_vec(texts.as_bytes(), LEVEL))
}

/// Documents, evaluators and recordings, in the order of their paths.
fn files_below(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "yaml" || end == "jsonl") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Where a file stands in a folder, with `/` between folders.
fn relative(folder: &Path, file: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).to_string_lossy().replace('\\', "/")
}
