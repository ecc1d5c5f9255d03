//! The extension for VS Code, unpacked: what its manifest names is there, and the server that it starts answers.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// The extension, unpacked into a folder of its own.
fn unpacked(folder: &Path) -> PathBuf {
    let file = std::env::var_os("SORTIE_VSIX")
        .expect("SORTIE_VSIX names the extension: `cargo xtask vscode` sets it");
    let unzip = Command::new("python3").args(["-m", "zipfile", "-e"]).arg(file).arg(folder).status().unwrap();
    assert!(unzip.success());
    folder.join("extension")
}

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

#[test]
#[ignore = "needs the extension: cargo xtask vscode"]
fn the_vscode_extension_holds_everything_that_its_manifest_names() {
    let folder = tempfile::tempdir().unwrap();
    let extension = unpacked(folder.path());
    let package = read(&extension.join("package.json"));
    let contributes = &package["contributes"];
    let mut named = vec![package["main"].as_str().unwrap()];
    let paths = [("grammars", "path"), ("yamlValidation", "url"), ("tomlValidation", "url")];
    for (list, key) in paths {
        named.extend(contributes[list].as_array().unwrap().iter().map(|item| item[key].as_str().unwrap()));
    }
    for path in named {
        assert!(extension.join(path).is_file(), "{path}");
    }
    assert!(extension.join("node_modules/vscode-languageclient/package.json").is_file());
    for grammar in contributes["grammars"].as_array().unwrap() {
        let written = read(&extension.join(grammar["path"].as_str().unwrap()));
        assert_eq!(written["scopeName"], grammar["scopeName"]);
    }
    let schema = read(&extension.join("schemas/document.schema.json"));
    assert_eq!(schema, serde_json::from_str::<Value>(sortie_oatf::schema()).unwrap());
    let manifest = std::fs::read_to_string(folder.path().join("extension.vsixmanifest")).unwrap();
    let manifest = roxmltree::Document::parse(&manifest).unwrap();
    let identity = manifest.descendants().find(|node| node.tag_name().name() == "Identity").unwrap();
    assert_eq!(identity.attribute("Version"), package["version"].as_str());
    assert_eq!(
        package["version"],
        env!("CARGO_PKG_VERSION"),
        "the extension and the program have one version"
    );
}

#[test]
#[ignore = "needs the extension: cargo xtask vscode"]
fn the_server_that_the_vscode_extension_starts_answers() {
    let folder = tempfile::tempdir().unwrap();
    let extension = unpacked(folder.path());
    let script = std::fs::read_to_string(extension.join("extension.js")).unwrap();
    let command = script.lines().find(|line| line.contains("command: program()")).unwrap();
    let arguments = command.split_once("args: ").unwrap().1.trim_end_matches([' ', '}', ';']);
    let arguments: Vec<String> = serde_json::from_str(arguments).unwrap();
    let package = read(&extension.join("package.json"));
    let program =
        package["contributes"]["configuration"]["properties"]["sortie.path"]["default"].as_str().unwrap();
    assert_eq!(program, "sortie");
    let mut server = Command::new(env!("CARGO_BIN_EXE_sortie"))
        .args(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}})
        .to_string();
    let mut input = server.stdin.take().unwrap();
    write!(input, "Content-Length: {}\r\n\r\n{request}", request.len()).unwrap();
    drop(input);
    let mut said = String::new();
    server.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    server.wait().unwrap();
    assert!(said.contains("\"hoverProvider\":true"), "{said}");
}
