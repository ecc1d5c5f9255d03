//! `format` lays out, and neither loses nor changes anything.

use crate::arbitrary;
use crate::documents;
use std::path::Path;

use proptest::prelude::*;
use sortie_lint::{FormatError, format};
use sortie_oatf::{normalize, parse, serialize};

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
    if let Some(line) =
        formatted.lines().find(|line| line.trim_start().starts_with('#') && line.ends_with(' '))
    {
        return Err(format!("{name}: trailing space in {line:?}"));
    }
    Ok(())
}

/// Each `NAME.in.yaml` becomes `NAME.out.yaml`. `SNAPSHOTS=overwrite` writes the results instead.
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
        if std::env::var("SNAPSHOTS").is_ok_and(|what| what == "overwrite") {
            std::fs::write(&output, &result).unwrap();
        }
        let expected = std::fs::read_to_string(&output).unwrap_or_default();
        assert_eq!(result, expected, "{}", input.display());
    }
}

#[test]
fn every_document_at_hand_is_laid_out_and_says_the_same() {
    let documents = documents::all();
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
    let text =
        "oatf: \"0.1\"\nattack:\n  name: # odd\n    Rug pull\n  execution: {mode: mcp_server, state: {}}\n";
    let error = format(text).unwrap_err();
    assert_eq!(error, FormatError::Comment { line: 3, column: 9, text: "# odd".into() });
}

/// Ways to write YAML that are rare and right, below `state`.
const ODD: &[&str] = &[
    "? explicit\n: key\n? - complex\n",
    "? explicit\n: key\n? bare\n",
    "? explicit\n# between\n: key",
    "? |\n  block key\n: value",
    "\"quoted key\": 'v'\n'single': v",
    "a:\n- zero\n- indented\n# comment in the column of the list\nb: 1",
    "a:\n- zero\n# comment at the end\n",
    "a:\n  - - nested\n    - twice\n  -\n    - on its own line\n  - -\n      deep: 1\n",
    "a:\n  -   wide: 1\n      other: 2\n  -\n      # own line\n      narrow: 1\n",
    "a: # one\n  # two\n  - # three\n    # four\n    b: 1 # five\n    # six\n  # seven\n# eight\n",
    "a: [1, 2, # one\n  3] # two",
    "a: [ # one\n  1 ] # two",
    "a: [1, # one\n  2 # two\n  , 3\n  # three\n  ]",
    "a: {b: 1, # one\n  c: [x, # two\n y], d}",
    "a: {b, c: , \"d\":1, ? e : f, ? g}",
    "a: [b: c, {d: e}, [f, [g]]]",
    "a: [\n  # only a comment\n]",
    "a: [] # empty",
    "a:\n  [flow on, the next line]",
    "a: # beside\n  [flow]",
    "a:\n  - [x, y] # beside\n  - {x: y} # beside\n",
    "a: |\nb: >-\nc: |+\n",
    "a: |\n\n  leading line\n\n\nb: 1",
    "a: |+\n  kept\n\n\nb: 1",
    "a: |+\n  kept\n\n# comment\nb: 1",
    "a: >\n  folded\n  text\n\n   more\n   indented\n\n  end\n\n\n",
    "a: >2\n    indented first\n  then not\n",
    "a:\n  - |\n    item\n  - >-\n      item\n  # end\n",
    "a:\n  |\n  header on its own line\n",
    "a: |-  # beside\n  text # no comment\n",
    "a: |\n  trailing space  \n   \n  text\n",
    "a: |1\n one\n  two\n",
    "a: plain\n  on\n\n  lines # beside\n",
    "a: \"double\n  on \\\n  lines\\  \n\n  end\" # beside\n",
    "a: 'single\n\n  on ''lines'''\n",
    "a: - b\n",
    "a:   \n\n\n  b:    1   \n",
    "a: b\t# after a tab\nc: d \t # comment\n",
    "a: \"#no\" # yes\n'#': '#'\n",
    "a: b?\nc: d",
    "? a?\n: b?\n? c\n",
    "\"\": empty\n~: null key",
    ": no key\n",
    "a: -\n",
    "a: {b: \"x\ty\", 'c': 'it''s', d: \"\\\ty\"}\n",
    "a: é\u{85}b\nc: \"é\u{2028}b\"\n",
    "a:\n  # about b, which has no value\n  b:\n  # about the end\n",
    "a:\n# about c\nc: 1\n",
];

