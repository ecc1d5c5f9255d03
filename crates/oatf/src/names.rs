//! Every place where a document gives something a name, or refers to it by its name.
//!
//! This is what "go to definition", "find references" and "rename" need: actors, phases, extractors and indicators.

use std::ops::Range;

use serde_json::Value;
use sortie_syntax::NodePath;
use sortie_syntax::closed_enum;

use crate::model::{Document, Extensions};
use crate::rules::is_name;
use crate::template::{Piece, Reference, pieces};

closed_enum! {
    /// What a name is the name of.
    NameKind {
        /// An actor.
        Actor = "actor",
        /// A phase of an actor.
        Phase = "phase",
        /// An extractor of an actor: several phases may capture under one name.
        Extractor = "extractor",
        /// An indicator.
        Indicator = "indicator",
    }
}

impl NameKind {
    /// Whether something of this kind may have this name.
    pub fn accepts(self, name: &str) -> bool {
        match self {
            Self::Actor | Self::Extractor => is_name(name),
            Self::Phase | Self::Indicator => {
                !name.trim().is_empty() && sortie_syntax::shown::all_visible(name)
            }
        }
    }
}

/// One place where a name stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameUse<'d> {
    /// What it is the name of.
    pub kind: NameKind,
    /// The name.
    pub name: &'d str,
    /// The actor that the phase or the extractor belongs to.
    pub owner: Option<&'d str>,
    /// The scalar that holds the name.
    pub path: NodePath,
    /// The bytes of the scalar's text that are the name; `None` where all of it is.
    pub within: Option<Range<usize>>,
    /// Whether the name is given here, rather than used.
    pub defines: bool,
}

impl NameUse<'_> {
    /// Whether both places name the same thing.
    pub fn names_same(&self, other: &NameUse<'_>) -> bool {
        (self.kind, self.name, self.owner) == (other.kind, other.name, other.owner)
    }
}

/// Every name of a document, where it is given and where it is used. The forms without actors have one that is called
/// `default`, which is named nowhere.
///
/// ```
/// let document = sortie_oatf::parse("
/// oatf: '0.1'
/// attack:
///   execution:
///     mode: mcp_server
///     phases:
///       - state: {tools: []}
///         extractors: [{name: token, source: request, type: json_path, selector: $.arguments.token}]
///       - state: {tools: [{name: 'x-{{token}}'}]}
/// ").unwrap();
/// let uses = sortie_oatf::names(&document);
/// let found: Vec<_> = uses.iter().map(|found| (found.path.to_string(), found.defines)).collect();
/// assert_eq!(found, [
///     ("attack.execution.phases[0].extractors[0].name".to_owned(), true),
///     ("attack.execution.phases[1].state.tools[0].name".to_owned(), false),
/// ]);
/// ```
pub fn names(document: &Document) -> Vec<NameUse<'_>> {
    let mut found = Names::default();
    found.definitions(document);
    found.templates(document);
    let attack = NodePath::root().key("attack");
    found.extension(&document.attack.extensions, &attack);
    for (path, indicator) in document.indicators() {
        found.actor(indicator.actor.as_deref(), &path);
        found.extension(&indicator.extensions, &path);
    }
    found.uses
}

#[derive(Default)]
struct Names<'d> {
    uses: Vec<NameUse<'d>>,
}

impl<'d> Names<'d> {
    fn add(&mut self, kind: NameKind, name: &'d str, owner: Option<&'d str>, path: NodePath, defines: bool) {
        self.uses.push(NameUse { kind, name, owner, path, within: None, defines });
    }

    fn definitions(&mut self, document: &'d Document) {
        for list in document.phase_lists() {
            let owner = list.actor_name();
            if let (Some((_, actor)), Some(path)) = (list.actor, list.path.parent()) {
                self.add(NameKind::Actor, &actor.name, None, path.key("name"), true);
            }
            for (path, phase) in list.iter() {
                if let Some(name) = &phase.name {
                    self.add(NameKind::Phase, name, Some(owner), path.clone().key("name"), true);
                }
                for (index, extractor) in phase.extractors.iter().flatten().enumerate() {
                    let path = path.clone().key("extractors").index(index).key("name");
                    self.add(NameKind::Extractor, &extractor.name, Some(owner), path, true);
                }
            }
        }
        for (path, indicator) in document.indicators() {
            if let Some(id) = &indicator.id {
                self.add(NameKind::Indicator, id, None, path.key("id"), true);
            }
        }
    }

    fn templates(&mut self, document: &'d Document) {
        for (path, text, scope) in document.templates() {
            for piece in pieces(text) {
                let Piece::Reference { name, at } = piece else { continue };
                let start = at.start + "{{".len();
                let mut refer = |kind, name: &'d str, owner, at: usize| {
                    let within = Some(at..at + name.len());
                    self.uses.push(NameUse { kind, name, owner, path: path.clone(), within, defines: false });
                };
                match Reference::parse(name) {
                    Reference::Message | Reference::Canary => {}
                    Reference::Extractor(name) => refer(NameKind::Extractor, name, Some(scope.actor), start),
                    Reference::Actor { actor, extractor } => {
                        refer(NameKind::Actor, actor, None, start);
                        refer(NameKind::Extractor, extractor, Some(actor), start + actor.len() + 1);
                    }
                }
            }
        }
    }

    fn actor(&mut self, name: Option<&'d str>, holder: &NodePath) {
        if let Some(name) = name {
            self.add(NameKind::Actor, name, None, holder.clone().key("actor"), false);
        }
    }

    /// Actors and phases that `x-sortie` refers to, wherever it does.
    fn extension(&mut self, extensions: &'d Extensions, holder: &NodePath) {
        if let Some(value) = extensions.get("x-sortie") {
            self.extension_value(value, &holder.clone().key("x-sortie"));
        }
    }

    // Recursion is bounded by the depth of documents.
    fn extension_value(&mut self, value: &'d Value, path: &NodePath) {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.extension_value(item, &path.clone().index(index));
                }
            }
            Value::Object(fields) => {
                let actor = fields.get("actor").and_then(Value::as_str);
                self.actor(actor, path);
                if let (Some(owner), Some(phase)) = (actor, fields.get("phase").and_then(Value::as_str)) {
                    self.add(NameKind::Phase, phase, Some(owner), path.clone().key("phase"), false);
                }
                for (key, value) in fields {
                    self.extension_value(value, &path.clone().key(key));
                }
            }
            _ => {}
        }
    }
}
