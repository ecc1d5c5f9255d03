//! Parses an evaluator.

use sortie_syntax::yaml::{Entry, Node, NodeKind};
use sortie_syntax::{Diagnostic, Field, Reader, Span, is_null};

use super::check::{check, together};
use super::fields::{Mapping, kebab_case, list, name, no_name_twice, no_word_twice, parsed, text, value_at};
use super::pattern::pattern;
use super::standards::{is_refused, standards};
use crate::limits::{MAX_CHECKS, MAX_LISTED, MAX_PATTERNS, MAX_TEXT_BYTES};
use crate::model::{Check, Evaluator, Pattern, Severity, Standards, Surface, TargetClass, TurnMode};
use crate::rules::{e004, e006, e007, e015, e019, e028, e103, e104, e108, e110, e111};

const EVALUATOR: Mapping = Mapping {
    what: "an evaluator",
    form: "an evaluator",
    fields: &[
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
    ],
    required: &[
        ("id", "say what it is called in kebab-case, such as `id: path-escape`"),
        ("name", "say what people call it"),
        ("severity", "say how bad it is: `critical`, `high`, `medium` or `low`"),
        ("pass_criteria", "say what a target that resists does"),
        ("fail_criteria", "say what a target that gives in does"),
    ],
};

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

/// What could be parsed of an evaluator.
#[derive(Clone, Debug)]
pub struct ParsedEvaluator {
    /// The evaluator; `None` where there are errors.
    pub evaluator: Option<Evaluator>,
    /// Its id, also where there are errors elsewhere.
    pub id: Option<String>,
    /// The catalogue it belongs to.
    pub class: TargetClass,
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
    /// The name of each check.
    pub checks: Vec<Span>,
}

/// Parses an evaluator. `folder` is the catalogue whose folder it lies in, where it lies in one.
pub fn parse_evaluator(text: &str, layout: Layout, folder: Option<TargetClass>) -> ParsedEvaluator {
    let (draft, mut diagnostics) = parsed(text, |reader, node| draft(reader, node, layout, folder));
    let draft = draft.flatten().unwrap_or_default();
    let sound = !diagnostics.iter().any(Diagnostic::is_error);
    let (id, class, places) = (draft.id.clone(), draft.class(folder), draft.places.clone());
    let evaluator = draft.finish().filter(|_| sound);
    if let Some(evaluator) = evaluator.as_ref().filter(|evaluator| !evaluator.patterns.is_empty()) {
        diagnostics.extend(e111::check(evaluator, &places));
        Diagnostic::sort(&mut diagnostics);
    }
    ParsedEvaluator { evaluator, id, class, places, diagnostics }
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
    fn class(&self, folder: Option<TargetClass>) -> TargetClass {
        match folder {
            Some(class) => class,
            None if self.surfaces == [Surface::Mcp] => TargetClass::Mcp,
            None => TargetClass::Agent,
        }
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
    folder: Option<TargetClass>,
) -> Option<Draft> {
    let entries = reader.mapping(node, EVALUATOR.form)?;
    let has = |field: &str| reader.tree().entry(node.id, field).is_some();
    if let Some(finding) = e019::something_else(has, reader.headline(node)) {
        reader.report(|_| finding);
        return None;
    }
    let mut draft = Draft::default();
    let mut patterns = None;
    for entry in entries {
        if is_refused(reader, *entry) {
            continue;
        }
        let Field::Known(field) = reader.field(entries, *entry, EVALUATOR.what, EVALUATOR.fields, false)
        else {
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
    let class = draft.class(folder);
    if let Some(entry) = patterns {
        draft.patterns(reader, entry, class);
    }
    EVALUATOR.require(reader, node, &draft.given);
    one_layout(reader, node, patterns, layout);
    draft.agreement(reader, node, entries, folder);
    Some(draft)
}

/// The patterns are in one place, and there are some.
fn one_layout<'t>(reader: &mut Reader<'t>, node: Node<'t>, patterns: Option<Entry>, layout: Layout) {
    let elsewhere = layout == Layout::Folder { pattern_files: true };
    let Some(entry) = patterns else {
        if !elsewhere {
            let at = reader.headline(node);
            reader.report(|_| e006::missing(layout, at));
        }
        return;
    };
    let at = reader.tree().node(entry.key).span;
    let value = reader.tree().node(entry.value);
    if elsewhere {
        reader.report(|_| e007::two_layouts(at));
    } else if matches!(value.kind, NodeKind::Sequence([])) || is_null(value) {
        reader.report(|_| e006::empty(at));
    }
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
                self.severity = reader
                    .under(entry, |reader, node| e004::word(reader, node, "a severity", Severity::WORDS));
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
                    e004::word(reader, item, "a surface", Surface::WORDS)
                });
                no_word_twice(reader, &words);
                self.surfaces = words.into_iter().map(|(word, _)| word).collect();
            }
            "turn_mode" => {
                self.turn_mode = reader
                    .under(entry, |reader, node| e004::word(reader, node, "a turn mode", TurnMode::WORDS));
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
                (self.checks, self.places.checks) = checks.into_iter().map(|(check, _)| check).unzip();
                together(reader, entry, &self.checks);
            }
            _ => {}
        }
    }

    fn patterns(&mut self, reader: &mut Reader<'_>, entry: Entry, class: TargetClass) {
        let patterns = list(reader, entry, "a list of patterns", MAX_PATTERNS, |reader, item| {
            pattern(reader, item, class, None)
        });
        let names = patterns.iter().map(|((pattern, at), _)| (pattern.name.as_str(), *at));
        no_name_twice(reader, "patterns", names);
        (self.patterns, self.places.patterns) = patterns.into_iter().map(|(pattern, _)| pattern).unzip();
    }

    /// What its fields must say together, and with the folder it lies in.
    fn agreement<'t>(
        &self,
        reader: &mut Reader<'t>,
        node: Node<'t>,
        entries: &[Entry],
        folder: Option<TargetClass>,
    ) {
        let key_at = |reader: &Reader<'t>, field: &str| {
            let entry = entries.iter().find(|entry| reader.tree().key(**entry) == field);
            entry.map(|entry| reader.tree().node(entry.key).span)
        };
        if !self.given.contains(&"description") {
            let at = reader.headline(node);
            reader.warn(|_| e103::no_description(at));
        }
        if self.applies_to_all_tools.is_some()
            && self.class(folder) == TargetClass::Agent
            && let Some(at) = key_at(reader, "applies_to_all_tools")
        {
            reader.report(|_| e015::no_tools(at));
        }
        if let Some(at) = key_at(reader, "surfaces")
            && let Some(finding) = e108::check(&self.surfaces, folder, at)
        {
            reader.warn(|_| finding);
        }
        if self.judge_needs_llm == Some(false)
            && let Some(at) = key_at(reader, "judge_needs_llm")
            && let Some(finding) = e104::check(&self.checks, at).or_else(|| e110::check(&self.checks, at))
        {
            reader.warn(|_| finding);
        }
    }
}

fn schema_version(reader: &mut Reader<'_>, entry: Entry) {
    let version = reader.under(entry, Reader::integer);
    if let Some(version) = version.filter(|version| *version != 1) {
        let at = value_at(reader, entry);
        reader.report(|_| e028::unknown_version(version, at));
    }
}
