use super::{Rule, error};
use sortie_syntax::Reader;
use sortie_syntax::yaml::Node;
use std::str::FromStr;

pub(crate) const E_004: Rule = error("E-004", "a word is one of its list", include_str!("e004.md"));

/// One of a list of words; the reader says which there are.
pub(crate) fn word<'t, T: FromStr>(
    reader: &mut Reader<'t>,
    node: Node<'t>,
    what: &str,
    words: &'static [&'static str],
) -> Option<T> {
    reader.variant(node, E_004.code, what, words)
}
