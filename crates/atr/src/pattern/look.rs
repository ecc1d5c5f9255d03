//! Takes look-around out of a pattern, where a pattern without it matches exactly the same texts.
//!
//! Whether a pattern matches is all that counts, not where. So `(?=b)` at its end is `b`, `(?<!a)` at its start is the start of the
//! text or another character than `a`, and in `(?!L)R` a text must begin with `R` and not with `L`: what is left of both after each
//! character (their derivatives) is followed side by side. That gives a tree of alternatives, and a loop where a character changes
//! nothing. Where it would not end, or grow too large, the pattern is given up.

use super::node::{Class, Node};
use super::set::{CharSet, partition};

/// So many pieces of patterns are compared with a character, for one pattern: some twenty milliseconds.
const MAX_COMPARISONS: usize = 100_000;

/// So many alternatives come of one pattern.
const MAX_STEPS: usize = 400;

/// So many characters are followed.
const MAX_CHARACTERS: usize = 80;

/// So many sequences come of alternatives with look-around in them.
const MAX_BRANCHES: usize = 64;

/// The pattern without look-around; `None` where that cannot be had.
pub(super) fn without_looks(node: &Node) -> Option<Node> {
    let mut effort = Effort { steps: MAX_STEPS, comparisons: MAX_COMPARISONS };
    // The start of a pattern is the end of the same pattern read backwards.
    let node = reversed(&trimmed(&reversed(&trimmed(node))));
    let branches = branches(&node)?;
    let branches = branches.into_iter().map(|branch| sequence_without_looks(branch, &mut effort));
    Some(Node::either(branches.collect::<Option<Vec<_>>>()?))
}

/// A pattern without what it may take at its end, and need not: `a(?:(?!b).)*` matches where `a` does.
// Recursion is bounded by the depth that the parser accepts.
fn trimmed(node: &Node) -> Node {
    match node {
        Node::Concat(nodes) => {
            let mut nodes = nodes.clone();
            while let Some(last) = nodes.pop() {
                let last = trimmed(&last);
                if last != Node::Empty {
                    nodes.push(last);
                    break;
                }
            }
            Node::concat(nodes)
        }
        Node::Either(nodes) => Node::Either(nodes.iter().map(trimmed).collect()),
        Node::Repeat { min: 0, .. } => Node::Empty,
        Node::Repeat { node, min: 1, .. } => trimmed(node),
        Node::Repeat { node, min, greedy, .. } => {
            Node::Repeat { node: node.clone(), min: *min, max: Some(*min), greedy: *greedy }
        }
        node => node.clone(),
    }
}

/// What may still be spent on a pattern.
struct Effort {
    steps: usize,
    comparisons: usize,
}

/// The sequences of which one must match: alternatives with look-around are told apart.
// Recursion is bounded by the depth that the parser accepts.
fn branches(node: &Node) -> Option<Vec<Vec<Node>>> {
    let branches = match node {
        node if !node.has_look() => vec![vec![node.clone()]],
        Node::Concat(nodes) => {
            let mut all = vec![Vec::new()];
            for node in nodes {
                let next = branches(node)?;
                if all.len() * next.len() > MAX_BRANCHES {
                    return None;
                }
                all =
                    all.iter().flat_map(|start| next.iter().map(|end| [&start[..], end].concat())).collect();
            }
            all
        }
        Node::Either(nodes) => {
            let (with, without): (Vec<&Node>, Vec<&Node>) = nodes.iter().partition(|node| node.has_look());
            let mut all = Vec::new();
            if !without.is_empty() {
                all.push(vec![Node::either(without.into_iter().cloned().collect())]);
            }
            for node in with {
                all.extend(branches(node)?);
            }
            all
        }
        Node::Repeat { node, min: 0, max: Some(1), .. } => {
            let mut all = branches(node)?;
            all.push(Vec::new());
            all
        }
        Node::Repeat { node, min: 1, max: Some(1), .. } => branches(node)?,
        Node::Look { .. } => vec![vec![node.clone()]],
        _ => return None,
    };
    (branches.len() <= MAX_BRANCHES).then_some(branches)
}

