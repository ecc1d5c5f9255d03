//! From a rule to a document.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sortie_expr::re2::{self, Regex, may_match_empty};
use sortie_oatf::frameworks::normalise;
use sortie_oatf::model::{SeverityLevel, Status};
use sortie_oatf::{Compiled, OatfError, load};
use sortie_syntax::yaml::emit;

use crate::pattern::translate;
use crate::place::{TextPlace, places};
use crate::reason::{Disagreement, ImportNote, LeftOut, LeftOutReason, SkippedCondition};
use crate::rule::{AtrRule, Logic, RuleCondition, RuleError};
use crate::test::{RuleTest, TestLabel};

/// A rule and its document.
#[derive(Clone, Debug)]
pub struct ImportedRule {
    /// The file of the rule, below the folder that was loaded; empty for a rule that is in none.
    pub file: PathBuf,
    /// The id of the rule, and of the document.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The document: OATF as YAML.
    pub document: String,
    /// The document, ready to evaluate.
    pub compiled: Arc<Compiled>,
    /// The tests of the rule.
    pub tests: Vec<RuleTest>,
    /// How many conditions the document has.
    pub conditions: usize,
    /// The conditions of the rule that the document does not have.
    pub skipped: Vec<SkippedCondition>,
    /// How the document differs from the rule otherwise.
    pub notes: Vec<ImportNote>,
    /// The condition of each indicator: its position in the rule.
    pub(crate) condition_of: Vec<usize>,
}

impl ImportedRule {
    /// Whether the document finds something in a test exactly where its author says that the rule must.
    pub fn agrees(&self, test: &RuleTest) -> bool {
        test.matched(&self.compiled).is_empty() == (test.label == TestLabel::TrueNegative)
    }

    /// Why the document disagrees with the author of the rule about a test; `None` where it agrees.
    pub fn disagreement(&self, test: &RuleTest) -> Option<Disagreement> {
        if self.agrees(test) {
            return None;
        }
        Some(match test.label {
            TestLabel::TruePositive if !self.skipped.is_empty() => Disagreement::ConditionLeftOut,
            TestLabel::TrueNegative if self.notes.contains(&ImportNote::CodeBlocks) => {
                Disagreement::CodeBlocks
            }
            _ => Disagreement::Unexplained,
        })
    }

    /// The ids of the indicators that match a test.
    pub fn matched(&self, test: &RuleTest) -> Vec<&str> {
        let indicators = self.compiled.indicators();
        test.matched(&self.compiled).into_iter().map(|position| indicators[position].id.as_str()).collect()
    }

    /// The manifest that proves the document by the tests of the rule, as `sortie prove` reads it.
    pub fn proofs(&self) -> String {
        crate::proofs::manifest(self)
    }

    /// Whether everything that the rule says is in the document.
    pub fn is_whole(&self) -> bool {
        self.skipped.is_empty() && self.notes.is_empty()
    }
}

/// What became of a rule.
#[derive(Clone, Debug)]
pub enum Imported {
    /// A document.
    Document(Box<ImportedRule>),
    /// Nothing, for this reason.
    LeftOut(LeftOut),
}

/// Imports a rule.
pub fn import(text: &str) -> Result<Imported, RuleError> {
    Ok(Conversion::new(AtrRule::parse(text)?).finish())
}

/// A rule on its way to a document.
pub(crate) struct Conversion {
    pub(crate) rule: AtrRule,
    kept: Vec<Kept>,
    skipped: Vec<SkippedCondition>,
}

/// A condition that a document can have.
struct Kept {
    /// Its position in the rule.
    position: usize,
    pattern: String,
}

impl Conversion {
    pub(crate) fn new(rule: AtrRule) -> Self {
        let (mut kept, mut skipped) = (Vec::new(), Vec::new());
        for (position, condition) in rule.conditions.iter().enumerate() {
            match kept_pattern(condition, &rule.source) {
                Ok(pattern) => kept.push(Kept { position, pattern }),
                Err((reason, detail)) => skipped.push(skip(position, condition, reason, detail)),
            }
        }
        let mut conversion = Self { rule, kept, skipped };
        conversion.skip_largest();
        conversion
    }

