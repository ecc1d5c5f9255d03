//! Operations on what a real server says.

use serde_json::{Map, Value, json};
use sortie_oatf::extension::KEY;
use sortie_oatf::extension::flow::matches_name;
use sortie_oatf::extension::wrap::{
    DroppedSide, EditKind, JsonEdit, OperationAction, SELECTION, WrapOperation, WrappedMethod, wrap_name,
};
use sortie_oatf::model::{ActionKind, Document, Phase};
use sortie_oatf::rules::{RuleReport, execution_path};
use sortie_syntax::NodePath;

use super::Rule;
use super::states::{has, items};

/// An operation, and where it stands.
pub(super) struct PlacedOperation<'d> {
    operation: WrapOperation,
    value: &'d Value,
    path: NodePath,
}

/// The operations of a state. Those that are errors of their own are left out.
pub(super) fn placed_operations<'d>(state: &'d Value, path: &NodePath) -> Vec<PlacedOperation<'d>> {
    let own = path.clone().key(KEY);
    let operations = state.get(KEY).into_iter().flat_map(|state| items(state, &own, "operations"));
    operations
        .filter_map(|(value, path)| {
            Some(PlacedOperation { operation: WrapOperation::read(value)?, value, path })
        })
        .collect()
}

impl PlacedOperation<'_> {
    /// Whether it changes messages of a surface.
    pub(super) fn is_on(&self, surface: &str) -> bool {
        let on = self.operation.on;
        on.as_str() == surface
            || (on == WrappedMethod::Initialize && surface == WrappedMethod::Discover.as_str())
    }

    /// Whether a text of its action holds these words.
    pub(super) fn writes(&self, words: &str) -> bool {
        let fields = self.value.as_object().into_iter().flatten();
        let mut action = fields.filter(|(key, _)| !SELECTION.contains(&key.as_str()));
        action.any(|(_, value)| has(value, &|_, text| text.is_some_and(|text| text.contains(words))))
    }

    /// Whether every exchange that `other` is for is one that this is for.
    fn covers(&self, other: &Self) -> bool {
        let (own, other) = (&self.operation, &other.operation);
        let names = own.name.is_none() || own.name == other.name;
        own.on == other.on && own.when.is_none() && names
    }
}

/// What an operation writes into messages of which a real server says the rest, with their surface.
pub(super) fn written_by(operation: &Value) -> Option<(&'static str, Value)> {
    let WrapOperation { on, action, .. } = WrapOperation::read(operation)?;
    let list = match on {
        WrappedMethod::ToolsList => Some("tools"),
        WrappedMethod::PromptsList => Some("prompts"),
        WrappedMethod::ResourcesList => Some("resources"),
        WrappedMethod::TemplatesList => Some("resourceTemplates"),
        _ => None,
    };
    let of_list = |item: Value| match list {
        Some(list) => json!({ list: [item] }),
        None => item,
    };
    let of_text = |text: &str| match on {
        WrappedMethod::ResourcesRead => json!({"contents": [{"text": text}]}),
        WrappedMethod::PromptsGet => json!({"messages": [{"content": {"type": "text", "text": text}}]}),
        _ => json!({"content": [{"type": "text", "text": text}]}),
    };
    let written = match &action {
        OperationAction::Edit(edit) => of_list(nested(edit)?),
        OperationAction::Add(item) => of_list(item.clone()),
        OperationAction::EditText(kind) => of_text(new_value(kind)?.as_str()?),
        OperationAction::AddText(text) => of_text(text),
        OperationAction::EditJson(edit) => of_text(&nested(edit)?.to_string()),
        OperationAction::ReplaceResult(result) | OperationAction::Answer(result) => result.clone(),
        OperationAction::Hide
        | OperationAction::Rename(_)
        | OperationAction::EditArguments(_)
        | OperationAction::Delay(_)
        | OperationAction::Drop(_) => return None,
    };
    Some((on.as_str(), written))
}

fn new_value(kind: &EditKind) -> Option<Value> {
    match kind {
        EditKind::Set(value) | EditKind::Insert(value) => Some(value.clone()),
        EditKind::Append(text) | EditKind::Prepend(text) => Some(text.as_str().into()),
        EditKind::Remove => None,
    }
}

/// What an edit writes, below the names that lead to it.
fn nested(JsonEdit { at, kind }: &JsonEdit) -> Option<Value> {
    let below = |value: Value, step: &str| Value::Object(Map::from_iter([(step.to_owned(), value)]));
    Some(at.steps().rev().fold(new_value(kind)?, below))
}

pub(super) const L_025: Rule = Rule::warning("L-025", "", include_str!("l025.md"))
    .titled("every operation can take effect")
    .check(Some(|document, report| {
        for (path, phases) in wrapped_phases(document) {
            let states: Vec<_> = phases.iter().map(|phase| phase.operations(&path)).collect();
            let all: Vec<_> = states.iter().flatten().collect();
            for operations in &states {
                check_unanswered(operations, &all, report);
                check_unasked(operations, report);
            }
            for operations in states.iter().skip(1) {
                check_unasked_again(operations, report);
            }
            for phase in &phases {
                check_entry_actions(&path, phase, report);
            }
        }
    }));

