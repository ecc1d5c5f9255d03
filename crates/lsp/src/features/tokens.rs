//! Semantic tokens inside of strings: CEL, regular expressions, and references between `{{` and `}}`.

use lsp_types::{SemanticToken, SemanticTokenType};
use sortie_expr::cel::{self, CelToken};
use sortie_expr::re2::{self, RegexToken};
use sortie_oatf::template::{Piece, pieces};
use sortie_syntax::Span;
use sortie_syntax::yaml::{NodeId, NodeKind, Tree};

use crate::document::{OpenDocument, View};
use crate::text::Text;

/// The kinds of tokens, in the order of their numbers.
pub(crate) const LEGEND: [SemanticTokenType; 11] = [
    SemanticTokenType::VARIABLE,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::KEYWORD,
    SemanticTokenType::NUMBER,
    SemanticTokenType::STRING,
    SemanticTokenType::OPERATOR,
    SemanticTokenType::COMMENT,
    SemanticTokenType::REGEXP,
    SemanticTokenType::TYPE,
    SemanticTokenType::MACRO,
];

/// Longer texts are not coloured: nobody reads them.
const LONGEST: usize = 16 * 1024;
/// So many tokens are given for a document.
const MOST_TOKENS: usize = 20_000;

/// The tokens of a document, each relative to the one before.
pub(crate) fn tokens(document: &OpenDocument) -> Vec<SemanticToken> {
    let Some(view) = document.view() else { return Vec::new() };
    let mut found = Vec::new();
    collect(&view, view.tree.root().id, &mut found);
    found.sort_by_key(|(span, _)| (span.start, span.end));
    found.truncate(MOST_TOKENS);
    relative(&document.text, &found)
}

/// What a string is written in.
enum Language {
    Cel,
    Regex,
    Template,
}

// Nesting is bounded by the parser.
fn collect(view: &View<'_>, id: NodeId, found: &mut Vec<(Span, u32)>) {
    match view.tree.node(id).kind {
        NodeKind::Mapping(entries) => {
            for entry in entries {
                let key = view.tree.key(*entry);
                match language(view.tree, id, key) {
                    Some(language) => scalar(view, entry.value, &language, found),
                    None => collect(view, entry.value, found),
                }
            }
        }
        NodeKind::Sequence(items) => items.iter().for_each(|item| collect(view, *item, found)),
        NodeKind::Scalar(..) => scalar(view, id, &Language::Template, found),
        NodeKind::Refused => {}
    }
}

fn language(tree: &Tree, holder: NodeId, key: &str) -> Option<Language> {
    let is_regex = || {
        let kind = tree.entry(holder, "type").map(|entry| tree.node(entry.value).kind);
        matches!(kind, Some(NodeKind::Scalar("regex", _)))
    };
    match key {
        "cel" => Some(Language::Cel),
        "regex" => Some(Language::Regex),
        "selector" if is_regex() => Some(Language::Regex),
        _ => None,
    }
}

fn scalar(view: &View<'_>, id: NodeId, language: &Language, found: &mut Vec<(Span, u32)>) {
    let NodeKind::Scalar(text, _) = view.tree.node(id).kind else { return };
    if text.len() > LONGEST || found.len() > MOST_TOKENS {
        return;
    }
    let parts: Vec<(std::ops::Range<usize>, u32)> = match language {
        Language::Cel => {
            cel::highlight(text).into_iter().map(|(range, token)| (range, cel_token(token))).collect()
        }
        Language::Regex => {
            re2::highlight(text).into_iter().map(|(range, token)| (range, regex_token(token))).collect()
        }
        Language::Template if !text.contains("{{") => return,
        Language::Template => {
            let references = pieces(text).filter_map(|piece| match piece {
                Piece::Reference { at, .. } => Some((at, number(&SemanticTokenType::MACRO))),
                _ => None,
            });
            references.collect()
        }
    };
    for (range, token) in parts {
        let span = view.tree.subspan(id, range).and_then(|span| view.current(span));
        found.extend(span.map(|span| (span, token)));
    }
}

fn cel_token(token: CelToken) -> u32 {
    number(&match token {
        CelToken::Variable => SemanticTokenType::VARIABLE,
        CelToken::Property => SemanticTokenType::PROPERTY,
        CelToken::Function => SemanticTokenType::FUNCTION,
        CelToken::Keyword => SemanticTokenType::KEYWORD,
        CelToken::Number => SemanticTokenType::NUMBER,
        CelToken::String => SemanticTokenType::STRING,
        CelToken::Operator => SemanticTokenType::OPERATOR,
        CelToken::Comment => SemanticTokenType::COMMENT,
    })
}

fn regex_token(token: RegexToken) -> u32 {
    number(&match token {
        RegexToken::Escape => SemanticTokenType::REGEXP,
        RegexToken::Class => SemanticTokenType::TYPE,
        RegexToken::Group | RegexToken::Alternation => SemanticTokenType::KEYWORD,
        RegexToken::Repeat => SemanticTokenType::OPERATOR,
        RegexToken::Anchor => SemanticTokenType::FUNCTION,
    })
}

/// The number of a kind in the legend.
fn number(kind: &SemanticTokenType) -> u32 {
    // Every kind that is used here is in the legend.
    LEGEND.iter().position(|known| known == kind).and_then(|at| u32::try_from(at).ok()).unwrap_or_default()
}

/// Tokens as the protocol wants them: relative to the one before, none over the end of a line, none over another.
fn relative(text: &Text, found: &[(Span, u32)]) -> Vec<SemanticToken> {
    let mut tokens = Vec::with_capacity(found.len());
    let (mut line, mut column) = (0, 0);
    let mut done = 0;
    for (span, token_type) in found {
        for span in by_line(text, *span) {
            let (start, end) = (text.position(span.start), text.position(span.end));
            if span.start < done || start.line != end.line || end.character <= start.character {
                continue;
            }
            let delta_start = if start.line == line { start.character - column } else { start.character };
            tokens.push(SemanticToken {
                delta_line: start.line - line,
                delta_start,
                length: end.character - start.character,
                token_type: *token_type,
                token_modifiers_bitset: 0,
            });
            (line, column, done) = (start.line, start.character, span.end);
        }
    }
    tokens
}

fn by_line(text: &Text, span: Span) -> Vec<Span> {
    let (first, last) = (text.line_of(span.start), text.line_of(span.end));
    let parts = (first..=last).map(|line| {
        let start = text.line_start(line);
        let content = text.line(line);
        let indent = content.len() - content.trim_start().len();
        let from = if line == first { span.start } else { start + indent };
        Span::new(from, (start + content.len()).min(span.end))
    });
    parts.filter(|part| part.start < part.end).collect()
}