    /// Leaves out the largest patterns, until a document may have the others.
    fn skip_largest(&mut self) {
        let cost = |kept: &Kept| re2::cost(&kept.pattern).unwrap_or(re2::MAX_TOGETHER);
        while self.kept.iter().map(cost).sum::<usize>() > re2::MAX_TOGETHER {
            let Some(largest) = self.kept.iter().max_by_key(|kept| cost(kept)) else { return };
            let detail = "the patterns of the rule are too large together, and this is the largest";
            self.skip(largest.position, LeftOutReason::TooLarge, detail.to_owned());
        }
    }

    /// Leaves a condition out after all.
    pub(crate) fn skip(&mut self, position: usize, reason: LeftOutReason, detail: String) {
        self.kept.retain(|kept| kept.position != position);
        self.skipped.push(skip(position, &self.rule.conditions[position], reason, detail));
        self.skipped.sort_by_key(|skipped| skipped.condition);
    }

    /// The document, or why there is none.
    pub(crate) fn finish(&self) -> Imported {
        if let Some((reason, detail)) = self.obstacle() {
            return self.left_out(reason, detail);
        }
        let (document, condition_of) = self.document();
        let compiled = match load(&document) {
            Ok(loaded) => Compiled::new(loaded.document).map_err(|error| error.to_string()),
            Err(errors) => Err(errors.first().map(OatfError::to_string).unwrap_or_default()),
        };
        let compiled = match compiled {
            Ok(compiled) => Arc::new(compiled),
            Err(detail) => return self.left_out(LeftOutReason::TooLarge, detail),
        };
        let mut fields: Vec<&str> = Vec::new();
        for kept in &self.kept {
            let field = self.rule.conditions[kept.position].field.as_str();
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        Imported::Document(Box::new(ImportedRule {
            file: PathBuf::new(),
            id: self.rule.id.clone(),
            title: self.rule.title.clone(),
            document,
            compiled,
            tests: RuleTest::all(&self.rule, &fields),
            conditions: self.kept.len(),
            skipped: self.skipped.clone(),
            notes: self.notes(),
            condition_of,
        }))
    }

    fn left_out(&self, reason: LeftOutReason, detail: String) -> Imported {
        Imported::LeftOut(LeftOut {
            file: PathBuf::new(),
            id: self.rule.id.clone(),
            title: self.rule.title.clone(),
            reason,
            detail,
            skipped: self.skipped.clone(),
            tests: self.rule.positives.len() + self.rule.negatives.len(),
        })
    }

    /// Why there can be no document.
    fn obstacle(&self) -> Option<(LeftOutReason, String)> {
        let rule = &self.rule;
        let because = |reason: LeftOutReason, detail: String| Some((reason, detail));
        match rule.method.as_str() {
            "pattern" => {}
            "semantic" if rule.falls_back => {}
            "semantic" => {
                return because(LeftOutReason::NeedsModel, "the method is `semantic`".to_owned());
            }
            method => return because(LeftOutReason::UnsupportedMethod, format!("the method is `{method}`")),
        }
        if ["draft", "deprecated"].contains(&rule.status.as_str()) {
            return because(LeftOutReason::Inactive, format!("the status is `{}`", rule.status));
        }
        if rule.conditions.is_empty() {
            let detail = "its conditions have names, which is the older form";
            return because(LeftOutReason::UnsupportedOperator, detail.to_owned());
        }
        let first = self.skipped.first();
        let detail = |first: &SkippedCondition| {
            format!("condition {} at line {}: {}", first.condition, first.line, first.detail)
        };
        match first {
            Some(first) if rule.logic == Logic::All => because(LeftOutReason::Incomplete, detail(first)),
            Some(first) if self.kept.is_empty() => {
                let is_same = self.skipped.iter().all(|skipped| skipped.reason == first.reason);
                let reason = if is_same { first.reason } else { LeftOutReason::NoConditions };
                because(reason, detail(first))
            }
            _ => None,
        }
    }

    fn notes(&self) -> Vec<ImportNote> {
        let rule = &self.rule;
        let mut notes = Vec::new();
        if rule.ignores_code {
            notes.push(ImportNote::CodeBlocks);
        }
        if rule.method == "semantic" {
            notes.push(ImportNote::FallbackOnly);
        }
        if self.is_joined() && self.kept.iter().any(|kept| self.places(kept).contains(&TextPlace::Arguments))
        {
            notes.push(ImportNote::NotInArguments);
        }
        notes
    }

    fn places(&self, kept: &Kept) -> &'static [TextPlace] {
        places(&self.rule.conditions[kept.position].field, &self.rule.source)
    }

