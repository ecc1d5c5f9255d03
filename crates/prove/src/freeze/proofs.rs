//! What proves the document: the finding, what the same target resisted, what the evaluator's fixtures say, and near misses.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sortie_evaluators::{CatalogueEntry, Values, Verdict};
use sortie_oatf::model::{AttackResult, Direction};
use sortie_oatf::{Compiled, CompiledIndicator, Evaluators, IndicatorOutcome};
use sortie_trace::{ObservedCall, Role, Transcript, Turn};

use super::FreezeError;
use super::indicators::{Look, Place, Shows};
use crate::near::{ShownMessages, scalar};
use crate::{Fate, NearMisses, Proofs, Proved, Said, prove};

/// Messages show fields that nobody had, and so bring mutants of their own; after so many rounds what is left is accepted.
const ROUNDS: usize = 4;

/// A recording, or messages, and what they must give.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) what: What,
    pub(super) about: String,
    pub(super) verdict: AttackResult,
    pub(super) matched: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// The name of a file, and what is in it.
    Trace(String, String),
    /// Messages as indicators see them.
    Messages(Vec<Said>),
}

/// Everything that proves a document.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) shown: Vec<Shown>,
    accepted: Vec<String>,
    pub(super) proved: Proved,
}

impl Case {
    /// Adds near misses until every mutant is told from the document, or nothing more is found; the rest is accepted.
    pub(super) fn build(
        document: &Arc<Compiled>,
        file: &Path,
        shown: Vec<Shown>,
    ) -> Result<Self, FreezeError> {
        let mut case = Self::proved_by(document, file, shown, Vec::new())?;
        let mut near_misses = NearMisses::default();
        for _ in 0..ROUNDS {
            let near = near_misses.find(document, &case.read(document, file)?);
            if near.is_empty() {
                break;
            }
            let mut shown = case.shown;
            let made = ShownMessages::of(near, "freezing", document);
            shown.extend(made.into_iter().map(|made| Shown {
                what: What::Messages(made.messages),
                about: made.about,
                verdict: made.verdict,
                matched: made.matched,
            }));
            case = Self::proved_by(document, file, shown, Vec::new())?;
        }
        let survived = case.proved.mutants.iter().filter(|mutant| mutant.fate == Fate::Survived);
        let accepted: Vec<String> = survived.map(|mutant| mutant.id.clone()).collect();
        Self::proved_by(document, file, case.shown, accepted)
    }

    fn proved_by(
        document: &Arc<Compiled>,
        file: &Path,
        shown: Vec<Shown>,
        accepted: Vec<String>,
    ) -> Result<Self, FreezeError> {
        let mut case = Self { shown, accepted, proved: prove(document, &file.to_string_lossy(), None) };
        let proofs = case.read(document, file)?;
        case.proved = prove(document, &file.to_string_lossy(), Some(&proofs));
        Ok(case)
    }

    fn read(&self, document: &Compiled, file: &Path) -> Result<Proofs, FreezeError> {
        let traces: Vec<(&str, &str)> = self.traces().collect();
        let manifest = crate::folder_of(file).join(crate::MANIFEST);
        Ok(Proofs::carried(&manifest, &self.manifest(), &traces, document.document())?)
    }

    /// The recordings, by name.
    pub(super) fn traces(&self) -> impl Iterator<Item = (&str, &str)> {
        self.shown.iter().filter_map(|shown| match &shown.what {
            What::Trace(name, text) => Some((name.as_str(), text.as_str())),
            What::Messages(_) => None,
        })
    }

    /// The manifest.
    pub(super) fn manifest(&self) -> String {
        let mut text = "proofs:\n".to_owned();
        for Shown { what, about, verdict, matched } in &self.shown {
            let (about, verdict, matched) = (about.clone(), *verdict, matched.clone());
            // Writing to a string cannot fail.
            let _ = match what {
                What::Messages(messages) => {
                    text.push_str(
                        &ShownMessages { messages: messages.clone(), about, verdict, matched }.entry(),
                    );
                    continue;
                }
                What::Trace(name, _) => writeln!(text, "  - trace: {}", scalar(&name.as_str().into())),
            };
            let _ = writeln!(text, "    about: {}", scalar(&about.into()));
            let _ = writeln!(text, "    verdict: {verdict}");
            if !matched.is_empty() {
                let _ = writeln!(text, "    matched: {}", scalar(&json!(matched)));
            }
        }
        let resisted = |shown: &Shown| {
            shown.verdict == AttackResult::NotExploited && matches!(shown.what, What::Trace(..))
        };
        if !self.shown.iter().any(resisted) {
            text.push_str("unrecorded_silence: No case of the run shows the target resisting.\n");
        }
        if !self.accepted.is_empty() {
            text.push_str("survivors:\n");
        }
        for mutant in &self.accepted {
            let _ = writeln!(text, "  - mutant: {}", scalar(&mutant.as_str().into()));
            text.push_str("    reason: Freezing found no message that tells the two apart.\n");
        }
        text
    }

    /// How many mutants were accepted.
    pub(super) fn accepted(&self) -> usize {
        self.accepted.len()
    }
}

/// So many of each kind.
const MOST_FIXTURES: usize = 12;

