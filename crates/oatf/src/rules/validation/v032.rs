use std::cell::LazyCell;

use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::nearest;

use crate::rules::Rule;
use crate::rules::walk::{ACTOR_NAME, Reference, is_name};
use crate::template::{Piece, pieces};

/// Every `{{actor.extractor}}` names an actor of the document.
pub(crate) const V_032: Rule = Rule {
    code: "V-032",
    spec: "§5.5",
    title: "templates name actors that exist",
    severity: Error,
    explain: include_str!("v032.md"),
    check: Some(|document, report| {
        if report.may_lack(ACTOR_NAME) {
            return;
        }
        let cast = LazyCell::new(|| document.cast());
        document.each_template(|at, text, _| {
            for piece in pieces(text) {
                let Piece::Reference { name, at: range } = piece else { continue };
                let Reference::Actor { actor, .. } = Reference::parse(name) else { continue };
                if cast.get(actor).is_some() || report.leaves_out(&V_032) {
                    continue;
                }
                let start = range.start + "{{".len();
                let mut finding = report
                    .add(&V_032, *at, format!("there is no actor called `{actor}`"))
                    .within(range)
                    .help(format!("actors here: {}", cast.listed()));
                if let Some(meant) = nearest(actor, cast.names()).filter(|meant| is_name(meant)) {
                    finding = finding.label(format!("did you mean `{meant}`?")).replace_within(
                        start..start + actor.len(),
                        format!("refer to `{meant}`"),
                        meant,
                    );
                }
                finding
                    .help("fields of the message at hand are `{{request.…}}` and `{{response.…}}`")
                    .help("to send the braces themselves, write `\\{{`");
            }
        });
    }),
};
