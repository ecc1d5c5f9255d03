//! The pipes: messages of an editor in, answers and diagnostics out.
//!
//! Messages wait in a queue of our own, so that a request that was cancelled, or is about a text that has changed since, is answered
//! without being worked on; and so that ten keystrokes in a row are analysed once.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use lsp_server::{Connection, ErrorCode, Message, Notification, ProtocolError, Request, RequestId, Response};
use lsp_types::notification::{
    Cancel, DidChangeTextDocument, DidCloseTextDocument, Exit, LogMessage, Notification as _,
    PublishDiagnostics,
};
use lsp_types::request::{Request as _, Shutdown};
use lsp_types::{InitializeParams, LogMessageParams, MarkupKind, MessageType, PositionEncodingKind};
use serde_json::{Value, json};

use crate::files::Files;
use crate::requests::RequestError;
use crate::text::PositionEncoding;
use crate::transport::{self, TransportError};
use crate::workspace::{Markup, SettingsLanguage, Workspace, path_of};

/// Requests that wait at most. Further ones are refused; notifications never are, since texts would be wrong then.
const MOST_WAITING: usize = 1_000;

/// Why a server ended otherwise than by being told to.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The editor did not keep to the protocol, or is gone.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// What the editor said when it began cannot be read.
    #[error("the editor's `initialize` request cannot be read: {0}")]
    Initialize(serde_json::Error),
    /// What the editor sends cannot be read, or what is sent to it cannot be written.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Nobody reads what is sent.
    #[error("the editor does not listen any more")]
    Disconnected,
}

/// Serves the editor that has started this process, over standard input and output.
pub fn serve_stdio(files: Box<dyn Files>, settings: SettingsLanguage) -> Result<(), ServeError> {
    serve_pipes(io::stdin(), io::stdout(), files, settings)
}

/// Serves one editor over two pipes. A message of more than 64 MiB ends the connection.
pub fn serve_pipes(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    files: Box<dyn Files>,
    settings: SettingsLanguage,
) -> Result<(), ServeError> {
    let (connection, pipes) = transport::connect(input, output);
    let served = serve(&connection, files, settings);
    // The threads end when nobody can send them anything.
    drop(connection);
    match served {
        Ok(()) => Ok(pipes.join()?),
        Err(error) => {
            pipes.write_rest();
            Err(error)
        }
    }
}

/// Serves one editor until it says `shutdown` and `exit`, or is gone.
pub fn serve(
    connection: &Connection,
    files: Box<dyn Files>,
    settings: SettingsLanguage,
) -> Result<(), ServeError> {
    let (id, params) = match connection.initialize_start() {
        // An editor that is gone before it has said anything wants nothing.
        Err(error) if error.channel_is_disconnected() => return Ok(()),
        started => started?,
    };
    let params: InitializeParams = serde_json::from_value(params).map_err(ServeError::Initialize)?;
    let encoding = encoding(&params);
    let answer = json!({
        "capabilities": Workspace::capabilities(encoding),
        "serverInfo": {"name": "sortie", "version": env!("CARGO_PKG_VERSION")},
    });
    match connection.initialize_finish(id, answer) {
        // It was answered, and is gone.
        Err(error) if error.channel_is_disconnected() => return Ok(()),
        finished => finished?,
    }
    let workspace = Workspace::new(files, settings, folders(&params), encoding).with_markup(markup(&params));
    Server { connection, workspace, waiting: VecDeque::new(), is_shut_down: false }.run()
}

/// UTF-8 where the editor counts so too, which costs nothing; else UTF-16, which every editor knows.
fn encoding(params: &InitializeParams) -> PositionEncoding {
    let offered =
        params.capabilities.general.as_ref().and_then(|general| general.position_encodings.as_ref());
    let has_utf8 = offered.is_some_and(|offered| offered.contains(&PositionEncodingKind::UTF8));
    if has_utf8 { PositionEncoding::Utf8 } else { PositionEncoding::Utf16 }
}

/// Markdown where the editor says that it shows it; else the same text, marked as plain.
fn markup(params: &InitializeParams) -> Markup {
    let document = params.capabilities.text_document.as_ref();
    let chosen = |listed: Option<&Vec<MarkupKind>>| {
        let has_markdown = listed.is_some_and(|listed| listed.contains(&MarkupKind::Markdown));
        if has_markdown { MarkupKind::Markdown } else { MarkupKind::PlainText }
    };
    let hover = document.and_then(|document| document.hover.as_ref()?.content_format.as_ref());
    let completion = document.and_then(|document| {
        document.completion.as_ref()?.completion_item.as_ref()?.documentation_format.as_ref()
    });
    Markup { hover: chosen(hover), completion: chosen(completion) }
}

#[expect(deprecated, reason = "older editors send nothing else")]
fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    match &params.workspace_folders {
        Some(folders) => folders.iter().map(|folder| path_of(&folder.uri)).collect(),
        None => params.root_uri.iter().map(path_of).collect(),
    }
}

struct Server<'c> {
    connection: &'c Connection,
    workspace: Workspace,
    waiting: VecDeque<Message>,
    /// After that, the editor says no more than `exit`. Both may wait in the queue already.
    is_shut_down: bool,
}

