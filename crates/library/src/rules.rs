//! What is known about the documents and evaluators of a report, and which files of the user's ask for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sortie_evaluators::suites::SuiteOrigin;
use sortie_evaluators::{CatalogueEntry, Severity, Standard};
use sortie_oatf::model::Attack;
use sortie_report::Report;
use sortie_report::rules::RuleInfo;

use crate::{DocumentInput, EvaluatorRoots, EvaluatorSet, documents};

/// What is known about every document and evaluator that a report has cases of. `folders` are those of the user's evaluators.
///
/// A report has to be written whatever became of the files since: what cannot be read is left out.
pub fn rule_infos(report: &Report, folders: &[PathBuf]) -> Vec<RuleInfo> {
    let mut rules: BTreeMap<String, RuleInfo> = BTreeMap::new();
    for document in report.runs.iter().filter_map(|run| run.document()) {
        let id = document.case_id();
        if !rules.contains_key(id)
            && let Some(attack) = load_attack(&document.file)
        {
            rules.insert(id.to_owned(), of_attack(id, &attack));
        }
    }
    // A case that was not played is known by its id alone: that of a document, or one that begins with that of an evaluator.
    let mut unplayed = Vec::new();
    for id in &report.unfinished {
        match documents().iter().find(|own| own.id() == id) {
            Some(own) => {
                let attack = load_attack(&own.name());
                rules.extend(attack.map(|attack| (id.clone(), of_attack(id, &attack))));
            }
            None => unplayed.push(id.split('/').next().unwrap_or(id)),
        }
    }
    let has_evaluators = report.runs.iter().any(|run| run.evaluator().is_some()) || !unplayed.is_empty();
    let evaluators =
        (has_evaluators || !report.suites.is_empty()).then(|| load_evaluators(folders)).flatten();
    let Some(evaluators) = evaluators else { return rules.into_values().collect() };
    let played = report.runs.iter().filter_map(|run| run.evaluator()).map(|case| case.id.as_str());
    for id in played.chain(unplayed) {
        if !rules.contains_key(id)
            && let Some(entry) = evaluators.loaded.catalogue.get(id)
        {
            rules.insert(id.to_owned(), of_evaluator(entry, &evaluators));
        }
    }
    select(report, &evaluators, &mut rules);
    rules.into_values().collect()
}

/// The document of a file, or the one that comes with the program and is called like that.
fn load_attack(file: &str) -> Option<Attack> {
    let bundled = documents().iter().find(|own| own.name() == file).map(DocumentInput::Library);
    let own = Path::new(file).is_file().then(|| DocumentInput::File(file.into()));
    own.or(bundled)?.load().ok().map(|document| document.into_inner().attack)
}

/// The evaluators of the folders and those that come along; those alone, where a folder cannot be read any more.
fn load_evaluators(folders: &[PathBuf]) -> Option<EvaluatorSet> {
    let load = |folders: &[PathBuf]| EvaluatorSet::new(EvaluatorRoots::load(folders, true).ok()?).ok();
    load(folders).or_else(|| load(&[]))
}

fn of_attack(id: &str, attack: &Attack) -> RuleInfo {
    let class = attack.classification.clone().unwrap_or_default();
    let mut entries: Vec<(Standard, String)> = Vec::new();
    for mapping in class.mappings.iter().flatten() {
        let standard = Standard::of_framework(&mapping.framework);
        let entry = standard.and_then(|standard| Some((standard, standard.entry(&mapping.id).ok()?)));
        entries.extend(entry.filter(|entry| !entries.contains(entry)));
    }
    // Evaluators have no word for what only informs.
    let severity = attack.severity.as_ref().map(|own| own.level.as_str().parse().unwrap_or(Severity::Low));
    RuleInfo {
        name: attack.name.clone().unwrap_or_else(|| id.to_owned()),
        description: attack.description.clone(),
        severity,
        entries,
        tags: class.tags.unwrap_or_default(),
        ..RuleInfo::new(id)
    }
}

fn of_evaluator(entry: &CatalogueEntry, evaluators: &EvaluatorSet) -> RuleInfo {
    let own = &entry.evaluator;
    RuleInfo {
        name: own.name.clone(),
        description: own.description.clone(),
        fail_criteria: Some(own.fail_criteria.clone()),
        severity: Some(own.severity),
        entries: own.standards.iter().map(|(standard, entry)| (standard, entry.to_owned())).collect(),
        tags: own.tags.clone(),
        file: (!evaluators.is_bundled(entry)).then(|| evaluators.file(entry).into()),
        ..RuleInfo::new(own.id.clone())
    }
}

/// Notes for each rule which line of a suite of the user's asks for it: the one that names it, or the one from which members are
/// listed.
fn select(report: &Report, evaluators: &EvaluatorSet, rules: &mut BTreeMap<String, RuleInfo>) {
    for table in &report.suites {
        let Ok(suite) = evaluators.suite(&table.suite) else { continue };
        let SuiteOrigin::File(file) = &suite.origin else { continue };
        let Some((path, text)) = evaluators.own_file(file) else { continue };
        let listed = line_where(text, |line| line.trim_start().starts_with("include")).unwrap_or(1);
        for id in suite.evaluators.iter().chain(&suite.documents) {
            let Some(rule) = rules.get_mut(id).filter(|rule| rule.selected_by.is_none()) else { continue };
            let named = line_where(text, |line| names(line, id)).unwrap_or(listed);
            rule.selected_by = Some((path.clone(), named));
        }
    }
}

/// The first line that is so, from one.
fn line_where(text: &str, is_so: impl Fn(&str) -> bool) -> Option<usize> {
    text.lines().position(is_so).map(|at| at + 1)
}

/// Whether a line has an id in it, and not only as a part of another.
fn names(line: &str, id: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    line.match_indices(id)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + id.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_named_whole() {
        assert!(names("include: [{evaluator: leak}, {document: SRT-001}]", "leak"));
        assert!(!names("include: [{evaluator: leak-twice}]", "leak"));
        assert!(!names("include: [{document: SRT-0011}]", "SRT-001"));
    }

    #[test]
    fn what_comes_along_is_known_by_its_name() {
        let attack = load_attack(&documents()[0].name()).expect("it comes along");
        let rule = of_attack(documents()[0].id(), &attack);
        assert!(rule.description.is_some() && rule.severity.is_some());
        assert!(
            rule.entries.iter().any(|(standard, _)| *standard == Standard::OwaspMcp),
            "{:?}",
            rule.entries
        );
        assert!(load_attack("library/nowhere.yaml").is_none());
    }

    #[test]
    fn what_was_not_played_is_known_by_its_id() {
        let catalogue = load_evaluators(&[]).expect("they come along");
        let evaluator = &catalogue.loaded.catalogue.entries()[0].evaluator.id;
        let unfinished = vec!["SRT-001".to_owned(), format!("{evaluator}/some-pattern"), "gone/x".to_owned()];
        let rules = rule_infos(&Report { unfinished, ..Report::default() }, &[]);
        let ids: Vec<_> = rules.iter().map(|rule| rule.id.as_str()).collect();
        assert_eq!(ids, ["SRT-001", evaluator]);
        assert!(rules.iter().all(|rule| !rule.entries.is_empty()), "{rules:?}");
    }
}
