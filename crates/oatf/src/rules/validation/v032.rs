use crate::diagnostic::DiagnosticSeverity::Error;
use crate::parse::listed;
use crate::rules::walk::{ACTOR_NAME, Reference};
use crate::rules::{Family, Rule};
use crate::suggest::nearest;
use crate::template::{Piece, pieces};

/// Every `{{actor.extractor}}` names an actor of the document.
pub(crate) const V_032: Rule = Rule {
    code: "V-032",
    spec: "§5.5",
    title: "templates name actors that exist",
    severity: Error,
    family: Family::Validation,
    explain: include_str!("v032.md"),
    check: Some(|document, report| {
        document.each_template(|at, text, _| {
            for piece in pieces(text) {
                let Piece::Reference { name, at: range } = piece else { continue };
                let Reference::Actor { actor, .. } = Reference::parse(name) else { continue };
                // Extractors are looked up under the actor's name, letter by letter.
                if document.actor_names().any(|known| known == actor) || report.may_lack(ACTOR_NAME) {
                    continue;
                }
                let names: Vec<_> = document.actor_names().collect();
                let start = range.start + "{{".len();
                let mut finding = report
                    .add(&V_032, *at, format!("there is no actor called `{actor}`"))
                    .within(range)
                    .help(format!("actors here: {}", listed(&names)));
                if let Some(meant) = nearest(actor, names.iter().copied()) {
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
