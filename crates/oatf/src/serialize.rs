//! Writes documents in their canonical form.

use std::borrow::Cow;

use serde_json::{Number, Value};
use sortie_syntax::ExactNumbers;
use sortie_syntax::yaml::emit::{self, EmitNode, Item, boolean};
use sortie_syntax::yaml::style;

use crate::model::{
    Action, ActionKind, Actor, Attack, Category, Classification, Condition, Correlation, CorrelationLogic,
    Direction, Document, Execution, ExpressionMatch, Extensions, Extractor, FrameworkMapping, Indicator,
    IndicatorMethod, LogAction, LogLevel, MatchCondition, MatchPredicate, PatternMatch, Phase, Reference,
    Relationship, SemanticExamples, SemanticIntentClass, SemanticMatch, SendAction, Severity, SeverityLevel,
    Status, Tier, Trigger,
};
use crate::normalize::normalize;

/// The canonical YAML of a document: normalised, fields in the order of the specification, block style.
///
/// The same document gives the same bytes, on every machine and in every run. `x-` fields stay behind the
/// field they followed, pass-through content keeps the order of its keys, and the numbers in `state` keep their
/// digits. What a reader could not see (zero-width and bidirectional characters) is written as an escape, and
/// what a YAML 1.1 reader would misread (`yes`, `017`) is quoted. Comments are not part of a document: to
/// lay out a file and keep them, use `sortie_lint::format`.
///
/// The canonical form is longer, and up to four levels deeper, than what was written. A document that only just keeps
/// to the limits of [`sortie_syntax::yaml`] may therefore be refused when it is read again.
///
/// ```
/// let document = sortie_oatf::parse("
/// attack:
///   execution: {state: {tools: []}, mode: mcp_server}
///   severity: high
/// oatf: '0.1'
/// ").unwrap();
/// assert_eq!(sortie_oatf::serialize(&document), "\
/// oatf: \"0.1\"
/// attack:
///   name: Untitled
///   version: 1
///   status: draft
///   severity:
///     level: high
///     confidence: 50
///   execution:
///     actors:
///       - name: default
///         mode: mcp_server
///         phases:
///           - name: phase-1
///             state:
///               tools: []
/// ");
/// ```
pub fn serialize(document: &Document) -> String {
    let Document { oatf, schema, attack: body, .. } = &normalize(document);
    let mut fields = Fields::default();
    fields.text("oatf", Some(oatf));
    fields.text("$schema", schema.as_ref());
    fields.put("attack", Some(body), |body| extended(|fields| attack(body, fields), &body.extensions));
    let mut text = String::new();
    emit::write(&plain(fields), &mut text);
    text
}

/// The fields of an object that are given, in the order of the specification.
#[derive(Default)]
pub(crate) struct Fields<'d> {
    given: Vec<(&'static str, EmitNode<'d>)>,
    /// Only the names are wanted, so that no value is written.
    names_only: bool,
}

impl<'d> Fields<'d> {
    fn put<T>(&mut self, name: &'static str, given: Option<T>, write: impl FnOnce(T) -> EmitNode<'d>) {
        if let Some(given) = given {
            self.given.push((name, if self.names_only { line("") } else { write(given) }));
        }
    }

    fn text(&mut self, name: &'static str, text: Option<&'d String>) {
        self.put(name, text, string);
    }

    /// A member of an enumeration; all of their words can stand without quotes.
    fn word(&mut self, name: &'static str, word: Option<&'static str>) {
        self.put(name, word, line);
    }

    fn integer(&mut self, name: &'static str, integer: Option<i64>) {
        self.put(name, integer, |integer| line(integer.to_string()));
    }

    fn number(&mut self, name: &'static str, number: Option<&Number>) {
        self.put(name, number, |number| line(number.to_string()));
    }

    fn list<T>(
        &mut self,
        name: &'static str,
        list: Option<&'d Vec<T>>,
        write: impl Fn(&'d T) -> EmitNode<'d>,
    ) {
        self.put(name, list, |list| EmitNode::sequence(list.iter().map(write)));
    }
}

/// The names of the fields that an object is given, which `write` would write.
pub(crate) fn names<'d>(write: impl FnOnce(&mut Fields<'d>)) -> Vec<&'static str> {
    let mut fields = Fields { names_only: true, ..Fields::default() };
    write(&mut fields);
    fields.given.into_iter().map(|(name, _)| name).collect()
}

