//! What can be written at a place: fields, words, names and paths.

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, Documentation, MarkupContent, MarkupKind,
    Position, TextEdit,
};
use sortie_bindings::{
    AGENT, LOCAL, Side, known_events, known_modes, known_paths, known_protocols, known_surfaces,
    structural_keys,
};
use sortie_evaluators::RUNNER_NAMES;
use sortie_oatf::canary::CANARIES;
use sortie_oatf::frameworks::{FRAMEWORKS, entries};
use sortie_oatf::model::{Mode, extract_protocol};
use sortie_oatf::{NameKind, names};
use sortie_syntax::{Segment, Span};

use crate::context::{Context, Writing, settings_context};
use crate::document::OpenDocument;
use crate::indicator::side_of;
use crate::kind::DocumentKind;
use crate::schema::{Schema, SchemaField};

/// So many things are offered at most.
const MOST_ITEMS: usize = 500;

/// What can be written at a position. `ids` are the names of what other files define, by kind.
pub(crate) fn completions(
    document: &OpenDocument,
    schema: &Schema,
    ids: &KnownIds,
    position: Position,
    markup: &MarkupKind,
) -> Vec<CompletionItem> {
    let offset = document.text.offset(position);
    let context = match document.kind {
        DocumentKind::Settings => settings_context(&document.text, offset),
        _ => Context::at(&document.text, offset),
    };
    let completion = Completion { document, schema, context: &context, ids };
    let mut offers = Vec::new();
    let span = match &context.part {
        Writing::Key(span) => {
            offers.extend(completion.fields());
            // An item of a list may be a word, too.
            if matches!(context.path.segments().last(), Some(Segment::Index(_))) {
                offers.extend(completion.words());
            }
            *span
        }
        Writing::Value { span, opened } => {
            if let Some(at) = opened.rfind("{{").filter(|at| !opened[*at..].contains("}}")) {
                offers.extend(completion.placeholders());
                Span::new(offset - (opened.len() - at - 2), offset)
            } else {
                offers.extend(completion.words());
                completion.part(*span, opened, offset)
            }
        }
    };
    let range = document.text.range(span);
    let items = offers.into_iter().take(MOST_ITEMS).enumerate();
    items.map(|(order, offer)| offer.item(range, order, markup)).collect()
}

/// What the files around a document define.
#[derive(Debug, Default)]
pub(crate) struct KnownIds {
    pub(crate) evaluators: Vec<String>,
    pub(crate) suites: Vec<String>,
    pub(crate) documents: Vec<String>,
    pub(crate) tags: Vec<String>,
    /// The patterns of the evaluator that fixtures are for.
    pub(crate) patterns: Vec<String>,
}

/// One thing that can be written.
struct Offer {
    label: String,
    detail: String,
    documentation: String,
    insert: String,
    kind: CompletionItemKind,
}

impl Offer {
    fn new(label: impl Into<String>, detail: impl Into<String>, kind: CompletionItemKind) -> Self {
        let label = label.into();
        Self { insert: label.clone(), label, detail: detail.into(), documentation: String::new(), kind }
    }

    fn item(self, range: lsp_types::Range, order: usize, markup: &MarkupKind) -> CompletionItem {
        // An editor that names no format takes a bare text.
        let explained = |value| match markup {
            MarkupKind::PlainText => Documentation::String(value),
            MarkupKind::Markdown => {
                Documentation::MarkupContent(MarkupContent { kind: markup.clone(), value })
            }
        };
        CompletionItem {
            kind: Some(self.kind),
            detail: Some(self.detail).filter(|detail| !detail.is_empty()),
            documentation: Some(self.documentation).filter(|text| !text.is_empty()).map(explained),
            // The order of the specification, not of the alphabet.
            sort_text: Some(format!("{order:04}")),
            filter_text: Some(self.label.clone()),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text: self.insert })),
            label: self.label,
            ..CompletionItem::default()
        }
    }
}

struct Completion<'c> {
    document: &'c OpenDocument,
    schema: &'c Schema,
    context: &'c Context,
    ids: &'c KnownIds,
}