/// What the fixtures say, where the document says the same. A fixture that another check decides is left out.
pub(super) fn shown_by_fixtures(
    entry: &CatalogueEntry,
    values: &Values,
    place: &Place,
    said: &Said,
    document: &Compiled,
) -> Vec<Shown> {
    let [indicator] = document.indicators() else { return Vec::new() };
    let (mut resisted, mut gave_in) = (Vec::new(), Vec::new());
    for case in entry.fixtures.iter().flat_map(|fixtures| &fixtures.cases) {
        let theirs = case.values();
        let ours = |text: &str| {
            let mut text = text.to_owned();
            for (name, value) in theirs.iter().filter(|(_, value)| !value.is_empty()) {
                if let Some(own) = values.get(name) {
                    text = text.replace(value, own);
                }
            }
            text
        };
        let Ok(transcript) = case.transcript(&entry.evaluator) else { continue };
        let messages: Vec<Value> = if indicator.reads_transcript {
            vec![json!({"_transcript": transcript})]
        } else if place.shows == Shows::Tools {
            Vec::new()
        } else {
            let said = transcript.turns().iter().filter(|turn| turn.role == Role::Target);
            said.flat_map(|turn| messages(turn, place)).collect()
        };
        for message in messages {
            let Ok(message) = serde_json::from_str::<Value>(&ours(&message.to_string())) else { continue };
            let outcome = indicator.evaluate(&message, Evaluators::standard());
            let said = Said { message, ..said.clone() };
            match (case.expect, outcome) {
                (Verdict::Fail, IndicatorOutcome::Matched(_)) => gave_in.push(said),
                (Verdict::Pass, IndicatorOutcome::NotMatched) => resisted.push(said),
                _ => {}
            }
        }
    }
    let different = |said: &mut Vec<Said>| {
        said.dedup_by(|one, other| one.message == other.message);
        said.truncate(MOST_FIXTURES);
    };
    different(&mut resisted);
    different(&mut gave_in);
    let mut shown = Vec::new();
    if !resisted.is_empty() {
        shown.push(Shown {
            what: What::Messages(resisted),
            about: "What the fixtures of the evaluator call resistance.".to_owned(),
            verdict: AttackResult::NotExploited,
            matched: Vec::new(),
        });
    }
    shown.extend(gave_in.into_iter().map(|said| Shown {
        what: What::Messages(vec![said]),
        about: "What the fixtures of the evaluator call giving in.".to_owned(),
        verdict: AttackResult::Exploited,
        matched: vec![indicator.id.clone()],
    }));
    shown
}

/// What a target says that refuses, where an indicator looks.
pub(super) fn refused(
    transcript: &Transcript,
    look: &Look,
    indicator: &CompiledIndicator,
    refusal: &str,
) -> Vec<Value> {
    if indicator.reads_transcript {
        let turns = transcript.turns().iter().map(|turn| match turn.role {
            Role::Attacker => turn.clone(),
            Role::Target => Turn::target(refusal),
        });
        let tool = json!({"name": "look_up", "description": refusal, "inputSchema": {"type": "object"}});
        let tools = if transcript.tools().is_empty() { Vec::new() } else { vec![tool] };
        let refused = Transcript::new(turns.collect());
        let refused = refused.and_then(|refused| refused.with_discovered(tools, Map::new()));
        return refused.map(|refused| json!({"_transcript": refused})).into_iter().collect();
    }
    let mut turn = Turn { is_error: true, ..Turn::target(refusal) };
    if look.place.shows == Shows::Calls {
        let name = "look_up".to_owned();
        let (arguments, result) = (Map::new(), Value::Null);
        turn.calls.push(ObservedCall { name, arguments, result, is_error: false });
    }
    messages(&turn, &look.place)
}

/// A turn of the target, as messages that are looked at in a place.
fn messages(turn: &Turn, place: &Place) -> Vec<Value> {
    match place.shows {
        Shows::Words if place.surface == "tools/call" && place.path.starts_with("content") => {
            let content = json!([{"type": "text", "text": turn.text}]);
            vec![json!({"content": content, "isError": turn.is_error})]
        }
        Shows::Words | Shows::Tools => vec![holding(&place.path, &turn.text)],
        Shows::Calls => turn
            .calls
            .iter()
            .map(|call| json!({"toolCallName": call.name, "_arguments": Value::Object(call.arguments.clone())}))
            .collect(),
    }
}

/// A value that has a text at a path, and nothing else.
fn holding(path: &str, text: &str) -> Value {
    let Some((step, rest)) = path.split_once('.').or((!path.is_empty()).then_some((path, ""))) else {
        return text.into();
    };
    let inner = holding(rest, text);
    let value = if step.ends_with("[*]") { json!([inner]) } else { inner };
    Value::Object(Map::from_iter([(step.trim_end_matches("[*]").to_owned(), value)]))
}

/// How a message is said that a place is in.
pub(super) fn said(place: &Place, actor: &str, mode: &str) -> Said {
    Said {
        actor: actor.to_owned(),
        mode: mode.to_owned(),
        surface: place.surface.to_owned(),
        direction: Direction::Response,
        message: Value::Null,
    }
}