fn line<'d>(text: impl Into<Cow<'d, str>>) -> EmitNode<'d> {
    EmitNode::Line(text.into())
}

fn value(value: &Value) -> EmitNode<'_> {
    EmitNode::value(value)
}

#[expect(clippy::ptr_arg, reason = "it takes what lists hold, so that it can be passed by name")]
fn string(text: &String) -> EmitNode<'_> {
    style::string(text)
}

fn plain(fields: Fields<'_>) -> EmitNode<'_> {
    EmitNode::mapping(fields.given.into_iter().map(|(name, node)| Item::entry(name.into(), node)).collect())
}

/// An object with its `x-` fields.
fn extended<'d>(write: impl FnOnce(&mut Fields<'d>), extensions: &'d Extensions) -> EmitNode<'d> {
    let mut fields = Fields::default();
    write(&mut fields);
    interleaved(fields.given, extensions)
}

/// Fields and `x-` fields, each of which stands behind the field it follows.
fn interleaved<'d>(fields: Vec<(&'d str, EmitNode<'d>)>, extensions: &'d Extensions) -> EmitNode<'d> {
    let behind = |field: Option<&'d str>| {
        let following = extensions.iter().filter(move |extension| extension.after.as_deref() == field);
        following.map(|extension| Item::entry(style::key(&extension.name), value(&extension.value)))
    };
    let mut items: Vec<_> = behind(None).collect();
    for (name, node) in fields {
        items.push(Item::entry(style::key(name), node));
        items.extend(behind(Some(name)));
    }
    EmitNode::mapping(items)
}

pub(crate) fn attack<'d>(attack: &'d Attack, fields: &mut Fields<'d>) {
    fields.text("id", attack.id.as_ref());
    fields.text("name", attack.name.as_ref());
    fields.integer("version", attack.version);
    fields.word("status", attack.status.map(Status::as_str));
    fields.text("created", attack.created.as_ref());
    fields.text("modified", attack.modified.as_ref());
    fields.text("author", attack.author.as_ref());
    fields.text("description", attack.description.as_ref());
    fields.text("grace_period", attack.grace_period.as_ref());
    fields.put("severity", attack.severity.as_ref(), severity);
    fields.list("impact", attack.impact.as_ref(), |impact| line(impact.as_str()));
    fields.put("classification", attack.classification.as_ref(), classification);
    fields.list("references", attack.references.as_ref(), reference);
    fields.put("execution", Some(&attack.execution), |given| {
        extended(|fields| execution(given, fields), &given.extensions)
    });
    fields.list("indicators", attack.indicators.as_ref(), |each| {
        extended(|fields| indicator(each, fields), &each.extensions)
    });
    fields.put("correlation", attack.correlation.as_ref(), correlation);
}

fn severity(severity: &Severity) -> EmitNode<'_> {
    let mut fields = Fields::default();
    fields.word("level", Some(severity.level.as_str()));
    fields.integer("confidence", severity.confidence);
    plain(fields)
}

fn classification(classification: &Classification) -> EmitNode<'_> {
    let mut fields = Fields::default();
    fields.word("category", classification.category.map(Category::as_str));
    fields.list("mappings", classification.mappings.as_ref(), framework_mapping);
    fields.list("tags", classification.tags.as_ref(), string);
    plain(fields)
}

fn framework_mapping(mapping: &FrameworkMapping) -> EmitNode<'_> {
    let mut fields = Fields::default();
    fields.text("framework", Some(&mapping.framework));
    fields.text("id", Some(&mapping.id));
    fields.text("name", mapping.name.as_ref());
    fields.text("url", mapping.url.as_ref());
    fields.word("relationship", mapping.relationship.map(Relationship::as_str));
    plain(fields)
}

fn reference(reference: &Reference) -> EmitNode<'_> {
    let mut fields = Fields::default();
    fields.text("url", Some(&reference.url));
    fields.text("title", reference.title.as_ref());
    fields.text("description", reference.description.as_ref());
    plain(fields)
}

