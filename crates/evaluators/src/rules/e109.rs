use super::{Diagnostic, Rule, Span, found, warning};
use std::fmt::Display;

pub(crate) const E_109: Rule = warning("E-109", "a list names everything once", include_str!("e109.md"));

/// Words that stand in a list twice.
pub(crate) fn check<T: Display + Ord>(words: &[(T, Span)]) -> Vec<Diagnostic> {
    let mut order: Vec<usize> = (0..words.len()).collect();
    order.sort_by(|a, b| words[*a].0.cmp(&words[*b].0).then(a.cmp(b)));
    let pairs = order.windows(2).map(|pair| (&words[pair[0]], &words[pair[1]]));
    let twice = pairs.filter(|(first, second)| first.0 == second.0).map(|(first, second)| {
        found(&E_109, format!("`{}` is listed twice", second.0))
            .at(second.1)
            .label("second time")
            .also(first.1, "first listed here")
            .help("once is enough: remove one of them")
    });
    twice.collect()
}
