//! Reads an evaluator.

use sortie_oatf::reading::{Field, Reader, is_null};
use sortie_oatf::yaml::{Entry, Node};
use sortie_oatf::{Diagnostic, Span};

use super::check::check;
use super::pattern::pattern;
use super::standards::{REFUSED, refused, standards};
use super::words::{kebab_case, list, name, no_name_twice, no_word_twice, parsed, text, value_at};
use crate::checks::test_placeholders;
use crate::limits::{MAX_CHECKS, MAX_LISTED, MAX_PATTERNS, MAX_TEXT_BYTES};
use crate::model::{Check, Evaluator, Pattern, Says, Severity, Shelf, Standards, Surface, TurnMode};
use crate::rules::{error, warning};
use crate::template::RUNNER_NAMES;

const EVALUATOR: &[&str] = &[
    "schema_version",
    "id",
    "name",
    "severity",
    "standards",
    "description",
    "pass_criteria",
    "fail_criteria",
    "judge_hint",
    "judge_needs_llm",
    "applies_to_all_tools",
    "surfaces",
    "turn_mode",
    "depends_on",
    "tags",
    "checks",
    "patterns",
];

/// Where the patterns of an evaluator are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `<id>.yaml`: in the file itself.
    Flat,
    /// `<id>/evaluator.yaml`: in the file itself, or in files of their own.
    Folder {
        /// Whether there are files in `patterns/`.
        pattern_files: bool,
    },
}

/// What could be read of an evaluator.
#[derive(Clone, Debug)]
pub struct EvaluatorRead {
    /// The evaluator; `None` where there are errors.
    pub evaluator: Option<Evaluator>,
    /// Its id, also where there are errors elsewhere.
    pub id: Option<String>,
    /// The catalogue it belongs to.
    pub shelf: Shelf,
    /// Where in its file things stand that other files have a say in.
    pub places: Places,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Where things stand in the file of an evaluator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The id.
    pub id: Option<Span>,
    /// Each of `depends_on`.
    pub depends_on: Vec<Span>,
    /// The name of each pattern.
    pub patterns: Vec<Span>,
}

/// Reads an evaluator. `folder` is the catalogue whose folder it lies in, where it lies in one.
pub fn read_evaluator(text: &str, layout: Layout, folder: Option<Shelf>) -> EvaluatorRead {
    let (draft, diagnostics) = parsed(text, |reader, node| draft(reader, node, layout, folder));
    let draft = draft.flatten().unwrap_or_default();
    let sound = !diagnostics.iter().any(Diagnostic::is_error);
    let (id, shelf, places) = (draft.id.clone(), draft.shelf(folder), draft.places.clone());
    EvaluatorRead { evaluator: draft.finish().filter(|_| sound), id, shelf, places, diagnostics }
}

#[derive(Default)]
struct Draft {
    id: Option<String>,
    name: Option<String>,
    severity: Option<Severity>,
    standards: Standards,
    description: Option<String>,
    pass_criteria: Option<String>,
    fail_criteria: Option<String>,
    judge_hint: Option<String>,
    judge_needs_llm: Option<bool>,
    applies_to_all_tools: Option<bool>,
    surfaces: Vec<Surface>,
    turn_mode: Option<TurnMode>,
    depends_on: Vec<String>,
    tags: Vec<String>,
    checks: Vec<Check>,
    patterns: Vec<Pattern>,
    places: Places,
    given: Vec<&'static str>,
}

impl Draft {
    /// Where no folder says it, `surfaces: [mcp]` does.
    fn shelf(&self, folder: Option<Shelf>) -> Shelf {
        match folder {
            Some(shelf) => shelf,
            None if self.surfaces == [Surface::Mcp] => Shelf::Mcp,
            None => Shelf::Agent,
        }
    }

    fn has(&self, field: &str) -> bool {
        self.given.contains(&field)
    }

    fn finish(self) -> Option<Evaluator> {
        Some(Evaluator {
            id: self.id?,
            name: self.name?,
            severity: self.severity?,
            standards: self.standards,
            description: self.description,
            pass_criteria: self.pass_criteria?,
            fail_criteria: self.fail_criteria?,
            judge_hint: self.judge_hint,
            judge_needs_llm: self.judge_needs_llm.unwrap_or(true),
            applies_to_all_tools: self.applies_to_all_tools.unwrap_or(false),
            surfaces: self.surfaces,
            turn_mode: self.turn_mode,
            depends_on: self.depends_on,
            tags: self.tags,
            checks: self.checks,
            patterns: self.patterns,
        })
    }
}