    /// Whether several conditions must hold for one text.
    fn is_joined(&self) -> bool {
        self.rule.logic == Logic::All && self.kept.len() > 1
    }

    /// The text of the document, and the condition of each indicator.
    fn document(&self) -> (String, Vec<usize>) {
        let mut indicators = Vec::new();
        let mut condition_of = Vec::new();
        if self.is_joined() {
            for place in self.places(&self.kept[0]) {
                if let Some(expression) = joined(*place, &self.kept) {
                    let mut indicator = self.indicator(&self.kept[0], *place);
                    indicator.insert("description".to_owned(), self.rule.title.clone().into());
                    indicator.insert("expression".to_owned(), json!({"cel": expression}));
                    finish(&mut indicator, *place);
                    indicator.remove("x-sortie");
                    indicators.push(Value::Object(indicator));
                    condition_of.push(self.kept[0].position);
                }
            }
        } else {
            for kept in &self.kept {
                for place in self.places(kept) {
                    let mut indicator = self.indicator(kept, *place);
                    let condition = &self.rule.conditions[kept.position];
                    if let Some(description) = &condition.description {
                        indicator.insert("description".to_owned(), one_line(description).into());
                    }
                    indicator.insert("pattern".to_owned(), json!({"regex": kept.pattern}));
                    finish(&mut indicator, *place);
                    indicators.push(Value::Object(indicator));
                    condition_of.push(kept.position);
                }
            }
        }
        let attack = self.attack(indicators);
        (emit(&json!({"oatf": "0.1", "attack": attack})), condition_of)
    }

    /// The beginning of an indicator.
    fn indicator(&self, kept: &Kept, place: TextPlace) -> Map<String, Value> {
        let target = place.target();
        let number = (kept.position + 1) * 10 + place.digit();
        let mut indicator = Map::new();
        indicator.insert("id".to_owned(), format!("{}-{number:03}", self.rule.id).into());
        indicator.insert("protocol".to_owned(), target.protocol.into());
        indicator.insert("surface".to_owned(), target.surface.into());
        indicator.insert("target".to_owned(), target.target.into());
        indicator.insert("direction".to_owned(), target.direction.as_str().into());
        indicator
    }

    fn attack(&self, indicators: Vec<Value>) -> Value {
        let rule = &self.rule;
        let mut attack = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                attack.insert(key.to_owned(), value);
            }
        };
        let date = rule.date.as_ref().map(|date| date.replace('/', "-"));
        put("id", Some(rule.id.clone().into()));
        put("name", Some(one_line(&rule.title).into()));
        put("version", rule.version.filter(|version| *version > 0).map(Value::from));
        put("status", rule.status.parse::<Status>().ok().map(|status| status.as_str().into()));
        put("created", date.filter(|date| is_date(date)).map(Value::from));
        put("author", rule.author.as_deref().map(|author| one_line(author).into()));
        put("description", rule.description.as_deref().map(|text| one_line(text).into()));
        put("severity", rule.severity.parse::<SeverityLevel>().ok().map(|level| level.as_str().into()));
        put("classification", Some(self.classification()));
        put("execution", Some(json!({"actors": actors(&indicators)})));
        put("indicators", Some(indicators.into()));
        attack.into()
    }

    fn classification(&self) -> Value {
        let mut classification = Map::new();
        let mut mappings: Vec<Value> = Vec::new();
        for (framework, id) in &self.rule.mappings {
            if let Ok(id) = normalise(framework, id) {
                let mapping = json!({"framework": framework, "id": id});
                if !mappings.contains(&mapping) {
                    mappings.push(mapping);
                }
            }
        }
        if !mappings.is_empty() {
            classification.insert("mappings".to_owned(), mappings.into());
        }
        let mut tags = vec!["atr".to_owned()];
        for tag in self.rule.tags.iter().map(|tag| tag.trim().to_lowercase().replace([' ', '_'], "-")) {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        classification.insert("tags".to_owned(), tags.into());
        classification.into()
    }
}

