//! Writes the table of the library's documents, which the program carries in itself.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../library").canonicalize()?;
    let mut documents = Vec::new();
    for folder in entries(&library)?.into_iter().filter(|path| path.is_dir()) {
        // A document that comes or goes changes its folder; its proofs are no part of the program.
        println!("cargo::rerun-if-changed={}", folder.display());
        documents.extend(entries(&folder)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "yaml")));
    }
    documents.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    let mut table = String::from("pub(crate) const ENTRIES: &[Entry] = &[\n");
    for document in &documents {
        let path = document.strip_prefix(&library).unwrap_or(document).to_string_lossy().replace('\\', "/");
        // Writing to a string cannot fail.
        let _ = writeln!(table, "Entry {{ path: {path:?}, text: include_str!({:?}) }},", document.display().to_string());
    }
    table.push_str("];\n");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", library.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("library.rs"), table)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}
