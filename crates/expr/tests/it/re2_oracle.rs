//! Our verdicts against those of RE2 itself, recorded in `re2/oracle.json` by `re2/gen_oracle.py`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};
use serde_json::Value;
use sortie_expr::re2::{Re2ErrorKind, Regex, check};

/// Patterns that RE2 accepts and we refuse. Whatever is not listed here has to be accepted.
fn known_refusals() -> BTreeMap<String, Re2ErrorKind> {
    let nested = |times: usize, close: &str| format!("{}a{}", "(?:".repeat(times), close.repeat(times));
    let mut refusals = BTreeMap::new();
    for pattern in [r"\C", r"\C+", r"a\Cb", r"(\C)", r"\C|a", r"(?s)\C"] {
        refusals.insert(pattern.to_owned(), Re2ErrorKind::Unsupported);
    }
    for pattern in [r"\pL{400}".to_owned(), ".{0,1000}".repeat(8), "a{0,1000}".repeat(30)] {
        refusals.insert(pattern, Re2ErrorKind::TooLarge);
    }
    for pattern in [nested(400, ")*"), nested(200, "|b)*")] {
        refusals.insert(pattern, Re2ErrorKind::TooDeep);
    }
    refusals
}

/// What RE2 finds in one text: the match, and group 1 if it took part.
type Found = Option<(Range<usize>, Option<Range<usize>>)>;

/// Compares one pattern with RE2's verdict, and describes each difference.
struct Comparison<'o> {
    pattern: &'o str,
    refused: Option<&'o str>,
    groups: Option<usize>,
    found: Vec<(&'o str, Found)>,
    /// Whether the oracle knows about group 1.
    knows_group: bool,
}

impl Comparison<'_> {
    fn differences(&self, known: &BTreeMap<String, Re2ErrorKind>) -> Vec<String> {
        let pattern = self.pattern;
        let shown: String = pattern.escape_debug().take(80).collect();
        let regex = Regex::new(pattern);
        assert_eq!(
            check(pattern).err(),
            regex.as_ref().err().cloned(),
            "`check` and `Regex::new` agree on {shown}"
        );
        let regex = match (regex, self.refused) {
            (Err(error), _) if pattern.get(error.span.clone()).is_none() => {
                return vec![format!("{shown}: the span {:?} is outside the pattern", error.span)];
            }
            (Err(_), Some(_)) => return Vec::new(),
            (Err(error), None) if known.get(pattern) == Some(&error.kind) => return Vec::new(),
            (Err(error), None) => return vec![format!("{shown}: RE2 accepts it, we say: {error}")],
            (Ok(_), Some(reason)) => return vec![format!("{shown}: we accept it, RE2 says: {reason}")],
            (Ok(_), None) if known.contains_key(pattern) => {
                return vec![format!("{shown}: accepted now, so it is not a known refusal any more")];
            }
            (Ok(regex), None) => regex,
        };
        let mut differences = Vec::new();
        if self.groups.is_some_and(|groups| groups != regex.group_count()) {
            differences.push(format!("{shown}: {:?} groups, we count {}", self.groups, regex.group_count()));
        }
        for (text, theirs) in &self.found {
            let ours = regex.find(text);
            let span = theirs.as_ref().map(|(span, _)| span.clone());
            if ours != span || regex.is_match(text) != span.is_some() {
                differences.push(format!("{shown} on {text:?}: RE2 finds {span:?}, we find {ours:?}"));
            }
            let group = theirs.as_ref().and_then(|(_, group)| group.clone());
            // An empty group may lie inside a character, where text cannot be cut.
            let group = group.map(|span| text.get(span).unwrap_or_default());
            if self.knows_group && regex.first_group(text) != group {
                let ours = regex.first_group(text);
                differences
                    .push(format!("{shown} on {text:?}: RE2's group 1 is {group:?}, ours is {ours:?}"));
            }
            if text.is_empty() && regex.matches_empty() != span.is_some() {
                differences.push(format!("{shown}: `matches_empty` is wrong"));
            }
        }
        differences
    }
}

fn load(path: &Path) -> Value {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{} cannot be read: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{} is not JSON: {e}", path.display()))
}

fn oracle() -> Value {
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/re2/oracle.json"))
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().expect("a string"))
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a number")).expect("a small number")
}

