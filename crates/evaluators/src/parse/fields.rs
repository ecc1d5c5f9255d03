//! What every field of every file has in common.

use sortie_oatf::reading::{Reader, is_null};
use sortie_oatf::yaml::{Entry, Node, NodeKind, Tree};
use sortie_oatf::{Diagnostic, Span};

use crate::limits::MAX_NAME_BYTES;
use crate::rules::{error, warning};

/// Whether a text is an id: lowercase letters and digits, in words that hyphens join.
///
/// ```
/// # use sortie_evaluators::is_kebab_case;
/// assert!(is_kebab_case("path-escape-2"));
/// assert!(!is_kebab_case("Path_Escape") && !is_kebab_case("-a") && !is_kebab_case("a--b") && !is_kebab_case(""));
/// ```
pub fn is_kebab_case(text: &str) -> bool {
    text.len() <= MAX_NAME_BYTES
        && text.split('-').all(|word| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
}

/// The same in kebab-case, as far as that can be told.
pub(super) fn to_kebab_case(text: &str) -> Option<String> {
    let mut kebab = String::new();
    let mut before = None;
    for letter in text.trim().chars() {
        match letter {
            'A'..='Z' => {
                if before.is_some_and(|before: char| before.is_ascii_lowercase()) {
                    kebab.push('-');
                }
                kebab.push(letter.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' => kebab.push(letter),
            '-' | '_' | ' ' | '.' | '/' if !kebab.is_empty() && !kebab.ends_with('-') => kebab.push('-'),
            '-' | '_' | ' ' | '.' | '/' => {}
            _ => return None,
        }
        before = Some(letter);
    }
    let kebab = kebab.trim_end_matches('-').to_owned();
    is_kebab_case(&kebab).then_some(kebab)
}

/// A text as messages show it.
pub(super) fn shown(text: &str) -> String {
    const SHOWN: usize = 80;
    let line = text.lines().next().unwrap_or_default();
    let cut = &line[..line.floor_char_boundary(SHOWN)];
    if cut.len() < text.trim_end().len() { format!("{cut}…") } else { cut.to_owned() }
}

/// Parses a text that must be a mapping.
pub(super) fn parsed<T>(
    text: &str,
    read: impl for<'t> FnOnce(&mut Reader<'t>, Node<'t>) -> T,
) -> (Option<T>, Vec<Diagnostic>) {
    let (tree, mut findings) = Tree::parse(text);
    let Some(tree) = tree else { return (None, findings) };
    let mut reader = Reader::new(&tree);
    let value = read(&mut reader, tree.root());
    findings.extend(reader.finish());
    Diagnostic::sort(&mut findings);
    (Some(value), findings)
}

/// A text that says something, below a key.
pub(super) fn text(reader: &mut Reader<'_>, entry: Entry, most: usize) -> Option<String> {
    reader.under(entry, |reader, node| text_of(reader, node, most))
}

pub(super) fn text_of<'t>(reader: &mut Reader<'t>, node: Node<'t>, most: usize) -> Option<String> {
    let text = reader.string(node)?;
    if text.trim().is_empty() {
        let at = reader.headline(node);
        reader.report(|_| {
            error("E-005", "this text says nothing").at(at).label("empty").help("write what it is about")
        });
        return None;
    }
    if text.len() > most {
        let at = reader.headline(node);
        let length = text.len();
        reader.report(|_| {
            error("E-027", format!("this text has {length} bytes; {most} are the limit"))
                .at(at)
                .help("say it in fewer words, or in several patterns")
        });
        return None;
    }
    Some(text)
}

/// A one-line name, below a key.
pub(super) fn name(reader: &mut Reader<'_>, entry: Entry) -> Option<String> {
    text(reader, entry, MAX_NAME_BYTES)
}

/// What to underline for the value below a key.
pub(super) fn value_at(reader: &mut Reader<'_>, entry: Entry) -> Span {
    reader.under(entry, |reader, node| reader.headline(node))
}

/// An id or a tag at a node.
pub(super) fn kebab_case<'t>(reader: &mut Reader<'t>, node: Node<'t>, what: &str) -> Option<String> {
    if is_null(node) {
        return None;
    }
    let text = reader.string(node)?;
    if is_kebab_case(&text) {
        return Some(text);
    }
    let at = reader.headline(node);
    let meant = to_kebab_case(&text);
    let span = node.span;
    reader.report(|_| {
        let finding = error("E-001", format!("`{}` is not kebab-case", shown(&text))).at(at).help(format!(
            "{what} is made of lowercase letters, digits and single hyphens, such as `path-escape`"
        ));
        match meant {
            Some(meant) => finding
                .label(format!("did you mean `{meant}`?"))
                .fix(format!("write `{meant}`"), vec![sortie_oatf::Edit { span, replacement: meant }]),
            None => finding,
        }
    });
    None
}

/// A list below a key, of no more items than there may be, each with its place.
pub(super) fn list<'t, T>(
    reader: &mut Reader<'t>,
    entry: Entry,
    what: &str,
    most: usize,
    mut read: impl FnMut(&mut Reader<'t>, Node<'t>) -> Option<T>,
) -> Vec<(T, Span)> {
    reader.under(entry, |reader, node| {
        let length = match node.kind {
            NodeKind::Sequence(items) => items.len(),
            _ => 0,
        };
        if length > most {
            let at = reader.headline(node);
            reader.report(|_| {
                error("E-027", format!("there are {length} items; {most} are the limit"))
                    .at(at)
                    .help("split it into several files")
            });
            return Vec::new();
        }
        let items = reader.list(node, what, |reader, item| {
            let at = reader.headline(item);
            let errors = reader.errors();
            let value = if is_null(item) { None } else { read(reader, item) };
            // Whatever is left out is said to be: nothing is passed over in silence.
            if value.is_none() && reader.errors() == errors {
                reader.mismatch(item, "a value");
            }
            value.map(|value| (value, at))
        });
        items.unwrap_or_default()
    })
}

/// A list in which a word stands once is enough.
pub(super) fn no_word_twice<T: PartialEq + std::fmt::Display + Ord>(
    reader: &mut Reader<'_>,
    words: &[(T, Span)],
) {
    let mut order: Vec<usize> = (0..words.len()).collect();
    order.sort_by(|a, b| words[*a].0.cmp(&words[*b].0).then(a.cmp(b)));
    for pair in order.windows(2) {
        let (first, second) = (&words[pair[0]], &words[pair[1]]);
        if first.0 == second.0 {
            reader.warn(|_| {
                warning("E-109", format!("`{}` is listed twice", second.0))
                    .at(second.1)
                    .label("second time")
                    .also(first.1, "first listed here")
                    .help("once is enough: remove one of them")
            });
        }
    }
}

/// Names that people tell things apart by, each once.
pub(super) fn no_name_twice<'n>(
    reader: &mut Reader<'_>,
    what: &str,
    names: impl Iterator<Item = (&'n str, Span)>,
) {
    let mut seen = std::collections::HashMap::new();
    for (name, at) in names {
        if let Some(first) = seen.insert(name, at) {
            reader.report(|_| {
                error("E-010", format!("two {what} are called `{}`", shown(name)))
                    .at(at)
                    .label("second use")
                    .also(first, "first used here")
                    .help("reports and fixtures tell them apart by name")
            });
        }
    }
}
