//! Golden pairs: for each `NAME.in.yaml` (or `.in.toml`) of `tests/golden/FEATURE` the request `NAME.request.json`, or else the
//! `request.json` of the folder, gives `NAME.response.json`. `SNAPSHOTS=overwrite` accepts what is answered now.
//!
//! `<|>` in the text is the cursor; `"<|>"` in the request stands for its position. The text is `attack.yaml`, unless a line
//! `# file: PATH` begins a file; the first is open, the others are on disk. `edits` in the request are made after the document was
//! opened and analysed, each replacing one text by another: so that what is asked is about a text that may be broken by then.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sortie_lsp::PositionEncoding;

use crate::client::{FOLDER, MemoryFiles, change, open, position, uri, workspace};
use crate::readable::readable;

const CURSOR: &str = "<|>";
/// At least as many pairs as there should be.
const FEWEST: usize = 200;

#[test]
fn every_request_gives_its_response() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let overwrite = std::env::var("SNAPSHOTS").is_ok_and(|action| action == "overwrite");
    let mut failures = Vec::new();
    let inputs = inputs(&folder);
    for input in &inputs {
        let given = answer(input);
        let golden = sibling(input, "response.json");
        if overwrite {
            fs::write(&golden, &given).unwrap();
        } else if fs::read_to_string(&golden).unwrap_or_default() != given {
            failures.push(format!("{}:\n{given}", golden.display()));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} differ; `SNAPSHOTS=overwrite` accepts them\n{}",
        failures.len(),
        inputs.len(),
        failures.join("\n")
    );
    assert!(inputs.len() >= FEWEST, "{} pairs", inputs.len());
}

#[test]
fn no_golden_file_is_without_its_input() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let inputs = inputs(&folder);
    for file in files(&folder) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let belongs = name == "request.json"
            || inputs.iter().any(|input| {
                [input.clone(), sibling(input, "request.json"), sibling(input, "response.json")]
                    .contains(&file)
            });
        assert!(belongs, "{} belongs to nothing", file.display());
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let features = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = features
        .flat_map(|feature| fs::read_dir(feature).unwrap().map(|entry| entry.unwrap().path()))
        .collect();
    files.sort();
    files
}

fn inputs(folder: &Path) -> Vec<PathBuf> {
    let is_input = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".in.yaml") || name.ends_with(".in.toml")
    };
    files(folder).into_iter().filter(is_input).collect()
}

fn sibling(input: &Path, end: &str) -> PathBuf {
    let name = input.file_name().unwrap().to_str().unwrap();
    let stem = name.trim_end_matches(".in.yaml").trim_end_matches(".in.toml");
    input.with_file_name(format!("{stem}.{end}"))
}

/// What the server says to a request, as it is written into the golden file.
fn answer(input: &Path) -> String {
    let own = sibling(input, "request.json");
    let request = if own.exists() { own } else { input.with_file_name("request.json") };
    let request: Value = serde_json::from_str(&fs::read_to_string(&request).unwrap()).unwrap();
    let (path, marked, others) = split(&fs::read_to_string(input).unwrap(), input);
    let cursor = marked.find(CURSOR);
    let text = marked.replacen(CURSOR, "", 1);
    let mut files = MemoryFiles::default();
    for (path, text) in [(path.clone(), text.clone())].into_iter().chain(others) {
        files.0.insert(Path::new(FOLDER).join(path), text);
    }
    let mut workspace = workspace(files, PositionEncoding::Utf16);
    open(&mut workspace, &path, &text);
    let mut diagnostics = workspace.diagnostics();
    let mut text = text;
    for (version, edit) in request["edits"].as_array().into_iter().flatten().enumerate() {
        let (find, replace) = (edit["find"].as_str().unwrap(), edit["replace"].as_str().unwrap());
        let at = text.find(find).unwrap_or_else(|| panic!("{}: no `{find}`", input.display()));
        let range = json!({"start": position(&text, at), "end": position(&text, at + find.len())});
        change(
            &mut workspace,
            &path,
            2 + i32::try_from(version).unwrap(),
            &json!([{"range": range, "text": replace}]),
        );
        text.replace_range(at..at + find.len(), replace);
        diagnostics = workspace.diagnostics();
    }
    let method = request["method"].as_str().unwrap();
    if method == "textDocument/publishDiagnostics" {
        return readable(&serde_json::to_value(&diagnostics[0].diagnostics).unwrap());
    }
    let mut params = request.get("params").cloned().unwrap_or_else(|| json!({}));
    if method.starts_with("textDocument/") {
        params["textDocument"] = json!({"uri": uri(&path)});
    }
    fill(&mut params, cursor.map(|cursor| position(&text, cursor)).as_ref(), &text);
    match workspace.request(method, params) {
        Ok(answer) => readable(&answer),
        Err(error) => readable(&json!({"error": error.to_string()})),
    }
}

/// Puts positions in place of `"<|>"`, and of `"<end>"`, which is the end of the text.
fn fill(value: &mut Value, cursor: Option<&Value>, text: &str) {
    match value {
        Value::String(word) if word == CURSOR => *value = cursor.expect("a cursor in the text").clone(),
        Value::String(word) if word == "<end>" => *value = position(text, text.len()),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, cursor, text)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, cursor, text)),
        _ => {}
    }
}

/// The open file and the others, with their paths.
fn split(text: &str, input: &Path) -> (String, String, Vec<(String, String)>) {
    let is_toml = input.to_string_lossy().ends_with(".toml");
    let mut files: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(path) = line.strip_prefix("# file: ") {
            files.push((path.trim().to_owned(), String::new()));
        } else {
            if files.is_empty() {
                files.push((if is_toml { "sortie.toml" } else { "attack.yaml" }.to_owned(), String::new()));
            }
            files.last_mut().unwrap().1.push_str(line);
        }
    }
    let mut files = files.into_iter();
    let (path, text) = files.next().unwrap_or_else(|| ("attack.yaml".to_owned(), String::new()));
    (path, text, files.collect())
}
