//! One root: which file is what, and what each of them says.

use std::collections::HashMap;

use super::{Draft, FileId, Loading};
use crate::files::{FileContent, Root};
use crate::layout::{self, FileKind};
use crate::limits::{MAX_EVALUATORS, MAX_PATTERNS, MAX_SUITES};
use crate::model::{Pattern, TargetClass};
use crate::parse::{Layout, ParsedEvaluator, parse_evaluator, parse_fixtures, parse_pattern, parse_suite};
use crate::rules::files::{self, FILE};
use crate::rules::{checks, ids};
use crate::suites::Curated;

/// The files of a root, told apart.
#[derive(Default)]
struct Sorted<'r> {
    /// Index, and the name of the file.
    flat: Vec<(usize, &'r str)>,
    /// Index, and the name of the folder.
    folders: Vec<(usize, Option<&'r str>)>,
    /// By folder: index, and slug.
    patterns: HashMap<&'r str, Vec<(usize, &'r str)>>,
    /// Index, folder, and the name of the file.
    fixtures: Vec<(usize, &'r str, &'r str)>,
}

impl<'r> Loading<'r> {
    pub(super) fn root(&mut self, index: usize, root: &'r Root) {
        let mut order: Vec<usize> = (0..root.files.len()).collect();
        // By content too: a caller may give a path twice, and the order must not tell.
        let key = |at: &usize| (root.files[*at].path.as_bytes(), root.files[*at].as_text());
        order.sort_by(|a, b| key(a).cmp(&key(b)));
        if !self.is_within_limits(index, root, &order) {
            return;
        }
        let mut sorted = self.sort(index, root, order);
        let count = sorted.flat.len() + sorted.folders.len();
        let one = sorted.flat.first().map(|(at, _)| at).or(sorted.folders.first().map(|(at, _)| at));
        if let Some(at) = one.filter(|_| count > MAX_EVALUATORS) {
            self.add((index, *at), [files::many_evaluators(count, FILE)]);
            return;
        }
        let first = self.drafts.len();
        for (at, stem) in sorted.flat {
            self.flat((index, at), root, stem);
        }
        for (at, name) in sorted.folders {
            let folder = layout::split(&root.files[at].path).0;
            let patterns = sorted.patterns.remove(folder).unwrap_or_default();
            self.folder((index, at), root, name, &patterns);
        }
        // Which of two comes first must not depend on their layouts.
        self.drafts[first..].sort_by_key(|draft| root.files[draft.file.1].path.as_bytes());
        self.fixtures(index, first, &sorted.fixtures);
    }

    fn is_within_limits(&mut self, index: usize, root: &Root, order: &[usize]) -> bool {
        let bytes: usize = root.files.iter().filter_map(|file| file.as_text()).map(|text| text.len()).sum();
        let Some(finding) = files::large_folder(root.files.len(), bytes) else { return true };
        if let Some(first) = order.first() {
            self.add((index, *first), [finding]);
        }
        false
    }