fn sequence_without_looks(sequence: Vec<Node>, effort: &mut Effort) -> Option<Node> {
    let mut nodes = flat(sequence);
    loop {
        order_assertions(&mut nodes);
        let is_ahead = |node: &Node| matches!(node, Node::Look { ahead: true, .. });
        let is_behind = |node: &Node| matches!(node, Node::Look { ahead: false, .. });
        if let Some(at) = nodes.iter().rposition(is_ahead)
            && !nodes[at + 1..].iter().any(Node::has_look)
        {
            nodes = looked_ahead(nodes, at, effort)?;
        } else if let Some(at) = nodes.iter().position(is_behind)
            && !nodes[..at].iter().any(Node::has_look)
        {
            nodes.reverse();
            let nodes_behind: Vec<Node> = nodes.iter().map(reversed).collect();
            let at = nodes_behind.len() - 1 - at;
            let mut found: Vec<Node> = looked_ahead(nodes_behind, at, effort)?.iter().map(reversed).collect();
            found.reverse();
            nodes = found;
        } else if nodes.iter().any(Node::has_look) {
            return None;
        } else {
            return Some(Node::concat(nodes));
        }
    }
}

/// Sequences within a sequence are part of it.
fn flat(nodes: Vec<Node>) -> Vec<Node> {
    let mut all = Vec::with_capacity(nodes.len());
    for node in nodes {
        match node {
            Node::Concat(inner) => all.extend(flat(inner)),
            Node::Empty => {}
            node => all.push(node),
        }
    }
    all
}

/// What asks for no character asks in any order: look-behind first, look-ahead last.
fn order_assertions(nodes: &mut [Node]) {
    let rank = |node: &Node| match node {
        Node::Look { ahead: false, .. } => Some(0),
        Node::Start | Node::End | Node::Boundary { .. } => Some(1),
        Node::Look { ahead: true, .. } => Some(2),
        _ => None,
    };
    let mut start = 0;
    while start < nodes.len() {
        let length = nodes[start..].iter().take_while(|node| rank(node).is_some()).count();
        nodes[start..start + length].sort_by_key(rank);
        start += length.max(1);
    }
}

/// The same text read from its end.
// Recursion is bounded by the depth that the parser accepts.
fn reversed(node: &Node) -> Node {
    match node {
        Node::Start => Node::End,
        Node::End => Node::Start,
        Node::Concat(nodes) => Node::Concat(nodes.iter().rev().map(reversed).collect()),
        Node::Either(nodes) => Node::Either(nodes.iter().map(reversed).collect()),
        Node::Repeat { node, min, max, greedy } => {
            Node::Repeat { node: Box::new(reversed(node)), min: *min, max: *max, greedy: *greedy }
        }
        Node::Look { ahead, negated, node } => {
            Node::Look { ahead: !ahead, negated: *negated, node: Box::new(reversed(node)) }
        }
        node => node.clone(),
    }
}

/// A sequence without its last look-ahead, behind which there is none.
fn looked_ahead(mut nodes: Vec<Node>, at: usize, effort: &mut Effort) -> Option<Vec<Node>> {
    let rest = Node::concat(nodes.split_off(at + 1));
    let Some(Node::Look { negated, node: look, .. }) = nodes.pop() else { return None };
    if look.has_look() {
        let is_last = !negated && may_end(&rest);
        nodes.push(if is_last { *look } else { return None });
        return Some(flat(nodes));
    }
    if !negated && may_end(&rest) {
        nodes.push(*look);
        return Some(flat(nodes));
    }
    let before = nodes.last().and_then(last_is_word);
    let mut sets = vec![CharSet::word()];
    collect_sets(&look, &mut sets)?;
    collect_sets(&rest, &mut sets)?;
    let mut walk = Walk { symbols: partition(&sets), effort, negated, above: Vec::new() };
    let found = walk.step(Pair { look: vec![*look], rest, is_word: before })?;
    nodes.push(found);
    Some(flat(nodes))
}

/// Whether nothing is asked for here: a pattern that ends here matches no less.
fn may_end(node: &Node) -> bool {
    match node {
        Node::Empty => true,
        Node::Concat(nodes) => nodes.iter().all(may_end),
        Node::Either(nodes) => nodes.iter().any(may_end),
        Node::Repeat { node, min, .. } => *min == 0 || may_end(node),
        _ => false,
    }
}