impl Completion<'_> {
    fn key(&self) -> &str {
        let mut keys = self.context.path.segments().iter().rev();
        keys.find_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        })
        .unwrap_or_default()
    }

    fn is_attack(&self) -> bool {
        self.document.kind == DocumentKind::Attack
    }

    /// The fields of the object, without those that it has.
    fn fields(&self) -> Vec<Offer> {
        let fields = self.schema.fields(&self.context.path).into_iter().filter_map(|field| {
            let mut offer = Offer::new(
                field.name,
                if field.is_required { "required" } else { "" },
                CompletionItemKind::FIELD,
            );
            field.description.clone_into(&mut offer.documentation);
            offer.insert = self.begun(&field)?;
            Some(offer)
        });
        let mut offers: Vec<Offer> = fields.collect();
        if self.is_attack() {
            offers.extend(self.fields_of_messages());
        }
        let given = |offer: &Offer| self.context.siblings.iter().any(|(key, _)| *key == offer.label);
        offers.retain(|offer| !given(offer));
        offers
    }

    /// A field up to where its value begins; `None` where it cannot stand.
    fn begun(&self, field: &SchemaField<'_>) -> Option<String> {
        let name = field.name;
        if self.document.kind != DocumentKind::Settings {
            return Some(if field.is_block { format!("{name}:") } else { format!("{name}: ") });
        }
        let is_top = self.context.path.segments().is_empty();
        match (is_top, self.is_header(), field.is_list) {
            (true, true, true) => None,
            (true, true, false) => Some(name.to_owned()),
            (true, false, false) => Some(format!("[{name}.")),
            _ => Some(format!("{name} = ")),
        }
    }

    /// Whether the line is the header of a table.
    fn is_header(&self) -> bool {
        let (Writing::Key(span) | Writing::Value { span, .. }) = &self.context.part;
        let text = &self.document.text;
        text.line(text.line_of(span.end)).trim_start().starts_with('[')
    }

    /// Keys that the protocol gives: those of a state, and the paths of a predicate.
    fn fields_of_messages(&self) -> Vec<Offer> {
        let key = self.key();
        let ends_here = matches!(self.context.path.segments().last(), Some(Segment::Key(_)));
        let Some(mode) = self.mode().filter(|_| ends_here) else { return Vec::new() };
        let keyed = |name: &str, detail: String| {
            let mut offer = Offer::new(name, detail, CompletionItemKind::PROPERTY);
            offer.insert = format!("{name}: ");
            offer
        };
        match key {
            "state" => {
                let keys = structural_keys(&mode).unwrap_or_default().iter();
                keys.map(|key| keyed(key, format!("state of `{mode}`"))).collect()
            }
            "match" => {
                let event = self.value_above("event");
                // A server is triggered by what it is asked.
                let side = Mode::of(&mode).is_server().then_some(Side::Request);
                let paths = known_paths(extract_protocol(&mode), event.as_deref(), side, &[&mode]);
                paths
                    .iter()
                    .map(|path| keyed(&path.path, side_and_surface(path.side, path.surface)))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// The words that may stand here.
    fn words(&self) -> Vec<Offer> {
        let mut offers = if self.is_attack() { self.words_of_attack() } else { self.words_of_evaluators() };
        let given = |word: &str, offers: &[Offer]| offers.iter().any(|offer| offer.label == word);
        for word in self.schema.words(&self.context.path) {
            if !given(word, &offers) {
                offers.push(Offer::new(word, "", CompletionItemKind::ENUM_MEMBER));
            }
        }
        offers
    }

    fn words_of_attack(&self) -> Vec<Offer> {
        let all = |words: &[&str], detail: &str, kind| {
            words.iter().map(|word| Offer::new(*word, detail, kind)).collect()
        };
        let value = CompletionItemKind::VALUE;
        match self.key() {
            "mode" => all(known_modes(), "mode", value),
            "protocol" => {
                let mut offers: Vec<Offer> = all(known_protocols(), "protocol", value);
                offers.push(Offer::new(AGENT, "what the agent tells its user", value));
                offers.push(Offer::new(LOCAL, "calls of functions of the agent's own program", value));
                offers
            }
            "surface" => {
                let protocol = self.protocol();
                all(&known_surfaces(&protocol), &format!("operation of `{protocol}`"), value)
            }
            "event" => {
                let mode = self.mode().unwrap_or_default();
                all(&known_events(&mode), &format!("event that `{mode}` sees"), CompletionItemKind::EVENT)
            }
            "method"
                if self
                    .context
                    .path
                    .segments()
                    .iter()
                    .any(|step| *step == Segment::Key("send".to_owned())) =>
            {
                let protocol = self.mode().map(|mode| extract_protocol(&mode).to_owned()).unwrap_or_default();
                all(&known_surfaces(&protocol), &format!("operation of `{protocol}`"), value)
            }
            "target" => self.paths(""),
            "selector" => self.selectors(),
            "cel" => self.paths("message."),
            "actor" => self.names(NameKind::Actor, None),
            "phase" => self.names(NameKind::Phase, self.context.sibling("actor")),
            "framework" => all(FRAMEWORKS, "framework", value),
            "id" => {
                let framework = self.context.sibling("framework").unwrap_or_default();
                entries(framework).iter().map(|(id, name)| Offer::new(*id, *name, value)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn words_of_evaluators(&self) -> Vec<Offer> {
        let all = |words: &[String], detail: &str| -> Vec<Offer> {
            words.iter().map(|word| Offer::new(word, detail, CompletionItemKind::REFERENCE)).collect()
        };
        match (self.document.kind, self.key()) {
            (DocumentKind::Evaluator, "depends_on" | "correlates_with")
            | (DocumentKind::Suite, "evaluator") => all(&self.ids.evaluators, "evaluator"),
            (DocumentKind::Suite, "suite") => all(&self.ids.suites, "suite"),
            (DocumentKind::Suite, "document") => all(&self.ids.documents, "document"),
            (DocumentKind::Suite, "tag") => all(&self.ids.tags, "tag"),
            (DocumentKind::Fixtures, "pattern") => all(&self.ids.patterns, "pattern of the evaluator"),
            _ => Vec::new(),
        }
    }

    /// Paths of the messages that the indicator looks at.
    fn paths(&self, prefix: &str) -> Vec<Offer> {
        let (surface, side) = (self.value_above("surface"), self.value_above("direction"));
        let side = side.as_deref().and_then(side_of);
        let modes = self.modes();
        let modes: Vec<&str> = modes.iter().map(String::as_str).collect();
        let known = known_paths(&self.protocol(), surface.as_deref(), side, &modes);
        let offer = |path: &sortie_bindings::KnownPath| {
            let detail = side_and_surface(path.side, path.surface);
            let mut offer =
                Offer::new(format!("{prefix}{}", path.path), detail, CompletionItemKind::PROPERTY);
            if path.is_free {
                "Any path may follow: the sender of the message chooses the fields below it."
                    .clone_into(&mut offer.documentation);
            }
            offer
        };
        known.iter().map(offer).collect()
    }

    /// `JSONPaths` into the messages that an extractor sees.
    fn selectors(&self) -> Vec<Offer> {
        if self.context.sibling("type") == Some("regex") {
            return Vec::new();
        }
        let side = self.context.sibling("source").and_then(side_of);
        let mode = self.mode().unwrap_or_default();
        let event = self.value_above("event");
        let known = known_paths(extract_protocol(&mode), event.as_deref(), side, &[&mode]);
        let offer = |path: &sortie_bindings::KnownPath| {
            Offer::new(
                format!("$.{}", path.path),
                side_and_surface(path.side, path.surface),
                CompletionItemKind::PROPERTY,
            )
        };
        known.iter().map(offer).collect()
    }

    /// What stands between braces: extractors, fields of the message at hand, canaries.
    fn placeholders(&self) -> Vec<Offer> {
        let mut offers = Vec::new();
        let mut add = |name: &str, detail: &str| {
            let mut offer = Offer::new(name, detail, CompletionItemKind::VARIABLE);
            if !self.is_closed() && !name.ends_with('.') {
                offer.insert = format!("{name}}}}}");
            }
            offers.push(offer);
        };
        if !self.is_attack() {
            for name in RUNNER_NAMES {
                add(name, "filled by the runner");
            }
            return offers;
        }
        if let Some(attack) = self.document.view().and_then(|view| view.attack) {
            let mut seen = Vec::new();
            for found in
                names(attack).iter().filter(|found| found.defines && found.kind == NameKind::Extractor)
            {
                let owner = found.owner.unwrap_or("default");
                let name = if owner == "default" {
                    found.name.to_owned()
                } else {
                    format!("{owner}.{}", found.name)
                };
                if !seen.contains(&name) {
                    add(&name, &format!("extractor of `{owner}`"));
                    seen.push(name);
                }
            }
        }
        add("request.", "a field of the request at hand");
        add("response.", "a field of the response at hand");
        for (name, place) in CANARIES {
            add(&format!("canary.{name}"), &format!("the made-up secret in {}", place.replace('`', "")));
        }
        offers
    }

    /// Whether the braces are closed behind the place already.
    fn is_closed(&self) -> bool {
        let Writing::Value { span, .. } = &self.context.part else { return false };
        let line = self.document.text.line_of(span.end);
        let start = self.document.text.line_start(line);
        let behind = self.document.text.line(line).get(span.end - start..).unwrap_or_default();
        let word = behind.find(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '.'));
        word.is_some_and(|at| behind[at..].starts_with("}}"))
    }

    fn names(&self, kind: NameKind, owner: Option<&str>) -> Vec<Offer> {
        let Some(attack) = self.document.view().and_then(|view| view.attack) else { return Vec::new() };
        let all = names(attack);
        let wanted = all.iter().filter(|found| {
            found.defines && found.kind == kind && owner.is_none_or(|owner| found.owner == Some(owner))
        });
        wanted.map(|found| Offer::new(found.name, kind.as_str(), CompletionItemKind::REFERENCE)).collect()
    }

    /// The value of a key of the object that this is written in, or of one around it.
    fn value_above(&self, key: &str) -> Option<String> {
        if let Some(value) = self.context.sibling(key) {
            return Some(value.to_owned());
        }
        let view = self.document.view()?;
        let mut path = Some(self.context.path.clone());
        while let Some(holder) = path {
            if let Some(value) = view.scalar(&holder.clone().key(key)) {
                return Some(value.to_owned());
            }
            // An indicator knows nothing of what is around it.
            path = holder.parent().filter(|parent| parent.segments().len() > 2);
        }
        None
    }

    /// The mode of the phase that this is written in: the nearest one above in the text, which may be broken.
    fn mode(&self) -> Option<String> {
        let text = &self.document.text;
        let (Writing::Key(span) | Writing::Value { span, .. }) = &self.context.part;
        let above = (0..=text.line_of(span.end)).rev().find_map(|line| mode_of(text.line(line)));
        above.or_else(|| self.modes().into_iter().next())
    }

    fn modes(&self) -> Vec<String> {
        let text = &self.document.text;
        (0..text.line_count()).filter_map(|line| mode_of(text.line(line))).collect()
    }

    fn protocol(&self) -> String {
        let of_modes = || self.modes().first().map(|mode| extract_protocol(mode).to_owned());
        self.value_above("protocol").or_else(of_modes).unwrap_or_default()
    }

    /// What an offer replaces: all that is typed, or in an expression the path that ends here.
    fn part(&self, span: Span, opened: &str, offset: usize) -> Span {
        if self.key() != "cel" {
            return span;
        }
        let is_path = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
        let word = opened.len() - opened.trim_end_matches(is_path).len();
        Span::new(offset - word, offset)
    }
}

fn side_and_surface(side: Side, surface: &str) -> String {
    format!("{} of {surface}", side.as_str())
}

/// The mode that a line gives, in block or flow style.
fn mode_of(line: &str) -> Option<String> {
    let at = line.find("mode:")?;
    let before = line[..at].chars().next_back();
    if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
        return None;
    }
    let value = line[at + "mode:".len()..].trim_start().trim_start_matches(['"', '\'']);
    let end = value.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(value.len());
    Some(value[..end].to_owned()).filter(|mode| !mode.is_empty())
}

#[cfg(test)]
mod tests {
    use super::mode_of;

    #[test]
    fn a_mode_is_read_from_its_line_in_both_styles() {
        assert_eq!(mode_of("    mode: mcp_server  # ours").as_deref(), Some("mcp_server"));
        assert_eq!(mode_of("execution: {mode: \"a2a_client\", state: {}}").as_deref(), Some("a2a_client"));
        assert_eq!(mode_of("    scan_mode: source"), None);
        assert_eq!(mode_of("    mode:"), None);
    }
}
