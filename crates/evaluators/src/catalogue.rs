//! Everything that loaded, by id; and as a file, the same bytes for the same evaluators.

use serde_json::{Map, Value, json};
use sortie_syntax::nearest;

use crate::depends::walk;
use crate::fixtures::Fixtures;
use crate::model::{Evaluator, Standard, TargetClass};
use crate::suites::Suites;

/// The evaluators that loaded, in the order of their ids.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    entries: Vec<CatalogueEntry>,
}

/// An evaluator, and where it comes from.
#[derive(Clone, Debug)]
pub struct CatalogueEntry {
    /// The evaluator.
    pub evaluator: Evaluator,
    /// The catalogue it belongs to.
    pub class: TargetClass,
    /// The folders between that of the catalogue and its own.
    pub categories: Vec<String>,
    /// Which root it lies in.
    pub root: usize,
    /// Its file, below the root.
    pub file: String,
    /// Its fixtures, where it has some.
    pub fixtures: Option<Fixtures>,
}

/// The version of the file.
const CATALOGUE_VERSION: u32 = 1;

/// For so many unknown names what was meant is looked up: each is compared with all there are.
pub(crate) const MOST_SUGGESTIONS: usize = 50;

/// There is no such thing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} `{name}`")]
pub struct Unknown {
    /// What was looked for: `evaluator`, `suite`.
    pub what: &'static str,
    /// The name.
    pub name: String,
    /// The name that was probably meant.
    pub nearest: Option<String>,
}

impl Unknown {
    pub(crate) fn new<'n>(what: &'static str, name: &str, names: impl Iterator<Item = &'n str>) -> Self {
        Self { what, name: name.to_owned(), nearest: nearest_of_many(name, names) }
    }
}

/// The nearest of any number of names: `nearest` looks at a few hundred at a time.
fn nearest_of_many<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let names: Vec<&str> = names.collect();
    let best: Vec<&str> = names.chunks(256).filter_map(|some| nearest(name, some.iter().copied())).collect();
    nearest(name, best).map(str::to_owned)
}

impl CatalogueEntry {
    /// Its tags: those it names, and its categories.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        let own = self.evaluator.tags.iter();
        own.chain(self.categories.iter().filter(|category| !self.evaluator.tags.contains(category)))
            .map(String::as_str)
    }

    /// Whether it has a tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags().any(|own| own == tag)
    }
}

impl Catalogue {
    pub(crate) fn new(mut entries: Vec<CatalogueEntry>) -> Self {
        entries.sort_by(|a, b| a.evaluator.id.cmp(&b.evaluator.id));
        Self { entries }
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.entries.binary_search_by(|entry| entry.evaluator.id.as_str().cmp(id)).ok()
    }

    /// All of them, in the order of their ids.
    pub fn entries(&self) -> &[CatalogueEntry] {
        &self.entries
    }

    /// Those of one catalogue.
    pub fn of(&self, class: TargetClass) -> impl Iterator<Item = &CatalogueEntry> {
        self.entries.iter().filter(move |entry| entry.class == class)
    }

    /// The one with this id.
    pub fn get(&self, id: &str) -> Option<&CatalogueEntry> {
        self.position(id).map(|at| &self.entries[at])
    }

    /// The one with this id, or which was probably meant.
    pub fn find(&self, id: &str) -> Result<&CatalogueEntry, Unknown> {
        let names = || self.entries.iter().map(|entry| entry.evaluator.id.as_str());
        self.get(id).ok_or_else(|| Unknown::new("evaluator", id, names()))
    }

    /// The evaluators with these ids and all that must run before them, each after what it depends on; otherwise in the
    /// order of their ids. Ids that are not there are left out.
    pub fn in_order<'i>(&self, ids: impl IntoIterator<Item = &'i str>) -> Vec<&CatalogueEntry> {
        let mut wanted: Vec<&str> = ids.into_iter().collect();
        wanted.sort_unstable();
        let at = |id: &str| self.position(id);
        let depends_on =
            |of: usize, nth: usize| self.entries[of].evaluator.depends_on.get(nth).map(|id| at(id));
        let order = walk(self.entries.len(), wanted.into_iter().filter_map(at), depends_on, |_, _| true);
        order.into_iter().map(|at| &self.entries[at]).collect()
    }

    /// One catalogue as JSON, with a line feed at its end.
    pub fn to_json(&self, class: TargetClass, suites: &Suites) -> String {
        let evaluators: Vec<Value> = self.of(class).map(|entry| written(entry, suites)).collect();
        let written = json!({"version": CATALOGUE_VERSION, "catalogue": class, "evaluators": evaluators});
        format!("{written:#}\n")
    }
}

fn written(entry: &CatalogueEntry, suites: &Suites) -> Value {
    let evaluator = &entry.evaluator;
    let standards = Standard::ALL.iter().filter_map(|standard| {
        let mut entries: Vec<Value> = evaluator.standards.entries(*standard).map(Value::from).collect();
        let written = if entries.len() > 1 { entries.into() } else { entries.pop()? };
        Some((standard.to_string(), written))
    });
    let checks = evaluator.checks.iter().map(|check| json!({"name": check.name, "says": check.says}));
    let patterns = evaluator.patterns.iter().map(|pattern| {
        json!({
            "name": pattern.name,
            "template": pattern.template.text(),
            "placeholders": pattern.template.placeholders(),
            "judge_hint": pattern.judge_hint,
        })
    });
    let mut written = json!({
        "id": evaluator.id,
        "name": evaluator.name,
        "severity": evaluator.severity,
        "file": entry.file,
        "categories": entry.categories,
        "suites": suites.of_evaluator(&evaluator.id).collect::<Vec<_>>(),
        "standards": standards.collect::<Map<_, _>>(),
        "description": evaluator.description,
        "pass_criteria": evaluator.pass_criteria,
        "fail_criteria": evaluator.fail_criteria,
        "judge_hint": evaluator.judge_hint,
        "judge_needs_llm": evaluator.judge_needs_llm,
        "applies_to_all_tools": evaluator.applies_to_all_tools,
        "surfaces": evaluator.surfaces,
        "turn_mode": evaluator.turn_mode,
        "depends_on": evaluator.depends_on,
        "tags": evaluator.tags,
        "fixtures": entry.fixtures.is_some(),
        "checks": checks.collect::<Vec<_>>(),
        "patterns": patterns.collect::<Vec<_>>(),
    });
    // Most have neither, and catalogues that were written before stay up to date.
    if let Some(scan_mode) = evaluator.scan_mode {
        written["scan_mode"] = scan_mode.as_str().into();
    }
    if let Some(reason) = evaluator.not_applicable() {
        written["not_applicable"] = reason.into();
    }
    written
}
