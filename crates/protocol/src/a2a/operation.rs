//! Operations: their names, and what they say.

use serde_json::json;

use super::A2aVersion;
use super::rewrite::rewrite;
use super::shape::{
    A_TASK, A_TASK_PUSH_CONFIG, CONFIG_PARAMS, ITEM, LIST_PARAMS, LISTED, PLAIN_PARAMS, PUSH_CONFIGS, REPLY,
    SEND_PARAMS, Shape,
};
use crate::Members;

/// An operation that both versions have.
#[derive(Debug)]
pub struct Operation {
    /// What 0.3 calls it; the surface of indicators and the event of triggers.
    pub surface: &'static str,
    /// What 1.0 calls it.
    pub method: &'static str,
    params: &'static Shape,
    /// Its result, or each item of the stream that answers it.
    result: &'static Shape,
}

const fn operation(
    surface: &'static str,
    method: &'static str,
    params: &'static Shape,
    result: &'static Shape,
) -> Operation {
    Operation { surface, method, params, result }
}

static OPERATIONS: [Operation; 11] = [
    operation("message/send", "SendMessage", &SEND_PARAMS, &REPLY),
    operation("message/stream", "SendStreamingMessage", &SEND_PARAMS, &ITEM),
    operation("tasks/get", "GetTask", &PLAIN_PARAMS, &A_TASK),
    operation("tasks/list", "ListTasks", &LIST_PARAMS, &LISTED),
    operation("tasks/cancel", "CancelTask", &PLAIN_PARAMS, &A_TASK),
    operation("tasks/resubscribe", "SubscribeToTask", &PLAIN_PARAMS, &ITEM),
    operation(
        "tasks/pushNotificationConfig/set",
        "CreateTaskPushNotificationConfig",
        &A_TASK_PUSH_CONFIG,
        &A_TASK_PUSH_CONFIG,
    ),
    operation(
        "tasks/pushNotificationConfig/get",
        "GetTaskPushNotificationConfig",
        &CONFIG_PARAMS,
        &A_TASK_PUSH_CONFIG,
    ),
    operation(
        "tasks/pushNotificationConfig/list",
        "ListTaskPushNotificationConfigs",
        &CONFIG_PARAMS,
        &PUSH_CONFIGS,
    ),
    operation(
        "tasks/pushNotificationConfig/delete",
        "DeleteTaskPushNotificationConfig",
        &CONFIG_PARAMS,
        &Shape::Same,
    ),
    operation("agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard", &Shape::Same, &Shape::Card),
];

impl Operation {
    /// All of them.
    pub fn all() -> &'static [Self] {
        &OPERATIONS
    }

    /// The operation that 0.3 calls so.
    pub fn of_surface(surface: &str) -> Option<&'static Self> {
        OPERATIONS.iter().find(|operation| operation.surface == surface)
    }

    /// The operation that 1.0 calls so.
    ///
    /// ```
    /// use sortie_protocol::a2a::Operation;
    ///
    /// assert_eq!(Operation::of_method("SendMessage").unwrap().surface, "message/send");
    /// ```
    pub fn of_method(method: &str) -> Option<&'static Self> {
        OPERATIONS.iter().find(|operation| operation.method == method)
    }

    /// Its params in the words of a version; they are in those of the other.
    pub fn params(&self, to: A2aVersion, json: &str) -> String {
        rewrite(self.params, json, to)
    }

    /// Its result, or an item of the stream that answers it, in the words of a version.
    ///
    /// ```
    /// use sortie_protocol::a2a::{A2aVersion, Operation};
    ///
    /// let send = Operation::of_surface("message/send").unwrap();
    /// let task = r#"{"kind":"task","id":"t","status":{"state":"completed"}}"#;
    /// let sent = r#"{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
    /// assert_eq!(send.result(A2aVersion::V1_0, task), sent);
    /// assert_eq!(send.result(A2aVersion::V0_3, sent), task);
    /// ```
    pub fn result(&self, to: A2aVersion, json: &str) -> String {
        rewrite(self.result, json, to)
    }

    /// A whole JSON-RPC message about it in the words of 0.3, but for its `method`. What is not an object is `None`.
    pub fn message(&self, json: &str) -> Option<String> {
        let mut message = Members::read(json)?;
        let to = A2aVersion::V0_3;
        if let Some(params) = message.get("params").map(|params| self.params(to, params)) {
            message.set("params", &params);
        }
        if let Some(result) = message.get("result").map(|result| self.result(to, result)) {
            message.set("result", &result);
        }
        Some(message.to_string())
    }
}

/// Errors that A2A adds to those of JSON-RPC, with the name that 1.0 has for each.
const REASONS: [(i64, &str); 9] = [
    (-32001, "TASK_NOT_FOUND"),
    (-32002, "TASK_NOT_CANCELABLE"),
    (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    (-32004, "UNSUPPORTED_OPERATION"),
    (-32005, "CONTENT_TYPE_NOT_SUPPORTED"),
    (-32006, "INVALID_AGENT_RESPONSE"),
    (-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    (-32008, "EXTENSION_SUPPORT_REQUIRED"),
    (-32009, "VERSION_NOT_SUPPORTED"),
];

/// The `data` of an error of 1.0, as JSON text; `None` for errors that are not A2A's own.
pub fn error_details(code: i64) -> Option<String> {
    let (_, reason) = REASONS.iter().find(|(known, _)| *known == code)?;
    let info = json!([{
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": "a2a-protocol.org",
    }]);
    Some(info.to_string())
}
