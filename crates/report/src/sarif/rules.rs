//! Documents and evaluators as rules, and the frameworks that they are mapped to as taxonomies.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};
use sortie_detect::Outcome;
use sortie_evaluators::{Severity, Standard};
use sortie_oatf::frameworks::entry_name;

use super::{KnownRules, plain};
use crate::Report;
use crate::rules::{RuleInfo, rule_id};
use crate::summary::cut;
use crate::text::markup::prose;
use crate::text::{line, visible};

/// GitHub refuses more.
pub(super) const MAX_TAGS: usize = 10;

/// GitHub cuts descriptions there.
const MAX_DESCRIPTION: usize = 1000;

/// The frameworks that are taxonomies of the log.
const TAXONOMIES: [Standard; 4] =
    [Standard::OwaspLlm, Standard::OwaspMcp, Standard::OwaspAgentic, Standard::Atlas];

/// The rules of a report, in the order of their ids.
pub(super) struct Rules {
    infos: Vec<RuleInfo>,
    indices: HashMap<String, usize>,
    /// The taxonomies that a rule is mapped to, with their entries: all of them where their list is closed, else those that are
    /// used.
    taxonomies: Vec<(Standard, Vec<String>)>,
}

impl Rules {
    pub(super) fn new(report: &Report, known: &KnownRules<'_>) -> Self {
        let mut rules: BTreeMap<&str, RuleInfo> = BTreeMap::new();
        for run in &report.runs {
            let id = rule_id(run);
            let rule = rules.entry(id).or_insert_with(|| match known.get(id) {
                Some(known) => (*known).clone(),
                None => of_outcome(id, run),
            });
            // The worst of its cases, where nobody knows the rule. Severities are ordered from worst to least.
            rule.severity = rule.severity.into_iter().chain(run.verdict.severity).min();
        }
        let indices = rules.keys().enumerate().map(|(at, id)| ((*id).to_owned(), at)).collect();
        let infos: Vec<_> = rules.into_values().collect();
        let taxonomies = TAXONOMIES.into_iter().filter_map(|standard| {
            let used = infos.iter().flat_map(|rule| &rule.entries).filter(|(own, _)| *own == standard);
            let used: BTreeSet<String> = used.map(|(_, entry)| entry.clone()).collect();
            let all = (!used.is_empty()).then(|| standard.entries().chain(used).collect::<BTreeSet<_>>())?;
            Some((standard, all.into_iter().collect()))
        });
        let taxonomies = taxonomies.collect();
        Self { infos, indices, taxonomies }
    }

    pub(super) fn index(&self, id: &str) -> Option<usize> {
        self.indices.get(id).copied()
    }

    pub(super) fn severity(&self, id: &str) -> Option<Severity> {
        self.infos[self.index(id)?].severity
    }

    /// The rules as SARIF describes them.
    pub(super) fn descriptors(&self) -> Vec<Value> {
        self.infos.iter().map(|rule| self.descriptor(rule)).collect()
    }

    fn descriptor(&self, rule: &RuleInfo) -> Value {
        let description = rule.description.as_deref().map_or(rule.name.as_str(), str::trim);
        let mut properties = json!({ "tags": tags(rule) });
        if let Some(severity) = rule.severity {
            properties["security-severity"] = security_severity(severity).into();
            properties["problem.severity"] = problem_severity(severity).into();
        }
        let mut descriptor = json!({
            "id": line(&rule.id),
            "name": cut(&line(&rule.name), 200),
            "shortDescription": { "text": plain(&cut(&line(&rule.name), MAX_DESCRIPTION)) },
            "fullDescription": { "text": plain(&cut(&line(description), MAX_DESCRIPTION)) },
            "help": { "text": plain(&visible(&help_text(rule))), "markdown": help_markdown(rule) },
            "defaultConfiguration": { "level": level(rule.severity) },
            "properties": properties,
        });
        let related: Vec<_> = rule.entries.iter().filter_map(|entry| self.relationship(entry)).collect();
        if !related.is_empty() {
            descriptor["relationships"] = related.into();
        }
        descriptor
    }