fn report(compared: usize, differences: &[String]) {
    assert!(
        differences.is_empty(),
        "{} differences in {compared} patterns:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn patterns_are_accepted_and_match_as_in_re2() {
    let oracle = oracle();
    let known = known_refusals();
    let entries = oracle["patterns"].as_array().expect("patterns");
    let mut differences = Vec::new();
    for entry in entries {
        let texts = strings(&oracle["inputs"]).chain(strings(&entry["x"]));
        let mut found: Vec<(&str, Found)> = texts.map(|text| (text, None)).collect();
        assert!(found.len() >= 20, "each pattern is tried on twenty texts or more");
        for m in entry["m"].as_array().into_iter().flatten() {
            let group = (!m[3].is_null()).then(|| number(&m[3])..number(&m[4]));
            found[number(&m[0])].1 = Some((number(&m[1])..number(&m[2]), group));
        }
        let comparison = Comparison {
            pattern: entry["p"].as_str().expect("a pattern"),
            refused: entry["refused"].as_str(),
            groups: entry["groups"].as_u64().map(|_| number(&entry["groups"])),
            found,
            knows_group: true,
        };
        differences.extend(comparison.differences(&known));
    }
    let asked: Vec<&str> = entries.iter().filter_map(|entry| entry["p"].as_str()).collect();
    for pattern in known.keys().filter(|pattern| !asked.contains(&pattern.as_str())) {
        differences.push(format!("{pattern}: a known refusal that RE2 was not asked about"));
    }
    report(entries.len(), &differences);
}

#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn the_official_re2_fixtures_agree() {
    let folder = std::env::var_os("SORTIE_FIXTURES")
        .expect("SORTIE_FIXTURES names the folder of the official fixtures");
    let oracle = load(&Path::new(&folder).join("re2/oracle.json"));
    let known = known_refusals();
    let entries = oracle["patterns"].as_array().expect("patterns");
    let mut differences = Vec::new();
    for entry in entries {
        let matches = entry["matches"].as_array().into_iter().flatten();
        let found = strings(&oracle["inputs"]).zip(matches).map(|(text, span)| {
            let span = (!span.is_null()).then(|| (number(&span[0])..number(&span[1]), None));
            (text, span)
        });
        let comparison = Comparison {
            pattern: entry["pattern"].as_str().expect("a pattern"),
            refused: entry["error"].as_str(),
            groups: None,
            found: found.collect(),
            knows_group: false,
        };
        differences.extend(comparison.differences(&known));
    }
    report(entries.len(), &differences);
}

/// The characters that a pattern of a single class matches.
fn members(pattern: &str) -> ClassUnicode {
    let regex = Regex::new(pattern).unwrap_or_else(|e| panic!("{pattern}: {e}"));
    match regex.hir().kind() {
        HirKind::Class(Class::Unicode(class)) => class.clone(),
        HirKind::Class(Class::Bytes(class)) => class.to_unicode_class().expect("ASCII"),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).expect("a character");
            ClassUnicode::new(text.chars().map(|c| ClassUnicodeRange::new(c, c)))
        }
        kind => panic!("{pattern} is not a class but {kind:?}"),
    }
}

#[test]
fn classes_hold_the_same_characters_as_in_re2() {
    let oracle = oracle();
    let tables = oracle["tables"].as_object().expect("tables");
    let mut differences = Vec::new();
    for (pattern, theirs) in tables {
        let class = members(pattern);
        let mut listing = String::new();
        for range in class.iter() {
            let (first, last) = (u32::from(range.start()), u32::from(range.end()));
            write!(listing, "{first:x}-{last:x},").expect("writing to a string");
        }
        let hash = listing
            .bytes()
            .fold(0x811C_9DC5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let count: usize = class.iter().map(|range| (range.start()..=range.end()).count()).sum();
        let ours = serde_json::json!([count, format!("{hash:08x}")]);
        if ours != *theirs {
            differences.push(format!("{pattern}: RE2 has {theirs}, we have {ours}"));
        }
    }
    report(tables.len(), &differences);
}

#[test]
fn characters_have_the_same_cases_as_in_re2() {
    let oracle = oracle();
    let mut cased = ClassUnicode::empty();
    let mut differences = Vec::new();
    for orbit in strings(&oracle["cases"]) {
        let theirs = ClassUnicode::new(orbit.chars().map(|c| ClassUnicodeRange::new(c, c)));
        for c in orbit.chars() {
            if members(&format!("(?i){c}")) != theirs {
                differences.push(format!("{c:?}: RE2 has the cases {orbit:?}"));
            }
        }
        cased.union(&theirs);
    }
    report(oracle["cases"].as_array().map_or(0, Vec::len), &differences);

    // Everything else has none: a class of it stays as it is.
    let mut caseless = cased;
    caseless.negate();
    let mut pattern = "(?i)[".to_owned();
    for range in caseless.iter() {
        let (first, last) = (u32::from(range.start()), u32::from(range.end()));
        write!(pattern, r"\x{{{first:X}}}-\x{{{last:X}}}").expect("writing to a string");
    }
    pattern.push(']');
    assert_eq!(members(&pattern), caseless);
}
