//! Extractors, and the templates that use what they capture.

use std::cell::LazyCell;

use serde_json::Value;
use sortie_expr::re2;
use sortie_syntax::nearest;

use crate::canary::CANARIES;
use crate::model::ExtractorType;
use crate::rules::Rule;
use crate::rules::walk::{ACTOR_NAME, is_name};
use crate::template::{Piece, Reference, pieces};

/// No template reference is left open.
pub(super) const V_016: Rule = Rule::error("V-016", "§5.7", include_str!("v016.md"))
    .titled("every template reference is closed")
    .check(Some(|document, report| {
        document.each_template(|at, template, _| {
            let unclosed = pieces(template).find_map(|piece| match piece {
                Piece::Unclosed { at, .. } => Some(at),
                _ => None,
            });
            if let Some(start) = unclosed {
                report
                    .add(*at, "`{{` is never closed")
                    .within(start..start + 2)
                    .label("opens a reference")
                    .help("close it with `}}`, or write `\\{{` for literal braces");
            }
        });
    }));

/// Every `{{actor.extractor}}` names an actor of the document.
pub(super) const V_032: Rule = Rule::error("V-032", "§5.5", include_str!("v032.md"))
    .titled("templates name actors that exist")
    .check(Some(|document, report| {
        if report.may_lack(ACTOR_NAME) {
            return;
        }
        let cast = LazyCell::new(|| document.cast());
        document.each_template(|at, text, _| {
            for piece in pieces(text) {
                let Piece::Reference { name, at: range } = piece else { continue };
                let Reference::Actor { actor, .. } = Reference::parse(name) else { continue };
                if cast.get(actor).is_some() || report.leaves_out() {
                    continue;
                }
                let start = range.start + "{{".len();
                let mut finding = report
                    .add(*at, format!("there is no actor called `{actor}`"))
                    .within(range)
                    .help(format!("actors here: {}", cast.listed()));
                if let Some(meant) = nearest(actor, cast.names()).filter(|meant| is_name(meant)) {
                    finding = finding.label(format!("did you mean `{meant}`?")).replace_within(
                        start..start + actor.len(),
                        format!("refer to `{meant}`"),
                        meant,
                    );
                }
                if actor == "canary" {
                    let canaries = CANARIES.map(|(name, _)| format!("`{name}`")).join(", ");
                    finding = finding.help(format!("canaries are {canaries}"));
                }
                finding
                    .help("fields of the current message are `{{request.…}}` and `{{response.…}}`")
                    .help("to send the braces as text, write `\\{{`");
            }
        });
    }));

/// At most one entry of a response list has no `when`.
///
/// `elicitations` is no such list: each of its entries may be sent, so several may come without a condition.
pub(super) const V_033: Rule = Rule::error("V-033", "§11.1.14", include_str!("v033.md"))
    .titled("a response list has one fallback")
    .check(Some(|document, report| {
        document.each_response_list(|list| {
            if list.key == "elicitations" {
                return;
            }
            let fallback = |(_, entry): &(usize, &Value)| {
                entry.as_object().is_some_and(|entry| !entry.contains_key("when"))
            };
            let mut fallbacks = list.entries().iter().enumerate().filter(fallback);
            if let (Some((first, _)), Some((second, _))) = (fallbacks.next(), fallbacks.next()) {
                report
                    .add(list.at, format!("`{}` has more than one entry without `when`", list.key))
                    .label("one fallback at most")
                    .also(&list.at.index(first).path(), "the fallback")
                    .also(&list.at.index(second).path(), "never chosen")
                    .help("give all but one of them a `when`");
            }
        });
    }));

/// Extractor names are `[a-z][a-z0-9_]*`.
pub(super) const V_037: Rule = Rule::error("V-037", "§5.5", include_str!("v037.md"))
    .titled("extractors have names that templates can use")
    .check(Some(|document, report| {
        document.each_extractor(|at, extractor| {
            if is_name(&extractor.name) {
                return;
            }
            let finding = report
                .add(at.key("name"), format!("`{}` cannot be the name of an extractor", extractor.name))
                .help("a name has a lowercase letter, then lowercase letters, digits and `_`");
            // No fix: the templates that use the name would have to change with it.
            let meant = extractor.name.to_ascii_lowercase().replace(['-', ' ', '.'], "_");
            if is_name(&meant) {
                finding
                    .label(format!("`{meant}` can"))
                    .help(format!("templates use it as `{{{{{meant}}}}}`"));
            }
        });
    }));

/// `phase.extractors`, when present, is not empty.
pub(super) const V_038: Rule = Rule::error("V-038", "§11.1.7", include_str!("v038.md"))
    .titled("extractors, when present, are not empty")
    .check(Some(|document, report| {
        document.each_phase(|phase| {
            if phase.phase.extractors.as_ref().is_some_and(Vec::is_empty) {
                report
                    .add(phase.at.key("extractors"), "`extractors` is empty")
                    .help("add an extractor, or remove the key");
            }
        });
    }));

/// The selector of a regex extractor has a capture group.
pub(super) const V_042: Rule = Rule::error("V-042", "§5.5", include_str!("v042.md"))
    .titled("a regex extractor has a capture group")
    .check(Some(|document, report| {
        document.each_extractor(|at, extractor| {
            // What is not a regular expression is V-013's to report.
            if extractor.r#type == ExtractorType::Regex && re2::check(&extractor.selector) == Ok(0) {
                report
                    .add(at.key("selector"), "this pattern has no capture group")
                    .label("nothing to extract")
                    .help("put parentheses around the part to keep: `token=([a-z0-9]+)`");
            }
        });
    }));
