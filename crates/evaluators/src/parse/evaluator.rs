//! Parses an evaluator.

use sortie_syntax::yaml::{Entry, Node, NodeKind};
use sortie_syntax::{Diagnostic, Reader, Span, is_null};

use super::check::{check, together};
use super::fields::{
    Mapping, join, kebab_case, list, name, no_name_twice, parsed, refuse, report_key, text, value_at, word,
    words,
};
use super::foreign::{is_unused, mcp_top_10};
use super::pattern::pattern;
use super::standards::{is_refused, standards};
use crate::limits::{MAX_CHECKS, MAX_PATTERNS, MAX_TEXT_BYTES};
use crate::model::{Evaluator, ScanMode, Severity, Surface, TargetClass, TurnMode};
use crate::rules::foreign as rules;
use crate::rules::{checks, fields, files, patterns};

const EVALUATOR: Mapping = Mapping {
    what: "an evaluator",
    form: "an evaluator",
    fields: &[
        "schema_version",
        "id",
        "name",
        "severity",
        "standards",
        "cwe",
        "remedy",
        "description",
        "pass_criteria",
        "fail_criteria",
        "judge_hint",
        "judge_needs_llm",
        "applies_to_all_tools",
        "surfaces",
        "scan_mode",
        "correlates_with",
        "untestable_reason",
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
    let class = draft.class(folder);
    let Draft { evaluator, places, .. } = draft;
    let id = Some(evaluator.id.clone()).filter(|id| !id.is_empty());
    let evaluator = Some(evaluator).filter(|_| !diagnostics.iter().any(Diagnostic::is_error));
    if let Some(evaluator) = evaluator.as_ref().filter(|evaluator| !evaluator.patterns.is_empty()) {
        diagnostics.extend(checks::unknown_placeholders(evaluator, &places));
        Diagnostic::sort(&mut diagnostics);
    }
    ParsedEvaluator { evaluator, id, class, places, diagnostics }
}

/// What was read so far. Whatever it lacks is reported, so without errors the evaluator is complete.
#[derive(Default)]
struct Draft {
    evaluator: Evaluator,
    places: Places,
    given: Vec<&'static str>,
    says_which_tools: bool,
}

impl Draft {
    /// Where no folder says it, `surfaces: [mcp]` does.
    fn class(&self, folder: Option<TargetClass>) -> TargetClass {
        match folder {
            Some(class) => class,
            None if self.evaluator.surfaces == [Surface::Mcp] => TargetClass::Mcp,
            None => TargetClass::Agent,
        }
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
    if let Some(finding) = files::something_else(has, reader.headline(node)) {
        reader.report(|_| finding);
        return None;
    }
    let mut draft = Draft::default();
    draft.evaluator.judge_needs_llm = true;
    let (mut patterns, mut others) = (None, Vec::new());
    for entry in entries {
        if is_refused(reader, *entry) {
            continue;
        }
        if is_foreign(reader.tree().key(*entry)) {
            others.push(*entry);
            continue;
        }
        let Some(field) = EVALUATOR.field(reader, entries, *entry) else { continue };
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
    for entry in others {
        draft.foreign(reader, entries, entry);
    }
    EVALUATOR.require(reader, node, &draft.given);
    // Where nothing can be played, there need not be anything to play.
    if draft.evaluator.not_applicable().is_none() || layout == (Layout::Folder { pattern_files: true }) {
        one_layout(reader, node, patterns, layout);
    }
    draft.agreement(reader, node, entries, folder);
    draft.scans(reader, entries, patterns, layout);
    Some(draft)
}

/// The patterns are in one place, and there are some.
fn one_layout<'t>(reader: &mut Reader<'t>, node: Node<'t>, list: Option<Entry>, layout: Layout) {
    let elsewhere = layout == Layout::Folder { pattern_files: true };
    let Some(entry) = list else {
        if !elsewhere {
            refuse::<()>(reader, node, |at| patterns::missing_list(layout, at));
        }
        return;
    };
    let value = reader.tree().node(entry.value);
    if elsewhere {
        report_key(reader, entry, patterns::two_layouts);
    } else if matches!(value.kind, NodeKind::Sequence([])) || is_null(value) {
        report_key(reader, entry, patterns::empty_list);
    }
}

impl Draft {
    fn field(&mut self, reader: &mut Reader<'_>, entry: Entry, field: &str) {
        let Self { evaluator, places, .. } = self;
        let long_text = |reader: &mut Reader<'_>| text(reader, entry, MAX_TEXT_BYTES);
        match field {
            "schema_version" => schema_version(reader, entry),
            "id" => {
                places.id = Some(value_at(reader, entry));
                let id = reader.under(entry, |reader, node| kebab_case(reader, node, "an id"));
                evaluator.id = id.unwrap_or_default();
            }
            "name" => evaluator.name = name(reader, entry).unwrap_or_default(),
            "severity" => {
                let severity = word(reader, entry, "a severity", Severity::WORDS);
                evaluator.severity = severity.unwrap_or_default();
            }
            "standards" if reader.is_given(entry) => evaluator.standards = reader.under(entry, standards),
            "cwe" => evaluator.cwe = reader.under(entry, cwe),
            "remedy" => evaluator.remedy = long_text(reader),
            "description" => evaluator.description = long_text(reader),
            "pass_criteria" => evaluator.pass_criteria = long_text(reader).unwrap_or_default(),
            "fail_criteria" => evaluator.fail_criteria = long_text(reader).unwrap_or_default(),
            "judge_hint" => join(&mut evaluator.judge_hint, long_text(reader)),
            "judge_needs_llm" => {
                evaluator.judge_needs_llm = reader.under(entry, Reader::boolean).unwrap_or(true);
            }
            "applies_to_all_tools" => {
                let applies = reader.under(entry, Reader::boolean);
                self.says_which_tools = applies.is_some();
                evaluator.applies_to_all_tools = applies.unwrap_or_default();
            }
            "surfaces" => {
                let (surfaces, _): (Vec<Surface>, _) =
                    words(reader, entry, "a list of surfaces", |reader, item| {
                        fields::word(reader, item, "a surface", Surface::WORDS)
                    });
                evaluator.surfaces.extend(surfaces);
                evaluator.surfaces.dedup();
            }
            "scan_mode" => evaluator.scan_mode = word(reader, entry, "a scan mode", ScanMode::WORDS),
            "correlates_with" => {
                let id = reader.under(entry, |reader, node| kebab_case(reader, node, "an id"));
                evaluator.correlates_with = id;
            }
            "untestable_reason" => evaluator.untestable_reason = long_text(reader),
            "turn_mode" => evaluator.turn_mode = word(reader, entry, "a turn mode", TurnMode::WORDS),
            "depends_on" => {
                let (ids, at) =
                    words(reader, entry, "a list of ids", |reader, item| kebab_case(reader, item, "an id"));
                evaluator.depends_on.extend(ids);
                places.depends_on.extend(at);
            }
            "tags" => {
                let tags =
                    words(reader, entry, "a list of tags", |reader, item| kebab_case(reader, item, "a tag"));
                (evaluator.tags, _) = tags;
            }
            "checks" => {
                let checks = list(reader, entry, "a list of checks", MAX_CHECKS, check);
                let names = checks.iter().map(|(check, at)| (check.name.as_str(), *at));
                no_name_twice(reader, "checks", names);
                (evaluator.checks, places.checks) = checks.into_iter().unzip();
                together(reader, entry, &evaluator.checks);
            }
            _ => {}
        }
    }

    fn patterns(&mut self, reader: &mut Reader<'_>, entry: Entry, class: TargetClass) {
        let patterns = list(reader, entry, "a list of patterns", MAX_PATTERNS, |reader, item| {
            pattern(reader, item, class, None)
        });
        let names = patterns.iter().map(|(pattern, at)| (pattern.name.as_str(), *at));
        no_name_twice(reader, "patterns", names);
        (self.evaluator.patterns, self.places.patterns) = patterns.into_iter().unzip();
    }

    /// What its fields must say together, and with the folder it lies in.
    fn agreement<'t>(
        &self,
        reader: &mut Reader<'t>,
        node: Node<'t>,
        entries: &[Entry],
        folder: Option<TargetClass>,
    ) {
        let entry = |field: &str| entries.iter().find(|entry| reader.tree().key(**entry) == field).copied();
        let [applies, surfaces, needs_llm] =
            ["applies_to_all_tools", "surfaces", "judge_needs_llm"].map(entry);
        if !self.given.contains(&"description") {
            let at = reader.headline(node);
            reader.warn(|_| fields::no_description(at));
        }
        if let Some(entry) = applies
            && self.says_which_tools
            && self.class(folder) == TargetClass::Agent
        {
            report_key(reader, entry, fields::no_tools);
        }
        let key_at = |entry: Entry| reader.tree().node(entry.key).span;
        let contradiction = surfaces.zip(folder).and_then(|(entry, folder)| {
            fields::other_surfaces(&self.evaluator.surfaces, folder, key_at(entry))
        });
        let broken_promise = needs_llm
            .filter(|_| !self.evaluator.judge_needs_llm && self.evaluator.not_applicable().is_none())
            .and_then(|entry| checks::broken_promise(&self.evaluator.checks, key_at(entry)));
        for finding in contradiction.into_iter().chain(broken_promise) {
            reader.warn(|_| finding);
        }
    }

    /// A field that is not one of ours.
    fn foreign(&mut self, reader: &mut Reader<'_>, entries: &[Entry], entry: Entry) {
        if !is_unused(reader, entry, self.evaluator.reads_source()) {
            mcp_top_10(reader, entries, entry, &mut self.evaluator.standards);
        }
    }

    /// What is looked at in place of answers, and whether anything is played.
    fn scans(&self, reader: &mut Reader<'_>, entries: &[Entry], patterns: Option<Entry>, layout: Layout) {
        let evaluator = &self.evaluator;
        let tree = reader.tree();
        let find = |key: &str| entries.iter().find(|entry| tree.key(**entry) == key).copied();
        let scan_mode = find("scan_mode").filter(|_| evaluator.scan_mode.is_some());
        let says_so = scan_mode.or(find("surfaces")).or(find("surface"));
        if let Some(entry) = scan_mode
            && evaluator.scan_mode == Some(ScanMode::ToolDescription)
            && evaluator.surfaces == [Surface::Code]
        {
            return report_key(reader, entry, rules::two_scans);
        }
        if evaluator.reads_source() {
            let own = patterns.filter(|_| !evaluator.patterns.is_empty());
            let files = says_so.filter(|_| layout == Layout::Folder { pattern_files: true });
            if let Some(entry) = own.or(files) {
                return report_key(reader, entry, rules::source_with_patterns);
            }
        } else if let Some(entry) = find("correlates_with").filter(|entry| reader.is_given(*entry)) {
            let at = reader.tree().node(entry.key).span;
            reader.warn(|_| rules::unrelated(at));
        }
        let untestable = find("untestable_reason").filter(|_| evaluator.untestable_reason.is_some());
        if let Some((reason, entry)) = evaluator.not_applicable().zip(untestable.or(says_so)) {
            let at = reader.tree().node(entry.key).span;
            reader.warn(|_| rules::not_played(&reason, at));
        }
    }
}

/// Whether a key is one of another tool, and not another name for one of ours.
fn is_foreign(key: &str) -> bool {
    key == rules::MCP_TOP_10 || rules::UNUSED.iter().any(|(unused, _)| *unused == key)
}

/// `CWE-78`.
fn cwe<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<String> {
    let text = reader.string(node)?;
    let number = text.strip_prefix("CWE-").unwrap_or_default();
    if !(1..=5).contains(&number.len()) || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return refuse(reader, node, |at| fields::no_cwe(&text, at));
    }
    Some(text)
}

fn schema_version(reader: &mut Reader<'_>, entry: Entry) {
    let version = reader.under(entry, Reader::integer);
    if let Some(version) = version.filter(|version| *version != 1) {
        let at = value_at(reader, entry);
        reader.report(|_| fields::unknown_version(version, at));
    }
}
