//! What an editor asks and tells, by the names of the protocol.

use lsp_types::notification::{
    DidChangeTextDocument, DidChangeWatchedFiles, DidCloseTextDocument, DidOpenTextDocument,
    DidSaveTextDocument, Notification,
};
use lsp_types::request::{
    CodeActionRequest, CodeLensRequest, Completion, DocumentSymbolRequest, FoldingRangeRequest, Formatting,
    GotoDefinition, HoverRequest, InlayHintRequest, PrepareRenameRequest, References, Rename, Request,
    SemanticTokensFullRequest, WorkspaceSymbolRequest,
};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions, CompletionOptions,
    CompletionResponse, DocumentSymbolResponse, FoldingRangeProviderCapability, GotoDefinitionResponse,
    HoverProviderCapability, OneOf, PositionEncodingKind, PublishDiagnosticsParams, RenameOptions,
    SemanticTokens, SemanticTokensFullOptions, SemanticTokensLegend, SemanticTokensOptions,
    SemanticTokensResult, ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri, WorkspaceSymbolResponse,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sortie_library::suite_documents;

use crate::features::completion::KnownIds;
use crate::features::{
    actions, completion, diagnostics, folding, formatting, hints, hover, lenses, names, symbols, tokens,
};
use crate::kind::DocumentKind;
use crate::text::PositionEncoding;
use crate::workspace::Workspace;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The server does not know the method.
    #[error("this server does not know the method `{0}`")]
    UnknownMethod(String),
    /// The parameters do not fit the method.
    #[error("{0}")]
    Invalid(String),
    /// The request was understood, and cannot be done.
    #[error("{0}")]
    Failed(String),
}

