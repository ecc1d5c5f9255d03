//! Writes the tables of what the crate carries: the documents with their proofs, and the evaluators.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    write_table("documents.rs", &documents(&data_folder("documents"))?)?;
    write_table("evaluators.rs", &evaluators(&data_folder("evaluators"))?)
}

/// A folder of the crate. Cargo looks through the whole of it.
fn data_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    println!("cargo::rerun-if-changed={}", folder.display());
    folder
}

fn documents(root: &Path) -> io::Result<String> {
    let mut documents = Vec::new();
    for folder in entries(root)?.into_iter().filter(|path| path.is_dir()) {
        documents.extend(entries(&folder)?.into_iter().filter(|path| has_extension(path, "yaml")));
    }
    documents.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    let mut table = String::from("const DOCUMENTS: &[BundledDocument] = &[\n");
    for document in &documents {
        let path = below(root, document);
        let proofs = document.with_extension("proofs");
        // Writing to a string cannot fail.
        let _ = write!(
            table,
            "BundledDocument {{ path: {path:?}, text: {}, manifest: {}, traces: &[",
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
    Ok(table)
}

fn evaluators(root: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else if has_extension(&path, "yaml") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut table = String::from("const FILES: &[(&str, &str)] = &[\n");
    for file in &files {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "({:?}, {}),", below(root, file), text(file));
    }
    table.push_str("];\n");
    Ok(table)
}

fn write_table(name: &str, table: &str) -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join(name), table)
}

/// Where a file stands in a folder, with `/` between folders.
fn below(folder: &Path, file: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).to_string_lossy().replace('\\', "/")
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
