//! What must run before what.

use std::collections::HashMap;

use crate::catalogue::{Catalogue, CatalogueEntry};

/// A walk that comes back to where it was: the ids on the way, the first one again at the end, and which of
/// `depends_on` of the last closes it.
pub(crate) struct Cycle {
    /// The ids, such as `a`, `b`, `a`.
    pub(crate) ids: Vec<String>,
    /// Index of the one before last, which comes back to the first.
    pub(crate) last: usize,
    /// Index into its `depends_on`.
    pub(crate) closes: usize,
}

/// So many cycles are told: to break one is often to break others.
const MOST_CYCLES: usize = 100;

/// The cycles that a walk in the order of ids meets. There is none exactly when nothing depends on itself.
pub(crate) fn cycles<'e>(evaluators: &[(&'e str, &'e [String])]) -> Vec<Cycle> {
    let index: HashMap<&str, usize> = evaluators.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
    // 0 is unseen, 1 on the way, 2 done.
    let mut state = vec![0u8; evaluators.len()];
    let mut found = Vec::new();
    for start in 0..evaluators.len() {
        if state[start] != 0 {
            continue;
        }
        // An explicit stack: a chain may be as long as there are evaluators.
        let mut way: Vec<(usize, usize)> = vec![(start, 0)];
        state[start] = 1;
        while let Some((at, next)) = way.last_mut() {
            let last = *at;
            let (_, depends_on) = evaluators[last];
            let Some(id) = depends_on.get(*next) else {
                state[last] = 2;
                way.pop();
                continue;
            };
            let closes = *next;
            *next += 1;
            match index.get(id.as_str()) {
                Some(to) if state[*to] == 0 => {
                    state[*to] = 1;
                    way.push((*to, 0));
                }
                Some(to) if state[*to] == 1 => {
                    let from = way.iter().position(|(at, _)| at == to).unwrap_or(0);
                    let on_the_way: Vec<&str> = way[from..].iter().map(|(at, _)| evaluators[*at].0).collect();
                    let ids = shortened(&on_the_way).chain([id.as_str()]).map(str::to_owned).collect();
                    found.push(Cycle { ids, last, closes });
                    if found.len() == MOST_CYCLES {
                        return found;
                    }
                }
                // Done before, or not there, which is said elsewhere.
                _ => {}
            }
        }
    }
    found
}

/// The beginning and the end of a long way.
pub(crate) fn shortened<'i>(ids: &'i [&'i str]) -> impl Iterator<Item = &'i str> {
    const SHOWN: usize = 5;
    let cut = ids.len() > 2 * SHOWN + 1;
    let (first, last) =
        if cut { (&ids[..SHOWN], &ids[ids.len() - SHOWN..]) } else { (ids, &ids[ids.len()..]) };
    first.iter().copied().chain(cut.then_some("…")).chain(last.iter().copied())
}

pub(crate) fn in_order<'c, 'i>(
    catalogue: &'c Catalogue,
    ids: impl IntoIterator<Item = &'i str>,
) -> Vec<&'c CatalogueEntry> {
    let mut wanted: Vec<&str> = ids.into_iter().collect();
    wanted.sort_unstable();
    let mut done: HashMap<&str, bool> = HashMap::new();
    let mut ordered = Vec::new();
    for id in wanted {
        let Some(entry) = catalogue.get(id) else { continue };
        let mut way: Vec<(&'c CatalogueEntry, usize)> = Vec::new();
        if done.insert(&entry.evaluator.id, false).is_none() {
            way.push((entry, 0));
        }
        while let Some((entry, next)) = way.last_mut() {
            let entry = *entry;
            let Some(id) = entry.evaluator.depends_on.get(*next) else {
                ordered.push(entry);
                way.pop();
                continue;
            };
            *next += 1;
            if let Some(first) = catalogue.get(id)
                && done.insert(&first.evaluator.id, false).is_none()
            {
                way.push((first, 0));
            }
        }
    }
    ordered
}
