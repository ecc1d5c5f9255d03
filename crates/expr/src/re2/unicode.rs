//! Named classes and case folding, as RE2's own tables have them.
//!
//! The engine's tables are of a later Unicode than RE2's. Rather than carry a second set, every answer is
//! cut back to the characters that were assigned in RE2's version, which the engine's tables also know.
//! Unicode hardly ever changes the category or script of a character once assigned, and the exceptions are
//! listed in [`group`]. The oracle test compares every group and every case pair with RE2's.

use std::sync::LazyLock;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange, HirKind};

/// What was assigned in Unicode 15.1, the version RE2's tables are made from.
static ASSIGNED: LazyLock<ClassUnicode> = LazyLock::new(|| property("age=15.1"));

/// Every character with another case. Folding looks at each character of a class, so it is worth cutting
/// down first.
static CASED: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let mut cased = property("Changes_When_Casemapped");
    cased.intersect(&ASSIGNED);
    cased
});

/// General categories under RE2's names. `Cn` and `LC` are not among them.
const CATEGORIES: [&str; 36] = [
    "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl",
    "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
];

/// The characters of `\p{name}`, if RE2 knows that name.
pub(super) fn group(name: &str) -> Option<ClassUnicode> {
    // Became a spacing mark in Unicode 16.
    let ahom_consonant_sign = class([('\u{1171E}', '\u{1171E}')]);
    let mut set = match name {
        "Any" => return Some(class([('\0', char::MAX)])),
        // Surrogates are not characters: no text holds one.
        "Cs" => return Some(ClassUnicode::empty()),
        // For RE2 the unassigned are in no category, so `C` lacks them.
        "C" => {
            let mut set = property("gc=Cc");
            set.union(&property("gc=Cf"));
            set.union(&property("gc=Co"));
            set
        }
        "Mn" => {
            let mut set = property("gc=Mn");
            set.union(&ahom_consonant_sign);
            set
        }
        "Mc" => {
            let mut set = property("gc=Mc");
            set.difference(&ahom_consonant_sign);
            set
        }
        _ if CATEGORIES.binary_search(&name).is_ok() => property(&format!("gc={name}")),
        _ if SCRIPTS.binary_search(&name).is_ok() => property(&format!("sc={name}")),
        _ => return None,
    };
    set.intersect(&ASSIGNED);
    Some(set)
}

/// A name RE2 knows that `name` may have meant: other spelling, or the long form of a category.
pub(super) fn similar_group(name: &str) -> Option<&'static str> {
    let plain = |name: &str| name.replace(['_', ' ', '-'], "").to_lowercase();
    let wanted = plain(name.rsplit(['=', ':']).next().unwrap_or(name));
    let long_form = match wanted.as_str() {
        "letter" | "alphabetic" | "alpha" => "L",
        "uppercase" | "uppercaseletter" | "upper" => "Lu",
        "lowercase" | "lowercaseletter" | "lower" => "Ll",
        "mark" => "M",
        "number" => "N",
        "decimalnumber" | "digit" => "Nd",
        "punctuation" | "punct" => "P",
        "symbol" => "S",
        "separator" => "Z",
        "space" | "spaceseparator" | "whitespace" => "Zs",
        "control" | "cntrl" => "Cc",
        "other" => "C",
        _ => "",
    };
    CATEGORIES.iter().chain(&SCRIPTS).find(|known| **known == long_form || plain(known) == wanted).copied()
}

/// Adds the other cases of every character in `set`, and says how many characters had to be looked at.
pub(super) fn fold(set: &mut ClassUnicode) -> usize {
    let mut cased = set.clone();
    cased.intersect(&CASED);
    let looked_at = cased.iter().map(ClassUnicodeRange::len).sum();
    cased.case_fold_simple();
    cased.intersect(&ASSIGNED);
    set.union(&cased);
    looked_at
}