fn draft<'t>(
    reader: &mut Reader<'t>,
    node: Node<'t>,
    layout: Layout,
    folder: Option<Shelf>,
) -> Option<Draft> {
    let entries = reader.mapping(node, "an evaluator")?;
    let mut draft = Draft::default();
    let mut patterns = None;
    for entry in entries {
        if REFUSED.contains(&reader.tree().key(*entry)) {
            refused(reader, *entry);
            continue;
        }
        let Field::Known(field) = reader.field(entries, *entry, "an evaluator", EVALUATOR, false) else {
            continue;
        };
        if reader.is_given(*entry) {
            draft.given.push(field);
        }
        match field {
            // How its templates are read depends on its surfaces.
            "patterns" => patterns = Some(*entry),
            _ => draft.field(reader, *entry, field),
        }
    }
    let shelf = draft.shelf(folder);
    if let Some(entry) = patterns {
        draft.patterns(reader, entry, shelf);
    }
    draft.required(reader, node);
    draft.layout(reader, node, patterns, layout);
    draft.surface(reader, entries, folder, shelf);
    draft.promises(reader, entries);
    Some(draft)
}

impl Draft {
    fn field(&mut self, reader: &mut Reader<'_>, entry: Entry, field: &str) {
        match field {
            "schema_version" => schema_version(reader, entry),
            "id" => {
                self.places.id = Some(value_at(reader, entry));
                self.id = reader.under(entry, |reader, node| kebab_case(reader, node, "an id"));
            }
            "name" => self.name = name(reader, entry),
            "severity" => {
                self.severity = reader.under(entry, |reader, node| {
                    reader.variant(node, "E-004", "a severity", Severity::WORDS)
                });
            }
            "standards" if reader.is_given(entry) => self.standards = reader.under(entry, standards),
            "description" => self.description = text(reader, entry, MAX_TEXT_BYTES),
            "pass_criteria" => self.pass_criteria = text(reader, entry, MAX_TEXT_BYTES),
            "fail_criteria" => self.fail_criteria = text(reader, entry, MAX_TEXT_BYTES),
            "judge_hint" => self.judge_hint = text(reader, entry, MAX_TEXT_BYTES),
            "judge_needs_llm" => self.judge_needs_llm = reader.under(entry, Reader::boolean),
            "applies_to_all_tools" => self.applies_to_all_tools = reader.under(entry, Reader::boolean),
            "surfaces" => {
                let words = list(reader, entry, "a list of surfaces", MAX_LISTED, |reader, item| {
                    reader.variant(item, "E-004", "a surface", Surface::WORDS)
                });
                no_word_twice(reader, &words);
                self.surfaces = words.into_iter().map(|(word, _)| word).collect();
            }
            "turn_mode" => {
                self.turn_mode = reader.under(entry, |reader, node| {
                    reader.variant(node, "E-004", "a turn mode", TurnMode::WORDS)
                });
            }
            "depends_on" => {
                let ids = list(reader, entry, "a list of ids", MAX_LISTED, |reader, item| {
                    kebab_case(reader, item, "an id")
                });
                no_word_twice(reader, &ids);
                (self.depends_on, self.places.depends_on) = ids.into_iter().unzip();
            }
            "tags" => {
                let tags = list(reader, entry, "a list of tags", MAX_LISTED, |reader, item| {
                    kebab_case(reader, item, "a tag")
                });
                no_word_twice(reader, &tags);
                self.tags = tags.into_iter().map(|(tag, _)| tag).collect();
            }
            "checks" => {
                let checks = list(reader, entry, "a list of checks", MAX_CHECKS, check);
                let names = checks.iter().map(|((check, at), _)| (check.name.as_str(), *at));
                no_name_twice(reader, "checks", names);
                self.checks = checks.into_iter().map(|((check, _), _)| check).collect();
            }
            _ => {}
        }
    }

    fn patterns(&mut self, reader: &mut Reader<'_>, entry: Entry, shelf: Shelf) {
        let patterns = list(reader, entry, "a list of patterns", MAX_PATTERNS, |reader, item| {
            pattern(reader, item, shelf, None)
        });
        let names = patterns.iter().map(|((pattern, at), _)| (pattern.name.as_str(), *at));
        no_name_twice(reader, "patterns", names);
        (self.patterns, self.places.patterns) = patterns.into_iter().map(|(pattern, _)| pattern).unzip();
    }

