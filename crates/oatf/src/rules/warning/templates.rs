//! Templates that name nothing.

use std::cell::LazyCell;
use std::ops::Range;

use sortie_syntax::nearest;

use crate::rules::Rule;
use crate::rules::report::{NewFinding, Shown};
use crate::rules::walk::{Cast, EXTRACTOR_NAMES, PhaseScope, is_name};
use crate::template::{Piece, Reference, pieces};

/// Every `{{name}}` and `{{actor.name}}` names an extractor that may have captured something by then: one of
/// the same or an earlier phase of the actor, or any of another actor.
pub(super) const W_004: Rule = Rule::warning("W-004", "§5.6", include_str!("w004.md"))
    .titled("templates name extractors that exist")
    .check(Some(|document, report| {
        if EXTRACTOR_NAMES.iter().any(|kind| report.may_lack(kind)) {
            return;
        }
        let cast = LazyCell::new(|| document.cast());
        document.each_template(|at, text, scope| {
            for piece in pieces(text) {
                let Piece::Reference { name, at: range } = piece else { continue };
                let reference = Reference::parse(name);
                if matches!(reference, Reference::Message | Reference::Canary)
                    || stands_for_something(&cast, reference, scope)
                    || report.leaves_out()
                {
                    continue;
                }
                let message = format!("`{{{{{}}}}}` is not defined here", Shown(name));
                let finding = report.add(*at, message).within(range.clone());
                explain(finding, &cast, name, range, scope);
            }
        });
    }));

fn stands_for_something(cast: &Cast<'_>, reference: Reference<'_>, scope: PhaseScope<'_>) -> bool {
    match reference {
        Reference::Message | Reference::Canary => true,
        // Of an actor that is none, V-032 speaks.
        Reference::Actor { actor, extractor } => {
            cast.get(actor).is_none_or(|part| part.extractors.contains_key(extractor))
        }
        Reference::Extractor(name) => {
            let first = cast.get(scope.actor).and_then(|part| part.extractors.get(name));
            first.is_some_and(|first| scope.phase.is_some_and(|phase| *first <= phase))
        }
    }
}

fn explain<'d>(
    finding: NewFinding<'_, '_>,
    cast: &Cast<'d>,
    name: &str,
    range: Range<usize>,
    scope: PhaseScope<'_>,
) {
    let finding = finding.help("it becomes empty text; to send the braces as text, write `\\{{`");
    let trimmed = name.trim();
    if trimmed != name && stands_for_something(cast, Reference::parse(trimmed), scope) {
        finding
            .label("the spaces are part of the name")
            .help(format!("write `{{{{{trimmed}}}}}`"))
            .replace_within(range, "remove the spaces", format!("{{{{{trimmed}}}}}"));
        return;
    }
    if matches!(name, "request" | "response") {
        finding.label("no field is named").help(format!("name one: `{{{{{name}.arguments.path}}}}`"));
        return;
    }
    let own = cast.get(scope.actor);
    if own.is_some_and(|own| own.extractors.contains_key(name)) {
        finding
            .label("only a later phase captures this")
            .help("move the extractor to this phase or an earlier one, or the text to a later phase");
        return;
    }
    if let Some(actor) = cast.captures(name, scope.actor).filter(|actor| is_name(actor) && is_name(name)) {
        let meant = format!("{{{{{actor}.{name}}}}}");
        finding.label(format!("actor `{actor}` captures this: `{meant}`")).replace_within(
            range,
            format!("write `{meant}`"),
            meant,
        );
        return;
    }
    let (part, before, wanted) = match Reference::parse(name) {
        Reference::Actor { actor, extractor } => (cast.get(actor), actor.len() + 1, extractor),
        _ => (own, 0, name),
    };
    let candidates = part.into_iter().flat_map(|part| &part.extractors);
    // The extractors of later phases would not help here, nor names that are none (V-037).
    let helps = |(candidate, first): (&&'d str, &usize)| {
        let captured = before > 0 || scope.phase.is_some_and(|phase| *first <= phase);
        (captured && is_name(candidate)).then_some(*candidate)
    };
    match nearest(wanted.trim(), candidates.filter_map(helps)) {
        Some(meant) => {
            let start = range.start + "{{".len() + before;
            finding.label(format!("did you mean `{meant}`?")).replace_within(
                start..start + wanted.len(),
                format!("write `{meant}`"),
                meant,
            );
        }
        None => {
            finding.label("no extractor captures this");
        }
    }
}
