"""Every feature of `sortie lsp`, asked for by a language client with the capabilities of real editors.

The client checks what it is told against the protocol: an answer that does not fit is an error. `SORTIE` names the program.
"""

import os
import pathlib

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

TEXT = """\
oatf: "0.1"
attack:
  name: "🔒 Notes"
  statu: draft
  execution:
    actors:
      - name: server
        mode: mcp_server
        phases:
          - name: trust
            state: {tools: [{name: notes, inputSchema: {type: object}}]}
            extractors:
              - {name: token, source: request, type: json_path, selector: $.arguments.token}
            trigger: {event: tools/call}
          - name: strike
            state:
              tools:
                - {name: notes, description: "see {{token}}", inputSchema: {type: object}}
  indicators:
    - actor: server
      surface: tools/call
      direction: request
      target: arguments.token
      expression: {cel: "message.arguments.token.matches('^[a-z]+$')"}
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "attack.yaml").write_text(TEXT)
    return folder


@pytest_lsp.fixture(
    params=["neovim@v0.11.0", "visual_studio_code@v1.65.2", "emacs@v29.1"],
    config=ClientServerConfig(server_command=[os.environ.get("SORTIE", "sortie"), "lsp"]),
)
async def client(request, lsp_client: LanguageClient, folder):
    root = folder.as_uri()
    result = await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities(request.param),
            workspace_folders=[types.WorkspaceFolder(uri=root, name="workspace")],
            root_uri=root,
        )
    )
    lsp_client.encoding = result.capabilities.position_encoding
    lsp_client.uri = (folder / "attack.yaml").as_uri()
    lsp_client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            text_document=types.TextDocumentItem(uri=lsp_client.uri, language_id="yaml", version=1, text=TEXT)
        )
    )
    await lsp_client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    yield
    await lsp_client.shutdown_session()


def document(client):
    return types.TextDocumentIdentifier(uri=client.uri)


def place(find, offset=0):
    """The position of a text. Every place that is asked for stands on a line of ASCII."""
    at = TEXT.index(find) + offset
    line = TEXT.count("\n", 0, at)
    return types.Position(line=line, character=at - (TEXT.rfind("\n", 0, at) + 1))


def at(client, find, offset=0):
    return {"text_document": document(client), "position": place(find, offset)}


def whole():
    return types.Range(types.Position(0, 0), types.Position(TEXT.count("\n"), 0))


@pytest.mark.asyncio
async def test_the_encoding_is_one_that_the_client_knows(client: LanguageClient):
    assert client.encoding in ("utf-8", "utf-16")
    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document(client)))
    name = symbols[0].selection_range
    content = '"🔒 Notes"'
    width = len(content.encode()) if client.encoding == "utf-8" else len(content.encode("utf-16-le")) // 2
    assert (name.start.character, name.end.character) == (8, 8 + width)


@pytest.mark.asyncio
async def test_diagnostics_and_quick_fixes(client: LanguageClient):
    found = client.diagnostics[client.uri]
    misspelt = next(item for item in found if item.code == "P-008")
    assert misspelt.range.start == place("statu")
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(document(client), misspelt.range, types.CodeActionContext(diagnostics=[misspelt]))
    )
    fix = next(action for action in actions if action.title == "rename the field to `status`")
    assert fix.is_preferred and fix.edit.changes[client.uri][0].new_text == "status"


@pytest.mark.asyncio
async def test_typing_mends_a_finding_and_breaks_the_text(client: LanguageClient):
    async def change(version, position, text):
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, client.uri),
                [types.TextDocumentContentChangePartial(types.Range(position, position), text)],
            )
        )
        await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        return [item.code for item in client.diagnostics[client.uri]]

    assert "P-008" not in await change(2, place("statu", 5), "s")
    assert await change(3, place("server", 0), "[") == ["P-001"]
    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document(client)))
    assert symbols, "the last good tree is kept"


HEAD = """\
oatf: "0.1"
attack:
"""
SERVER = """\
  execution:
    mode: mcp_server
    state: {tools: []}
"""
INDICATOR = HEAD + SERVER + """\
  indicators:
    - surface: tools/call
      direction: request
"""
PHASES = HEAD + """\
  execution:
    mode: mcp_server
    phases:
      - name: trust
        state: {tools: []}
        extractors: [{name: token, source: request, type: json_path, selector: $.arguments}]
