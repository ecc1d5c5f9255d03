//! One root: which file is what, and what each of them says.

use std::collections::HashMap;

use super::{Draft, FileId, Loading};
use crate::files::{Content, Root};
use crate::layout::{self, FileKind};
use crate::limits::{MAX_EVALUATORS, MAX_FILES, MAX_PATTERNS, MAX_ROOT_BYTES, MAX_SUITES};
use crate::model::{Pattern, TargetClass};
use crate::read::{
    EvaluatorRead, Layout, look_for_templates, read_evaluator, read_fixtures, read_pattern, read_suite,
};
use crate::rules::{error, file_error, optionally_at, warning};
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
            let message =
                format!("there are {count} evaluators in one folder; {MAX_EVALUATORS} are the limit");
            self.add((index, *at), [file_error("E-027", message).help("split the folder")]);
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
        let message = if root.files.len() > MAX_FILES {
            format!("{} files in one folder are more than {MAX_FILES}, which are the limit", root.files.len())
        } else if bytes > MAX_ROOT_BYTES {
            format!("the files of this folder have {bytes} bytes; {MAX_ROOT_BYTES} are the limit")
        } else {
            return true;
        };
        if let Some(first) = order.first() {
            self.add((index, *first), [file_error("E-027", message).help("split the folder")]);
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
                let finding = file_error("E-019", "there are two files of this name");
                self.add((index, at), [finding.help("give each file once")]);
                continue;
            }
            let kind = layout::kind(path, &folders);
            // What could not be read may have been anything: a folder of evaluators behind a link.
            let is_refused = matches!(root.files[at].content, Content::Refused(..));
            if kind == FileKind::Other && !is_refused {
                self.others.push(root.shown(path));
                continue;
            }
            self.files += 1;
            if let Content::Refused(finding, _) = &root.files[at].content {
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
                FileKind::Misplaced(help) => {
                    let finding =
                        file_error("E-019", "this file is not where anything is looked for").help(help);
                    self.add((index, at), [finding]);
                }
                FileKind::Other => {}
            }
        }
        sorted
    }

    fn flat(&mut self, file: FileId, root: &Root, stem: &str) {
        let (class, categories) = layout::way(&root.name, layout::split(self.path(file)).0);
        let Some(text) = self.text(file) else { return self.unreadable(stem) };
        let mut read = read_evaluator(text, Layout::Flat, class);
        if let Some(id) = read.evaluator.as_ref().map(|evaluator| &evaluator.id)
            && id != stem
        {
            let message = format!("the file is called `{stem}.yaml`, and the evaluator `{id}`");
            let finding = warning("E-101", message)
                .help(format!("call the file `{id}.yaml`, so that it is found by its id"));
            read.diagnostics.push(optionally_at(finding, read.places.id));
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
        let mut read = read_evaluator(text, Layout::Folder { pattern_files: !patterns.is_empty() }, class);
        if let Some(id) = &read.id
            && name != Some(id)
        {
            let message = match name {
                Some(name) => format!("the folder is called `{name}`, and the evaluator `{id}`"),
                None => "an evaluator in this layout has a folder of its own".to_owned(),
            };
            let finding = error("E-008", message).help(format!("call the folder `{id}`"));
            read.diagnostics.push(optionally_at(finding, read.places.id));
            read.evaluator = None;
        }
        match self.patterns(file, read.class, patterns) {
            None => read.evaluator = None,
            Some(patterns) if patterns.is_empty() => {}
            Some(patterns) => {
                if let Some(evaluator) = &mut read.evaluator {
                    evaluator.patterns = patterns;
                    read.diagnostics.extend(look_for_templates(evaluator, &read.places));
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
        files: &[(usize, &str)],
    ) -> Option<Vec<Pattern>> {
        if files.len() > MAX_PATTERNS {
            let message = format!("there are {} patterns; {MAX_PATTERNS} are the limit", files.len());
            self.add(evaluator, [file_error("E-027", message).help("split the evaluator")]);
            return None;
        }
        let mut patterns = Vec::with_capacity(files.len());
        let mut names: HashMap<String, FileId> = HashMap::new();
        let mut sound = true;
        for (at, slug) in files {
            let file = (evaluator.0, *at);
            let Some(text) = self.text(file) else {
                sound = false;
                continue;
            };
            let read = read_pattern(text, slug, class);
            self.add(file, read.diagnostics);
            let Some(pattern) = read.pattern else {
                sound = false;
                continue;
            };
            if let Some(first) = names.insert(pattern.name.clone(), file) {
                sound = false;
                let finding = error("E-010", format!("two patterns are called `{}`", pattern.name))
                    .label("second use")
                    .help(format!("the other is `{}`", self.shown(first)))
                    .help("reports and fixtures tell them apart by name");
                self.add(file, [optionally_at(finding, read.name_at)]);
            }
            patterns.push(pattern);
        }
        sound.then_some(patterns)
    }

    fn draft(&mut self, file: FileId, read: EvaluatorRead, categories: &[&str]) {
        if let (None, Some(id)) = (&read.evaluator, &read.id) {
            self.broken.evaluators.insert(id.clone());
        }
        self.add(file, read.diagnostics);
        self.drafts.push(Draft {
            file,
            id: read.id,
            evaluator: read.evaluator,
            places: read.places,
            class: read.class,
            categories: categories.iter().map(|category| (*category).to_owned()).collect(),
            fixtures: None,
            has_fixture_file: false,
        });
    }

    /// Finds the evaluator beside each fixture file: the one that has its id, or is in the file of its name.
    fn fixtures(&mut self, root: usize, first: usize, files: &[(usize, &str, &str)]) {
        let mut beside: HashMap<(&str, String), usize> = HashMap::new();
        for (at, draft) in self.drafts.iter().enumerate().skip(first) {
            let (folder, name) = layout::split(self.path(draft.file));
            if name != "evaluator.yaml" {
                beside.insert((folder, name.trim_end_matches(".yaml").to_owned()), at);
            }
            if let Some(id) = &draft.id {
                beside.insert((folder, id.clone()), at);
            }
        }
        for (at, folder, stem) in files {
            let file = (root, *at);
            let owner = beside.get(&(*folder, (*stem).to_owned())).copied();
            let evaluator = owner.and_then(|owner| self.drafts[owner].evaluator.as_ref());
            let read = self.text(file).map(|text| read_fixtures(text, evaluator));
            if let Some(read) = &read {
                self.add(file, read.diagnostics.clone());
            }
            let Some(owner) = owner else {
                // Beside one that cannot be read, nothing is known.
                if !self.broken.evaluators.contains(*stem) {
                    let finding =
                        file_error("E-019", format!("there is no evaluator `{stem}` beside these fixtures"))
                            .help("fixtures are called after the id of their evaluator: `<id>.test.yaml`");
                    self.add(file, [finding]);
                }
                continue;
            };
            let fixtures = read.and_then(|read| read.fixtures);
            if std::mem::replace(&mut self.drafts[owner].has_fixture_file, true) {
                let finding = file_error("E-019", "the evaluator has other fixtures as well")
                    .help("put all cases into one file, called after the id of the evaluator");
                self.add(file, [finding]);
                self.reject(owner);
            } else if fixtures.is_none() {
                self.reject(owner);
            }
            self.drafts[owner].fixtures = fixtures;
        }
    }

    fn suite(&mut self, file: FileId, stem: &str) {
        let Some(text) = self.text(file) else {
            self.broken.suites.insert(stem.to_owned());
            return;
        };
        let read = read_suite(text);
        self.add(file, read.diagnostics);
        let Some(suite) = read.suite else {
            self.broken.suites.extend(read.id);
            return;
        };
        if suite.id != stem {
            let message = format!("the file is called `{stem}.yaml`, and the suite `{}`", suite.id);
            let help = format!("call the file `{}.yaml`, so that it is found by its id", suite.id);
            self.add(file, [warning("E-101", message).at(suite.id_at).help(help)]);
        }
        let of_this_root = self.curated.iter().filter(|((root, _), _)| *root == file.0).count();
        if of_this_root >= MAX_SUITES {
            let message = format!("{MAX_SUITES} suites in one folder are the limit; this is one more");
            self.add(file, [file_error("E-027", message).help("split the folder")]);
            return;
        }
        let shown = self.shown(file);
        self.curated.push((file, Curated { suite, file: shown }));
    }
}
