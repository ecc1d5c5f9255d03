//! From text to a document that can be relied on, and back.

use sortie_lint::analyze;
use sortie_oatf::{Compiled, Validated, normalize, parse as parse_text, parse_bytes, serialize};
use sortie_syntax::Diagnostic;

/// Any bytes parse, or give errors that have a place in them; what is said for people agrees with what is said for
/// programs.
pub fn parse(data: &[u8]) {
    let parsed = parse_bytes(data);
    if let Err(errors) = &parsed {
        assert!(!errors.is_empty(), "refused without a reason");
    }
    let Ok(text) = std::str::from_utf8(data) else {
        assert!(parsed.is_err(), "accepted what is not UTF-8");
        return;
    };
    assert_eq!(parse_text(text), parsed, "`parse` and `parse_bytes` differ");
    let analysis = analyze(text);
    let unreadable = analysis.diagnostics.iter().any(|finding| finding.kind.is_some());
    assert_eq!(parsed.is_err(), unreadable, "`parse` and `analyze` disagree: {:#?}", analysis.diagnostics);
    if let Ok(document) = parsed {
        assert_eq!(analysis.document, Some(document));
    }
    check_places(text, &analysis.diagnostics);
}

/// Every finding points into the text, between characters, and the findings are in the order of the text.
pub(crate) fn check_places(text: &str, findings: &[Diagnostic]) {
    let mut last = 0;
    for finding in findings {
        if let Some(span) = finding.span {
            assert!(text.get(span.range()).is_some(), "{finding:?} is outside the text, or cuts a character");
        }
        for label in &finding.labels {
            assert!(text.get(label.span.range()).is_some(), "{finding:?} has a label outside the text");
        }
        let start = finding.span.map_or(0, |span| span.start);
        assert!(last <= start, "out of order: {finding:?}");
        last = start;
    }
}

/// What loads is valid, says warnings and no errors, is normalised, stays valid, and compiles.
pub fn load(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let loaded = sortie_oatf::load(text);
    assert_eq!(loaded.is_ok(), analyze(text).is_valid(), "`load` and `analyze` disagree");
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(errors) => {
            assert!(!errors.is_empty(), "refused without a reason");
            assert!(errors.iter().all(|error| error.diagnostic().is_error()), "refused for a warning");
            return;
        }
    };
    assert!(!loaded.warnings.iter().any(Diagnostic::is_error), "an error among the warnings");
    check_places(text, &loaded.warnings);
    let document: &sortie_oatf::model::Document = &loaded.document;
    assert_eq!(&normalize(document), document, "normalising twice changes something");
    let again = Validated::new(document.clone());
    assert!(again.is_ok(), "normalised, it is refused: {:#?}", again.unwrap_err());
    let compiled = Compiled::new(loaded.document);
    assert!(compiled.is_ok(), "valid, and does not compile: {}", compiled.unwrap_err());
}

/// What is written can be read, says the same, and is written in the same way again.
pub fn round_trip(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(document) = parse_text(text) else { return };
    let normalized = normalize(&document);
    assert_eq!(normalize(&normalized), normalized, "normalising twice changes something");
    let written = serialize(&document);
    assert_eq!(serialize(&document), written, "not the same twice");
    let read = match parse_text(&written) {
        Ok(read) => read,
        Err(errors) => panic!("{errors:#?}\n{written}"),
    };
    assert_eq!(normalize(&read), normalized, "{written}");
    assert_eq!(serialize(&read), written, "reading and writing changes the text");
    assert_eq!(
        sortie_oatf::validate(&document).is_valid(),
        sortie_oatf::validate(&read).is_valid(),
        "writing changes whether it is valid\n{written}"
    );
}