impl Server<'_> {
    fn run(mut self) -> Result<(), ServeError> {
        loop {
            let Some(message) = self.next()? else { return Ok(()) };
            match message {
                Message::Request(request) if request.method == Shutdown::METHOD => {
                    self.is_shut_down = true;
                    self.respond(Response::new_ok(request.id, Value::Null))?;
                }
                Message::Request(request) if self.is_shut_down => {
                    let late = "the server was told to shut down".to_owned();
                    self.respond(Response::new_err(request.id, ErrorCode::InvalidRequest as i32, late))?;
                }
                Message::Request(request) => self.request(request)?,
                Message::Notification(notification) if notification.method == Exit::METHOD => return Ok(()),
                Message::Notification(notification) => self.notification(notification)?,
                // This server asks nothing.
                Message::Response(_) => {}
            }
        }
    }

    /// The next message; `None` when the editor is gone. Before it waits, it says what is wrong with what has changed.
    fn next(&mut self) -> Result<Option<Message>, ServeError> {
        self.take_arrived()?;
        if self.waiting.is_empty() {
            for diagnostics in self.workspace.diagnostics() {
                self.tell::<PublishDiagnostics>(&diagnostics)?;
            }
            let Ok(message) = self.connection.receiver.recv() else { return Ok(None) };
            self.arrive(message)?;
            self.take_arrived()?;
        }
        Ok(self.waiting.pop_front())
    }

    fn take_arrived(&mut self) -> Result<(), ServeError> {
        while let Ok(message) = self.connection.receiver.try_recv() {
            self.arrive(message)?;
        }
        Ok(())
    }

    /// Puts a message behind the others. One that makes others superfluous answers these.
    fn arrive(&mut self, message: Message) -> Result<(), ServeError> {
        match &message {
            Message::Notification(notification) if notification.method == Cancel::METHOD => {
                let id = notification.params.get("id").cloned().unwrap_or_default();
                return self.drop_requests(
                    "the editor cancelled it",
                    ErrorCode::RequestCanceled,
                    |request| serde_json::to_value(&request.id).is_ok_and(|own| own == id),
                );
            }
            Message::Notification(notification) if notification.method == DidChangeTextDocument::METHOD => {
                let changed = document_of(&notification.params).map(str::to_owned);
                self.drop_requests("the text has changed since", ErrorCode::ContentModified, |request| {
                    changed.is_some() && document_of(&request.params) == changed.as_deref()
                })?;
            }
            Message::Request(request) if self.waiting.len() >= MOST_WAITING => {
                let busy = "too many requests are waiting".to_owned();
                return self.respond(Response::new_err(
                    request.id.clone(),
                    ErrorCode::RequestFailed as i32,
                    busy,
                ));
            }
            _ => {}
        }
        self.waiting.push_back(message);
        Ok(())
    }

    fn drop_requests(
        &mut self,
        why: &str,
        code: ErrorCode,
        stale: impl Fn(&Request) -> bool,
    ) -> Result<(), ServeError> {
        let mut dropped: Vec<RequestId> = Vec::new();
        self.waiting.retain(|message| match message {
            Message::Request(request) if stale(request) => {
                dropped.push(request.id.clone());
                false
            }
            _ => true,
        });
        dropped
            .into_iter()
            .try_for_each(|id| self.respond(Response::new_err(id, code as i32, why.to_owned())))
    }

    fn request(&mut self, request: Request) -> Result<(), ServeError> {
        let response = match self.workspace.request(&request.method, request.params) {
            Ok(answer) => Response::new_ok(request.id, answer),
            Err(error) => {
                let code = match error {
                    RequestError::UnknownMethod(_) => ErrorCode::MethodNotFound,
                    RequestError::Invalid(_) => ErrorCode::InvalidParams,
                    RequestError::Failed(_) => ErrorCode::RequestFailed,
                };
                Response::new_err(request.id, code as i32, error.to_string())
            }
        };
        self.respond(response)
    }

    fn notification(&mut self, notification: Notification) -> Result<(), ServeError> {
        let closed = (notification.method == DidCloseTextDocument::METHOD)
            .then(|| document_of(&notification.params).map(str::to_owned))
            .flatten();
        if let Err(error) = self.workspace.notify(&notification.method, notification.params) {
            let said = LogMessageParams { typ: MessageType::ERROR, message: error.to_string() };
            self.tell::<LogMessage>(&said)?;
        }
        match closed {
            // What is closed has no diagnostics any more.
            Some(uri) => self.send(Notification::new(
                PublishDiagnostics::METHOD.to_owned(),
                json!({"uri": uri, "diagnostics": []}),
            )),
            None => Ok(()),
        }
    }

    fn tell<N: lsp_types::notification::Notification>(&self, params: &N::Params) -> Result<(), ServeError>
    where
        N::Params: serde::Serialize,
    {
        self.send(Notification::new(N::METHOD.to_owned(), params))
    }

    fn respond(&self, response: Response) -> Result<(), ServeError> {
        self.send(response)
    }

    fn send(&self, message: impl Into<Message>) -> Result<(), ServeError> {
        self.connection.sender.send(message.into()).map_err(|_| ServeError::Disconnected)
    }
}

/// The document that a request or a notification is about.
fn document_of(params: &Value) -> Option<&str> {
    params.get("textDocument")?.get("uri")?.as_str()
}
