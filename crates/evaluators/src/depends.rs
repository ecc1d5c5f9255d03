//! What must run before what, and other graphs.

use std::collections::HashMap;

/// A walk that comes back to where it was: the ids on the way, the first one again at the end, and which of
/// `depends_on` of the last closes it.
pub(crate) struct Cycle {
    /// The ids, such as `a`, `b`, `a`.
    pub(crate) ids: Vec<String>,
    /// Index of the one before last, which comes back to the first.
    pub(crate) last: usize,
    pub(crate) closes: usize,
}

/// So many cycles are told: to break one is often to break others.
const MOST_CYCLES: usize = 100;

/// Walks a graph depth first from these nodes, and gives what it meets, each after those that its edges lead to.
///
/// `edge` gives the nth edge of a node; one may lead nowhere. Where an edge leads back to a node on the way, `cycle` gets
/// the way, with how many edges of each were taken, and that node; and says whether to go on.
// An explicit stack: a chain may be as long as there are nodes.
pub(crate) fn walk(
    nodes: usize,
    from: impl IntoIterator<Item = usize>,
    edge: impl Fn(usize, usize) -> Option<Option<usize>>,
    mut cycle: impl FnMut(&[(usize, usize)], usize) -> bool,
) -> Vec<usize> {
    // 0 is unseen, 1 on the way, 2 done.
    let mut state = vec![0u8; nodes];
    let mut met = Vec::new();
    for start in from {
        let mut way: Vec<(usize, usize)> = Vec::new();
        if state[start] == 0 {
            state[start] = 1;
            way.push((start, 0));
        }
        while let Some((at, next)) = way.last_mut() {
            let (at, nth) = (*at, *next);
            *next += 1;
            match edge(at, nth) {
                None => {
                    state[at] = 2;
                    met.push(at);
                    way.pop();
                }
                Some(Some(to)) if state[to] == 0 => {
                    state[to] = 1;
                    way.push((to, 0));
                }
                Some(Some(to)) if state[to] == 1 && !cycle(&way, to) => return met,
                Some(_) => {}
            }
        }
    }
    met
}

/// The cycles that a walk in the order of ids meets. There is none exactly when nothing depends on itself.
pub(crate) fn cycles<'e>(evaluators: &[(&'e str, &'e [String])]) -> Vec<Cycle> {
    let index: HashMap<&str, usize> = evaluators.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
    // What is not there is said elsewhere.
    let edge = |at: usize, nth: usize| evaluators[at].1.get(nth).map(|id| index.get(id.as_str()).copied());
    let mut found = Vec::new();
    walk(evaluators.len(), 0..evaluators.len(), edge, |way, to| {
        let (last, taken) = way[way.len() - 1];
        let ids = told_cycle(way, to, |at| evaluators[at].0, &evaluators[last].1[taken - 1]);
        found.push(Cycle { ids, last, closes: taken - 1 });
        found.len() < MOST_CYCLES
    });
    found
}

/// The ids on a way from the node that it comes back to, and what that is called at its end. Of a long one, beginning and end.
pub(crate) fn told_cycle<'i>(
    way: &[(usize, usize)],
    to: usize,
    id: impl Fn(usize) -> &'i str,
    back: &str,
) -> Vec<String> {
    const SHOWN: usize = 5;
    let mut ids: Vec<&str> = way.iter().map(|(at, _)| *at).skip_while(|at| *at != to).map(id).collect();
    if ids.len() > 2 * SHOWN + 1 {
        ids.splice(SHOWN..ids.len() - SHOWN, ["…"]);
    }
    ids.into_iter().chain([back]).map(str::to_owned).collect()
}