    fn required<'t>(&mut self, reader: &mut Reader<'t>, node: Node<'t>) {
        for (field, help) in [
            ("id", "say what it is called in kebab-case, such as `id: path-escape`"),
            ("name", "say what people call it"),
            ("severity", "say how bad it is: `critical`, `high`, `medium` or `low`"),
            ("pass_criteria", "say what a target that resists does"),
            ("fail_criteria", "say what a target that gives in does"),
        ] {
            if !self.has(field) {
                reader.missing(node, "P-010", "an evaluator", field, help);
            }
        }
        if !self.has("description") {
            let at = reader.headline(node);
            reader.warn(|_| {
                warning("E-103", "nothing says what this evaluator is about")
                    .at(at)
                    .label("no `description` here")
                    .help("say it in one line: `description: …`; lists, judges and reports show it")
            });
        }
    }

    fn layout<'t>(&self, reader: &mut Reader<'t>, node: Node<'t>, patterns: Option<Entry>, layout: Layout) {
        let elsewhere = layout == Layout::Folder { pattern_files: true };
        match patterns {
            Some(entry) if elsewhere => {
                let at = reader.tree().node(entry.key).span;
                reader.report(|_| {
                    error("E-007", "the patterns are in this file and in `patterns/` as well")
                        .at(at)
                        .label("two layouts at once")
                        .help("move these into files of their own, or those into this list")
                });
            }
            _ if elsewhere => {}
            Some(entry) => {
                let value = reader.tree().node(entry.value);
                let is_empty = match value.kind {
                    sortie_oatf::yaml::NodeKind::Sequence(items) => items.is_empty(),
                    _ => is_null(value),
                };
                if is_empty {
                    let at = reader.tree().node(entry.key).span;
                    reader.report(|_| {
                        error("E-006", "an evaluator needs at least one pattern")
                            .at(at)
                            .label("empty")
                            .help("write `- {name: …, template: …}` for each attack")
                    });
                }
            }
            None => {
                let at = reader.headline(node);
                let help = match layout {
                    Layout::Flat => "write `patterns:` with `- {name: …, template: …}` for each attack",
                    Layout::Folder { .. } => "put each pattern into `patterns/<slug>.yaml`, beside this file",
                };
                reader.report(|_| {
                    error("E-006", "an evaluator needs `patterns`")
                        .at(at)
                        .label("no patterns here")
                        .help(help)
                });
            }
        }
    }

    fn surface(&self, reader: &mut Reader<'_>, entries: &[Entry], folder: Option<Shelf>, shelf: Shelf) {
        let key = |reader: &Reader<'_>, field: &str| {
            let entry = entries.iter().find(|entry| reader.tree().key(**entry) == field);
            entry.map(|entry| reader.tree().node(entry.key).span)
        };
        if self.applies_to_all_tools.is_some()
            && shelf == Shelf::Agent
            && let Some(at) = key(reader, "applies_to_all_tools")
        {
            reader.report(|_| {
                error("E-015", "only evaluators of MCP servers apply to tools")
                    .at(at)
                    .label("this is one of agents")
                    .help("remove it, or put the evaluator under `mcp/`")
            });
        }
        let contradicts = match folder {
            Some(Shelf::Agent) => self.surfaces == [Surface::Mcp],
            Some(Shelf::Mcp) => !self.surfaces.is_empty() && !self.surfaces.contains(&Surface::Mcp),
            None => false,
        };
        if contradicts && let Some(at) = key(reader, "surfaces") {
            reader.warn(|_| {
                warning("E-108", format!("this lies in the folder `{shelf}`, and says something else"))
                    .at(at)
                    .help(format!("the folder decides: name `{shelf}` too, or move the file"))
            });
        }
    }

    /// What `judge_needs_llm: false` promises, the checks must be able to keep.
    fn promises(&self, reader: &mut Reader<'_>, entries: &[Entry]) {
        let key = |reader: &Reader<'_>, field: &str| {
            let entry = entries.iter().find(|entry| reader.tree().key(**entry) == field);
            entry.map(|entry| reader.tree().node(entry.key).span)
        };
        if self.judge_needs_llm == Some(false)
            && let Some(at) = key(reader, "judge_needs_llm")
        {
            if !self.has("checks") || self.checks.is_empty() {
                reader.warn(|_| {
                    warning("E-104", "this promises a verdict without a judge, and has no checks to give one")
                        .at(at)
                        .help("add `checks`, or remove this: its cases are skipped otherwise")
                });
            } else if let Some(missing) =
                Says::ALL.iter().find(|says| self.checks.iter().all(|check| check.says != **says))
            {
                let otherwise = match missing {
                    Says::Pass => "a target that resists stays undecided",
                    Says::Fail => "a target that gives in stays undecided",
                };
                reader.warn(|_| {
                    warning("E-110", format!("no check says `{missing}`: {otherwise}")).at(at).help(format!(
                        "add a check with `says: {missing}`; `cel: 'true'` holds whenever no other decides"
                    ))
                });
            }
        }
        if self.has("patterns") {
            self.unknown_placeholders(reader, entries);
        }
    }

    fn unknown_placeholders(&self, reader: &mut Reader<'_>, entries: &[Entry]) {
        let in_templates = |name: &str| self.patterns.iter().any(|pattern| pattern.template.mentions(name));
        for check in &self.checks {
            for name in test_placeholders(&check.test) {
                if RUNNER_NAMES.contains(&name.as_str()) || in_templates(&name) {
                    continue;
                }
                let entry = entries.iter().find(|entry| reader.tree().key(**entry) == "checks");
                let Some(entry) = entry else { continue };
                let at = reader.tree().node(entry.key).span;
                reader.warn(|_| {
                    warning(
                        "E-111",
                        format!(
                            "the check `{}` looks for `{{{{{name}}}}}`, which no template has",
                            check.name
                        ),
                    )
                    .at(at)
                    .help("nothing that was said holds the value: use it in a template, or remove it")
                });
            }
        }
    }
}

fn schema_version(reader: &mut Reader<'_>, entry: Entry) {
    let version = reader.under(entry, Reader::integer);
    if let Some(version) = version.filter(|version| *version != 1) {
        let at = value_at(reader, entry);
        reader.report(|_| {
            error("E-028", format!("there is no version {version} of evaluators"))
                .at(at)
                .label("this is 1, or left out")
                .help("write `schema_version: 1`")
        });
    }
}