/// Whether what ends with this node ends with a letter of a word; `None` where it may do either.
fn last_is_word(node: &Node) -> Option<bool> {
    let set = match node {
        Node::Letter(letter) => CharSet::of_letter(*letter),
        Node::Class(class) => CharSet::of_class(class)?,
        Node::Repeat { node, min: 1.., .. } => return last_is_word(node),
        Node::Either(nodes) => {
            let mut all = nodes.iter().map(last_is_word);
            let first = all.next()??;
            return all.all(|other| other == Some(first)).then_some(first);
        }
        Node::Concat(nodes) => return last_is_word(nodes.last()?),
        _ => return None,
    };
    let word = CharSet::word();
    if word.contains_all(&set) {
        return Some(true);
    }
    let parts = partition(&[word.clone(), set.clone()]);
    let overlaps = parts.iter().any(|part| word.contains_all(part) && set.contains_all(part));
    (!overlaps).then_some(false)
}

/// The sets of characters that a node asks for, each once.
fn collect_sets(node: &Node, sets: &mut Vec<CharSet>) -> Option<()> {
    let set = match node {
        Node::Letter(letter) => CharSet::of_letter(*letter),
        Node::Class(class) => CharSet::of_class(class)?,
        Node::Concat(nodes) | Node::Either(nodes) => {
            return nodes.iter().try_for_each(|node| collect_sets(node, sets));
        }
        Node::Repeat { node, .. } | Node::Look { node, .. } => return collect_sets(node, sets),
        _ => return Some(()),
    };
    if !sets.contains(&set) {
        sets.push(set);
    }
    Some(())
}

/// What stands around a place in a text.
#[derive(Clone, Copy)]
struct Around {
    /// Whether the character before it is of a word, as far as that is known.
    before: Option<bool>,
    /// Whether the one after it is; `None` at the end of the text.
    after: Option<bool>,
}

/// What is left of the look-around and of the rest, at one place of a text.
#[derive(Clone, PartialEq)]
struct Pair {
    /// What is still to come for the look-around to hold; it holds when one of these is over.
    look: Vec<Node>,
    rest: Node,
    /// Whether the character before is of a word.
    is_word: Option<bool>,
}

struct Walk<'e> {
    symbols: Vec<CharSet>,
    effort: &'e mut Effort,
    negated: bool,
    above: Vec<Pair>,
}

