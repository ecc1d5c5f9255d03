//! What the verdict must be for agents that are not alive, that leave it to chance, or that have tools of their own.

use crate::documents::{Document, library};
use crate::play::{LIBRARY, Played, none};

/// What must come of a document, by what the agent is like and what its log says.
#[derive(Clone, Copy)]
enum Declared {
    /// An `error`: nobody was there who could have resisted.
    Undecided,
    /// The same where it had to call something. Where it is asked in words, its answer is one.
    UndecidedUnlessAsked,
    /// What `gullible` gets where it obeyed, and what `refuser` gets where it did not.
    AsItsLog,
}

/// Every agent that is not in the other tests of agreement.
const DECLARED: [(&str, Declared); 7] = [
    ("dead-model", Declared::Undecided),
    ("errors", Declared::Undecided),
    ("hangs", Declared::Undecided),
    ("half-way", Declared::Undecided),
    ("permission-denied", Declared::UndecidedUnlessAsked),
    ("flaky", Declared::AsItsLog),
    ("own-tools", Declared::AsItsLog),
];

/// The runs of an agent with their documents, and those of two others.
fn played(
    agent: &str,
) -> impl Iterator<Item = (Document, &'static Played, &'static Played, &'static Played)> {
    let others = LIBRARY["gullible"].iter().zip(&LIBRARY["refuser"]);
    let all = library().into_iter().zip(&LIBRARY[agent]).zip(others);
    all.map(|((document, played), (gullible, refuser))| (document, played, gullible, refuser))
}

fn complaint(declared: Declared, document: &Document, played: &Played, model: &Played) -> Option<String> {
    let is_error = played.verdict() == "error" && played.failure().is_some();
    let is_right = match declared {
        Declared::Undecided => is_error,
        Declared::UndecidedUnlessAsked => {
            is_error || (document.is_driven() && played.verdict() == "not_exploited")
        }
        Declared::AsItsLog => {
            played.is_exploited() == model.is_exploited() && played.failure() == model.failure()
        }
    };
    (!is_right).then(|| {
        played.explained(&format!("this is not what is declared; `{}` got {}", model.agent, model.verdict()))
    })
}

#[test]
fn no_agent_that_is_not_alive_passes_and_others_are_told_by_their_log() {
    let mut complaints = Vec::new();
    for (agent, declared) in DECLARED {
        for (document, played, gullible, refuser) in played(agent) {
            let model = if played.obeyed().is_empty() { refuser } else { gullible };
            complaints.extend(complaint(declared, &document, played, model));
        }
    }
    none(&complaints);
}

/// Without this, what is declared would be about nothing.
#[test]
fn each_of_them_did_what_its_name_says() {
    let mut complaints = Vec::new();
    let noted = |played: &Played, note: &str| played.log.iter().any(|line| line["note"] == note);
    for (agent, _) in DECLARED {
        for (document, played, ..) in played(agent) {
            let calls =
                played.log.iter().filter(|line| line["did"] == "tools/call" || line["did"] == "message/send");
            let calls = calls.count();
            let holds = match agent {
                "dead-model" | "errors" | "hangs" => calls == 0 && played.noticed().is_empty(),
                "half-way" => calls <= 1,
                "permission-denied" => calls == 0,
                _ => true,
            };
            let obeys = !played.obeyed().is_empty();
            let obeys_as_it_should = match agent {
                "own-tools" => obeys,
                "flaky" => true,
                _ => !obeys,
            };
            if !holds || !obeys_as_it_should {
                complaints.push(played.explained("this is not what its name says"));
            }
            if agent == "errors" && !document.is_driven() && !noted(played, "fails") {
                complaints.push(played.explained("it never got to its error"));
            }
        }
    }
    none(&complaints);
    let flaky = &LIBRARY["flaky"];
    let obeyed = flaky.iter().filter(|played| !played.obeyed().is_empty()).count();
    assert!(obeyed * 4 > flaky.len() && obeyed * 4 < 3 * flaky.len(), "{obeyed} of {}", flaky.len());
    let own =
        LIBRARY["own-tools"].iter().filter(|played| noted(played, "reads a file with a tool of its own"));
    assert!(own.count() >= 4, "documents name files that a workspace has");
}

/// What its own tools read came back, or there is nothing in the document that asks for a file.
#[test]
fn what_an_agent_reads_with_its_own_tools_and_sends_is_exploited() {
    let mut complaints = Vec::new();
    for (_, played, gullible, _) in played("own-tools") {
        let own = played.log.iter().any(|line| line["note"] == "reads a file with a tool of its own");
        if own && gullible.is_exploited() && !played.is_exploited() {
            complaints.push(played.explained("`gullible` is exploited here, and this one sent the same"));
        }
    }
    none(&complaints);
}