/// `c` with its other cases.
pub(super) fn fold_char(c: char) -> ClassUnicode {
    let itself = class([(c, c)]);
    // Only these two ASCII letters have a case outside ASCII: the Kelvin sign and the long s.
    if c.is_ascii() && !matches!(c, 'k' | 'K' | 's' | 'S') {
        return class([
            (c.to_ascii_lowercase(), c.to_ascii_lowercase()),
            (c.to_ascii_uppercase(), c.to_ascii_uppercase()),
        ]);
    }
    if !contains(&ASSIGNED, c) {
        return itself;
    }
    let mut all = itself;
    all.case_fold_simple();
    let assigned = all.iter().flat_map(|range| range.start()..=range.end());
    ClassUnicode::new(assigned.filter(|&c| contains(&ASSIGNED, c)).map(|c| ClassUnicodeRange::new(c, c)))
}

/// A character that may be part of a group name.
pub(super) fn is_name_char(c: char) -> bool {
    static NAME: LazyLock<ClassUnicode> = LazyLock::new(|| {
        let mut name = ClassUnicode::empty();
        for category in ["L", "Mn", "Mc", "Nd", "Nl", "Pc"] {
            name.union(&group(category).unwrap_or_else(ClassUnicode::empty));
        }
        name
    });
    c == '_' || c.is_ascii_alphanumeric() || (!c.is_ascii() && contains(&NAME, c))
}

/// The class of inclusive `ranges`.
pub(super) fn class<const N: usize>(ranges: [(char, char); N]) -> ClassUnicode {
    ClassUnicode::new(ranges.map(|(first, last)| ClassUnicodeRange::new(first, last)))
}

fn contains(set: &ClassUnicode, c: char) -> bool {
    let ranges = set.ranges();
    let after = ranges.partition_point(|range| range.end() < c);
    ranges.get(after).is_some_and(|range| range.start() <= c)
}

/// A property of the engine's tables; `query` is the inside of `\p{...}`.
fn property(query: &str) -> ClassUnicode {
    let hir = regex_syntax::parse(&format!("\\p{{{query}}}"))
        .unwrap_or_else(|e| unreachable!("the engine knows every property asked for here: {e}"));
    match hir.into_kind() {
        HirKind::Class(regex_syntax::hir::Class::Unicode(class)) => class,
        // A class of one character is simplified to that character.
        HirKind::Literal(literal) => ClassUnicode::new(
            String::from_utf8_lossy(&literal.0).chars().map(|c| ClassUnicodeRange::new(c, c)),
        ),
        kind => unreachable!("a property is a class, not {kind:?}"),
    }
}

