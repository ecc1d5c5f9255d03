//! What is too large, or makes no sense, is refused and harms nothing.

use serde_json::{Value, json};
use sortie_lsp::{PositionEncoding, RequestError};

use crate::client::{MemoryFiles, open, uri, workspace};

#[test]
fn the_257th_document_is_refused_and_the_others_are_followed() {
    let mut workspace = workspace(MemoryFiles::default(), PositionEncoding::Utf16);
    for number in 0..256 {
        open(&mut workspace, &format!("{number}.yaml"), "oatf: '0.1'\n");
    }
    let item = json!({"uri": uri("more.yaml"), "languageId": "yaml", "version": 1, "text": "oatf: '0.1'\n"});
    let refused = workspace.notify("textDocument/didOpen", json!({"textDocument": item}));
    assert!(matches!(refused, Err(RequestError::Failed(_))), "{refused:?}");
    assert_eq!(workspace.diagnostics().len(), 256);
}

#[test]
fn a_document_beyond_the_limit_gets_one_diagnostic_and_no_answers() {
    let mut workspace = workspace(MemoryFiles::default(), PositionEncoding::Utf8);
    open(&mut workspace, "a.yaml", &format!("oatf: '0.1'\n# {}\n", "x".repeat(2 * 1024 * 1024)));
    let published = workspace.diagnostics();
    let codes: Vec<_> = published[0].diagnostics.iter().map(|finding| finding.code.clone()).collect();
    assert_eq!(serde_json::to_value(codes).unwrap(), json!(["P-011"]));
    let params = json!({"textDocument": {"uri": uri("a.yaml")}});
    assert_eq!(workspace.request("textDocument/documentSymbol", params), Ok(json!([])));
}

#[test]
fn unknown_methods_and_parameters_are_errors_and_unknown_documents_have_no_answer() {
    let mut workspace = workspace(MemoryFiles::default(), PositionEncoding::Utf16);
    let unknown = workspace.request("textDocument/telepathy", Value::Null);
    assert!(matches!(unknown, Err(RequestError::UnknownMethod(_))));
    let wrong = workspace.request("textDocument/hover", json!({"position": "here"}));
    assert!(matches!(wrong, Err(RequestError::Invalid(_))));
    let at = json!({"textDocument": {"uri": uri("gone.yaml")}, "position": {"line": 0, "character": 0}});
    assert_eq!(workspace.request("textDocument/hover", at), Ok(Value::Null));
    assert!(workspace.notify("textDocument/didChange", json!({})).is_err());
}

#[test]
fn a_position_far_outside_the_text_is_its_end() {
    let mut workspace = workspace(MemoryFiles::default(), PositionEncoding::Utf16);
    open(&mut workspace, "a.yaml", "oatf: '0.1'\nattack:\n  name: é\n");
    for method in ["hover", "completion", "definition", "prepareRename"] {
        let far = json!({"textDocument": {"uri": uri("a.yaml")}, "position": {"line": u32::MAX, "character": u32::MAX}});
        workspace.request(&format!("textDocument/{method}"), far).unwrap();
    }
}
