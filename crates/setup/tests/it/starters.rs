//! Documents to start from.

use sortie_bindings::known_modes;
use sortie_setup::document_starter;

#[test]
fn every_starter_is_valid_and_without_a_single_finding() {
    assert!(!known_modes().is_empty());
    for mode in known_modes() {
        let mode = mode.to_string();
        let analysis = sortie_lint::analyze(document_starter(&mode).expect("a starter"));
        assert!(analysis.diagnostics.is_empty(), "{mode}: {:#?}", analysis.diagnostics);
        let document = analysis.document.expect("a document");
        assert_eq!(document.attack.execution.mode.as_deref(), Some(mode.as_str()));
    }
    assert_eq!(document_starter("mcp_serfer"), None);
}