impl Workspace {
    /// What the server can do.
    pub fn capabilities(encoding: PositionEncoding) -> ServerCapabilities {
        let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        ServerCapabilities {
            position_encoding: Some(match encoding {
                PositionEncoding::Utf8 => PositionEncodingKind::UTF8,
                PositionEncoding::Utf16 => PositionEncodingKind::UTF16,
            }),
            text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::INCREMENTAL),
                save: Some(TextDocumentSyncSaveOptions::Supported(true)),
                ..TextDocumentSyncOptions::default()
            })),
            hover_provider: Some(HoverProviderCapability::Simple(true)),
            completion_provider: Some(CompletionOptions {
                trigger_characters: words(&[" ", "{", ".", "\"", "'", "/"]),
                ..CompletionOptions::default()
            }),
            definition_provider: Some(OneOf::Left(true)),
            references_provider: Some(OneOf::Left(true)),
            rename_provider: Some(OneOf::Right(RenameOptions {
                prepare_provider: Some(true),
                work_done_progress_options: lsp_types::WorkDoneProgressOptions::default(),
            })),
            document_symbol_provider: Some(OneOf::Left(true)),
            workspace_symbol_provider: Some(OneOf::Left(true)),
            folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
            document_formatting_provider: Some(OneOf::Left(true)),
            code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
                code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::SOURCE_FIX_ALL]),
                ..CodeActionOptions::default()
            })),
            code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
            inlay_hint_provider: Some(OneOf::Left(true)),
            semantic_tokens_provider: Some(
                SemanticTokensOptions {
                    legend: SemanticTokensLegend {
                        token_types: tokens::LEGEND.to_vec(),
                        token_modifiers: Vec::new(),
                    },
                    full: Some(SemanticTokensFullOptions::Bool(true)),
                    ..SemanticTokensOptions::default()
                }
                .into(),
            ),
            ..ServerCapabilities::default()
        }
    }

    /// Answers a request. A document that is not open has no answer: `null`.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, RequestError> {
        match method {
            HoverRequest::METHOD => self.answer::<HoverRequest>(params, |workspace, params| {
                let at = params.text_document_position_params;
                workspace.document(&at.text_document.uri);
                let document = workspace.opened(&at.text_document.uri)?;
                hover::hover(document, workspace.schema(document.kind), at.position, &workspace.markup.hover)
            }),
            Completion::METHOD => self.answer::<Completion>(params, |workspace, params| {
                let at = params.text_document_position;
                let ids = workspace.known_ids(&at.text_document.uri)?;
                let document = workspace.opened(&at.text_document.uri)?;
                let schema = workspace.schema(document.kind)?;
                let markup = &workspace.markup.completion;
                let offers = completion::completions(document, schema, &ids, at.position, markup);
                Some(CompletionResponse::Array(offers))
            }),
            GotoDefinition::METHOD => self.answer::<GotoDefinition>(params, |workspace, params| {
                let at = params.text_document_position_params;
                Some(GotoDefinitionResponse::Array(names::definition(
                    workspace,
                    &at.text_document.uri,
                    at.position,
                )))
            }),
            References::METHOD => self.answer::<References>(params, |workspace, params| {
                let at = params.text_document_position;
                let document = workspace.document(&at.text_document.uri)?;
                Some(names::references(document, at.position, params.context.include_declaration))
            }),
            PrepareRenameRequest::METHOD => {
                self.answer::<PrepareRenameRequest>(params, |workspace, params| {
                    names::prepare_rename(workspace.document(&params.text_document.uri)?, params.position)
                })
            }
            Rename::METHOD => {
                let params: <Rename as Request>::Params = read(params)?;
                let at = params.text_document_position;
                let Some(document) = self.document(&at.text_document.uri) else { return Ok(Value::Null) };
                Ok(written(&names::rename(document, at.position, &params.new_name)?))
            }
            Formatting::METHOD => {
                let params: <Formatting as Request>::Params = read(params)?;
                let Some(document) = self.document(&params.text_document.uri) else { return Ok(Value::Null) };
                Ok(written(&formatting::edits(document)?))
            }
            CodeActionRequest::METHOD => self.answer::<CodeActionRequest>(params, |workspace, params| {
                Some(actions::actions(workspace.document(&params.text_document.uri)?, &params))
            }),
            CodeLensRequest::METHOD => self.answer::<CodeLensRequest>(params, |workspace, params| {
                Some(lenses::lenses(workspace.document(&params.text_document.uri)?))
            }),
            DocumentSymbolRequest::METHOD => {
                self.answer::<DocumentSymbolRequest>(params, |workspace, params| {
                    let document = workspace.document(&params.text_document.uri)?;
                    Some(DocumentSymbolResponse::Nested(symbols::outline(document)))
                })
            }
            WorkspaceSymbolRequest::METHOD => {
                self.answer::<WorkspaceSymbolRequest>(params, |workspace, params| {
                    Some(WorkspaceSymbolResponse::Flat(symbols::in_workspace(workspace, &params.query)))
                })
            }
            FoldingRangeRequest::METHOD => self.answer::<FoldingRangeRequest>(params, |workspace, params| {
                Some(folding::ranges(workspace.document(&params.text_document.uri)?))
            }),
            SemanticTokensFullRequest::METHOD => {
                self.answer::<SemanticTokensFullRequest>(params, |workspace, params| {
                    let data = tokens::tokens(workspace.document(&params.text_document.uri)?);
                    Some(SemanticTokensResult::Tokens(SemanticTokens { result_id: None, data }))
                })
            }
            InlayHintRequest::METHOD => self.answer::<InlayHintRequest>(params, |workspace, params| {
                Some(hints::hints(workspace.document(&params.text_document.uri)?, params.range))
            }),
            _ => Err(RequestError::UnknownMethod(method.to_owned())),
        }
    }

    /// Takes notice of something. What follows from it for diagnostics, [`Workspace::diagnostics`] says.
    pub fn notify(&mut self, method: &str, params: Value) -> Result<(), RequestError> {
        match method {
            DidOpenTextDocument::METHOD => {
                let params: <DidOpenTextDocument as Notification>::Params = read(params)?;
                let uri = params.text_document.uri.clone();
                if !self.open(params.text_document) {
                    return Err(RequestError::Failed(format!(
                        "too many documents are open to follow `{}`",
                        uri.as_str()
                    )));
                }
            }
            DidChangeTextDocument::METHOD => {
                let params: <DidChangeTextDocument as Notification>::Params = read(params)?;
                self.change(&params.text_document.uri, params.text_document.version, &params.content_changes);
            }
            DidCloseTextDocument::METHOD => {
                let params: <DidCloseTextDocument as Notification>::Params = read(params)?;
                self.close(&params.text_document.uri);
            }
            DidSaveTextDocument::METHOD | DidChangeWatchedFiles::METHOD => self.forget_files(),
            _ => {}
        }
        Ok(())
    }

    /// The diagnostics of every document that has changed since they were last asked for.
    pub fn diagnostics(&mut self) -> Vec<PublishDiagnosticsParams> {
        let dirty: Vec<Uri> = self.dirty();
        dirty.iter().filter_map(|uri| self.document(uri).map(diagnostics::published)).collect()
    }

    fn answer<R: Request>(
        &mut self,
        params: Value,
        answer: impl FnOnce(&mut Self, R::Params) -> R::Result,
    ) -> Result<Value, RequestError>
    where
        R::Params: DeserializeOwned,
        R::Result: Serialize,
    {
        Ok(written(&answer(self, read(params)?)))
    }

    /// What the files around a document define.
    fn known_ids(&mut self, uri: &Uri) -> Option<KnownIds> {
        let document = self.document(uri)?;
        let (kind, path) = (document.kind, document.path.clone());
        let mut ids = KnownIds::default();
        if matches!(kind, DocumentKind::Evaluator | DocumentKind::Suite) {
            let loaded = self.loaded_evaluators(&path);
            ids.evaluators =
                loaded.catalogue.entries().iter().map(|entry| entry.evaluator.id.clone()).collect();
            ids.suites = loaded.suites.iter().map(|suite| suite.id.clone()).collect();
            ids.tags =
                loaded.catalogue.entries().iter().flat_map(|entry| entry.tags().map(str::to_owned)).collect();
            ids.documents = suite_documents().into_iter().map(|entry| entry.id).collect();
            for list in [&mut ids.evaluators, &mut ids.suites, &mut ids.tags] {
                list.sort();
                list.dedup();
            }
        }
        if kind == DocumentKind::Fixtures {
            ids.patterns = self.patterns_beside(&path);
        }
        Some(ids)
    }
}

fn read<P: DeserializeOwned>(params: Value) -> Result<P, RequestError> {
    serde_json::from_value(params)
        .map_err(|error| RequestError::Invalid(format!("these parameters do not fit: {error}")))
}

/// An answer as JSON. The keys of every type of the protocol are texts, so that it has one.
fn written(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).unwrap_or_default()
}