/// The end of an indicator.
fn finish(indicator: &mut Map<String, Value>, place: TextPlace) {
    let target = place.target();
    if let Some(tier) = target.tier {
        indicator.insert("tier".to_owned(), tier.as_str().into());
    }
    if target.texts {
        indicator.insert("x-sortie".to_owned(), json!({"texts": true}));
    }
}

fn skip(
    position: usize,
    condition: &RuleCondition,
    reason: LeftOutReason,
    detail: String,
) -> SkippedCondition {
    let (line, field) = (condition.line, condition.field.clone());
    SkippedCondition { condition: position + 1, line, field, reason, detail }
}

/// The pattern of a condition, or why there is none.
fn kept_pattern(condition: &RuleCondition, source: &str) -> Result<String, (LeftOutReason, String)> {
    if condition.operator != "regex" {
        let detail = format!("the operator is `{}`", condition.operator);
        return Err((LeftOutReason::UnsupportedOperator, detail));
    }
    if places(&condition.field, source).is_empty() {
        return Err((LeftOutReason::DeadField, format!("no message has a field `{}`", condition.field)));
    }
    let pattern = translate(&condition.value).map_err(|error| (error.kind.into(), error.message))?;
    if may_match_empty(&pattern) == Ok(true) && Regex::new(&pattern).is_ok_and(|regex| matches_all(&regex)) {
        return Err((LeftOutReason::Vacuous, "the pattern matches every text".to_owned()));
    }
    Ok(pattern)
}

/// A character that no pattern has in mind.
const UNLIKELY: &str = "\u{e000}";

/// `^$` matches the empty text, and not every text.
fn matches_all(regex: &Regex) -> bool {
    regex.matches_empty() && regex.is_match(UNLIKELY)
}

/// An expression that holds where one text satisfies all conditions; `None` where an expression cannot name the texts.
fn joined(place: TextPlace, kept: &[Kept]) -> Option<String> {
    let all = |text: &str| {
        let each = kept.iter().map(|kept| format!("{text}.matches({})", Value::from(kept.pattern.as_str())));
        each.collect::<Vec<_>>().join(" && ")
    };
    let any = |list: &str, text: &str| {
        format!(
            "{list}.exists(item, has(item.{text}) && type(item.{text}) == string && {})",
            all(&format!("item.{text}"))
        )
    };
    Some(match place {
        TextPlace::UserInput => format!("has(message.messages) && {}", any("message.messages", "content")),
        TextPlace::PeerMessage => {
            format!(
                "has(message.message) && has(message.message.parts) && {}",
                any("message.message.parts", "text")
            )
        }
        TextPlace::PeerAnswer => format!("has(message.parts) && {}", any("message.parts", "text")),
        TextPlace::Answer => all("message.text"),
        TextPlace::Result | TextPlace::LocalResult => {
            format!("has(message.content) && {}", any("message.content", "text"))
        }
        _ => return None,
    })
}

/// The actors whose messages indicators look at: they offer nothing, and attack nobody.
fn actors(indicators: &[Value]) -> Vec<Value> {
    let speaks = |protocol: &str| indicators.iter().any(|indicator| indicator["protocol"] == protocol);
    let actor = |name: &str, mode: &str, state: Value| json!({"name": name, "mode": mode, "phases": [{"name": "observe", "state": state}]});
    let mut actors = Vec::new();
    if speaks("mcp") || speaks("local") {
        actors.push(actor(SERVER, "mcp_server", json!({"tools": []})));
    }
    if speaks("ag_ui") || speaks("agent") {
        actors.push(actor(
            USER,
            "ag_ui_client",
            json!({"run_agent_input": {"threadId": "1", "runId": "1", "messages": []}}),
        ));
    }
    if speaks("a2a") {
        actors.push(actor(PEER, "a2a_client", json!({"actions": []})));
    }
    actors
}

pub(crate) const SERVER: &str = "server";
pub(crate) const USER: &str = "user";
pub(crate) const PEER: &str = "peer";

/// A text on one line, as descriptions are written.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_date(date: &str) -> bool {
    let digits = |part: &str, count| part.len() == count && part.bytes().all(|digit| digit.is_ascii_digit());
    let parts: Vec<&str> = date.split('-').collect();
    matches!(parts.as_slice(), [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
}