/// A phase of a wrapped actor, or the one state of the single-phase form.
struct WrappedPhase<'d> {
    state: Option<&'d Value>,
    phase: Option<(usize, &'d Phase)>,
}

impl<'d> WrappedPhase<'d> {
    fn operations(&self, list: &NodePath) -> Vec<PlacedOperation<'d>> {
        let path = match self.phase {
            Some((index, _)) => list.clone().index(index).key("state"),
            None => list.clone(),
        };
        self.state.map(|state| placed_operations(state, &path)).unwrap_or_default()
    }
}

/// The phases of every actor that wraps a real server, and the path of their list, or of the one state.
fn wrapped_phases(document: &Document) -> Vec<(NodePath, Vec<WrappedPhase<'_>>)> {
    let execution = &document.attack.execution;
    let mut found = Vec::new();
    if let Some(state) = &execution.state
        && wrap_name(execution, None).is_some()
    {
        let phase = WrappedPhase { state: Some(state), phase: None };
        found.push((execution_path().key("state"), vec![phase]));
    }
    for list in document.phase_lists() {
        if wrap_name(execution, list.actor.map(|(_, actor)| actor)).is_some() {
            let phases = list.phases.iter().enumerate();
            let phases = phases.map(|(index, phase)| WrappedPhase {
                state: phase.state.as_ref(),
                phase: Some((index, phase)),
            });
            found.push((list.path.clone(), phases.collect()));
        }
    }
    found
}

/// Items that are added to a list, and that the real server does not know.
fn check_unanswered(
    operations: &[PlacedOperation<'_>],
    all: &[&PlacedOperation<'_>],
    report: &mut RuleReport<'_>,
) {
    for PlacedOperation { operation, path, .. } in operations {
        let OperationAction::Add(item) = &operation.action else { continue };
        let (key, call) = match operation.on {
            WrappedMethod::ToolsList => ("name", WrappedMethod::ToolsCall),
            WrappedMethod::PromptsList => ("name", WrappedMethod::PromptsGet),
            WrappedMethod::ResourcesList => ("uri", WrappedMethod::ResourcesRead),
            _ => continue,
        };
        let Some(name) = item.get(key).and_then(Value::as_str) else { continue };
        let answers = |other: &WrapOperation| {
            let named = other.name.as_deref().is_none_or(|pattern| matches_name(pattern, name));
            other.on == call && named && matches!(other.action, OperationAction::Answer(_))
        };
        if !all.iter().any(|other| answers(&other.operation)) {
            report
                .add(
                    path.clone().key("add"),
                    format!("the real server does not have `{name}`, and no operation answers"),
                )
                .help(format!("add an operation that does: `{{on: {call}, name: {name}, answer: …}}`"));
        }
    }
}

/// Changes of responses that are never given.
fn check_unasked(operations: &[PlacedOperation<'_>], report: &mut RuleReport<'_>) {
    for (index, one) in operations.iter().enumerate() {
        let is_change =
            !one.operation.is_on_request() && !matches!(one.operation.action, OperationAction::Delay(_));
        if !is_change {
            continue;
        }
        let prevents = |(at, other): (usize, &PlacedOperation<'_>)| match other.operation.action {
            OperationAction::Answer(_) | OperationAction::Drop(DroppedSide::Request) => true,
            OperationAction::Drop(DroppedSide::Response) => at < index,
            _ => false,
        };
        let mut others = operations.iter().enumerate();
        if let Some((_, other)) = others.find(|(at, other)| prevents((*at, other)) && other.covers(one)) {
            report
                .add(one.path.clone(), "this never gets a response to change")
                .label("never applies")
                .also(&other.path, "this answers or drops every such exchange")
                .help("give one of them a `when`, or put them into different phases");
        }
    }
}

/// Changes of what clients have when the phase begins. Nothing tells them to ask again: the real server knows of no change, and an
/// actor that stands before one says nothing by itself.
fn check_unasked_again(operations: &[PlacedOperation<'_>], report: &mut RuleReport<'_>) {
    let asked_once = |on: WrappedMethod| {
        !matches!(on, WrappedMethod::ToolsCall | WrappedMethod::ResourcesRead | WrappedMethod::PromptsGet)
    };
    for PlacedOperation { operation, path, .. } in operations {
        if asked_once(operation.on) {
            let message = format!(
                "when this phase begins, clients have the answer to `{}` and do not ask again",
                operation.on
            );
            report.add(path.clone(), message).help(
                "change it in the first phase; in later phases change exchanges that repeat, such as `tools/call`",
            );
        }
    }
}

/// Entry actions that an actor before a real server does not have.
fn check_entry_actions(list: &NodePath, phase: &WrappedPhase<'_>, report: &mut RuleReport<'_>) {
    let Some((index, phase)) = phase.phase else { return };
    for (action_index, action) in phase.on_enter.iter().flatten().enumerate() {
        if matches!(action.kind, ActionKind::Send(_)) {
            let path = list.clone().index(index).key("on_enter").index(action_index);
            report
                .add(
                    path,
                    "an actor that wraps a real server sends no messages by itself, so this is skipped",
                )
                .help("use an operation that changes a message of the server");
        }
    }
}
