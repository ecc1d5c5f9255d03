//! The table: what the objects of both versions have in common, and where they differ.

use crate::Members;

/// What a value is, and so how each version writes it.
#[derive(Debug)]
pub(super) enum Shape {
    /// The same in both.
    Same,
    /// A word: 0.3's spelling, 1.0's spelling.
    Word(&'static [(&'static str, &'static str)]),
    /// A flag that 1.0 has the other way round.
    Negated,
    /// A list of which 1.0 has one item.
    Only,
    /// A part of a message or of an artifact.
    Part,
    /// An agent card, which says the same twice.
    Card,
    Object(&'static Object),
    List(&'static Shape),
    /// A list that 1.0 puts into this member of an object.
    Page(&'static str, &'static Shape),
    /// One of several objects: 0.3 says which in `kind`, 1.0 in the name of the only member around it.
    OneOf(&'static [(&'static str, &'static Object)]),
}

/// How the other members of an object tell the value of one.
pub(super) type Implied = fn(&Members) -> bool;

/// An object, as far as it differs.
#[derive(Debug)]
pub(super) struct Object {
    /// What 0.3 calls its kind.
    pub(super) kind: Option<&'static str>,
    pub(super) fields: &'static [Field],
    /// A member that only 0.3 has, and how the others tell its value.
    pub(super) implied: Option<(&'static str, Implied)>,
    /// An object within it whose members 1.0 puts beside it, and which members these are.
    pub(super) inlined: Option<(&'static str, &'static [&'static str])>,
}

/// A member with another name or another form.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) old: &'static str,
    pub(super) new: &'static str,
    pub(super) shape: &'static Shape,
}

const fn field(name: &'static str, shape: &'static Shape) -> Field {
    Field { old: name, new: name, shape }
}

const fn renamed(old: &'static str, new: &'static str, shape: &'static Shape) -> Field {
    Field { old, new, shape }
}

const fn object(kind: Option<&'static str>, fields: &'static [Field]) -> Object {
    Object { kind, fields, implied: None, inlined: None }
}

static ROLE: Shape = Shape::Word(&[("user", "ROLE_USER"), ("agent", "ROLE_AGENT")]);

static STATE: Shape = Shape::Word(&[
    ("submitted", "TASK_STATE_SUBMITTED"),
    ("working", "TASK_STATE_WORKING"),
    ("completed", "TASK_STATE_COMPLETED"),
    ("failed", "TASK_STATE_FAILED"),
    ("canceled", "TASK_STATE_CANCELED"),
    ("input-required", "TASK_STATE_INPUT_REQUIRED"),
    ("rejected", "TASK_STATE_REJECTED"),
    ("auth-required", "TASK_STATE_AUTH_REQUIRED"),
    ("unknown", "TASK_STATE_UNSPECIFIED"),
]);

/// States after which 0.3 calls an update the final one: nothing more comes until somebody sends a message.
const LAST_STATES: [&str; 6] =
    ["completed", "canceled", "failed", "rejected", "input-required", "auth-required"];

static PARTS: Shape = Shape::List(&Shape::Part);

static MESSAGE: Object = object(Some("message"), &[field("role", &ROLE), field("parts", &PARTS)]);
static A_MESSAGE: Shape = Shape::Object(&MESSAGE);

static ARTIFACT: Object = object(None, &[field("parts", &PARTS)]);
static AN_ARTIFACT: Shape = Shape::Object(&ARTIFACT);

static STATUS: Object = object(None, &[field("state", &STATE), field("message", &A_MESSAGE)]);
static A_STATUS: Shape = Shape::Object(&STATUS);

static TASK: Object = object(
    Some("task"),
    &[
        field("status", &A_STATUS),
        field("history", &Shape::List(&A_MESSAGE)),
        field("artifacts", &Shape::List(&AN_ARTIFACT)),
    ],
);
pub(super) static A_TASK: Shape = Shape::Object(&TASK);

static STATUS_UPDATE: Object = Object {
    kind: Some("status-update"),
    fields: &[field("status", &A_STATUS)],
    implied: Some(("final", |update| {
        let state = update.object("status").and_then(|status| status.string("state"));
        state.is_some_and(|state| LAST_STATES.contains(&state.as_str()))
    })),
    inlined: None,
};

static ARTIFACT_UPDATE: Object = object(Some("artifact-update"), &[field("artifact", &AN_ARTIFACT)]);

/// What answers a message.
pub(super) static REPLY: Shape = Shape::OneOf(&[("task", &TASK), ("message", &MESSAGE)]);

/// An item of a stream.
pub(super) static ITEM: Shape = Shape::OneOf(&[
    ("task", &TASK),
    ("message", &MESSAGE),
    ("statusUpdate", &STATUS_UPDATE),
    ("artifactUpdate", &ARTIFACT_UPDATE),
]);

static PUSH_AUTHENTICATION: Object = object(None, &[renamed("schemes", "scheme", &Shape::Only)]);
static A_PUSH_AUTHENTICATION: Shape = Shape::Object(&PUSH_AUTHENTICATION);

static PUSH_CONFIG: Object = object(None, &[field("authentication", &A_PUSH_AUTHENTICATION)]);
static A_PUSH_CONFIG: Shape = Shape::Object(&PUSH_CONFIG);

static TASK_PUSH_CONFIG: Object = Object {
    kind: None,
    fields: &[field("pushNotificationConfig", &A_PUSH_CONFIG)],
    implied: None,
    inlined: Some(("pushNotificationConfig", &["id", "url", "token", "authentication"])),
};
pub(super) static A_TASK_PUSH_CONFIG: Shape = Shape::Object(&TASK_PUSH_CONFIG);
pub(super) static PUSH_CONFIGS: Shape = Shape::Page("configs", &A_TASK_PUSH_CONFIG);

static CONFIGURATION: Object = object(
    None,
    &[
        renamed("blocking", "returnImmediately", &Shape::Negated),
        renamed("pushNotificationConfig", "taskPushNotificationConfig", &A_PUSH_CONFIG),
    ],
);
static A_CONFIGURATION: Shape = Shape::Object(&CONFIGURATION);

static SEND: Object = object(None, &[field("message", &A_MESSAGE), field("configuration", &A_CONFIGURATION)]);
pub(super) static SEND_PARAMS: Shape = Shape::Object(&SEND);

static LIST: Object = object(None, &[field("status", &STATE)]);
pub(super) static LIST_PARAMS: Shape = Shape::Object(&LIST);

static TASKS: Object = object(None, &[field("tasks", &Shape::List(&A_TASK))]);
pub(super) static LISTED: Shape = Shape::Object(&TASKS);

static CONFIG_OF_TASK: Object = object(
    None,
    &[renamed("id", "taskId", &Shape::Same), renamed("pushNotificationConfigId", "id", &Shape::Same)],
);
/// Which configuration of which task is meant.
pub(super) static CONFIG_PARAMS: Shape = Shape::Object(&CONFIG_OF_TASK);

static PLAIN: Object = object(None, &[]);
/// Params that both versions have in common.
pub(super) static PLAIN_PARAMS: Shape = Shape::Object(&PLAIN);

/// Fields of the protocol buffers of 1.0 that have another name in JSON.
pub(super) const PROTO_NAMES: [(&str, &str); 15] = [
    ("accepted_output_modes", "acceptedOutputModes"),
    ("artifact_id", "artifactId"),
    ("context_id", "contextId"),
    ("history_length", "historyLength"),
    ("include_artifacts", "includeArtifacts"),
    ("last_chunk", "lastChunk"),
    ("message_id", "messageId"),
    ("next_page_token", "nextPageToken"),
    ("page_size", "pageSize"),
    ("page_token", "pageToken"),
    ("reference_task_ids", "referenceTaskIds"),
    ("return_immediately", "returnImmediately"),
    ("status_timestamp_after", "statusTimestampAfter"),
    ("task_id", "taskId"),
    ("task_push_notification_config", "taskPushNotificationConfig"),
];
