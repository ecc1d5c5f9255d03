//! Evaluates a compiled expression.
//!
//! A walk over the nodes, one Rust call or two per level; the parser has bounded the levels.

use serde_json::Value as Json;

use super::ast::{Ast, Comprehension, ComprehensionKind, Node, NodeId};
use super::fault::{Fault, FaultKind};
use super::functions::{Function, MAX_ARGUMENTS};
use super::limits::Budget;
use super::operations;
use super::program::{PatternCache, RecentPatterns};
use super::value::{MapRef, Type, Val, same_key};

type Outcome<'a> = Result<Val<'a>, Fault>;

/// One evaluation: a program, what its variables mean, and what is left of its budget.
pub(super) struct Evaluation<'a> {
    pub(super) ast: &'a Ast,
    pub(super) variables: &'a [(&'a str, Option<&'a Json>)],
    pub(super) budget: Budget,
    cache: &'a PatternCache,
    patterns: RecentPatterns,
    /// Variables of the comprehensions being evaluated, outermost first.
    locals: Vec<Val<'a>>,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(
        ast: &'a Ast,
        cache: &'a PatternCache,
        variables: &'a [(&'a str, Option<&'a Json>)],
    ) -> Self {
        Self {
            ast,
            variables,
            budget: Budget::new(),
            cache,
            patterns: RecentPatterns::default(),
            locals: Vec::new(),
        }
    }

    /// The value of a node.
    pub(super) fn value(&mut self, id: NodeId) -> Outcome<'a> {
        let spent = self.budget.spend(1);
        spent.map_err(|kind| kind.at(id))?;
        match self.ast.node(id) {
            Node::Literal(literal) => Ok(Val::from_literal(literal)),
            Node::Variable(name) => self.variable(name).map_err(|kind| kind.at(id)),
            Node::Local(slot) => Ok(self.locals[*slot].clone()),
            Node::Select { operand, field } => self.select(id, *operand, field),
            Node::Has { operand, field } => self.has(id, *operand, field),
            Node::Index { operand, index } => self.index(id, *operand, *index),
            Node::Not(operand) => Ok(Val::Bool(!self.boolean(*operand)?)),
            Node::Negate(operand) => {
                let operand = self.value(*operand)?;
                operations::negate(&operand).map_err(|kind| kind.at(id))
            }
            Node::And(operands) => self.logical(operands, false),
            Node::Or(operands) => self.logical(operands, true),
            Node::Conditional { condition, then, otherwise } => {
                let chosen = if self.boolean(*condition)? { then } else { otherwise };
                self.value(*chosen)
            }
            Node::Binary { operator, left, right } => {
                let left = self.value(*left)?;
                let right = self.value(*right)?;
                operations::binary(*operator, &left, &right, &mut self.budget).map_err(|kind| kind.at(id))
            }
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => self.map(id, entries),
            Node::Call { function, arguments } => self.call(id, *function, arguments),
            Node::MatchesLiteral { text, pattern } => {
                let text = self.value(*text)?;
                let searched = text.as_str().ok_or_else(|| text.no_overload().at(id))?;
                let paid = self.budget.run_regex(pattern.size(), searched.len());
                paid.map_err(|kind| kind.at(id))?;
                let regex = pattern.get().map_err(|kind| kind.at(id))?;
                Ok(Val::Bool(regex.is_match(searched)))
            }
            Node::Unsupported { .. } => Err(FaultKind::Unsupported.at(id)),
            Node::Comprehension(comprehension) => self.comprehension(id, *comprehension),
        }
    }

    /// The value of a node that must be a boolean.
    pub(super) fn boolean(&mut self, id: NodeId) -> Result<bool, Fault> {
        match self.value(id)? {
            Val::Bool(value) => Ok(value),
            other => Err(FaultKind::NotBoolean(other.type_of()).at(id)),
        }
    }

    fn variable(&self, name: &str) -> Result<Val<'a>, FaultKind> {
        let known = self.variables.iter().find(|(known, _)| *known == name);
        match known {
            Some((_, Some(json))) => Ok(Val::from_json(json)),
            Some((_, None)) => Ok(Val::Null),
            None => Type::from_name(name).map(Val::Type).ok_or(FaultKind::Undeclared),
        }
    }

    fn select(&mut self, id: NodeId, operand: NodeId, field: &str) -> Outcome<'a> {
        let operand = self.value(operand)?;
        let map = operand.as_map().ok_or_else(|| operand.no_overload().at(id))?;
        map.pay_lookup(field.len(), &mut self.budget).map_err(|kind| kind.at(id))?;
        map.field(field).ok_or_else(|| FaultKind::NoSuchField.at(id))
    }

    fn has(&mut self, id: NodeId, operand: NodeId, field: &str) -> Outcome<'a> {
        let operand = self.value(operand)?;
        let map = operand.as_map().ok_or_else(|| operand.no_overload().at(id))?;
        map.pay_lookup(field.len(), &mut self.budget).map_err(|kind| kind.at(id))?;
        Ok(Val::Bool(map.field(field).is_some()))
    }

    fn index(&mut self, id: NodeId, operand: NodeId, index: NodeId) -> Outcome<'a> {
        let operand = self.value(operand)?;
        let index = self.value(index)?;
        operations::index(&operand, &index, &mut self.budget).map_err(|kind| kind.at(id))
    }

    /// `&&` and `||`. One operand equal to `decisive` settles the result, whatever the others do; a
    /// fault counts only when none does.
    fn logical(&mut self, operands: &[NodeId], decisive: bool) -> Outcome<'a> {
        let mut pending = None;
        for operand in operands {
            match self.boolean(*operand) {
                Ok(value) if value == decisive => return Ok(Val::Bool(decisive)),
                Ok(_) => {}
                Err(fault) if fault.kind.is_fatal() => return Err(fault),
                Err(fault) => pending = pending.or(Some(fault)),
            }
        }
        pending.map_or(Ok(Val::Bool(!decisive)), Err)
    }

    fn list(&mut self, elements: &[NodeId]) -> Outcome<'a> {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            items.push(self.value(*element)?);
        }
        Ok(Val::List(items.into()))
    }

    fn map(&mut self, id: NodeId, entries: &[(NodeId, NodeId)]) -> Outcome<'a> {
        let mut pairs: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(entries.len());
        for (key_id, value_id) in entries {
            let key = self.value(*key_id)?;
            let is_key = matches!(key.type_of(), Type::String | Type::Bool | Type::Int | Type::UInt);
            if !is_key {
                return Err(key.no_overload().at(*key_id));
            }
            MapRef::Computed(&pairs)
                .pay_lookup(key.byte_length(), &mut self.budget)
                .map_err(|kind| kind.at(id))?;
            if pairs.iter().any(|(known, _)| same_key(known, &key)) {
                return Err(FaultKind::DuplicateKey.at(*key_id));
            }
            pairs.push((key, self.value(*value_id)?));
        }
        Ok(Val::Map(pairs.into()))
    }

    fn call(&mut self, id: NodeId, function: Function, arguments: &[NodeId]) -> Outcome<'a> {
        let mut values: [Val<'a>; MAX_ARGUMENTS] = [const { Val::Null }; MAX_ARGUMENTS];
        for (value, argument) in values.iter_mut().zip(arguments) {
            *value = self.value(*argument)?;
        }
        let result = if function == Function::Matches {
            self.matches(&values[0], &values[1])
        } else {
            function.call(&values[..arguments.len()], &mut self.budget)
        };
        result.map_err(|kind| kind.at(id))
    }

    /// `matches` with a pattern computed by the expression.
    fn matches(&mut self, text: &Val<'a>, pattern: &Val<'a>) -> Result<Val<'a>, FaultKind> {
        let (Some(searched), Some(source)) = (text.as_str(), pattern.as_str()) else {
            return Err(text.no_overload_with(pattern));
        };
        let regex = self.patterns.get(source, self.cache, &mut self.budget)?;
        self.budget.run_regex(regex.size(), searched.len())?;
        Ok(Val::Bool(regex.is_match(searched)))
    }

    fn comprehension(&mut self, id: NodeId, comprehension: Comprehension) -> Outcome<'a> {
        let range = self.value(comprehension.range)?;
        let mut tally = Tally::default();
        match &range {
            Val::JsonList(items) => {
                for item in *items {
                    if self.visit(id, &comprehension, Val::from_json(item), &mut tally)? {
                        break;
                    }
                }
            }
            Val::JsonMap(fields) => {
                for key in fields.keys() {
                    if self.visit(id, &comprehension, Val::Str(key), &mut tally)? {
                        break;
                    }
                }
            }
            Val::List(items) => {
                for item in items.iter() {
                    if self.visit(id, &comprehension, item.clone(), &mut tally)? {
                        break;
                    }
                }
            }
            Val::Map(entries) => {
                for (key, _) in entries.iter() {
                    if self.visit(id, &comprehension, key.clone(), &mut tally)? {
                        break;
                    }
                }
            }
            _ => return Err(range.no_overload().at(id)),
        }
        tally.result(comprehension.kind)
    }

    /// One element. Says whether the result is settled.
    fn visit(
        &mut self,
        id: NodeId,
        comprehension: &Comprehension,
        item: Val<'a>,
        tally: &mut Tally<'a>,
    ) -> Result<bool, Fault> {
        let spent = self.budget.spend(1);
        spent.map_err(|kind| kind.at(id))?;
        self.locals.push(item);
        let settled = self.visit_bound(comprehension, tally);
        self.locals.pop();
        settled
    }

    /// One element, bound as the innermost local.
    fn visit_bound(&mut self, comprehension: &Comprehension, tally: &mut Tally<'a>) -> Result<bool, Fault> {
        let holds = comprehension.condition.map(|condition| self.boolean(condition));
        match comprehension.kind {
            // These two are chains of `&&` and `||`, and absorb faults the same way.
            ComprehensionKind::All | ComprehensionKind::Exists => {
                let decisive = comprehension.kind == ComprehensionKind::Exists;
                match holds {
                    Some(Ok(value)) if value == decisive => {
                        tally.settled = true;
                        return Ok(true);
                    }
                    Some(Err(fault)) if fault.kind.is_fatal() => return Err(fault),
                    Some(Err(fault)) => tally.fault = tally.fault.or(Some(fault)),
                    _ => {}
                }
            }
            ComprehensionKind::ExistsOne => {
                tally.count += usize::from(holds.transpose()?.unwrap_or(false));
            }
            ComprehensionKind::Filter | ComprehensionKind::Map => {
                if holds.transpose()?.unwrap_or(true) {
                    let item = match (comprehension.transform, self.locals.last()) {
                        (Some(transform), _) => self.value(transform)?,
                        (None, Some(item)) => item.clone(),
                        (None, None) => return Ok(false),
                    };
                    tally.items.push(item);
                }
            }
        }
        Ok(false)
    }
}

/// What a comprehension has gathered so far.
#[derive(Default)]
struct Tally<'a> {
    settled: bool,
    fault: Option<Fault>,
    count: usize,
    items: Vec<Val<'a>>,
}

impl<'a> Tally<'a> {
    fn result(self, kind: ComprehensionKind) -> Outcome<'a> {
        match kind {
            ComprehensionKind::All | ComprehensionKind::Exists => {
                let decisive = kind == ComprehensionKind::Exists;
                match self.fault {
                    _ if self.settled => Ok(Val::Bool(decisive)),
                    Some(fault) => Err(fault),
                    None => Ok(Val::Bool(!decisive)),
                }
            }
            ComprehensionKind::ExistsOne => Ok(Val::Bool(self.count == 1)),
            ComprehensionKind::Map | ComprehensionKind::Filter => Ok(Val::List(self.items.into())),
        }
    }
}