    fn sort(&mut self, index: usize, root: &'r Root, order: Vec<usize>) -> Sorted<'r> {
        let folders = layout::folders(root.files.iter().map(|file| file.path.as_str()));
        let mut sorted = Sorted::default();
        let mut before = None;
        for at in order {
            let path = root.files[at].path.as_str();
            if before.replace(path) == Some(path) {
                self.add((index, at), [files::two_files(FILE)]);
                continue;
            }
            let kind = layout::kind(path, &folders);
            // What could not be read may have been anything: a folder of evaluators behind a link.
            let is_refused = matches!(root.files[at].content, FileContent::Refused(..));
            if kind == FileKind::Other && !is_refused {
                self.loaded.others.push(root.shown(path));
                continue;
            }
            self.loaded.files += 1;
            if let FileContent::Refused(finding, _) = &root.files[at].content {
                self.add((index, at), [(**finding).clone()]);
            }
            match kind {
                FileKind::Flat { stem } => sorted.flat.push((at, stem)),
                FileKind::Folder { name } => sorted.folders.push((at, name)),
                FileKind::Pattern { folder, slug } => {
                    sorted.patterns.entry(folder).or_default().push((at, slug));
                }
                FileKind::Fixtures { folder, stem } => sorted.fixtures.push((at, folder, stem)),
                FileKind::Suite { stem } => self.suite((index, at), stem),
                FileKind::Misplaced(help) => self.add((index, at), [files::misplaced(help, FILE)]),
                FileKind::Other => {}
            }
        }
        sorted
    }

    fn flat(&mut self, file: FileId, root: &Root, stem: &str) {
        let (class, categories) = layout::way(&root.name, layout::split(self.path(file)).0);
        let Some(text) = self.text(file) else { return self.unreadable(stem) };
        let mut read = parse_evaluator(text, Layout::Flat, class);
        if let Some(id) = read.evaluator.as_ref().map(|evaluator| &evaluator.id)
            && id != stem
        {
            read.diagnostics.push(ids::other_file(stem, "evaluator", id, read.places.id));
        }
        self.draft(file, read, &categories);
    }

    /// A file that cannot be read is an evaluator all the same, most likely the one that its name says.
    fn unreadable(&mut self, name: &str) {
        self.broken.evaluators.insert(name.to_owned());
    }

    fn folder(&mut self, file: FileId, root: &Root, name: Option<&str>, patterns: &[(usize, &str)]) {
        let folder = layout::split(self.path(file)).0;
        let (class, categories) = layout::way(&root.name, layout::split(folder).0);
        let Some(text) = self.text(file) else { return self.unreadable(name.unwrap_or_default()) };
        let mut read = parse_evaluator(text, Layout::Folder { pattern_files: !patterns.is_empty() }, class);
        if let Some(id) = &read.id
            && name != Some(id)
        {
            read.diagnostics.push(ids::other_folder(name, id, read.places.id));
            read.evaluator = None;
        }
        match self.patterns(file, read.class, patterns) {
            None => read.evaluator = None,
            Some(patterns) if patterns.is_empty() => {}
            Some(patterns) => {
                if let Some(evaluator) = &mut read.evaluator {
                    evaluator.patterns = patterns;
                    read.diagnostics.extend(checks::unknown_placeholders(evaluator, &read.places));
                }
            }
        }
        self.draft(file, read, &categories);
    }

    /// The patterns of a folder; `None` where one of them has errors.
    fn patterns(
        &mut self,
        evaluator: FileId,
        class: TargetClass,
        pattern_files: &[(usize, &str)],
    ) -> Option<Vec<Pattern>> {
        if pattern_files.len() > MAX_PATTERNS {
            self.add(evaluator, [files::many_patterns(pattern_files.len(), FILE)]);
            return None;
        }
        let mut patterns = Vec::with_capacity(pattern_files.len());
        let mut names: HashMap<String, FileId> = HashMap::new();
        let mut sound = true;
        for (at, slug) in pattern_files {
            let file = (evaluator.0, *at);
            let Some(text) = self.text(file) else {
                sound = false;
                continue;
            };
            let read = parse_pattern(text, slug, class);
            self.add(file, read.diagnostics);
            let Some(pattern) = read.pattern else {
                sound = false;
                continue;
            };
            if let Some(first) = names.insert(pattern.name.clone(), file) {
                sound = false;
                self.add(file, [ids::duplicate_in_files(&pattern.name, &self.shown(first), read.name_at)]);
            }
            patterns.push(pattern);
        }
        sound.then_some(patterns)
    }

    fn draft(&mut self, file: FileId, mut read: ParsedEvaluator, categories: &[&str]) {
        if let (None, Some(id)) = (&read.evaluator, &read.id) {
            self.broken.evaluators.insert(id.clone());
        }
        self.add(file, std::mem::take(&mut read.diagnostics));
        let categories = categories.iter().map(|category| (*category).to_owned()).collect();
        self.drafts.push(Draft { file, read, categories, fixtures: None, has_fixture_file: false });
    }

    /// Finds the evaluator beside each fixture file: the one that has its id, or is in the file of its name.
    fn fixtures(&mut self, root: usize, first: usize, fixture_files: &[(usize, &str, &str)]) {
        let mut beside: HashMap<(&str, String), usize> = HashMap::new();
        for (at, draft) in self.drafts.iter().enumerate().skip(first) {
            let (folder, name) = layout::split(self.path(draft.file));
            if name != "evaluator.yaml" {
                beside.insert((folder, name.trim_end_matches(".yaml").to_owned()), at);
            }
            if let Some(id) = &draft.read.id {
                beside.insert((folder, id.clone()), at);
            }
        }
        for (at, folder, stem) in fixture_files {
            let file = (root, *at);
            let owner = beside.get(&(*folder, (*stem).to_owned())).copied();
            let evaluator = owner.and_then(|owner| self.drafts[owner].read.evaluator.as_ref());
            let read = self.text(file).map(|text| parse_fixtures(text, evaluator));
            if let Some(read) = &read {
                self.add(file, read.diagnostics.clone());
            }
            let Some(owner) = owner else {
                // Beside one that cannot be read, nothing is known.
                if !self.broken.evaluators.contains(*stem) {
                    self.add(file, [files::no_evaluator(stem, FILE)]);
                }
                continue;
            };
            let fixtures = read.and_then(|read| read.fixtures);
            if std::mem::replace(&mut self.drafts[owner].has_fixture_file, true) {
                self.add(file, [files::other_fixtures(FILE)]);
                self.reject_draft(owner);
            } else if fixtures.is_none() {
                self.reject_draft(owner);
            }
            self.drafts[owner].fixtures = fixtures;
        }
    }

    fn suite(&mut self, file: FileId, stem: &str) {
        let Some(text) = self.text(file) else {
            self.broken.suites.insert(stem.to_owned());
            return;
        };
        let read = parse_suite(text);
        self.add(file, read.diagnostics);
        let Some(suite) = read.suite else {
            self.broken.suites.extend(read.id);
            return;
        };
        if suite.id != stem {
            self.add(file, [ids::other_file(stem, "suite", &suite.id, Some(suite.id_at))]);
        }
        let of_this_root = self.curated.iter().filter(|((root, _), _)| *root == file.0).count();
        if of_this_root >= MAX_SUITES {
            self.add(file, [files::many_suites(FILE)]);
            return;
        }
        let shown = self.shown(file);
        self.curated.push((file, Curated { suite, file: shown }));
    }
}
