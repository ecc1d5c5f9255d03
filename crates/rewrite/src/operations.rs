//! The operations of a phase, applied to one exchange after the other.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;
use sortie_oatf::compile::CompiledActor;
use sortie_oatf::extension::wrap::{
    DroppedSide, EditKind, JsonEdit, OperationAction, WrapOperation, WrappedMethod,
};
use sortie_oatf::template;
use sortie_protocol::{Envelope, Members};

use crate::blocks::{PlacedEdit, add_text, append_item, edit_json, edit_text};
use crate::edit::{at_root, edit};
use crate::lists::{edit_items, hide, list_member, rename};
use crate::node::Node;
use crate::outcome::{Change, MAX_MESSAGE_BYTES, RequestOutcome, ResponseOutcome, Rewritten, Unreadable};
use crate::splice::spliced;
use crate::subject::{Subject, node};

/// Fills a template of a document: it is given the params of the request, and the result of the server where it is known.
pub type Fill<'f> = dyn FnMut(&str, &Value, Option<&Value>) -> String + 'f;

/// The operations of a phase.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    operations: Box<[WrapOperation]>,
    /// What this phase or one before it shows under another name. The last that was shown counts.
    renames: Box<[Rename]>,
}

/// A tool or prompt that the agent knows by another name.
#[derive(Clone, Debug)]
struct Rename {
    calls: WrappedMethod,
    shown: String,
    real: String,
}

impl Operations {
    /// The operations of each phase of an actor. Names that a phase shows are understood in all phases after it.
    pub fn by_phase(actor: &CompiledActor) -> Vec<Self> {
        let mut renames: Vec<Rename> = Vec::new();
        let mut phases = Vec::with_capacity(actor.phases.len());
        for phase in &actor.phases {
            renames.extend(phase.operations.iter().filter_map(Rename::of));
            let operations = phase.operations.clone().into();
            phases.push(Self { operations, renames: renames.clone().into() });
        }
        phases
    }

    /// Whether messages of a method must be shown to the operations. All others pass.
    pub fn touches(&self, method: &str) -> bool {
        let Ok(method) = method.parse() else { return false };
        self.on(method).next().is_some() || self.renames.iter().any(|rename| rename.calls == method)
    }

    /// What becomes of a request, given as the text of the whole message.
    pub fn on_request(
        &self,
        method: &str,
        request: &str,
        fill: &mut Fill<'_>,
    ) -> Result<RequestOutcome, Unreadable> {
        let Some(method) = method.parse().ok().filter(|_| self.touches(method)) else {
            return Ok(RequestOutcome::Pass);
        };
        let subject = Subject::of_request(method, request, |shown| self.real_name(method, shown))?;
        let mut message = MessageEdit::new(request);
        self.restore_name(method, &mut message)?;
        let mut delay = Duration::ZERO;
        for (index, operation) in self.on(method).filter(|(_, operation)| subject.fits(operation)) {
            match &operation.action {
                OperationAction::Drop(DroppedSide::Request) => {
                    return Ok(RequestOutcome::Drop { operation: index });
                }
                OperationAction::Delay(more) => delay += *more,
                OperationAction::Answer(result) => {
                    let result = filled(result, &subject, fill);
                    let message = response(request, &complete(method, &subject.params, &result)?)?;
                    // Delays that stand after it count as well: they are of the same response.
                    let delay = delay + self.delay_after(index, &subject);
                    return Ok(RequestOutcome::Answer { message, operation: index, delay });
                }
                OperationAction::EditArguments(json_edit) => {
                    let json_edit = filled_edit(json_edit, &subject, fill);
                    message.change(Some(index), "/params/arguments", |message| {
                        let arguments = message.get("params")?.get("arguments")?;
                        Some(vec![PlacedEdit::new("", edit(arguments, &json_edit)?)])
                    })?;
                }
                _ => {}
            }
        }
        Ok(message.finish().map_or(RequestOutcome::Pass, RequestOutcome::Forward))
    }

