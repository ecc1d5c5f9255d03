//! `format` lays out, and neither loses nor changes anything.

mod arbitrary;
mod fixtures;

use std::path::Path;

use proptest::prelude::*;
use sortie_oatf::{FormatError, format, normalize, parse, serialize};

/// What the author wrote, without regard to the order of fields: equal documents say the same.
#[track_caller]
fn check(name: &str, text: &str) -> Result<(), String> {
    let formatted = match format(text) {
        Ok(formatted) => formatted.text,
        Err(FormatError::Comment { .. }) => return Ok(()),
        Err(error) => return Err(format!("{name}: {error}\n{text}")),
    };
    let again = format(&formatted).map_err(|error| format!("{name}: {error}\n{formatted}"))?;
    if again.changed {
        return Err(format!("{name}: formatting again changes the text\n{formatted}"));
    }
    let (before, after) = (parse(text).unwrap(), parse(&formatted).unwrap());
    if normalize(&before) != normalize(&after) {
        return Err(format!("{name}: the document changed\n{text}\n=>\n{formatted}"));
    }
    if let Some(line) = formatted.lines().find(|line| line.trim_start().starts_with('#') && line.ends_with(' ')) {
        return Err(format!("{name}: trailing space in {line:?}"));
    }
    Ok(())
}

/// Each `NAME.in.yaml` becomes `NAME.out.yaml`. `UPDATE_GOLDEN=1` writes the results instead.
#[test]
fn golden_pairs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fmt");
    let mut inputs: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.retain(|path| path.to_string_lossy().ends_with(".in.yaml"));
    inputs.sort();
    assert!(!inputs.is_empty(), "no golden files in {}", folder.display());
    for input in inputs {
        let text = std::fs::read_to_string(&input).unwrap();
        let result = match format(&text) {
            Ok(formatted) => formatted.text,
            Err(error) => format!("# refused\n# {error}\n"),
        };
        let output = input.to_string_lossy().replace(".in.yaml", ".out.yaml");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&output, &result).unwrap();
        }
        let expected = std::fs::read_to_string(&output).unwrap_or_default();
        assert_eq!(result, expected, "{}", input.display());
    }
}

#[test]
fn every_document_at_hand_is_laid_out_and_says_the_same() {
    let documents = fixtures::documents();
    let failures: Vec<_> = documents.iter().filter_map(|(name, text)| check(name, text).err()).collect();
    assert!(failures.is_empty(), "{} of {} fail\n{}", failures.len(), documents.len(), failures.join("\n"));
}

#[test]
fn what_is_no_document_is_left_alone() {
    let Err(FormatError::Parse(errors)) = format("oatf: '0.1'\nattack: {excecution: {}}\n") else {
        panic!("the key is misspelt")
    };
    assert_eq!(errors[0].line, Some(2));
}

#[test]
fn line_ends_and_byte_order_marks_are_made_plain() {
    let text = "\u{feff}oatf: \"0.1\"\r\nattack:\r\n  description: |\r\n    one\r\n    two\r\n  execution:  # here\r\n    mode: mcp_server\r\n    state: {}\r\n";
    let formatted = format(text).unwrap().text;
    assert_eq!(
        formatted,
        "oatf: \"0.1\"\nattack:\n  description: |\n    one\n    two\n  execution:  # here\n    mode: mcp_server\n    state: {}\n"
    );
}

#[test]
fn a_comment_that_cannot_be_kept_is_named() {
    let text = "oatf: \"0.1\"\nattack:\n  name: # odd\n    Rug pull\n  execution: {mode: mcp_server, state: {}}\n";
    let error = format(text).unwrap_err();
    assert_eq!(error, FormatError::Comment { line: 3, column: 9, text: "# odd".into() });
}

/// A line to put somewhere into a text.
#[derive(Clone, Debug)]
enum Line {
    Blank(usize),
    Comment(usize),
    Beside,
}

fn line() -> impl Strategy<Value = Line> {
    prop_oneof![
        (1..3_usize).prop_map(Line::Blank),
        (0..12_usize).prop_map(Line::Comment),
        Just(Line::Beside),
    ]
}

/// Puts lines into a text; those that would make it another document or none are taken out again.
fn mutate(text: &str, lines: &[(prop::sample::Index, Line)]) -> (String, usize) {
    let mut text = text.to_owned();
    let mut comments = 0;
    let before = parse(&text).unwrap();
    for (number, (at, line)) in lines.iter().enumerate() {
        let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = at.index(rows.len());
        match line {
            Line::Blank(count) => (0..*count).for_each(|_| rows.insert(at, String::new())),
            Line::Comment(indent) => rows.insert(at, format!("{}# comment {number}", " ".repeat(*indent))),
            Line::Beside => rows[at].push_str(&format!(" # comment {number}")),
        }
        let mutated = rows.join("\n") + "\n";
        if parse(&mutated).is_ok_and(|document| document == before) {
            text = mutated;
            comments += usize::from(!matches!(line, Line::Blank(_)));
        }
    }
    (text, comments)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn canonical_documents_are_laid_out_already(document in arbitrary::document()) {
        let text = serialize(&document);
        let formatted = format(&text);
        prop_assert!(formatted.is_ok(), "{:#?}\n{}", formatted, text);
        prop_assert_eq!(formatted.unwrap().text, text);
    }

    #[test]
    fn comments_survive_wherever_they_stand(
        document in arbitrary::document(),
        lines in prop::collection::vec((any::<prop::sample::Index>(), line()), 1..12),
    ) {
        let (text, comments) = mutate(&serialize(&document), &lines);
        if let Err(error) = check("mutated", &text) {
            return Err(TestCaseError::fail(error));
        }
        if let Ok(formatted) = format(&text) {
            prop_assert_eq!(formatted.text.matches("# comment ").count(), comments, "{}", formatted.text);
        }
    }
}