#[test]
fn odd_ways_to_write_are_laid_out_or_refused() {
    let mut laid_out = 0;
    for odd in ODD {
        let below = format!("      {}", odd.trim_end_matches('\n').replace('\n', "\n      "));
        let text = format!(
            "oatf: \"0.1\"\nattack:\n  execution:\n    mode: mcp_server\n    state:\n{below}\n  # after\n  name: x\n"
        );
        if parse(&text).is_err() {
            eprintln!("no document: {odd:?}");
            continue;
        }
        if let Err(error) = check("odd", &text) {
            panic!("{error}");
        }
        match format(&text) {
            Ok(_) => laid_out += 1,
            Err(error) => eprintln!("{odd:?}: {error}"),
        }
    }
    assert!(laid_out >= 36, "{laid_out} of {}", ODD.len());
}

/// A line to put somewhere into a text.
#[derive(Clone, Debug)]
enum Line {
    Blank(usize),
    Comment(usize),
    Beside,
}

fn line() -> impl Strategy<Value = Line> {
    prop_oneof![(1..3_usize).prop_map(Line::Blank), (0..12_usize).prop_map(Line::Comment), Just(Line::Beside),]
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
            Line::Beside => rows[at] = format!("{} # comment {number}", rows[at]),
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
    #![proptest_config(ProptestConfig { cases: documents::cases(200), failure_persistence: None, ..ProptestConfig::default() })]

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
        // In block style there is a place for every comment.
        let formatted = format(&text);
        prop_assert!(formatted.is_ok(), "{:?}\n{}", formatted, text);
        let formatted = formatted.unwrap().text;
        prop_assert_eq!(formatted.matches("# comment ").count(), comments, "{}", formatted);
    }

    #[test]
    fn json_is_laid_out_as_yaml(
        document in arbitrary::document(),
        pretty in any::<bool>(),
        lines in prop::collection::vec((any::<prop::sample::Index>(), line()), 0..6),
    ) {
        let value = documents::value(&serialize(&document));
        let json = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        // JSON allows characters between its quotes that YAML does not.
        let refused = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
        let shown = |c: char| if refused(c) { format!("\\u{:04x}", c as u32) } else { c.to_string() };
        let json: String = json.unwrap().chars().map(shown).collect();
        if parse(&json).is_err() {
            return Ok(()); // a key of more than 1024 characters, and what else is rare
        }
        let (text, _) = mutate(&json, &lines);
        if let Err(error) = check("JSON", &text) {
            return Err(TestCaseError::fail(error));
        }
    }

    #[test]
    fn whatever_still_parses_is_laid_out(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3_usize, prop::sample::select(BITS)), 1..6),
    ) {
        let documents = documents::all();
        let mut text = documents[which.index(documents.len())].1.clone();
        for (at, delete, insert) in &edits {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            if places.is_empty() {
                break;
            }
            let from = at.index(places.len());
            let to = places.get(from + delete).copied().unwrap_or(text.len());
            text.replace_range(places[from]..to, insert);
        }
        if parse(&text).is_ok()
            && let Err(error) = check("edited", &text)
        {
            return Err(TestCaseError::fail(error));
        }
    }
}

/// What random edits put into a text.
const BITS: &[&str] = &[
    "", " ", "  ", "\n", "\n\n", "\n  ", "\n      ", "#", " # c", "\n# c\n", ": ", ":", "- ", "-", "? ", "|",
    "|\n", ">", ">-", "+", "\"", "'", "[", "]", "{", "}", ",", "\\", "\t", "\r", "\r\n", "a", "0", "~",
    "\u{200b}", "\u{85}", "---\n", "...\n", "é",
];