fn correlation(correlation: &Correlation) -> EmitNode<'_> {
    let mut fields = Fields::default();
    fields.word("logic", correlation.logic.map(CorrelationLogic::as_str));
    plain(fields)
}

pub(crate) fn execution<'d>(execution: &'d Execution, fields: &mut Fields<'d>) {
    fields.text("mode", execution.mode.as_ref());
    fields.put("state", execution.state.as_ref(), |state| exact(state, &execution.state_numbers));
    fields.list("phases", execution.phases.as_ref(), |each| {
        extended(|fields| phase(each, fields), &each.extensions)
    });
    fields.list("actors", execution.actors.as_ref(), |each| {
        extended(|fields| actor(each, fields), &each.extensions)
    });
}

pub(crate) fn actor<'d>(actor: &'d Actor, fields: &mut Fields<'d>) {
    fields.text("name", Some(&actor.name));
    fields.text("mode", Some(&actor.mode));
    fields
        .list("phases", Some(&actor.phases), |each| extended(|fields| phase(each, fields), &each.extensions));
}

pub(crate) fn phase<'d>(phase: &'d Phase, fields: &mut Fields<'d>) {
    fields.text("name", phase.name.as_ref());
    fields.text("description", phase.description.as_ref());
    fields.text("mode", phase.mode.as_ref());
    fields.put("state", phase.state.as_ref(), |state| exact(state, &phase.state_numbers));
    fields.list("extractors", phase.extractors.as_ref(), extractor);
    fields.list("on_enter", phase.on_enter.as_ref(), action);
    fields.put("trigger", phase.trigger.as_ref(), trigger);
}

fn extractor(extractor: &Extractor) -> EmitNode<'_> {
    let mut fields = Fields::default();
    fields.text("name", Some(&extractor.name));
    fields.word("source", Some(extractor.source.as_str()));
    fields.word("type", Some(extractor.r#type.as_str()));
    fields.text("selector", Some(&extractor.selector));
    plain(fields)
}

fn trigger(trigger: &Trigger) -> EmitNode<'_> {
    let mut fields = Fields::default();
    fields.text("event", trigger.event.as_ref());
    fields.integer("count", trigger.count);
    fields.put("match", trigger.r#match.as_ref(), predicate);
    fields.text("after", trigger.after.as_ref());
    plain(fields)
}

fn action(action: &Action) -> EmitNode<'_> {
    let actions: Vec<(&str, EmitNode<'_>)> = match &action.kind {
        ActionKind::Send(SendAction { method, params }) => {
            let mut fields = Fields::default();
            fields.text("method", Some(method));
            let at = || "/send/params".to_owned();
            fields.put("params", params.as_ref(), |params| exact_at(params, &action.numbers, &mut at()));
            vec![("send", plain(fields))]
        }
        ActionKind::Log(LogAction { message, level }) => {
            let mut fields = Fields::default();
            fields.text("message", Some(message));
            fields.word("level", level.map(LogLevel::as_str));
            vec![("log", plain(fields))]
        }
        ActionKind::Other(actions) => {
            let exact = |name: &str, operand| {
                let mut pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
                exact_at(operand, &action.numbers, &mut pointer)
            };
            actions.iter().map(|(name, operand)| (name.as_str(), exact(name, operand))).collect()
        }
    };
    interleaved(actions, &action.extensions)
}

pub(crate) fn indicator<'d>(indicator: &'d Indicator, fields: &mut Fields<'d>) {
    fields.text("id", indicator.id.as_ref());
    fields.text("protocol", indicator.protocol.as_ref());
    fields.text("surface", indicator.surface.as_ref());
    fields.text("target", Some(&indicator.target));
    fields.text("actor", indicator.actor.as_ref());
    fields.word("direction", indicator.direction.map(Direction::as_str));
    fields.word("method", indicator.method.map(IndicatorMethod::as_str));
    fields.text("description", indicator.description.as_ref());
    fields.put("pattern", indicator.pattern.as_ref(), pattern);
    fields.put("expression", indicator.expression.as_ref(), expression);
    fields.put("semantic", indicator.semantic.as_ref(), semantic);
    fields.integer("confidence", indicator.confidence);
    fields.word("tier", indicator.tier.map(Tier::as_str));
    fields.word("severity", indicator.severity.map(SeverityLevel::as_str));
    fields.list("false_positives", indicator.false_positives.as_ref(), string);
}

