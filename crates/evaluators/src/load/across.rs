//! What no file can say alone: ids that are used twice, dependencies, suites.

use std::collections::HashMap;

use sortie_oatf::Diagnostic;

use super::Loading;
use crate::catalogue::{MOST_SUGGESTIONS, Unknown};
use crate::depends;
use crate::limits::MAX_ALL_FINDINGS;
use crate::read::IncludeKind;
use crate::rules::{error, optionally_at};
use crate::suites::{self, Curated, SuiteFault};

impl Loading<'_> {
    /// Of two evaluators with the same id, the second is reported and does not load.
    pub(super) fn unique_evaluators(&mut self) {
        let mut first: HashMap<String, usize> = HashMap::new();
        for at in 0..self.drafts.len() {
            let draft = &self.drafts[at];
            let Some(id) = draft.id.clone() else { continue };
            let Some(earlier) = first.get(&id).map(|earlier| &self.drafts[*earlier]) else {
                first.insert(id, at);
                continue;
            };
            let finding = error("E-002", format!("two evaluators have the id `{id}`"))
                .label("second use")
                .help(format!("the other is `{}`", self.place(earlier.file, earlier.places.id)))
                .help("ids are unique over `agent/`, `mcp/` and all folders that are loaded together");
            self.add(draft.file, [optionally_at(finding, draft.places.id)]);
            self.reject(at);
        }
    }

    /// A suite has an id that is neither another's nor one that follows from a standard.
    pub(super) fn unique_suites(&mut self) {
        let mut kept: Vec<(super::FileId, Curated)> = Vec::new();
        let mut first: HashMap<String, usize> = HashMap::new();
        for (file, curated) in std::mem::take(&mut self.curated) {
            let suite = &curated.suite;
            let finding = if suites::is_derived(&suite.id) {
                error("E-023", format!("`{}` is a suite that follows from `standards`", suite.id))
                    .help("call yours something else; it may include that one")
            } else if let Some(earlier) = first.get(&suite.id) {
                let (other, Curated { suite: earlier, .. }) = &kept[*earlier];
                error("E-023", format!("two suites have the id `{}`", suite.id))
                    .label("second use")
                    .help(format!("the other is `{}`", self.place(*other, Some(earlier.id_at))))
            } else {
                first.insert(suite.id.clone(), kept.len());
                kept.push((file, curated));
                continue;
            };
            self.add(file, [finding.at(suite.id_at)]);
        }
        self.curated = kept;
    }

    /// Every evaluator depends on evaluators, and none on itself.
    pub(super) fn dependencies(&mut self) {
        let mut order: Vec<usize> =
            (0..self.drafts.len()).filter(|at| self.drafts[*at].evaluator.is_some()).collect();
        order.sort_by(|a, b| self.drafts[*a].id.cmp(&self.drafts[*b].id));
        let mut findings = self.unknown_dependencies(&order);
        findings.extend(self.cycles(&order));
        for (at, finding) in findings {
            let file = self.drafts[at].file;
            self.add(file, [finding]);
            self.reject(at);
        }
    }

    fn unknown_dependencies(&self, order: &[usize]) -> Vec<(usize, Diagnostic)> {
        let ids = || order.iter().filter_map(|at| self.drafts[*at].id.as_deref());
        let known: std::collections::HashSet<&str> = ids().collect();
        let mut findings = Vec::new();
        for at in order {
            let draft = &self.drafts[*at];
            let depends_on = draft.evaluator.iter().flat_map(|evaluator| &evaluator.depends_on);
            for (id, span) in depends_on.zip(&draft.places.depends_on) {
                if known.contains(id.as_str()) || self.broken.evaluators.contains(id) {
                    continue;
                }
                let finding = error("E-016", format!("there is no evaluator `{id}` to depend on")).at(*span);
                let suggests = findings.len() < MOST_SUGGESTIONS;
                let finding = match suggests.then(|| Unknown::new("evaluator", id, ids()).nearest).flatten() {
                    Some(meant) => finding
                        .label(format!("did you mean `{meant}`?"))
                        .help("name the id of an evaluator, as it is written there"),
                    None => finding.help("name the id of an evaluator that is loaded too, or remove it"),
                };
                findings.push((*at, finding));
                if findings.len() > MAX_ALL_FINDINGS {
                    return findings;
                }
            }
        }
        findings
    }

    fn cycles(&self, order: &[usize]) -> Vec<(usize, Diagnostic)> {
        let graph: Vec<(&str, &[String])> = order
            .iter()
            .filter_map(|at| self.drafts[*at].evaluator.as_ref())
            .map(|evaluator| (evaluator.id.as_str(), evaluator.depends_on.as_slice()))
            .collect();
        let findings = depends::cycles(&graph).into_iter().map(|cycle| {
            // The graph has the same order, and as many members.
            let at = order[cycle.last];
            let finding =
                error("E-017", format!("these evaluators wait for each other: {}", way(&cycle.ids)))
                    .help("remove one of these dependencies: nothing can run first");
            (at, optionally_at(finding, self.drafts[at].places.depends_on.get(cycle.closes).copied()))
        });
        findings.collect()
    }
}

fn way(ids: &[String]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(" → ")
}

/// What to say about a suite.
pub(super) fn suite_fault(curated: &Curated, fault: SuiteFault<'_>) -> Diagnostic {
    match fault {
        SuiteFault::Unknown(include, nearest) => {
            let what = match include.kind {
                IncludeKind::Tag => format!("nothing has the tag `{}`", include.name),
                kind => format!("there is no {kind} `{}`", include.name),
            };
            let finding = error("E-024", what).at(include.span);
            match nearest {
                Some(meant) => finding
                    .label(format!("did you mean `{meant}`?"))
                    .help("a suite that names nothing would look larger than it is"),
                None => finding.help("name something that is loaded too, or remove it"),
            }
        }
        SuiteFault::Cycle(include, ids) => {
            error("E-026", format!("these suites include each other: {}", way(&ids)))
                .at(include.span)
                .help("remove one of these: a suite cannot be a part of itself")
        }
        SuiteFault::Empty => error("E-025", format!("nothing is in the suite `{}`", curated.suite.id))
            .at(curated.suite.id_at)
            .help("a suite without cases would pass everything: include something"),
    }
}