/// Scripts of Unicode 15.1 under their long names, sorted; RE2 takes exactly this spelling.
#[rustfmt::skip]
pub(super) const SCRIPTS: [&str; 163] = [
    "Adlam", "Ahom", "Anatolian_Hieroglyphs", "Arabic", "Armenian", "Avestan", "Balinese", "Bamum",
    "Bassa_Vah", "Batak", "Bengali", "Bhaiksuki", "Bopomofo", "Brahmi", "Braille", "Buginese", "Buhid",
    "Canadian_Aboriginal", "Carian", "Caucasian_Albanian", "Chakma", "Cham", "Cherokee", "Chorasmian",
    "Common", "Coptic", "Cuneiform", "Cypriot", "Cypro_Minoan", "Cyrillic", "Deseret", "Devanagari",
    "Dives_Akuru", "Dogra", "Duployan", "Egyptian_Hieroglyphs", "Elbasan", "Elymaic", "Ethiopic",
    "Georgian", "Glagolitic", "Gothic", "Grantha", "Greek", "Gujarati", "Gunjala_Gondi", "Gurmukhi",
    "Han", "Hangul", "Hanifi_Rohingya", "Hanunoo", "Hatran", "Hebrew", "Hiragana", "Imperial_Aramaic",
    "Inherited", "Inscriptional_Pahlavi", "Inscriptional_Parthian", "Javanese", "Kaithi", "Kannada",
    "Katakana", "Kawi", "Kayah_Li", "Kharoshthi", "Khitan_Small_Script", "Khmer", "Khojki", "Khudawadi",
    "Lao", "Latin", "Lepcha", "Limbu", "Linear_A", "Linear_B", "Lisu", "Lycian", "Lydian", "Mahajani",
    "Makasar", "Malayalam", "Mandaic", "Manichaean", "Marchen", "Masaram_Gondi", "Medefaidrin",
    "Meetei_Mayek", "Mende_Kikakui", "Meroitic_Cursive", "Meroitic_Hieroglyphs", "Miao", "Modi",
    "Mongolian", "Mro", "Multani", "Myanmar", "Nabataean", "Nag_Mundari", "Nandinagari", "New_Tai_Lue",
    "Newa", "Nko", "Nushu", "Nyiakeng_Puachue_Hmong", "Ogham", "Ol_Chiki", "Old_Hungarian",
    "Old_Italic", "Old_North_Arabian", "Old_Permic", "Old_Persian", "Old_Sogdian", "Old_South_Arabian",
    "Old_Turkic", "Old_Uyghur", "Oriya", "Osage", "Osmanya", "Pahawh_Hmong", "Palmyrene", "Pau_Cin_Hau",
    "Phags_Pa", "Phoenician", "Psalter_Pahlavi", "Rejang", "Runic", "Samaritan", "Saurashtra",
    "Sharada", "Shavian", "Siddham", "SignWriting", "Sinhala", "Sogdian", "Sora_Sompeng", "Soyombo",
    "Sundanese", "Syloti_Nagri", "Syriac", "Tagalog", "Tagbanwa", "Tai_Le", "Tai_Tham", "Tai_Viet",
    "Takri", "Tamil", "Tangsa", "Tangut", "Telugu", "Thaana", "Thai", "Tibetan", "Tifinagh", "Tirhuta",
    "Toto", "Ugaritic", "Vai", "Vithkuqi", "Wancho", "Warang_Citi", "Yezidi", "Yi", "Zanabazar_Square",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_has_a_table() {
        for name in CATEGORIES.iter().chain(&SCRIPTS) {
            let set = group(name).unwrap_or_else(|| panic!("{name} is listed"));
            assert_eq!(set.ranges().is_empty(), *name == "Cs", "{name}");
        }
        assert!(CATEGORIES.is_sorted());
    }

    #[test]
    fn names_are_exact() {
        for name in ["greek", "Letter", "LU", "Cn", "LC", "Grek", "gc=Lu", "Garay", ""] {
            assert_eq!(group(name), None, "{name}");
        }
        assert_eq!(similar_group("greek"), Some("Greek"));
        assert_eq!(similar_group("Letter"), Some("L"));
        assert_eq!(similar_group("Script=old_italic"), Some("Old_Italic"));
        assert_eq!(similar_group("nonsense"), None);
    }

    #[test]
    fn newer_characters_are_in_no_group_and_have_no_case() {
        // U+A7DC, of Unicode 16, is the capital of U+019B, which is old.
        let lambda = class([('\u{19B}', '\u{19B}')]);
        assert_eq!(fold_char('\u{19B}'), lambda);
        assert_eq!(fold_char('\u{A7DC}'), class([('\u{A7DC}', '\u{A7DC}')]));
        assert!(!contains(&group("Lu").unwrap(), '\u{A7DC}'));
        assert!(!contains(&group("C").unwrap(), '\u{A7DC}'));
    }

    #[test]
    fn nothing_without_a_mapping_has_another_case() {
        // Proves that folding may be cut down to `CASED`.
        let mut caseless = ASSIGNED.clone();
        caseless.difference(&CASED);
        let mut folded = caseless.clone();
        folded.case_fold_simple();
        folded.intersect(&ASSIGNED);
        assert_eq!(folded, caseless);
    }

    #[test]
    fn characters_and_classes_fold_alike() {
        for range in CASED.iter() {
            for c in range.start()..=range.end() {
                let mut set = class([(c, c)]);
                fold(&mut set);
                assert_eq!(fold_char(c), set, "{c:?}");
            }
        }
        assert_eq!(fold_char('k'), class([('K', 'K'), ('k', 'k'), ('\u{212A}', '\u{212A}')]));
        assert_eq!(fold_char('ß'), class([('ß', 'ß'), ('ẞ', 'ẞ')]));
        assert_eq!(fold_char('-'), class([('-', '-')]));
    }

    use super::SCRIPTS;

    #[test]
    fn names_are_sorted_for_binary_search() {
        assert!(SCRIPTS.is_sorted());
    }
}
