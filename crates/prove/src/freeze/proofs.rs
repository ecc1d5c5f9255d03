//! What proves the document: the finding, what the same target resisted, what the evaluator's fixtures say, and near misses.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use super::FreezeError;
use crate::{Fate, NearMisses, Proofs, Proved, Said, prove};
use serde_json::{Value, json};
use sortie_oatf::Compiled;
use sortie_oatf::model::AttackResult;

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
            let (firing, silent): (Vec<_>, Vec<_>) =
                near.into_iter().partition(|near| !near.matched.is_empty());
            if !silent.is_empty() {
                shown.push(Shown {
                    what: What::Messages(silent.into_iter().map(|near| near.said).collect()),
                    about: "Made by freezing: nearly what is looked for.".to_owned(),
                    verdict: AttackResult::NotExploited,
                    matched: Vec::new(),
                });
            }
            for near in firing {
                shown.push(Shown {
                    what: What::Messages(vec![near.said]),
                    about: "Made by freezing: what is looked for, in another form.".to_owned(),
                    verdict: AttackResult::Exploited,
                    matched: near.matched,
                });
            }
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
        let nothing = Proved {
            document: crate::report::ProvedDocument { file: String::new(), id: None, name: String::new() },
            proved: false,
            manifest: None,
            proofs: Vec::new(),
            indicators: Vec::new(),
            mutants: Vec::new(),
            left_out: 0,
            score: crate::report::Score::default(),
            findings: Vec::new(),
        };
        let mut case = Self { shown, accepted, proved: nothing };
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
            // Writing to a string cannot fail.
            let _ = match what {
                What::Trace(name, _) => writeln!(text, "  - trace: {}", scalar(&name.as_str().into())),
                What::Messages(messages) => {
                    text.push_str("  - messages:\n");
                    for said in messages {
                        let (surface, direction) = (&said.surface, said.direction.as_str());
                        let said =
                            json!({"surface": surface, "direction": direction, "message": said.message});
                        let _ = writeln!(text, "      - {}", scalar(&said));
                    }
                    Ok(())
                }
            };
            let _ = writeln!(text, "    about: {}", scalar(&about.as_str().into()));
            let _ = writeln!(text, "    verdict: {verdict}");
            if !matched.is_empty() {
                let _ = writeln!(text, "    matched: {}", scalar(&json!(matched)));
            }
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

/// A value as JSON that YAML reads the same: what YAML does not print is written as an escape.
fn scalar(value: &Value) -> String {
    let mut text = String::new();
    for letter in value.to_string().chars() {
        let unprintable = letter.is_control()
            || matches!(letter, '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}');
        if unprintable {
            let _ = write!(text, "\\u{:04x}", u32::from(letter)); // writing to a string cannot fail
        } else {
            text.push(letter);
        }
    }
    text
}
