//! How a response becomes the items of a stream.

use serde_json::Value;

use super::A2aVersion;
use super::rewrite::items;
use crate::Members;

/// One item of a stream: the `result` of a JSON-RPC response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamItem {
    /// As JSON text.
    pub result: String,
    /// `task/status` or `task/artifact`, when it is one of these.
    pub surface: Option<&'static str>,
}

/// The items that a response is streamed as, in the words of 0.3.
///
/// - To a client of 0.3 a Task is sent as it is, then its status, then its artifacts. The update with `final: true` is the
///   last item of a stream, so a task that has artifacts sends its status once more, behind them, and only that is final.
///   Without artifacts the one status update is.
/// - To a client of 1.0 a stream is over when the task is. So a task that is over is first sent as it began, without
///   artifacts; then its artifacts; then its status.
/// - Anything else, a Message or what is neither, is one item.
///
/// The parts of updates are the text that the task has; an id that the task lacks, they lack too.
pub fn stream_items(content: &str, version: A2aVersion) -> Vec<StreamItem> {
    let whole = |result: String| StreamItem { result, surface: None };
    let Some(task) = TaskObject::of(content) else { return vec![whole(content.to_owned())] };
    let artifacts = task.members.get("artifacts").and_then(items).unwrap_or_default();
    let begun = version == A2aVersion::V1_0 && task.is_over();
    let mut stream = vec![whole(if begun { task.begun() } else { content.to_owned() })];
    if version == A2aVersion::V0_3 && !artifacts.is_empty() {
        stream.push(task.status_update(false));
    }
    stream.extend(artifacts.iter().map(|artifact| task.artifact_update(artifact)));
    stream.push(task.status_update(true));
    stream
}

/// An A2A Task: an object that has a `status` with a `state`.
#[derive(Clone, Debug)]
pub struct TaskObject {
    members: Members,
}

/// States that a task does not leave.
const TERMINAL: [&str; 4] = ["completed", "canceled", "failed", "rejected"];

impl TaskObject {
    /// Reads one; `None` for anything else.
    pub fn of(content: &str) -> Option<Self> {
        let members = Members::read(content)?;
        members.object("status")?.get("state")?;
        Some(Self { members })
    }

    /// Its id.
    pub fn id(&self) -> Option<String> {
        self.members.string("id")
    }

    /// The context that it belongs to.
    pub fn context(&self) -> Option<String> {
        self.members.string("contextId")
    }

    /// Whether it is in a state that it does not leave.
    pub fn is_over(&self) -> bool {
        let state = self.status().and_then(|status| status.string("state"));
        state.is_some_and(|state| TERMINAL.contains(&state.as_str()))
    }

    /// The same task, canceled, as JSON text.
    pub fn canceled(&self) -> String {
        let mut task = self.members.clone();
        if let Some(mut status) = self.status() {
            status.set("state", &Value::from("canceled").to_string());
            task.set("status", &status.to_string());
        }
        task.to_string()
    }

