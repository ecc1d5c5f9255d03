//! What stands under the cursor: what a field is for, what a path leads to, what a pattern matches, what a finding means.

use std::fmt::Write as _;

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind, Position};
use sortie_bindings::{Reachability, Side, messages_with, reachability};
use sortie_expr::cel::Program;
use sortie_expr::re2::Regex;
use sortie_oatf::canary::CANARIES;
use sortie_oatf::frameworks::entry_name;
use sortie_oatf::template::{Piece, pieces};
use sortie_oatf::{NameKind, names};
use sortie_report::findings::rule;
use sortie_syntax::yaml::LocatedPart;
use sortie_syntax::{NodePath, Segment, Span};

use super::diagnostics::place;
use crate::context::{Context, Writing, settings_context};
use crate::document::{OpenDocument, View};
use crate::indicator::Messages;
use crate::kind::DocumentKind;
use crate::schema::Schema;

/// So many messages are listed for a path.
const MOST_MESSAGES: usize = 8;
/// Longer patterns are not compiled to show an example.
const LONGEST_PATTERN: usize = 4 * 1024;

pub(crate) fn hover(
    document: &OpenDocument,
    schema: Option<&Schema>,
    position: Position,
    markup: &MarkupKind,
) -> Option<Hover> {
    let offset = document.text.offset(position);
    let mut sections = Vec::new();
    let mut range = None;
    if document.kind == DocumentKind::Settings {
        sections.extend(settings(document, schema?, offset));
    } else if let Some(view) = document.view()
        && let Some(located) = view.locate(offset)
    {
        let span = match (located.part, located.entry) {
            (LocatedPart::Key, Some(entry)) => Some(view.tree.node(entry.key).span),
            (LocatedPart::Value, _) => Some(view.tree.node(located.value).span),
            _ => None,
        };
        range = span.and_then(|span| view.range(span));
        match located.part {
            LocatedPart::Key => sections.extend(schema.and_then(|schema| field(schema, &located.path))),
            LocatedPart::Value => sections.extend(value(document, &view, schema, &located.path, offset)),
            LocatedPart::Beside => {}
        }
    }
    sections.extend(findings(document, offset));
    if sections.is_empty() {
        return None;
    }
    let value = sections.join("\n\n---\n\n");
    let contents = HoverContents::Markup(MarkupContent { kind: markup.clone(), value });
    Some(Hover { contents, range })
}

/// What a field is for, and the words it takes.
fn field(schema: &Schema, path: &NodePath) -> Option<String> {
    let name = path.segments().iter().rev().find_map(|segment| match segment {
        Segment::Key(key) => Some(key),
        Segment::Index(_) => None,
    })?;
    let description = schema.description(path)?;
    let required = if schema.is_required(path) { " (required)" } else { "" };
    let mut text = format!("**`{name}`**{required}\n\n{description}");
    let words = schema.words(path);
    if !words.is_empty() {
        let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
        // Writing to a text cannot fail.
        let _ = write!(text, "\n\nOne of {}.", words.join(", "));
    }
    Some(text)
}

fn value(
    document: &OpenDocument,
    view: &View<'_>,
    schema: Option<&Schema>,
    path: &NodePath,
    offset: usize,
) -> Vec<String> {
    let Some(text) = view.scalar(path) else { return Vec::new() };
    let reference = view.attack.and_then(|_| reference(view, path, text, offset));
    if let Some(reference) = reference {
        return vec![reference];
    }
    let key = match path.segments().last() {
        Some(Segment::Key(key)) => key.as_str(),
        _ => "",
    };
    let special = match key {
        "target" if document.kind == DocumentKind::Attack => target(view, path, text),
        "regex" => pattern(text),
        "selector" if is_regex_extractor(view, path) => pattern(text),
        "cel" => Some(expression(text)),
        "id" => path.parent().and_then(|mapping| entry(view, &mapping, text)),
        _ => None,
    };
    let doc = schema.and_then(|schema| field(schema, path));
    special.into_iter().chain(doc).collect()
}

/// What `{{…}}` at the cursor stands for.
fn reference(view: &View<'_>, path: &NodePath, text: &str, offset: usize) -> Option<String> {
    let (id, _) = view.tree.find(path)?;
    let name = pieces(text).find_map(|piece| match piece {
        Piece::Reference { name, at } => {
            let span = view.current(view.tree.subspan(id, at)?)?;
            (span.start <= offset && offset <= span.end).then_some(name)
        }
        _ => None,
    })?;
    let shown = format!("`{{{{{name}}}}}`");
    if let Some(canary) = name.strip_prefix("canary.") {
        let (_, at) = CANARIES.iter().find(|(known, _)| *known == canary)?;
        return Some(format!("{shown}: a canary that a run plants in {at}"));
    }
    for (side, what) in [("request.", "request"), ("response.", "response")] {
        if let Some(field) = name.strip_prefix(side) {
            return Some(format!("{shown}: `{field}` of the {what} at hand"));
        }
    }
    let all = names(view.attack?);
    let used = all.iter().find(|found| {
        found.kind == NameKind::Extractor
            && found.path == *path
            && !found.defines
            && name.ends_with(found.name)
    })?;
    let defined = all.iter().find(|found| found.defines && found.names_same(used))?;
    let extractor = defined.path.parent()?;
    let part = |key: &str| view.scalar(&extractor.clone().key(key)).unwrap_or_default();
    Some(format!(
        "{shown}: what extractor `{}` of actor `{}` takes from the {} with `{}`",
        used.name,
        used.owner.unwrap_or("default"),
        part("source"),
        part("selector"),
    ))
}

