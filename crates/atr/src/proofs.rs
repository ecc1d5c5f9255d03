//! The tests of a rule, as proofs of its document.

use serde_json::{Map, Value, json};
use sortie_syntax::yaml::emit;

use crate::convert::{ImportedRule, PEER, SERVER, USER};
use crate::test::{RuleTest, TestLabel, TestMessage};

/// So many proofs stand in one manifest.
const MOST_PROOFS: usize = 200;

/// A manifest with one proof for each test. What it expects is what the author of the rule says; which indicators match, where the
/// document agrees, is what it says.
pub(crate) fn manifest(rule: &ImportedRule) -> String {
    let proofs: Vec<Value> = rule.tests.iter().take(MOST_PROOFS).map(|test| proof(rule, test)).collect();
    emit(&json!({
        "proofs": proofs,
        "unrecorded_silence": "The tests of the rule are texts, and no recordings.",
    }))
}

fn proof(rule: &ImportedRule, test: &RuleTest) -> Value {
    let mut proof = Map::new();
    let about = test.about.as_deref().map(|about| format!(": {about}")).unwrap_or_default();
    let label = match test.label {
        TestLabel::TruePositive => "True positive",
        TestLabel::TrueNegative => "True negative",
    };
    proof.insert("messages".to_owned(), test.messages.iter().map(message).collect());
    proof.insert("about".to_owned(), format!("{label} {}{about}", test.number).into());
    if test.label == TestLabel::TrueNegative {
        proof.insert("verdict".to_owned(), "not_exploited".into());
        return proof.into();
    }
    let mut matched = rule.matched(test);
    if matched.is_empty() {
        // The document disagrees, and `sortie prove` is to say so.
        matched.extend(rule.compiled.indicators().first().map(|indicator| indicator.id.as_str()));
    }
    proof.insert("verdict".to_owned(), "exploited".into());
    proof.insert("matched".to_owned(), matched.into());
    proof.into()
}

fn message(message: &TestMessage) -> Value {
    let (actor, surface) = match message.protocol {
        "ag_ui" => (USER, message.surface),
        // An answer is what indicators see of the end of a text.
        "agent" => (USER, "text_message_end"),
        "a2a" => (PEER, message.surface),
        _ => (SERVER, message.surface),
    };
    let seen = match message.protocol {
        "agent" => json!({"_text": message.message["text"]}),
        _ => message.message.clone(),
    };
    json!({"actor": actor, "surface": surface, "direction": message.direction.as_str(), "message": seen})
}
