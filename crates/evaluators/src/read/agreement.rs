//! What the fields of an evaluator must say together, and with the folder it lies in.

use sortie_oatf::reading::{Reader, is_null};
use sortie_oatf::yaml::{Entry, Node, NodeKind};
use std::collections::HashSet;

use sortie_oatf::{Diagnostic, Span};

use super::evaluator::{Draft, Layout, Places};
use crate::model::{Evaluator, Says, Surface, TargetClass};
use crate::rules::{error, warning};
use crate::template::RUNNER_NAMES;

impl Draft {
    pub(super) fn required<'t>(&mut self, reader: &mut Reader<'t>, node: Node<'t>) {
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

    pub(super) fn surface(
        &self,
        reader: &mut Reader<'_>,
        entries: &[Entry],
        folder: Option<TargetClass>,
        class: TargetClass,
    ) {
        if self.applies_to_all_tools.is_some()
            && class == TargetClass::Agent
            && let Some(at) = key_at(reader, entries, "applies_to_all_tools")
        {
            reader.report(|_| {
                error("E-015", "only evaluators of MCP servers apply to tools")
                    .at(at)
                    .label("this is one of agents")
                    .help("remove it, or put the evaluator under `mcp/`")
            });
        }
        let contradicts = match folder {
            Some(TargetClass::Agent) => self.surfaces == [Surface::Mcp],
            Some(TargetClass::Mcp) => !self.surfaces.is_empty() && !self.surfaces.contains(&Surface::Mcp),
            None => false,
        };
        if contradicts && let Some(at) = key_at(reader, entries, "surfaces") {
            reader.warn(|_| {
                warning("E-108", format!("this lies in the folder `{class}`, and says something else"))
                    .at(at)
                    .help(format!("the folder decides: name `{class}` too, or move the file"))
            });
        }
    }

    /// What `judge_needs_llm: false` promises, the checks must be able to keep.
    pub(super) fn promises(&self, reader: &mut Reader<'_>, entries: &[Entry]) {
        if self.judge_needs_llm == Some(false)
            && let Some(at) = key_at(reader, entries, "judge_needs_llm")
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
    }
}

/// The patterns are in one place, and there are some.
pub(super) fn one_layout<'t>(
    reader: &mut Reader<'t>,
    node: Node<'t>,
    patterns: Option<Entry>,
    layout: Layout,
) {
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
                NodeKind::Sequence(items) => items.is_empty(),
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
                error("E-006", "an evaluator needs `patterns`").at(at).label("no patterns here").help(help)
            });
        }
    }
}

/// Where a key of the evaluator stands.
fn key_at(reader: &Reader<'_>, entries: &[Entry], field: &str) -> Option<Span> {
    let entry = entries.iter().find(|entry| reader.tree().key(**entry) == field);
    entry.map(|entry| reader.tree().node(entry.key).span)
}

/// Warns about placeholders of checks that no template has: nothing that was said could hold their values.
pub(crate) fn look_for_templates(evaluator: &Evaluator, places: &Places) -> Vec<Diagnostic> {
    let templates = evaluator.patterns.iter().flat_map(|pattern| pattern.template.placeholders());
    let known: HashSet<&str> = templates.chain(RUNNER_NAMES.iter().copied()).collect();
    let mut findings = Vec::new();
    for (check, at) in evaluator.checks.iter().zip(&places.checks) {
        // One name says enough.
        let unknown = check.test.placeholders().into_iter().find(|name| !known.contains(name.as_str()));
        if let Some(name) = unknown {
            let finding = warning("E-111", format!("no template has `{{{{{name}}}}}`, which this looks for"));
            let help = "use it in a template too, or nothing that was said can hold its value";
            findings.push(finding.at(*at).help(help));
        }
    }
    findings
}
