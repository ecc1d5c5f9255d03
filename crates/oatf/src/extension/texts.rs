//! `x-sortie.texts` of an indicator: its pattern is also compared with every text below the target.
//!
//! A path names the fields on the way, so it cannot say "every text in the arguments of a call". A pattern on `arguments` itself is
//! compared with its JSON, in which a quote is `\"` and a line feed `\n`. With `texts: true` it is compared with both. A tool that does
//! not know `texts` sees fewer matches, and never others.

use super::{KEY, Placed, Reader};
use crate::model::Indicator;

/// The keys of `x-sortie` on an indicator.
pub(super) const INDICATOR_KEYS: &[&str] = &["flow", "texts"];

/// Whether an indicator also looks at every text below its target. `false` where S-010 refuses what it says.
///
/// ```
/// use sortie_oatf::{Compiled, Evaluators, IndicatorOutcome, load};
///
/// let document = load("
/// oatf: '0.1'
/// attack:
///   execution: {mode: mcp_server, state: {tools: []}}
///   indicators:
///     - surface: tools/call
///       target: arguments
///       pattern: {regex: '(?m)^rm -rf'}
///       x-sortie: {texts: true}
/// ").unwrap().document;
/// let compiled = Compiled::new(document).unwrap();
/// let call = serde_json::json!({"name": "bash", "arguments": {"steps": [{"run": "cd /\nrm -rf *"}]}});
/// let IndicatorOutcome::Matched(evidence) = compiled.indicators()[0].evaluate(&call, Evaluators::standard()) else {
///     panic!("the second line of a text in the arguments");
/// };
/// assert_eq!(evidence.path, "arguments.steps[0].run");
/// ```
pub fn reads_texts(indicator: &Indicator) -> bool {
    indicator.pattern.is_some()
        && indicator.extensions.get(KEY).and_then(|own| own.get("texts")?.as_bool()) == Some(true)
}

impl Reader {
    pub(super) fn texts(&mut self, own: &Placed<'_>, indicator: &Indicator) {
        let Some(at) = own.get("texts") else { return };
        if !at.value.is_boolean() {
            self.error(at.path, "this must be `true` or `false`", "for example `texts: true`");
        } else if indicator.pattern.is_none() {
            let help = "write a `pattern`, or leave it out: an expression names what it reads";
            self.error(at.path, "`texts` stands beside `pattern` only", help);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{Compiled, Evaluators, IndicatorOutcome, load};

    fn document(indicator: &str) -> String {
        format!(
            "oatf: '0.1'\nattack:\n  execution: {{mode: mcp_server, state: {{tools: []}}}}\n  indicators:\n    - {{surface: tools/call, {indicator}}}\n"
        )
    }

    /// Where an indicator finds something, if it does.
    fn found(indicator: &str, message: &Value) -> Option<String> {
        let compiled = Compiled::new(load(&document(indicator)).unwrap().document).unwrap();
        let indicator = &compiled.indicators()[0];
        let outcome = indicator.evaluate(message, Evaluators::standard());
        let is_match = indicator.is_match(message, Evaluators::standard()).unwrap();
        match outcome {
            IndicatorOutcome::Matched(evidence) => {
                assert!(is_match);
                Some(evidence.path)
            }
            other => {
                assert!(!is_match, "{other:?}");
                None
            }
        }
    }

    #[test]
    fn a_text_is_found_as_it_is_at_any_depth() {
        let call = json!({"arguments": {"a": [1, {"b": "say \"yes\"\nor no"}]}});
        let quoted = r#"target: arguments, pattern: {regex: 'say "yes"\s'}"#;
        assert_eq!(found(quoted, &call), None);
        let with_texts = format!("{quoted}, x-sortie: {{texts: true}}");
        assert_eq!(found(&with_texts, &call).as_deref(), Some("arguments.a[1].b"));
        assert_eq!(found(&with_texts, &json!({"other": call})), None);
        // Of the whole message, the path starts below it.
        let whole = with_texts.replace("target: arguments", "target: ''");
        assert_eq!(found(&whole, &call).as_deref(), Some("arguments.a[1].b"));
    }

    #[test]
    fn json_and_texts_at_the_target_count_too() {
        let indicator =
            r#"target: arguments, pattern: {regex: '"amount":[0-9]{3}|^pay'}, x-sortie: {texts: true}"#;
        assert_eq!(found(indicator, &json!({"arguments": {"amount": 500}})).as_deref(), Some("arguments"));
        assert_eq!(found(indicator, &json!({"arguments": "pay now"})).as_deref(), Some("arguments"));
        assert_eq!(found(indicator, &json!({"arguments": {"amount": 50}})), None);
    }

    #[test]
    fn names_from_messages_are_not_shown_unless_a_path_could_have_them() {
        let indicator = "target: arguments, pattern: {contains: here}, x-sortie: {texts: true}";
        let long = "x".repeat(65);
        for name in ["a.b", "\u{202e}", "", long.as_str()] {
            let call = json!({"arguments": {name: {"ok-1": "here"}}});
            // The JSON of the arguments has the text as well, so it is the path that tells.
            assert_eq!(found(indicator, &call).as_deref(), Some("arguments.*.ok-1"));
        }
    }

    #[test]
    fn presence_is_not_a_matter_of_texts() {
        let indicator =
            "target: arguments.path, pattern: {condition: {exists: false}}, x-sortie: {texts: true}";
        assert_eq!(found(indicator, &json!({"arguments": {}})).as_deref(), Some("arguments.path"));
        assert_eq!(found(indicator, &json!({"arguments": {"path": {"deep": "text"}}})), None);
    }

    #[test]
    fn the_same_pattern_in_many_places_counts_once() {
        let indicators = |pattern: &dyn Fn(usize) -> String| {
            let each = (0..20).map(|number| {
                format!(
                    "    - {{surface: tools/call, target: arguments, pattern: {{regex: '{}'}}}}\n",
                    pattern(number)
                )
            });
            let start =
                "oatf: '0.1'\nattack:\n  execution: {mode: mcp_server, state: {tools: []}}\n  indicators:\n";
            format!("{start}{}", each.collect::<String>())
        };
        let same = load(&indicators(&|_| ".{0,900}x".to_owned())).unwrap();
        assert_eq!(Compiled::new(same.document).unwrap().indicators().len(), 20);
        let errors = load(&indicators(&|number| format!(".{{0,900}}x{number}"))).unwrap_err();
        assert_eq!(errors[0].diagnostic().code, "V-013");
        // One that is none is reported wherever it stands.
        assert_eq!(load(&indicators(&|_| "(".to_owned())).unwrap_err().len(), 20);
    }
}