    fn relationship(&self, (standard, entry): &(Standard, String)) -> Option<Value> {
        let index = self.taxonomies.iter().position(|(used, _)| used == standard)?;
        let taxon = self.taxonomies[index].1.binary_search(entry).ok()?;
        Some(json!({
            "target": {
                "id": line(entry),
                "index": taxon,
                "toolComponent": { "name": standard.name(), "index": index },
            },
            "kinds": ["relevant"],
        }))
    }

    /// What the tool says that it knows.
    pub(super) fn supported(&self) -> Vec<Value> {
        let named = self.taxonomies.iter().enumerate();
        named.map(|(index, (standard, _))| json!({ "name": standard.name(), "index": index })).collect()
    }

    /// The taxonomies as SARIF describes them.
    pub(super) fn taxonomy_components(&self) -> Vec<Value> {
        let component = |(standard, taxa): &(Standard, Vec<String>)| {
            let taxa = taxa.iter().map(|entry| {
                let name = entry_name(standard.framework(), entry);
                let name = name.map_or_else(|| line(entry), |name| format!("{}: {name}", line(entry)));
                json!({ "id": line(entry), "shortDescription": { "text": plain(&name) } })
            });
            json!({
                "name": standard.name(),
                "organization": if *standard == Standard::Atlas { "MITRE" } else { "OWASP" },
                "shortDescription": { "text": standard.name() },
                "isComprehensive": standard.entries().next().is_some(),
                "taxa": taxa.collect::<Vec<_>>(),
            })
        };
        self.taxonomies.iter().map(component).collect()
    }
}

/// What an outcome says about its rule, where nobody else knows it.
fn of_outcome(id: &str, run: &Outcome) -> RuleInfo {
    let name = run.document().map_or(id, |document| &document.name);
    RuleInfo { name: name.to_owned(), severity: run.verdict.severity, ..RuleInfo::new(id) }
}

/// What is filtered by: the frameworks first, since they are what people ask for.
fn tags(rule: &RuleInfo) -> Vec<String> {
    let entries = rule.entries.iter().map(|(standard, entry)| format!("{standard}/{entry}"));
    let all = ["security".to_owned()].into_iter().chain(entries).chain(rule.tags.iter().cloned());
    let mut tags: Vec<String> = Vec::new();
    for tag in all.map(|tag| cut(&line(&tag), 100)) {
        if tags.len() < MAX_TAGS && !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

fn help_text(rule: &RuleInfo) -> String {
    let description = rule.description.as_deref().unwrap_or_default().trim();
    let criteria =
        rule.fail_criteria.as_deref().map(|text| format!("The target gives in when: {}", text.trim()));
    let entries: Vec<_> = rule.entries.iter().map(entry_words).collect();
    let mapped = (!entries.is_empty()).then(|| format!("Mapped to {}.", entries.join("; ")));
    let run = format!("Play it again: sortie run {}", rule.id);
    let parts = [Some(rule.name.clone()), Some(description.to_owned()), criteria, mapped, Some(run)];
    let parts: Vec<_> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    cut(&parts.join("\n\n"), 8 * MAX_DESCRIPTION)
}

fn help_markdown(rule: &RuleInfo) -> String {
    let paragraphs: Vec<_> = help_text(rule).split("\n\n").map(prose).collect();
    paragraphs.join("\n\n")
}

fn entry_words((standard, entry): &(Standard, String)) -> String {
    match entry_name(standard.framework(), entry) {
        Some(name) => format!("{} {entry} ({name})", standard.name()),
        None => format!("{} {entry}", standard.name()),
    }
}

/// How a finding of this severity counts.
pub(super) fn level(severity: Option<Severity>) -> &'static str {
    match severity {
        Some(Severity::Critical | Severity::High) => "error",
        Some(Severity::Medium) | None => "warning",
        Some(Severity::Low) => "note",
    }
}

/// A number as GitHub sorts them into critical, high, medium and low.
fn security_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "2.0",
    }
}

fn problem_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "recommendation",
    }
}
