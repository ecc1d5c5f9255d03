//! Writes the table of the library's documents, which the program carries in itself with their proofs.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../library").canonicalize()?;
    let mut documents = Vec::new();
    for folder in entries(&library)?.into_iter().filter(|path| path.is_dir()) {
        documents.extend(entries(&folder)?.into_iter().filter(|path| has_extension(path, "yaml")));
    }
    documents.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    let mut table = String::from("pub(crate) const ENTRIES: &[Entry] = &[\n");
    for document in &documents {
        let path = document.strip_prefix(&library).unwrap_or(document).to_string_lossy().replace('\\', "/");
        let proofs = document.with_extension("proofs");
        // Writing to a string cannot fail.
        let _ = write!(
            table,
            "Entry {{ path: {path:?}, text: {}, manifest: {}, traces: &[",
            text(document),
            text(&proofs.join("proofs.yaml"))
        );
        let mut traces = entries(&proofs)?;
        traces.sort();
        for trace in traces.iter().filter(|path| has_extension(path, "jsonl")) {
            let name = trace.file_name().unwrap_or_default().to_string_lossy();
            let _ = write!(table, "({name:?}, {}), ", text(trace));
        }
        table.push_str("] },\n");
    }
    table.push_str("];\n");
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo looks through the whole of a folder.
    println!("cargo::rerun-if-changed={}", library.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("library.rs"), table)
}

/// The expression that is the text of a file.
fn text(file: &Path) -> String {
    format!("include_str!({:?})", file.display().to_string())
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}
