//! Writes the tables of what the program carries in itself: the documents of `library/`, and `evaluators/`.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;

    let library = repository.join("library");
    println!("cargo::rerun-if-changed={}", library.display());
    let mut documents = Vec::new();
    for folder in entries(&library)?.into_iter().filter(|path| path.is_dir()) {
        // A document that comes or goes changes its folder; its proofs are no part of the program.
        println!("cargo::rerun-if-changed={}", folder.display());
        documents.extend(entries(&folder)?.into_iter().filter(|path| is_yaml(path)));
    }
    documents.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    write_table("library.rs", "ENTRIES: &[Entry]", "Entry", &library, &documents)?;

    let evaluators = repository.join("evaluators");
    let mut files = Vec::new();
    below(&evaluators, &mut files)?;
    files.sort();
    write_table("evaluators.rs", "FILES: &[BundledFile]", "BundledFile", &evaluators, &files)
}

/// `pub(crate) const NAME: &[TYPE]`, one entry for each file.
fn write_table(name: &str, constant: &str, entry: &str, root: &Path, files: &[PathBuf]) -> io::Result<()> {
    let mut table = format!("pub(crate) const {constant} = &[\n");
    for file in files {
        let path = file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "{entry} {{ path: {path:?}, text: include_str!({:?}) }},",
            file.display().to_string()
        );
    }
    table.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join(name), table)
}

/// Every YAML file below a folder. A file that comes or goes changes its folder.
fn below(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for path in entries(folder)? {
        if path.is_dir() {
            below(&path, files)?;
        } else if is_yaml(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml")
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}