    /// What becomes of the response to a request. Both are given as the text of the whole message, the request as the agent
    /// sent it.
    pub fn on_response(
        &self,
        method: &str,
        request: &str,
        response: &str,
        fill: &mut Fill<'_>,
    ) -> Result<ResponseOutcome, Unreadable> {
        let method: Option<WrappedMethod> = method.parse().ok();
        let Some(method) = method.filter(|method| self.on(*method).next().is_some()) else {
            return Ok(ResponseOutcome::Pass { delay: Duration::ZERO });
        };
        let subject = Subject::of_request(method, request, |shown| self.real_name(method, shown))?;
        let subject = subject.with_response(response)?;
        let mut message = MessageEdit::new(response);
        let mut delay = Duration::ZERO;
        let fitting = self.on(method).filter(|(_, operation)| !operation.is_on_request());
        for (index, operation) in fitting.filter(|(_, operation)| subject.fits(operation)) {
            match &operation.action {
                OperationAction::Drop(_) => return Ok(ResponseOutcome::Drop { operation: index }),
                OperationAction::Delay(more) => delay += *more,
                _ => message.change(Some(index), "/result", |message| {
                    change_result(operation, &subject, message.get("result")?, fill)
                })?,
            }
        }
        Ok(match message.finish() {
            Some(rewritten) => ResponseOutcome::Forward { rewritten, delay },
            None => ResponseOutcome::Pass { delay },
        })
    }

    /// The operations on a method, with their positions.
    fn on(&self, method: WrappedMethod) -> impl Iterator<Item = (usize, &WrapOperation)> {
        let is_on = move |on: WrappedMethod| {
            on == method || (on == WrappedMethod::Initialize && method == WrappedMethod::Discover)
        };
        self.operations.iter().enumerate().filter(move |(_, operation)| is_on(operation.on))
    }

    fn delay_after(&self, index: usize, subject: &Subject) -> Duration {
        let later = self.on(subject.method).filter(|(at, operation)| *at > index && subject.fits(operation));
        later
            .filter_map(|(_, operation)| match operation.action {
                OperationAction::Delay(delay) => Some(delay),
                _ => None,
            })
            .sum()
    }

    fn real_name(&self, method: WrappedMethod, shown: &str) -> Option<String> {
        let mut known = self.renames.iter().rev().filter(|rename| rename.calls == method);
        known.find(|rename| rename.shown == shown).map(|rename| rename.real.clone())
    }

    /// Writes the server's name where the agent wrote the one that it was shown.
    fn restore_name(&self, method: WrappedMethod, message: &mut MessageEdit<'_>) -> Result<(), Unreadable> {
        message.change(None, "/params/name", |message| {
            let name = message.get("params")?.get("name")?;
            let real = self.real_name(method, &name.string()?)?;
            Some(vec![PlacedEdit::new("", edit(name, &at_root(EditKind::Set(real.into())))?)])
        })
    }
}

impl Rename {
    fn of(operation: &WrapOperation) -> Option<Self> {
        let OperationAction::Rename(shown) = &operation.action else { return None };
        let calls = match operation.on {
            WrappedMethod::PromptsList => WrappedMethod::PromptsGet,
            _ => WrappedMethod::ToolsCall,
        };
        Some(Self { calls, shown: shown.clone(), real: operation.name.clone()? })
    }
}

/// A message while it is changed, operation by operation.
struct MessageEdit<'m> {
    message: Cow<'m, str>,
    changes: Vec<Change>,
}

impl<'m> MessageEdit<'m> {
    fn new(message: &'m str) -> Self {
        Self { message: Cow::Borrowed(message), changes: Vec::new() }
    }