"""


async def replace_text(client, marked):
    """Gives the document another text, and says where its cursor `<|>` is, as parameters of a request."""
    before, after = marked.split("<|>")
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(2, client.uri),
            [types.TextDocumentContentChangeWholeDocument(before + after)],
        )
    )
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    position = types.Position(before.count("\n"), len(before) - (before.rfind("\n") + 1))
    return {"text_document": document(client), "position": position}


@pytest.mark.asyncio
async def test_a_finding_has_related_places(client: LanguageClient):
    actor = "      - {name: a, mode: mcp_server, phases: [{state: {tools: []}}]}\n"
    await replace_text(client, HEAD + "  execution:\n    actors:\n" + actor + actor + "<|>")
    twice = next(item for item in client.diagnostics[client.uri] if item.code == "V-031")
    assert [related.location.range.start.line for related in twice.related_information] == [4]


@pytest.mark.parametrize(
    "text, said",
    [
        (INDICATOR + "      tar<|>get: arguments\n", "dot-path"),
        (INDICATOR + "      target: argu<|>ments.token\n", "request of `tools/call`"),
        (INDICATOR + "      target: arguments\n      pattern: {regex: 'a<|>b+'}\n", "It matches, for example, `ab`"),
        (INDICATOR + "      targ<|>t: arguments\n", "P-008"),
    ],
    ids=["field", "path", "regex", "rule"],
)
@pytest.mark.asyncio
async def test_hover(client: LanguageClient, text, said):
    hover = await client.text_document_hover_async(types.HoverParams(**await replace_text(client, text)))
    assert said in hover.contents.value


@pytest.mark.parametrize(
    "text, offered",
    [
        (HEAD + "  execution:\n    mode: <|>\n", "mcp_server"),
        (PHASES + "        trigger:\n          <|>\n", "event"),
        (PHASES + "        trigger: {event: <|>}\n", "tools/call"),
        (HEAD + SERVER + "  indicators:\n    - surface: <|>\n", "tools/call"),
        (INDICATOR + "      target: <|>\n", "arguments"),
        (PHASES + '      - state: {instructions: "{{<|>"}\n', "token"),
        (PHASES + '      - state: {instructions: "{{<|>"}\n', "canary.ssh_key"),
        (HEAD + "  classification: {mappings: [{framework: owasp_mcp, id: <|>}]}\n" + SERVER, "MCP01"),
    ],
    ids=["mode", "field", "event", "surface", "path", "extractor", "placeholder", "framework"],
)
@pytest.mark.asyncio
async def test_completion(client: LanguageClient, text, offered):
    given = await client.text_document_completion_async(types.CompletionParams(**await replace_text(client, text)))
    items = given if isinstance(given, list) else given.items
    assert offered in [item.label for item in items]


@pytest.mark.asyncio
async def test_definition_references_and_rename(client: LanguageClient):
    definition = await client.text_document_definition_async(types.DefinitionParams(**at(client, "{{token}}", 3)))
    assert definition[0].range.start == place("name: token", 6)
    references = await client.text_document_references_async(
        types.ReferenceParams(types.ReferenceContext(include_declaration=True), **at(client, "name: token", 7))
    )
    assert len(references) == 2
    prepared = await client.text_document_prepare_rename_async(types.PrepareRenameParams(**at(client, "name: server", 7)))
    assert prepared.placeholder == "server"
    renamed = await client.text_document_rename_async(types.RenameParams(new_name="other", **at(client, "name: server", 7)))
    assert [edit.new_text for edit in renamed.changes[client.uri]] == ["other", "other"]


@pytest.mark.asyncio
async def test_a_rename_that_cannot_be_is_refused_with_a_reason(client: LanguageClient):
    with pytest.raises(Exception, match="cannot be the name"):
        await client.text_document_rename_async(types.RenameParams(new_name="Not A Name", **at(client, "name: server", 7)))


@pytest.mark.asyncio
async def test_symbols(client: LanguageClient):
    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document(client)))
    actor = symbols[0].children[0]
    assert (actor.name, [phase.name for phase in actor.children]) == ("server", ["trust", "strike"])
    everywhere = await client.workspace_symbol_async(types.WorkspaceSymbolParams(query="notes"))
    assert [pathlib.PurePath(found.location.uri).name for found in everywhere] == ["attack.yaml"]


@pytest.mark.asyncio
async def test_folding_tokens_hints_and_lenses(client: LanguageClient):
    folding = await client.text_document_folding_range_async(types.FoldingRangeParams(document(client)))
    assert any(fold.start_line == place("execution:").line for fold in folding)
    tokens = await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(document(client)))
    assert len(tokens.data) % 5 == 0 and len(tokens.data) >= 25
    hints = await client.text_document_inlay_hint_async(types.InlayHintParams(document(client), whole()))
    assert any("version: 1" in hint.label for hint in hints)
    lenses = await client.text_document_code_lens_async(types.CodeLensParams(document(client)))
    assert [lens.command.title for lens in lenses] == ["Run", "Prove"]


@pytest.mark.asyncio
async def test_formatting(client: LanguageClient):
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    with pytest.raises(Exception, match="has errors"):
        await client.text_document_formatting_async(types.DocumentFormattingParams(document(client), options))
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(2, client.uri),
            [types.TextDocumentContentChangeWholeDocument(TEXT.replace("  statu: draft\n", "").replace('"0.1"', "'0.1'"))],
        )
    )
    edits = await client.text_document_formatting_async(types.DocumentFormattingParams(document(client), options))
    assert len(edits) == 1 and edits[0].new_text.startswith('oatf: "0.1"\n')
