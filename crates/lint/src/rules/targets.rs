//! Paths that lead nowhere: of indicators, expressions and extractors.

use std::collections::HashMap;

use sortie_bindings::{AGENT, Nearest, Reachability, Side, UnreachableReason, is_agent_side, reachability};
use sortie_expr::cel;
use sortie_expr::path::{SimplePath, WildcardPath};
use sortie_expr::re2::MAX_TOGETHER;
use sortie_oatf::model::{Document, ExtractorSource, ExtractorType, Mode, Tier};
use sortie_oatf::rules::{RuleReport, edits};
use sortie_syntax::{Edit, NodePath};

use super::payload::{self, Message};
use super::scope::{Scope, scopes};
use super::{Rule, states};

/// A target leads to something in the messages that its indicator selects.
pub(super) const L_001: Rule = Rule::warning("L-001", "", include_str!("l001.md"))
    .titled("a target exists in the message")
    .check(Some(|document, report| {
        let mut look = Look { document, known: HashMap::new(), unreachable: 0, payload: None };
        for scope in scopes(document) {
            if let Some((path, target)) = scope.target() {
                look.at(&scope, &path, target, Reads::Target, report);
            }
            for (name, variable) in scope.indicator.variables() {
                let path = scope.path.clone().key("expression").key("variables").key(name);
                look.at(&scope, &path, variable, Reads::Variable, report);
            }
        }
    }));

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
        // What is not a path at all is V-021's or V-026's to report.
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
        let mut finding = report.add(path.clone(), message);
        // A variable is a simple path: what lies in a list is for the expression to find.
        let nearest =
            nearest.filter(|nearest| reads == Reads::Target || SimplePath::parse(&nearest.path).is_ok());
        let Some(nearest) = nearest else {
            finding.help(match reason {
                UnreachableReason::NoMessage { .. } => "remove `direction`, or name the other side",
                UnreachableReason::OtherSide { .. } => "name a field of this side, or change `direction`",
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
        let write = |to: &str| edits::replace_scalar(self.document, path, to);
        if nearest.path.is_empty() {
            let finding =
                finding.help(format!("the message starts here already: `\"\"` is the whole of {place}"));
            // An absence in the whole message is another question.
            if reads == Reads::Target && !scope.wants_absence() {
                finding.suggestion("write `\"\"`", write(""));
            }
            return;
        }
        finding = finding
            .label(format!("did you mean `{}`?", nearest.path))
            .help(format!("`{}` is in {place}", nearest.path));
        // No repair is made unasked: another path is another question, and that is the author's to ask.
        let is_payload = !is_meant(scope, &nearest);
        if is_payload && scope.indicator.tier != Some(Tier::Ingested) {
            finding =
                finding.help("the attack itself writes that message; match what the agent does instead");
            if let Some(edits) = self.answer_instead(scope, path, target) {
                let title = "write `protocol: agent` and `target: text`, what the agent answers its user";
                finding.suggestion(title, edits);
            }
        } else if !scope.wants_absence() {
            finding.suggestion(format!("write `{}`", nearest.path), write(&nearest.path));
        }
    }

    /// The edits that let an indicator look at what the agent answers, where its target says that it means that.
    fn answer_instead(&self, scope: &Scope<'_>, path: &NodePath, target: &str) -> Option<Vec<Edit>> {
        let is_response = target.split(['.', '[']).next().is_some_and(|first| first == "response");
        let indicator = scope.indicator;
        let is_free =
            indicator.surface.is_none() && indicator.actor.is_none() && scope.side != Some(Side::Request);
        if !is_response || !is_free || indicator.pattern.is_none() {
            return None;
        }
        let protocol = indicator.protocol.as_ref().map(|_| scope.path.clone().key("protocol"))?;
        let mut all = edits::replace_scalar(self.document, &protocol, AGENT);
        all.extend(edits::replace_scalar(self.document, path, "text"));
        Some(all)
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
            && scope.protocol.is_some_and(|protocol| states::sends_key(self.document, protocol, key))
        {
            return true;
        }
        let Ok(target) = WildcardPath::parse(target) else { return true };
        let document = self.document;
        let payload = self.payload.get_or_insert_with(|| payload::messages(document));
        payload.iter().any(|message| {
            message.is_seen_by(scope)
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

pub(super) const L_010: Rule = Rule::warning("L-010", "§6.3", include_str!("l010.md"))
    .titled("an expression does not read a field that may be missing")
    .check(Some(|document, report| {
        let mut patterns = 0;
        for scope in scopes(document) {
            let Some(expression) = &scope.indicator.expression else { continue };
            // What is not CEL is V-014's to report.
            let Ok(program) = cel::Program::compile(&expression.cel) else { continue };
            patterns += program.pattern_cost();
            if patterns > MAX_TOGETHER {
                // So is what takes too long.
                break;
            }
            let unguarded = program.unguarded_fields();
            let lacking = unguarded.iter().find_map(|field| Some((field, lacks(&scope, &field.path)?)));
            let Some((field, lacks)) = lacking else { continue };
            let path = &field.path;
            let read = expression.cel.find(path).map_or(0..0, |start| start..start + path.len());
            let message =
                format!("this reads `{path}` in messages that have no such field, which is an error");
            report
                .add(scope.path.clone().key("expression").key("cel"), message)
                .within(read)
                .label("read without `has()`")
                .help(lacks)
                .help(format!("or ask first: `has({path}) && ...`"));
        }
    }));

/// What to add so that every message has the field; `None` when every one may have it already.
fn lacks(scope: &Scope<'_>, field: &str) -> Option<String> {
    let path = field.strip_prefix("message.")?;
    let Some(surface) = scope.surface() else {
        return Some(
            "name the operation it is about with `surface`, and its side with `direction`".to_owned(),
        );
    };
    if scope.side.is_some() {
        return None;
    }
    let never = |side| {
        let answer = reachability(scope.protocol?, Some(surface), Some(side), &scope.modes, path);
        match answer {
            Reachability::Possible => Some(false),
            // A side that the operation does not have has no messages to fail on.
            Reachability::Never { reason, .. } if !matches!(reason, UnreachableReason::NoMessage { .. }) => {
                Some(true)
            }
            _ => None,
        }
    };
    match (never(Side::Request), never(Side::Response)) {
        (Some(true), Some(false)) => Some(wanted(Side::Response, surface)),
        (Some(false), Some(true)) => Some(wanted(Side::Request, surface)),
        _ => None,
    }
}

fn wanted(side: Side, surface: &str) -> String {
    format!("only the {0} of `{surface}` has it: add `direction: {0}`", side.as_str())
}

pub(super) const L_022: Rule = Rule::warning("L-022", "§5.5", include_str!("l022.md"))
    .titled("an extractor can find a value")
    .check(Some(|document, report| {
        let mut left = MOST_QUESTIONS;
        for list in document.phase_lists() {
            for (path, phase) in list.iter() {
                let Some(mode) = list.mode_of(phase) else { continue };
                let Some(protocol) = Mode::protocol(mode) else { continue };
                for (index, extractor) in phase.extractors.iter().flatten().enumerate() {
                    if extractor.r#type != ExtractorType::JsonPath || left == 0 {
                        continue;
                    }
                    let Some(target) = as_target(&extractor.selector) else { continue };
                    left -= 1;
                    let side = match extractor.source {
                        ExtractorSource::Request => Side::Request,
                        ExtractorSource::Response => Side::Response,
                    };
                    let answer = reachability(protocol, None, Some(side), &[mode], &target);
                    let Reachability::Never { reason, nearest } = answer else { continue };
                    // A payload may have fields of the author's own.
                    let invented =
                        reason.missing_key().is_some_and(|key| states::sends_key(document, protocol, key));
                    if invented && is_agent_side(mode, None, Some(side)) != Some(true) {
                        continue;
                    }
                    let at = path.clone().key("extractors").index(index).key("selector");
                    let finding = report.add(at.clone(),
                        format!("this extractor never finds anything: {reason}"),
                    );
                    match nearest.filter(|nearest| !nearest.path.is_empty()) {
                        Some(nearest) => {
                            let selector = format!("$.{}", nearest.path);
                            finding
                                .help(format!("that is in the {} of `{}`", side.as_str(), nearest.surface))
                                .suggest_text("select", &selector);
                        }
                        None => {
                            finding.help(format!(
                                "selectors start at the `params` of a request or the `result` of a response, and `source` is `{}` here",
                                side.as_str()
                            ));
                        }
                    }
                }
            }
        }
    }));

/// Every one may compare a path with all of a protocol's.
const MOST_QUESTIONS: usize = 200;

/// A selector of names and positions as a wildcard dot-path; `None` for one that can do more.
fn as_target(selector: &str) -> Option<String> {
    let rest = selector.trim().strip_prefix("$.")?;
    let mut target = String::new();
    for (index, segment) in rest.split('.').enumerate() {
        let (name, positions) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let inside = match positions {
            "" => None,
            _ => Some(positions.strip_prefix('[')?.strip_suffix(']')?),
        };
        let is_position =
            inside.is_none_or(|inside| inside == "*" || inside.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_name || !is_position || inside == Some("") {
            return None;
        }
        if index > 0 {
            target.push('.');
        }
        target.push_str(name);
        if inside.is_some() {
            target.push_str("[*]");
        }
    }
    Some(target)
}

#[cfg(test)]
mod tests {
    use super::as_target;

    #[test]
    fn only_plain_selectors_are_judged() {
        assert_eq!(as_target("$.content[0].text").as_deref(), Some("content[*].text"));
        assert_eq!(as_target("$.a[*].b_c").as_deref(), Some("a[*].b_c"));
        for other in ["$", "$..a", "$.a[?@.b]", "$['a']", "$.a[0:2]", "$.*", "$.a[-1]", "$.a[]"] {
            assert_eq!(as_target(other), None, "{other}");
        }
    }
}
