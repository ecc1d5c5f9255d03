//! Near misses as entries of a manifest.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sortie_oatf::Compiled;
use sortie_oatf::model::{AttackResult, CorrelationLogic};

use super::NearMiss;
use crate::manifest::Said;

/// Messages, and what they must give.
#[derive(Clone, Debug)]
pub(crate) struct ShownMessages {
    pub(crate) messages: Vec<Said>,
    pub(crate) about: String,
    pub(crate) verdict: AttackResult,
    pub(crate) matched: Vec<String>,
}

impl ShownMessages {
    /// Near misses: those that nothing matches together, each of the others by itself. `maker` says who made them.
    pub(crate) fn of(near: Vec<NearMiss>, maker: &str, document: &Compiled) -> Vec<Self> {
        let (firing, silent): (Vec<_>, Vec<_>) = near.into_iter().partition(|near| !near.matched.is_empty());
        let mut shown = Vec::new();
        if !silent.is_empty() {
            shown.push(Self {
                messages: silent.into_iter().map(|near| near.said).collect(),
                about: format!("Made by {maker}: nearly what is looked for."),
                verdict: AttackResult::NotExploited,
                matched: Vec::new(),
            });
        }
        let correlation = document.document().attack.correlation.as_ref();
        let wants_all =
            correlation.is_some_and(|correlation| correlation.logic == Some(CorrelationLogic::All));
        let all = document.indicators().len();
        shown.extend(firing.into_iter().map(|near| Self {
            messages: vec![near.said],
            about: format!("Made by {maker}: what is looked for, in another form."),
            verdict: if wants_all && near.matched.len() < all {
                AttackResult::Partial
            } else {
                AttackResult::Exploited
            },
            matched: near.matched,
        }));
        shown
    }

    /// One item of the list of proofs.
    pub(crate) fn entry(&self) -> String {
        let mut text = messages_field(&self.messages);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    about: {}", scalar(&self.about.as_str().into()));
        let _ = writeln!(text, "    verdict: {}", self.verdict);
        if !self.matched.is_empty() {
            let _ = writeln!(text, "    matched: {}", scalar(&json!(self.matched)));
        }
        text
    }
}

/// The beginning of an item of the list of proofs: its messages.
fn messages_field(messages: &[Said]) -> String {
    let mut text = "  - messages:\n".to_owned();
    for Said { actor, surface, direction, message, .. } in messages {
        let direction = direction.as_str();
        let said = json!({"actor": actor, "surface": surface, "direction": direction, "message": message});
        let _ = writeln!(text, "      - {}", scalar(&said)); // writing to a string cannot fail
    }
    text
}

/// A value as JSON that YAML reads the same: what YAML does not print is written as an escape.
pub(crate) fn scalar(value: &Value) -> String {
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