impl Walk<'_> {
    /// A pattern for the texts that go on from here.
    // Recursion is bounded by `MAX_CHARACTERS`.
    fn step(&mut self, pair: Pair) -> Option<Node> {
        self.effort.steps = self.effort.steps.checked_sub(1)?;
        if self.above.len() > MAX_CHARACTERS || self.above.contains(&pair) {
            return None;
        }
        let mut loops: Vec<CharSet> = Vec::new();
        let mut next: Vec<(Pair, Vec<CharSet>)> = Vec::new();
        for symbol in self.symbols.clone() {
            let is_word = CharSet::word().contains_all(&symbol);
            let around = Around { before: pair.is_word, after: Some(is_word) };
            for (look, rest) in self.after(&pair, Some(&symbol), around)? {
                let asks = look.iter().any(has_boundary) || has_boundary(&rest);
                let after = Pair { look, rest, is_word: asks.then_some(is_word) };
                if after == pair {
                    loops.push(symbol.clone());
                } else if let Some((_, symbols)) = next.iter_mut().find(|(known, _)| *known == after) {
                    symbols.push(symbol.clone());
                } else {
                    next.push((after, vec![symbol.clone()]));
                }
            }
        }
        let mut found = Vec::new();
        let at_end = Around { before: pair.is_word, after: None };
        if !self.after(&pair, None, at_end)?.is_empty() {
            found.push(Node::End);
        }
        let is_loop = !loops.is_empty();
        self.above.push(pair);
        for (after, symbols) in next {
            let class = Node::Class(CharSet::union(symbols.iter()).to_class());
            let goes_on = if after.look.is_empty() { after.rest } else { self.step(after)? };
            if goes_on != never() {
                found.push(Node::concat(vec![class, goes_on]));
            }
        }
        self.above.pop();
        if found.is_empty() {
            return Some(never());
        }
        let found = Node::either(found);
        if !is_loop {
            return Some(found);
        }
        let class = Node::Class(CharSet::union(loops.iter()).to_class());
        let repeat = Node::Repeat { node: Box::new(class), min: 0, max: None, greedy: true };
        Some(Node::concat(vec![repeat, found]))
    }

    /// What is left after a character, or at the end of the text: pairs of which one must go on. An empty list of what the look-around
    /// waits for says that it is decided.
    fn after(
        &mut self,
        pair: &Pair,
        symbol: Option<&CharSet>,
        around: Around,
    ) -> Option<Vec<(Vec<Node>, Node)>> {
        let mut holds = false;
        for look in &pair.look {
            holds |= is_over(look, around)?;
        }
        if holds && self.negated {
            return Some(Vec::new());
        }
        let rest_is_over = is_over(&pair.rest, around)?;
        let Some(symbol) = symbol else {
            let is_found = rest_is_over && (holds || self.negated);
            return Some(if is_found { vec![(Vec::new(), Node::Empty)] } else { Vec::new() });
        };
        let mut rests = Vec::new();
        if rest_is_over {
            // A pattern that is over matches, whatever else it could take.
            rests.push(Node::Empty);
        } else {
            self.derive(&pair.rest, symbol, around, &mut rests)?;
        }
        let mut looks = Vec::new();
        if !holds {
            for look in &pair.look {
                self.derive(look, symbol, around, &mut looks)?;
            }
        }
        if !holds && looks.is_empty() && !self.negated {
            return Some(Vec::new());
        }
        let mut distinct: Vec<Node> = Vec::new();
        for look in looks {
            if !distinct.contains(&look) {
                distinct.push(look);
            }
        }
        let mut pairs = Vec::new();
        for rest in rests {
            let after = (distinct.clone(), rest);
            if !pairs.contains(&after) {
                pairs.push(after);
            }
        }
        Some(pairs)
    }

    /// What is left of a pattern after a character, in each way to take it.
    fn derive(&mut self, node: &Node, symbol: &CharSet, around: Around, left: &mut Vec<Node>) -> Option<()> {
        self.effort.comparisons = self.effort.comparisons.checked_sub(1)?;
        match node {
            Node::Letter(letter) if CharSet::of_letter(*letter).contains_all(symbol) => {
                left.push(Node::Empty);
            }
            Node::Class(class) if CharSet::of_class(class)?.contains_all(symbol) => left.push(Node::Empty),
            Node::Concat(nodes) => {
                for (at, node) in nodes.iter().enumerate() {
                    let mut ends = Vec::new();
                    self.derive(node, symbol, around, &mut ends)?;
                    left.extend(ends.into_iter().map(|end| {
                        let rest = nodes[at + 1..].iter().cloned();
                        Node::concat(flat([end].into_iter().chain(rest).collect()))
                    }));
                    if !is_over(node, around)? {
                        break;
                    }
                }
            }
            Node::Either(nodes) => {
                nodes.iter().try_for_each(|node| self.derive(node, symbol, around, left))?;
            }
            Node::Repeat { max: Some(0), .. } => {}
            Node::Repeat { node, min, max, greedy } => {
                let mut ends = Vec::new();
                self.derive(node, symbol, around, &mut ends)?;
                let (min, max) = (min.saturating_sub(1), max.map(|max| max - 1));
                let again = match max {
                    Some(0) => Node::Empty,
                    _ => Node::Repeat { node: node.clone(), min, max, greedy: *greedy },
                };
                left.extend(ends.into_iter().map(|end| Node::concat(flat(vec![end, again.clone()]))));
            }
            _ => {}
        }
        Some(())
    }
}

/// A pattern that matches nothing.
fn never() -> Node {
    Node::Class(Class::default())
}

fn has_boundary(node: &Node) -> bool {
    match node {
        Node::Boundary { .. } => true,
        Node::Concat(nodes) | Node::Either(nodes) => nodes.iter().any(has_boundary),
        Node::Repeat { node, .. } => has_boundary(node),
        _ => false,
    }
}

/// Whether a pattern is over here; `None` where that is not known.
fn is_over(node: &Node, around: Around) -> Option<bool> {
    Some(match node {
        Node::Empty | Node::Repeat { min: 0, .. } => true,
        Node::Letter(_) | Node::Class(_) => false,
        Node::End => around.after.is_none(),
        Node::Start | Node::Look { .. } => return None,
        Node::Boundary { negated } => {
            let is_boundary = around.before? != around.after.unwrap_or(false);
            is_boundary != *negated
        }
        Node::Concat(nodes) => {
            for node in nodes {
                if !is_over(node, around)? {
                    return Some(false);
                }
            }
            true
        }
        Node::Either(nodes) => {
            let mut any = false;
            for node in nodes {
                any |= is_over(node, around)?;
            }
            any
        }
        Node::Repeat { node, .. } => is_over(node, around)?,
    })
}
