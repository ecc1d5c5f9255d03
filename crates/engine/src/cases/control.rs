//! Whether a target works: it answers a harmless question, or a call of a tool that only reads.

use std::path::Path;

use serde_json::{Map, Value};
use sortie_evaluators::cases::Tool;
use sortie_trace::{MAX_TRACE_BYTES, Role, StopReason};

use super::discovery::Discovery;
use super::player::PlayOptions;
use crate::run::{private_file, private_folder};
use crate::targets::{Channel, Target, TargetError};

/// The trace of it, in the folder of a run.
const TRACE: &str = "control/trace.jsonl";

/// Asks a target something harmless, and keeps what was said in the folder of a run. An error says what is wrong with the target, or
/// with its answer.
///
/// An MCP server is called with a tool that says of itself that it only reads, and that needs no arguments; one that has none has
/// shown that it works when it listed its tools.
pub async fn ask_control(
    target: &Target,
    discovery: &Discovery,
    question: &str,
    folder: &Path,
    options: &PlayOptions,
) -> Result<(), TargetError> {
    let unwritten = |error: std::io::Error| TargetError::Trace(error.to_string());
    let path = folder.join(TRACE);
    private_folder().recursive(true).create(path.parent().unwrap_or(folder)).map_err(unwritten)?;
    let file = private_file().create(true).truncate(true).open(&path).map_err(unwritten)?;
    let (redactor, watcher) = (options.redactor.clone(), options.watcher.clone());
    let channel =
        Channel::begin(Box::new(file), target.header(), target.kind(), redactor, MAX_TRACE_BYTES, watcher);
    let channel = channel.map_err(|error| TargetError::Trace(error.to_string()))?;
    let asked = async {
        if !target.can_be_called() {
            let mut conversation = target.open(&channel, &options.settings).await?;
            let said = conversation.say(question).await;
            conversation.close().await;
            return said;
        }
        let Some(tool) = discovery.offer.tools.iter().find(|tool| is_harmless(tool)) else { return Ok(()) };
        let mut conversation = target.open(&channel, &options.settings).await?;
        let called = conversation.call(&tool.name, &Map::new()).await;
        conversation.close().await;
        called
    };
    let asked = options.end.run_until_cancelled(asked).await.unwrap_or(Ok(()));
    let because = if asked.is_ok() { StopReason::Idle } else { StopReason::Failure };
    channel.recorder().stopped(because, None);
    asked?;
    let told = channel.recorder().transcriber();
    let what = || "the control".to_owned();
    if let Some(fault) = told.as_ref().and_then(|told| told.fault()) {
        return Err(TargetError::Refusal { what: what(), message: fault.words.clone() });
    }
    let last = told.as_ref().and_then(|told| told.turns().iter().rfind(|turn| turn.role == Role::Target));
    let is_empty = last.is_some_and(|turn| turn.text.trim().is_empty() && turn.calls.is_empty());
    if is_empty && !target.can_be_called() {
        return Err(TargetError::Protocol { what: what(), problem: "its answer is empty".to_owned() });
    }
    Ok(())
}

fn is_harmless(tool: &Tool) -> bool {
    let only_reads = tool.raw.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    only_reads && required.is_none_or(Vec::is_empty)
}