    /// Makes the edits that are found in the message as it is now. Their places are seen from `base`.
    fn change(
        &mut self,
        operation: Option<usize>,
        base: &str,
        edits: impl FnOnce(Node<'_>) -> Option<Vec<PlacedEdit>>,
    ) -> Result<(), Unreadable> {
        let edits = edits(node(&self.message)?).unwrap_or_default();
        if edits.is_empty() {
            return Ok(());
        }
        let mut splices = Vec::new();
        for PlacedEdit { base: place, is_inside, edited } in edits {
            let (path, inside) = if is_inside {
                (format!("{base}{place}"), Some(edited.path))
            } else {
                (format!("{base}{place}{}", edited.path), None)
            };
            let (before, after) = (edited.before, edited.after);
            self.changes.push(Change { operation, path, inside, before, after });
            splices.extend(edited.splices);
        }
        self.message = Cow::Owned(spliced(&self.message, splices));
        if self.message.len() > MAX_MESSAGE_BYTES { Err(Unreadable::TooLarge) } else { Ok(()) }
    }

    fn finish(self) -> Option<Rewritten> {
        let Self { message, changes } = self;
        (!changes.is_empty()).then(|| Rewritten { message: message.into_owned(), changes })
    }
}

/// What an operation does to a result.
fn change_result(
    operation: &WrapOperation,
    subject: &Subject,
    result: Node<'_>,
    fill: &mut Fill<'_>,
) -> Option<Vec<PlacedEdit>> {
    let WrapOperation { name, block, action, .. } = operation;
    let (method, name) = (subject.method, name.as_deref());
    let uri = subject.params.get("uri");
    Some(match action {
        OperationAction::Edit(json_edit) => {
            let json_edit = filled_edit(json_edit, subject, fill);
            if list_member(method).is_some() {
                edit_items(method, result, name, &json_edit)
            } else {
                vec![PlacedEdit::new("", edit(result, &json_edit)?)]
            }
        }
        OperationAction::EditText(kind) => {
            edit_text(method, result, *block, &filled_kind(kind, subject, fill), uri)
        }
        OperationAction::EditJson(json_edit) => {
            edit_json(method, result, *block, &filled_edit(json_edit, subject, fill))
        }
        OperationAction::AddText(text) => add_text(method, result, &filled_text(text, subject, fill), uri),
        OperationAction::Add(item) => {
            // A later page would show it twice.
            if subject.params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
                return None;
            }
            vec![append_item(result, list_member(method)?.0, filled(item, subject, fill))?]
        }
        OperationAction::Hide => hide(method, result, name),
        OperationAction::Rename(shown) => rename(method, result, name, shown),
        OperationAction::ReplaceResult(new) => {
            let new = complete(method, &subject.params, &filled(new, subject, fill)).ok()?;
            let new = serde_json::from_str(&new).ok()?;
            vec![PlacedEdit::new("", edit(result, &at_root(EditKind::Set(new)))?)]
        }
        OperationAction::Answer(_)
        | OperationAction::EditArguments(_)
        | OperationAction::Delay(_)
        | OperationAction::Drop(_) => return None,
    })
}

fn filled_text(text: &str, subject: &Subject, fill: &mut Fill<'_>) -> String {
    if text.contains("{{") { fill(text, &subject.params, subject.result.as_ref()) } else { text.to_owned() }
}

fn filled(value: &Value, subject: &Subject, fill: &mut Fill<'_>) -> Value {
    template::fill(value, &mut |text| fill(text, &subject.params, subject.result.as_ref()))
}

fn filled_kind(kind: &EditKind, subject: &Subject, fill: &mut Fill<'_>) -> EditKind {
    match kind {
        EditKind::Set(value) => EditKind::Set(filled(value, subject, fill)),
        EditKind::Insert(value) => EditKind::Insert(filled(value, subject, fill)),
        EditKind::Append(text) => EditKind::Append(filled_text(text, subject, fill)),
        EditKind::Prepend(text) => EditKind::Prepend(filled_text(text, subject, fill)),
        EditKind::Remove => EditKind::Remove,
    }
}

fn filled_edit(json_edit: &JsonEdit, subject: &Subject, fill: &mut Fill<'_>) -> JsonEdit {
    JsonEdit { at: json_edit.at.clone(), kind: filled_kind(&json_edit.kind, subject, fill) }
}

/// A response to a request.
fn response(request: &str, result: &str) -> Result<String, Unreadable> {
    let envelope = Envelope::read(request).map_err(|_| Unreadable::NotJsonRpc)?;
    let id = envelope.id.map_or("null", |id| id.get());
    Ok(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"))
}

/// A result of a document, with what MCP 2026-07-28 asks of every result where the request is of that revision.
fn complete(method: WrappedMethod, params: &Value, result: &Value) -> Result<String, Unreadable> {
    const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    let mut members = Members::read(&result.to_string()).ok_or(Unreadable::NotJsonRpc)?;
    if params.get("_meta").and_then(|meta| meta.get(VERSION)).is_some() {
        members.set_missing("resultType", "\"complete\"");
        let is_cached = !matches!(method, WrappedMethod::ToolsCall | WrappedMethod::PromptsGet);
        if is_cached {
            members.set_missing("ttlMs", "0");
            members.set_missing("cacheScope", "\"private\"");
        }
    }
    Ok(members.to_string())
}