/// What a path leads to, for the protocol and the operation of its indicator.
fn target(view: &View<'_>, path: &NodePath, target: &str) -> Option<String> {
    let messages = Messages::of_indicator(view.attack?, path)?;
    let (protocol, surface, modes) =
        (messages.protocol.as_str(), messages.surface.as_deref(), messages.modes());
    if target.is_empty() {
        return Some("The whole message.".to_owned());
    }
    match reachability(protocol, surface, messages.side, &modes, target) {
        Reachability::Unknown => {
            Some(format!("Nothing is known about this path in messages of `{protocol}`."))
        }
        Reachability::Never { reason, nearest } => {
            let nearest = nearest.filter(|nearest| !nearest.path.is_empty());
            let meant =
                nearest.map(|nearest| format!(" Did you mean `{}`?", nearest.path)).unwrap_or_default();
            Some(format!("This path can never match: {reason}.{meant}"))
        }
        Reachability::Possible => {
            let with = messages_with(protocol, surface, messages.side, &modes, target);
            let shown = |(surface, side): &(&str, Side)| format!("- {} of `{surface}`", side.as_str());
            let mut lines: Vec<String> = with.iter().take(MOST_MESSAGES).map(shown).collect();
            if with.len() > MOST_MESSAGES {
                lines.push(format!("- and {} more", with.len() - MOST_MESSAGES));
            }
            Some(format!("`{target}` is in these messages of `{protocol}`:\n\n{}", lines.join("\n")))
        }
    }
}

/// The shape of a pattern, and a text that it matches.
fn pattern(pattern: &str) -> Option<String> {
    if pattern.len() > LONGEST_PATTERN {
        return None;
    }
    let regex = match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(error) => return Some(format!("Not an RE2 pattern: {}.", error.message)),
    };
    let groups = match regex.group_count() {
        0 => "no group that captures".to_owned(),
        1 => "one group that captures".to_owned(),
        more => format!("{more} groups that capture"),
    };
    let mut lines = vec![format!("An RE2 pattern with {groups}.")];
    if regex.matches_empty() {
        lines.push("It matches every text, since it matches the empty one.".to_owned());
    } else if let Some(example) = regex.example() {
        lines.push(format!("It matches, for example, {}.", code(&example)));
    }
    Some(lines.join("\n\n"))
}

/// What an expression needs, and what is wrong with it.
fn expression(source: &str) -> String {
    match Program::compile(source) {
        Err(error) => format!("Not a CEL expression: {}.", error.message),
        Ok(program) => {
            let variables: Vec<_> = program.variables().into_iter().map(|name| format!("`{name}`")).collect();
            let guarded = program.unguarded_fields();
            let mut lines = vec![format!(
                "A CEL expression that reads {}.",
                if variables.is_empty() { "nothing".to_owned() } else { variables.join(", ") }
            )];
            if !guarded.is_empty() {
                let fields: Vec<_> =
                    guarded.iter().take(MOST_MESSAGES).map(|field| format!("`{}`", field.path)).collect();
                lines.push(format!(
                    "A message without {} is an error, not a miss: test it with `has(…)`.",
                    fields.join(", ")
                ));
            }
            lines.join("\n\n")
        }
    }
}

/// What a framework calls an entry.
fn entry(view: &View<'_>, mapping: &NodePath, id: &str) -> Option<String> {
    let framework = view.scalar(&mapping.clone().key("framework"))?;
    Some(format!("{framework} {id}: {}", entry_name(framework, id)?))
}

fn is_regex_extractor(view: &View<'_>, path: &NodePath) -> bool {
    path.parent().and_then(|extractor| view.scalar(&extractor.key("type"))) == Some("regex")
}

/// The pages of the findings at a place, without their examples.
fn findings(document: &OpenDocument, offset: usize) -> Vec<String> {
    let mut codes: Vec<&str> = Vec::new();
    for finding in &document.findings {
        let Span { start, end } = place(finding);
        if start <= offset && offset <= end && !finding.code.is_empty() && !codes.contains(&finding.code) {
            codes.push(finding.code);
        }
    }
    let page = |code: &str| {
        let rule = rule(code)?;
        let prose = rule.explain.split("\n## ").next().unwrap_or_default().trim();
        Some(format!("**{code}: {}**\n\n{prose}\n\n`sortie explain {code}` shows examples.", rule.title))
    };
    codes.into_iter().filter_map(page).collect()
}

/// What a field of `sortie.toml` is for.
fn settings(document: &OpenDocument, schema: &Schema, offset: usize) -> Option<String> {
    let line = document.text.line_of(offset);
    let content = document.text.line(line);
    let equals = content.find('=').unwrap_or(content.len());
    // The place behind the key says which field the line is about.
    let Context { path, part, .. } =
        settings_context(&document.text, document.text.line_start(line) + equals);
    let path = match part {
        Writing::Key(span) if !content.starts_with('[') => {
            path.key(document.text.as_str()[span.range()].trim())
        }
        _ => path,
    };
    field(schema, &path)
}

/// A text between backquotes, whatever is in it.
fn code(text: &str) -> String {
    let shown: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if shown.contains('`') { format!("`` {shown} ``") } else { format!("`{shown}`") }
}