fn pattern(pattern: &PatternMatch) -> EmitNode<'_> {
    let mut fields = Fields::default();
    fields.text("target", pattern.target.as_ref());
    fields.put("condition", pattern.condition.as_ref(), condition);
    // Normalisation has moved the shorthand into `condition`.
    plain(fields)
}

fn expression(expression: &ExpressionMatch) -> EmitNode<'_> {
    let mut fields = Fields::default();
    fields.text("cel", Some(&expression.cel));
    fields.put("variables", expression.variables.as_ref(), |variables| {
        let items = variables.iter().map(|(name, path)| Item::entry(style::key(name), string(path)));
        EmitNode::mapping(items.collect())
    });
    plain(fields)
}

fn semantic(semantic: &SemanticMatch) -> EmitNode<'_> {
    let mut fields = Fields::default();
    fields.text("target", semantic.target.as_ref());
    fields.text("intent", Some(&semantic.intent));
    fields.word("intent_class", semantic.intent_class.map(SemanticIntentClass::as_str));
    // What is not finite was not read from a document, and no document can say it.
    fields.number("threshold", semantic.threshold.and_then(Number::from_f64).as_ref());
    fields.put("examples", semantic.examples.as_ref(), examples);
    plain(fields)
}

fn examples(examples: &SemanticExamples) -> EmitNode<'_> {
    let mut fields = Fields::default();
    fields.list("positive", examples.positive.as_ref(), string);
    fields.list("negative", examples.negative.as_ref(), string);
    plain(fields)
}

fn predicate(predicate: &MatchPredicate) -> EmitNode<'_> {
    let items = predicate.iter().map(|(path, entry)| Item::entry(style::key(path), condition(entry)));
    EmitNode::mapping(items.collect())
}

fn condition(condition: &Condition) -> EmitNode<'_> {
    match condition {
        Condition::Value(operand) => value(operand),
        Condition::Match(operators) => plain(match_condition(operators)),
    }
}

fn match_condition(condition: &MatchCondition) -> Fields<'_> {
    let mut fields = Fields::default();
    fields.text("contains", condition.contains.as_ref());
    fields.text("starts_with", condition.starts_with.as_ref());
    fields.text("ends_with", condition.ends_with.as_ref());
    fields.text("regex", condition.regex.as_ref());
    fields.list("any_of", condition.any_of.as_ref(), value);
    fields.number("gt", condition.gt.as_ref());
    fields.number("lt", condition.lt.as_ref());
    fields.number("gte", condition.gte.as_ref());
    fields.number("lte", condition.lte.as_ref());
    fields.word("exists", condition.exists.map(boolean));
    fields
}

/// Pass-through content whose numbers are written as their author wrote them.
fn exact<'d>(content: &'d Value, numbers: &'d ExactNumbers) -> EmitNode<'d> {
    if numbers.is_empty() {
        return value(content);
    }
    exact_at(content, numbers, &mut String::new())
}

fn exact_at<'d>(content: &'d Value, numbers: &'d ExactNumbers, pointer: &mut String) -> EmitNode<'d> {
    let above = pointer.len();
    match content {
        Value::Number(number) => match numbers.get(pointer) {
            Some(literal) => line(literal),
            None => line(number.to_string()),
        },
        Value::Array(items) => EmitNode::sequence(items.iter().enumerate().map(|(index, item)| {
            pointer.push('/');
            pointer.push_str(&index.to_string());
            let node = exact_at(item, numbers, pointer);
            pointer.truncate(above);
            node
        })),
        Value::Object(fields) => {
            let items = fields.iter().map(|(key, field)| {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                let node = exact_at(field, numbers, pointer);
                pointer.truncate(above);
                Item::entry(style::key(key), node)
            });
            EmitNode::mapping(items.collect())
        }
        scalar => value(scalar),
    }
}