    /// The same task, as it was before anything came of it.
    fn begun(&self) -> String {
        let mut task = Members::default();
        for (name, json) in self.members.iter().filter(|(name, _)| *name != "artifacts") {
            task.push(name, if name == "status" { r#"{"state":"working"}"# } else { json });
        }
        task.to_string()
    }

    fn status(&self) -> Option<Members> {
        self.members.object("status")
    }

    fn status_update(&self, is_final: bool) -> StreamItem {
        let rest = [
            ("status", self.members.get("status")),
            ("final", Some(if is_final { "true" } else { "false" })),
        ];
        self.update("\"status-update\"", "task/status", rest)
    }

    fn artifact_update(&self, artifact: &str) -> StreamItem {
        // All of it at once: it replaces the artifact of that id which came with the task.
        let rest = [("artifact", Some(artifact)), ("lastChunk", Some("true"))];
        self.update("\"artifact-update\"", "task/artifact", rest)
    }

    /// An update: the ids of the task, as far as it has them, and what is new.
    fn update(&self, kind: &str, surface: &'static str, rest: [(&str, Option<&str>); 2]) -> StreamItem {
        let mut update = Members::default();
        let ids = [("taskId", self.members.get("id")), ("contextId", self.members.get("contextId"))];
        for (name, json) in ids.into_iter().chain([("kind", Some(kind))]).chain(rest) {
            if let Some(json) = json {
                update.set(name, json);
            }
        }
        StreamItem { result: update.to_string(), surface: Some(surface) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(content: &str) -> Vec<String> {
        stream_items(content, A2aVersion::V0_3).into_iter().map(|item| item.result).collect()
    }

    #[test]
    fn a_task_is_followed_by_its_status_and_its_artifacts_and_ends_with_what_is_final() {
        let task = r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"completed","n":1.0},"artifacts":[{"artifactId":"a","parts":[]},7]}"#;
        assert_eq!(
            results(task),
            [
                task,
                r#"{"taskId":"t","contextId":"c","kind":"status-update","status":{"state":"completed","n":1.0},"final":false}"#,
                r#"{"taskId":"t","contextId":"c","kind":"artifact-update","artifact":{"artifactId":"a","parts":[]},"lastChunk":true}"#,
                r#"{"taskId":"t","contextId":"c","kind":"artifact-update","artifact":7,"lastChunk":true}"#,
                r#"{"taskId":"t","contextId":"c","kind":"status-update","status":{"state":"completed","n":1.0},"final":true}"#,
            ]
        );
        let surfaces: Vec<_> = stream_items(task, A2aVersion::V0_3).iter().map(|item| item.surface).collect();
        assert_eq!(surfaces[1..3], [Some("task/status"), Some("task/artifact")]);
    }

    #[test]
    fn a_task_without_artifacts_has_one_status_update() {
        let task = r#"{"id":5,"status":{"state":"working"},"artifacts":{}}"#;
        let update = r#"{"taskId":5,"kind":"status-update","status":{"state":"working"},"final":true}"#;
        assert_eq!(results(task), [task, update]);
    }

    #[test]
    fn a_stream_of_1_0_is_over_when_its_task_is() {
        let task = r#"{"kind":"task","id":"t","status":{"state":"completed"},"artifacts":[{"artifactId":"a"}],"n":1.0}"#;
        let stream = stream_items(task, A2aVersion::V1_0);
        let results: Vec<_> = stream.iter().map(|item| item.result.as_str()).collect();
        assert_eq!(
            results,
            [
                r#"{"kind":"task","id":"t","status":{"state":"working"},"n":1.0}"#,
                r#"{"taskId":"t","kind":"artifact-update","artifact":{"artifactId":"a"},"lastChunk":true}"#,
                r#"{"taskId":"t","kind":"status-update","status":{"state":"completed"},"final":true}"#,
            ]
        );
        let waiting = r#"{"id":"t","status":{"state":"input-required"}}"#;
        assert_eq!(stream_items(waiting, A2aVersion::V1_0)[0].result, waiting);
    }

    #[test]
    fn a_message_and_what_is_neither_are_one_item() {
        for content in [
            r#"{"kind":"message","role":"agent","parts":[],"messageId":"m"}"#,
            r#"{"id":"t","status":"completed","artifacts":[{}]}"#,
            r#"{"status":{"message":1}}"#,
            "[1, 2]",
            "\"text\"",
        ] {
            assert_eq!(results(content), [content]);
        }
    }

    #[test]
    fn to_cancel_a_task_changes_its_state_and_nothing_else() {
        let working =
            TaskObject::of(r#"{"id":"t","status":{"x":1.0,"state":"working"},"z":{"a": 1}}"#).unwrap();
        assert!(!working.is_over());
        let canceled = working.canceled();
        assert_eq!(canceled, r#"{"id":"t","status":{"x":1.0,"state":"canceled"},"z":{"a": 1}}"#);
        assert!(TaskObject::of(&canceled).unwrap().is_over());
    }
}
