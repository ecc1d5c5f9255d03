//! What is written can be read again, by us and by others, and says the same.

mod arbitrary;

use proptest::prelude::*;
use sortie_oatf::yaml::{self, NodeKind, Scalar, Style, Tree};
use sortie_oatf::{Value, normalize, parse, serialize};

fn data(tree: &Tree, id: sortie_oatf::yaml::NodeId) -> Value {
    match tree.node(id).kind {
        NodeKind::Scalar(text, Style::Plain) => Scalar::resolve(text).to_value(text),
        NodeKind::Scalar(text, _) => Value::String(text.to_owned()),
        NodeKind::Sequence(items) => items.iter().map(|item| data(tree, *item)).collect(),
        NodeKind::Mapping(entries) => {
            let fields = entries.iter().map(|entry| (tree.key(*entry).to_owned(), data(tree, entry.value)));
            Value::Object(fields.collect())
        }
        NodeKind::Refused => panic!("nothing that is refused was written"),
    }
}

#[track_caller]
fn read(text: &str) -> Value {
    let (tree, findings) = Tree::parse(text);
    assert!(findings.is_empty(), "{findings:#?}\n{text}");
    let tree = tree.expect("no finding, so a tree");
    data(&tree, tree.root().id)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_value_is_read_as_it_was_written(value in arbitrary::value()) {
        let text = yaml::emit(&value);
        prop_assert_eq!(read(&text), value, "{}", text);
    }

    #[test]
    fn nothing_invisible_is_written_raw(value in arbitrary::value()) {
        let text = yaml::emit(&value);
        for hidden in ['\u{200b}', '\u{200d}', '\u{202e}', '\u{feff}', '\u{85}', '\u{2028}', '\u{a0}', '\t', '\r', '\u{1b}'] {
            prop_assert!(!text.contains(hidden), "{:?} in {}", hidden, text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn normalising_twice_changes_nothing_more(document in arbitrary::document()) {
        let once = normalize(&document);
        prop_assert_eq!(&normalize(&once), &once);
    }

    #[test]
    fn a_document_survives_being_written_and_read(document in arbitrary::document()) {
        let text = serialize(&document);
        let read = parse(&text);
        prop_assert!(read.is_ok(), "{:#?}\n{}", read.unwrap_err(), text);
        let read = read.unwrap();
        prop_assert_eq!(&normalize(&read), &normalize(&document), "{}", text);
        prop_assert_eq!(&read, &normalize(&document), "the canonical form is normalised\n{}", text);
        prop_assert_eq!(serialize(&read), text);
    }
}
