//! How a target of evaluators is talked to, as far as its kind leaves that open.

use clap::{Args, ValueEnum};
use serde_json::Value;
use sortie_engine::targets::{CmdProtocol, TargetKind};

use crate::failure::Failure;

/// The body that an `http` target is sent unless something else is asked for.
pub(super) const BODY: &str = r#"{"message": "{{message}}"}"#;

/// The same on the command line, where it goes before what sortie.toml says.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TalkArgs {
    /// The model of a `chat` target; the first that it lists, if this is left out
    #[arg(long, value_name = "NAME")]
    chat_model: Option<String>,

    /// What a `chat` target is told as its system before anything else
    #[arg(long, value_name = "TEXT")]
    chat_system: Option<String>,

    /// The method by which an `http` target is asked; POST, if this is left out
    #[arg(long, value_name = "METHOD")]
    http_method: Option<String>,

    /// The body that an `http` target is sent, as JSON; `{{message}}` and `{{session}}` in its texts are filled in.
    /// `{"message": "{{message}}"}`, if this is left out
    #[arg(long, value_name = "JSON")]
    http_body: Option<String>,

    /// Where the answer of an `http` target is, as a path of RFC 9535; all of it, if this is left out
    #[arg(long, value_name = "PATH")]
    http_answer: Option<String>,

    /// How a `cmd` target is talked to; `plain`, if this is left out
    #[arg(long, value_enum, value_name = "HOW")]
    cmd_protocol: Option<Protocol>,
}

/// How a program is talked to.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Protocol {
    /// A line of text in, a line of text out
    Plain,
    /// `{"text": …}` in, `{"text": …, "calls": […], "error": …}` out, a line each
    Json,
}

impl From<Protocol> for CmdProtocol {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Plain => Self::Plain,
            Protocol::Json => Self::Json,
        }
    }
}

/// How a target is talked to, as far as somebody said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Talk {
    pub(super) model: Option<String>,
    pub(super) system: Option<String>,
    pub(super) method: Option<String>,
    pub(super) body: Option<Value>,
    pub(super) answer: Option<String>,
    pub(super) protocol: Option<CmdProtocol>,
}

impl TalkArgs {
    pub(super) fn talk(&self) -> Result<Talk, Failure> {
        let body = self.http_body.as_deref().map(body).transpose();
        let body = body.map_err(|error| Failure::new(format!("`--http-body` {error}")))?;
        Ok(Talk {
            model: self.chat_model.clone(),
            system: self.chat_system.clone(),
            method: self.http_method.clone(),
            body,
            answer: self.http_answer.clone(),
            protocol: self.cmd_protocol.map(Into::into),
        })
    }
}

impl Talk {
    /// What was said here, and for the rest what `other` says.
    pub(super) fn or(self, other: &Self) -> Self {
        Self {
            model: self.model.or_else(|| other.model.clone()),
            system: self.system.or_else(|| other.system.clone()),
            method: self.method.or_else(|| other.method.clone()),
            body: self.body.or_else(|| other.body.clone()),
            answer: self.answer.or_else(|| other.answer.clone()),
            protocol: self.protocol.or(other.protocol),
        }
    }

    /// Something that a target of this kind has no use for: its name in sortie.toml, and as an option.
    pub(super) fn misplaced(&self, kind: TargetKind) -> Option<(&'static str, &'static str)> {
        let all = [
            (self.model.is_some(), TargetKind::Chat, ("model", "--chat-model")),
            (self.system.is_some(), TargetKind::Chat, ("system", "--chat-system")),
            (self.method.is_some(), TargetKind::Http, ("method", "--http-method")),
            (self.body.is_some(), TargetKind::Http, ("body", "--http-body")),
            (self.answer.is_some(), TargetKind::Http, ("answer", "--http-answer")),
            (self.protocol.is_some(), TargetKind::Cmd, ("protocol", "--cmd-protocol")),
        ];
        let is_misplaced = |(given, of, _): &(bool, TargetKind, _)| *given && *of != kind;
        all.into_iter().find(is_misplaced).map(|(.., names)| names)
    }
}

/// A body, from its text.
pub(super) fn body(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))
}

/// A protocol, from its name.
pub(super) fn protocol(text: &str) -> Result<CmdProtocol, String> {
    match text {
        "plain" => Ok(CmdProtocol::Plain),
        "json" => Ok(CmdProtocol::Json),
        _ => Err("a protocol is `plain` or `json`".to_owned()),
    }
}
