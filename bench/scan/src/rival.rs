//! The same patterns as Sigma rules: one rule for each indicator that looks for a text or a regular expression.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use rsigma_eval::{Engine, JsonEvent};
use rsigma_parser::{LogSource, SigmaCollection, parse_sigma_yaml};
use serde_json::{Value, json};
use sortie_oatf::Compiled;
use sortie_oatf::model::{Condition, Direction, Indicator, MatchCondition};

pub(crate) struct Rival {
    engine: Engine,
    pub(crate) rules: usize,
}

impl Rival {
    pub(crate) fn new(documents: &[Arc<Compiled>]) -> Result<Self, String> {
        let (mut all, mut rules) = (SigmaCollection::default(), 0);
        for document in documents {
            for indicator in document.document().attack.indicators.iter().flatten() {
                let Some(rule) = rule(indicator, rules) else { continue };
                // JSON is YAML. A pattern that their engine does not take is left out.
                let Ok(collection) = parse_sigma_yaml(&rule.to_string()) else { continue };
                if !collection.rules.is_empty() && Engine::new().add_collection(&collection).is_ok() {
                    rules += 1;
                    all.rules.extend(collection.rules);
                }
            }
        }
        // At once: it puts its rules in order each time.
        let mut engine = Engine::new();
        engine.add_collection(&all).map_err(|error| error.to_string())?;
        Ok(Self { engine, rules })
    }

    /// How many rules match a line.
    pub(crate) fn evaluate(&self, line: &[u8]) -> usize {
        let Ok(value) = serde_json::from_slice::<Value>(line) else { return 0 };
        let word = |name: &str| value.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        let surface = value.get("surfaces").and_then(|surfaces| surfaces.get(0)).and_then(Value::as_str);
        let source = LogSource {
            product: word("protocol"),
            category: surface.map(ToOwned::to_owned),
            service: word("direction"),
            definition: None,
            custom: HashMap::default(),
        };
        black_box(self.engine.evaluate_with_logsource(&JsonEvent::borrow(&value), &source)).len()
    }
}

fn rule(indicator: &Indicator, number: usize) -> Option<Value> {
    let pattern = indicator.pattern.as_ref()?;
    let operators: &MatchCondition = match (&pattern.condition, &pattern.shorthand) {
        (Some(Condition::Match(operators)), _) => operators,
        (None, Some(operators)) => operators,
        _ => return None,
    };
    let (modifier, text) = match operators {
        MatchCondition { regex: Some(regex), .. } => ("re", regex),
        MatchCondition { contains: Some(text), .. } => ("contains|cased", text),
        MatchCondition { starts_with: Some(text), .. } => ("startswith|cased", text),
        MatchCondition { ends_with: Some(text), .. } => ("endswith|cased", text),
        _ => return None,
    };
    let target = pattern.target.as_ref().unwrap_or(&indicator.target).replace("[*]", "");
    let (body, service) = match indicator.direction? {
        Direction::Request => ("content.params", "request"),
        Direction::Response => ("content.result", "response"),
    };
    let field = if target.is_empty() { body.to_owned() } else { format!("{body}.{target}") };
    Some(json!({
        "title": format!("rule {number}"),
        "id": format!("00000000-0000-4000-8000-{number:012}"),
        "logsource": {"product": indicator.protocol, "category": indicator.surface, "service": service},
        "detection": {"selection": {format!("{field}|{modifier}"): text}, "condition": "selection"},
        "level": "medium",
    }))
}
