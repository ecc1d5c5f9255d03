//! What is written can be read again, by us and by others, and says the same.

use crate::arbitrary;
use crate::documents;
use proptest::prelude::*;
use sortie_oatf::{Validated, normalize, parse, serialize};
use sortie_syntax::yaml;

proptest! {
    #![proptest_config(ProptestConfig { cases: documents::cases(2000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_value_is_read_as_it_was_written(value in arbitrary::value()) {
        let text = yaml::emit(&value);
        prop_assert_eq!(documents::value(&text), value, "{}", text);
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
    #![proptest_config(ProptestConfig { cases: documents::cases(500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_documents_are_valid_and_stay_so(document in arbitrary::document()) {
        let result = Validated::new(document);
        prop_assert!(result.is_ok(), "{:#?}", result.unwrap_err());
        let again = Validated::new(result.unwrap().0.into_inner());
        prop_assert!(again.is_ok(), "{:#?}", again.unwrap_err());
    }

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

/// Compares with `PyYAML`, a YAML 1.1 reader, in the Python that `SORTIE_PYTHON` names. `SAMPLES` sets how many values.
#[test]
#[ignore = "needs a Python with PyYAML: cargo xtask test --only unit"]
fn a_yaml_1_1_reader_reads_the_same() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    use std::io::Write;
    use std::process::{Command, Stdio};

    // The exception that `yaml::emit` documents: without a point, an exponent makes no number in YAML 1.1.
    const COMPARE: &str = r"
import json, math, re, sys, yaml
NO_POINT = re.compile(r'^-?\d+e[-+]?\d+$')
def same(a, b):
    if isinstance(a, float) and isinstance(b, str) and NO_POINT.match(b): return float(b) == a
    if type(a) is not type(b): return False
    if isinstance(a, dict): return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list): return len(a) == len(b) and all(map(same, a, b))
    return a == b
count = failures = 0
for line in sys.stdin:
    sample = json.loads(line)
    count += 1
    try: read = yaml.safe_load(sample['yaml'])
    except Exception as error: read = error
    if not same(sample['value'], read):
        failures += 1
        if failures < 10: print('---', repr(sample['value']), repr(read), sample['yaml'], sep='\n')
print(count, 'values,', failures, 'differ')
sys.exit(failures > 0)
";
    let python = std::env::var("SORTIE_PYTHON").expect("SORTIE_PYTHON names a Python with PyYAML");
    let samples: usize = std::env::var("SAMPLES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let mut runner = TestRunner::deterministic();
    let mut python = Command::new(python).args(["-c", COMPARE]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = python.stdin.take().unwrap();
    for _ in 0..samples {
        let value = arbitrary::value().new_tree(&mut runner).unwrap().current();
        let sample = serde_json::json!({"value": value, "yaml": yaml::emit(&value)});
        writeln!(stdin, "{sample}").unwrap();
    }
    drop(stdin);
    assert!(python.wait().unwrap().success());
}

#[test]
fn every_document_at_hand_survives_being_written_and_read() {
    for (name, text) in documents::all() {
        let document = parse(text).unwrap();
        let written = serialize(&document);
        let read = match parse(&written) {
            Ok(read) => read,
            // One fixture is nested as deep as can be, and actors make it deeper; see `serialize`.
            Err(errors) if errors[0].diagnostic.code == "P-011" && name.ends_with("to-the-limit.yaml") => {
                continue;
            }
            Err(errors) => panic!("{name}: {errors:#?}\n{written}"),
        };
        assert_eq!(normalize(&read), normalize(&document), "{name}\n{written}");
        assert_eq!(normalize(&normalize(&document)), normalize(&document), "{name}");
        assert_eq!(serialize(&read), written, "{name}");
    }
}
