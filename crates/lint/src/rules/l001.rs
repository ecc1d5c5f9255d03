use std::collections::HashMap;

use sortie_expr::path::{SimplePath, WildcardPath};
use sortie_oatf::bindings::{Nearest, Reachability, Side, UnreachableReason, is_agent_side, reachability};
use sortie_oatf::model::Document;
use sortie_oatf::rules::RuleReport;
use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::NodePath;

use super::payload::{self, Message};
use super::scope::{Scope, scopes};
use super::{Rule, state};

/// A target leads to something in the messages that its indicator selects.
pub(super) const L_001: Rule = Rule {
    code: "L-001",
    spec: "",
    title: "a target leads to something",
    severity: Warning,
    explain: include_str!("l001.md"),
    check: Some(|document, report| {
        let mut look = Look { document, known: HashMap::new(), unreachable: 0, payload: None };
        for scope in scopes(document) {
            if let Some((path, target)) = scope.target() {
                look.at(&scope, &path, target, Reads::Target, report);
            }
            let variables = scope.indicator.expression.iter().flat_map(|expression| &expression.variables);
            for (name, variable) in variables.flatten() {
                let path = scope.path.clone().key("expression").key("variables").key(name);
                look.at(&scope, &path, variable, Reads::Variable, report);
            }
        }
    }),
};

/// What a path is for.
#[derive(Clone, Copy, PartialEq)]
enum Reads {
    Target,
    Variable,
}

type Question<'d> = (&'d str, Option<&'d str>, Option<Side>, Vec<&'d str>, &'d str);

/// A suggestion compares a target with every path of a protocol, so a document with more different targets
/// that lead nowhere gets no further answers.
const MOST_UNREACHABLE: usize = 50;

/// A path that leads nowhere.
#[derive(Clone)]
struct DeadEnd {
    reason: UnreachableReason,
    nearest: Option<Nearest>,
}

struct Look<'d> {
    document: &'d Document,
    known: HashMap<Question<'d>, Option<DeadEnd>>,
    unreachable: usize,
    payload: Option<Vec<Message<'d>>>,
}

impl<'d> Look<'d> {
    fn at(
        &mut self,
        scope: &Scope<'d>,
        path: &NodePath,
        target: &'d str,
        reads: Reads,
        report: &mut RuleReport<'_>,
    ) {
        let Some(protocol) = scope.protocol else { return };
        // What is no path at all is V-021's or V-026's to report.
        let is_path = match reads {
            Reads::Target => WildcardPath::parse(target).is_ok(),
            Reads::Variable => SimplePath::parse(target).is_ok(),
        };
        if !is_path {
            return;
        }
        let question = (protocol, scope.surface(), scope.side, scope.modes.clone(), target);
        if self.unreachable >= MOST_UNREACHABLE && !self.known.contains_key(&question) {
            return;
        }
        let dead_end = if let Some(known) = self.known.get(&question) {
            known.clone()
        } else {
            let found = self.dead_end(scope, protocol, target);
            self.known.insert(question, found.clone());
            found
        };
        let Some(DeadEnd { reason, nearest }) = dead_end else { return };
        let message = match reads {
            Reads::Target if scope.wants_absence() => {
                format!("this indicator matches every message: {reason}")
            }
            Reads::Target => format!("this target can never match: {reason}"),
            Reads::Variable => format!("this variable is always null: {reason}"),
        };
        let mut finding = report.add(&L_001, path.clone(), message);
        // A variable is a simple path: what lies in a list is for the expression to find.
        let nearest =
            nearest.filter(|nearest| reads == Reads::Target || SimplePath::parse(&nearest.path).is_ok());
        let Some(nearest) = nearest else {
            finding.help(match reason {
                UnreachableReason::NoMessage { .. } => "remove `direction`, or name the other side",
                UnreachableReason::OtherSide { .. } => "name a field of this side, or turn `direction` round",
                UnreachableReason::OtherSurface { .. } => {
                    "name a field of this operation, or the other one in `surface`"
                }
                UnreachableReason::IsList { .. } => {
                    "read the list in the expression, with `exists()` or an index"
                }
                _ => "look the path up in the protocol: it starts at `params` or `result`, not above them",
            });
            return;
        };
        let place = format!("the {} of `{}`", nearest.side.as_str(), nearest.surface);
        if nearest.path.is_empty() {
            finding.help(format!("the message starts here already: `\"\"` is the whole of {place}"));
            return;
        }
        finding = finding
            .label(format!("did you mean `{}`?", nearest.path))
            .help(format!("`{}` is in {place}", nearest.path));
        // No repair is offered: another path is another question, and that is the author's to ask.
        if !is_meant(scope, &nearest) {
            finding.help("that message is written by the attack itself; look at what the agent does with it");
        }
    }

    /// Why a path leads nowhere, if it does.
    fn dead_end(&mut self, scope: &Scope<'d>, protocol: &str, target: &str) -> Option<DeadEnd> {
        let answer = reachability(protocol, scope.surface(), scope.side, &scope.modes, target);
        let Reachability::Never { reason, nearest } = answer else { return None };
        self.unreachable += 1;
        (!self.document_adds(scope, &reason, target)).then_some(DeadEnd { reason, nearest })
    }

    /// Whether the document puts into its payload what no specification gives the message.
    fn document_adds(&mut self, scope: &Scope<'d>, reason: &UnreachableReason, target: &str) -> bool {
        if scope.is_agent_only() {
            return false;
        }
        if let Some(key) = reason.missing_key()
            && scope.protocol.is_some_and(|protocol| state::sends_key(self.document, protocol, key))
        {
            return true;
        }
        let Ok(target) = WildcardPath::parse(target) else { return true };
        let document = self.document;
        let payload = self.payload.get_or_insert_with(|| payload::messages(document));
        payload.iter().any(|message| {
            scope.protocol == Some(message.protocol)
                && scope.surface().is_none_or(|surface| surface == message.surface)
                && scope.side.is_none_or(|side| side == message.side)
                && message.readings().iter().any(|reading| !target.resolve(reading).is_empty())
        })
    }
}

/// Whether the nearest path can be written without thought: the author named the operation, or the path is
/// in what the agent says, so that the repaired indicator cannot match the payload instead.
fn is_meant(scope: &Scope<'_>, nearest: &Nearest) -> bool {
    let agent = |mode: &&str| is_agent_side(mode, Some(nearest.surface), Some(nearest.side)) == Some(true);
    scope.surface() == Some(nearest.surface) || (!scope.modes.is_empty() && scope.modes.iter().all(agent))
}
