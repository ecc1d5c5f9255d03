//! From roots to catalogues and suites: everything that loads, and a word about everything that does not.

use std::collections::{BTreeSet, HashMap};

use sortie_oatf::{Diagnostic, Source, Span};

use crate::catalogue::{Catalogue, Entry, Unknown};
use crate::depends;
use crate::files::{Content, FileDiagnostics, Root};
use crate::fixtures::Fixtures;
use crate::layout::{self, Role};
use crate::limits::{MAX_EVALUATORS, MAX_FILES, MAX_PATTERNS, MAX_ROOT_BYTES};
use crate::model::{Evaluator, Pattern, Shelf};
use crate::read::{
    EvaluatorRead, IncludeKind, Layout, Places, read_evaluator, read_fixtures, read_pattern, read_suite,
};
use crate::rules::{error, warning};
use crate::suites::{self, Curated, DocumentEntry, SuiteFault, Suites};

/// What is in some roots.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The evaluators without errors.
    pub catalogue: Catalogue,
    /// The suites, of evaluators and documents.
    pub suites: Suites,
    /// What was found, by file: roots in their order, files by name.
    pub findings: Vec<FileDiagnostics>,
    /// Files that are neither evaluators nor anything that belongs to one, by the names people know them by.
    pub others: Vec<String>,
    /// How many files were read.
    pub files: usize,
}

impl Loaded {
    /// Whether nothing is wrong. Warnings are no errors.
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().flat_map(|file| &file.diagnostics).any(Diagnostic::is_error)
    }
}

/// Loads roots together: ids are unique over all of them, and suites may name what is in any.
///
/// The same files give the same result in whatever order they come. What has errors is not in the catalogue, and its
/// errors are among the findings, so whoever goes on must look at [`Loaded::is_sound`] first.
pub fn load(roots: &[Root], documents: &[DocumentEntry]) -> Loaded {
    let mut loading = Loading { roots, ..Loading::default() };
    for (index, root) in roots.iter().enumerate() {
        loading.root(index, root);
    }
    loading.unique_ids();
    loading.dependencies();
    loading.finish(documents)
}

/// Where a file is: which root, and which of its files.
type FileId = (usize, usize);

/// An evaluator on its way into the catalogue.
struct Draft {
    file: FileId,
    id: Option<String>,
    evaluator: Option<Evaluator>,
    places: Places,
    shelf: Shelf,
    categories: Vec<String>,
    fixtures: Option<Fixtures>,
    has_fixture_file: bool,
}

#[derive(Default)]
struct Loading<'r> {
    roots: &'r [Root],
    drafts: Vec<Draft>,
    curated: Vec<(FileId, Curated)>,
    /// Ids of what is there and has errors.
    broken: BTreeSet<String>,
    findings: HashMap<FileId, Vec<Diagnostic>>,
    others: Vec<String>,
    files: usize,
}

impl<'r> Loading<'r> {
    fn add(&mut self, file: FileId, findings: impl IntoIterator<Item = Diagnostic>) {
        let mut findings = findings.into_iter().peekable();
        if findings.peek().is_some() {
            self.findings.entry(file).or_default().extend(findings);
        }
    }

    fn path(&self, (root, file): FileId) -> &'r str {
        &self.roots[root].files[file].path
    }

    fn text(&self, (root, file): FileId) -> Option<&'r str> {
        self.roots[root].files[file].as_text().map(|text| &**text)
    }

    /// `folder/file.yaml:3`, for findings about another file.
    fn place(&self, file: FileId, span: Option<Span>) -> String {
        let shown = self.roots[file.0].shown(self.path(file));
        match (self.text(file), span) {
            (Some(text), Some(span)) => {
                format!("{shown}:{}", Source::new(text).line_column(span.start).line)
            }
            _ => shown,
        }
    }

    fn root(&mut self, index: usize, root: &'r Root) {
        let mut order: Vec<usize> = (0..root.files.len()).collect();
        order.sort_by(|a, b| root.files[*a].path.as_bytes().cmp(root.files[*b].path.as_bytes()));
        if !self.is_within_limits(index, root, &order) {
            return;
        }
        let folders = layout::folders(root.files.iter().map(|file| file.path.as_str()));
        let first = self.drafts.len();
        let mut patterns: HashMap<&str, Vec<(usize, &str)>> = HashMap::new();
        let mut fixtures = Vec::new();
        let mut evaluators = Vec::new();
        for at in order {
            let file = (index, at);
            let path = root.files[at].path.as_str();
            let role = layout::role(path, &folders);
            if role == Role::Other {
                self.others.push(root.shown(path));
                continue;
            }
            self.files += 1;
            if let Content::Refused(finding, _) = &root.files[at].content {
                self.add(file, [(**finding).clone()]);
            }
            match role {
                Role::Flat { .. } | Role::Folder { .. } => evaluators.push((at, role)),
                Role::Pattern { folder, slug } => patterns.entry(folder).or_default().push((at, slug)),
                Role::Fixtures { folder, stem } => fixtures.push((at, folder, stem)),
                Role::Suite { stem } => self.suite(file, stem),
                Role::Misplaced(help) => {
                    let finding = error("E-019", "this file is not where anything is looked for").help(help);
                    self.add(file, [finding]);
                }
                Role::Other => {}
            }
        }
        for (at, role) in evaluators {
            match role {
                Role::Folder { name } => {
                    let folder = layout::split(&root.files[at].path).0;
                    let patterns = patterns.remove(folder).unwrap_or_default();
                    self.folder((index, at), root, folder, name, &patterns);
                }
                Role::Flat { stem } => self.flat((index, at), root, stem),
                _ => {}
            }
        }
        if self.drafts.len() - first > MAX_EVALUATORS {
            let file = self.drafts[first + MAX_EVALUATORS].file;
            let message =
                format!("{MAX_EVALUATORS} evaluators in one folder are the limit; this is one more");
            self.add(file, [error("E-027", message).help("split the folder")]);
        }
        self.fixtures(index, first, &fixtures);
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
            self.add((index, *first), [error("E-027", message).help("split the folder")]);
        }
        false
    }

    fn flat(&mut self, file: FileId, root: &Root, stem: &str) {
        let Some(text) = self.text(file) else { return self.unreadable(file, stem) };
        let (shelf, categories) = layout::way(&root.name, layout::split(self.path(file)).0);
        let mut read = read_evaluator(text, Layout::Flat, shelf);
        if let Some(id) = &read.id
            && id != stem
        {
            let finding =
                warning("E-101", format!("the file is called `{stem}.yaml`, and the evaluator `{id}`"))
                    .help(format!("call the file `{id}.yaml`, so that it is found by its id"));
            read.diagnostics.push(match read.places.id {
                Some(at) => finding.at(at),
                None => finding,
            });
        }
        self.draft(file, read, &categories);
    }

    /// A file that cannot be read is an evaluator all the same, most likely the one that its name says.
    fn unreadable(&mut self, _file: FileId, name: &str) {
        self.broken.insert(name.to_owned());
    }

    fn folder(
        &mut self,
        file: FileId,
        root: &Root,
        folder: &str,
        name: Option<&str>,
        patterns: &[(usize, &str)],
    ) {
        let Some(text) = self.text(file) else { return self.unreadable(file, name.unwrap_or_default()) };
        let (shelf, categories) = layout::way(&root.name, layout::split(folder).0);
        let layout = Layout::Folder { pattern_files: !patterns.is_empty() };
        let mut read = read_evaluator(text, layout, shelf);
        if let Some(id) = &read.id
            && name != Some(id)
        {
            let message = match name {
                Some(name) => format!("the folder is called `{name}`, and the evaluator `{id}`"),
                None => "an evaluator in this layout has a folder of its own".to_owned(),
            };
            let finding = error("E-008", message).help(format!("call the folder `{id}`"));
            read.diagnostics.push(match read.places.id {
                Some(at) => finding.at(at),
                None => finding,
            });
            read.evaluator = None;
        }
        let read_patterns = self.patterns(file, read.shelf, patterns);
        match read_patterns {
            Some(patterns) if !patterns.is_empty() => {
                if let Some(evaluator) = &mut read.evaluator {
                    evaluator.patterns = patterns;
                }
            }
            Some(_) => {}
            None => read.evaluator = None,
        }
        self.draft(file, read, &categories);
    }

    /// The patterns of a folder; `None` where one of them has errors.
    fn patterns(&mut self, evaluator: FileId, shelf: Shelf, files: &[(usize, &str)]) -> Option<Vec<Pattern>> {
        if files.len() > MAX_PATTERNS {
            let message = format!("there are {} patterns; {MAX_PATTERNS} are the limit", files.len());
            self.add(evaluator, [error("E-027", message).help("split the evaluator")]);
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
            let read = read_pattern(text, slug, shelf);
            self.add(file, read.diagnostics);
            let Some(pattern) = read.pattern else {
                sound = false;
                continue;
            };
            if let Some(first) = names.insert(pattern.name.clone(), file) {
                sound = false;
                let message = format!("two patterns are called `{}`", pattern.name);
                let finding = error("E-010", message)
                    .help(format!("the other is `{}`", self.roots[first.0].shown(self.path(first))))
                    .help("reports and fixtures tell them apart by name");
                self.add(
                    file,
                    [match read.name_at {
                        Some(at) => finding.at(at).label("second use"),
                        None => finding,
                    }],
                );
            }
            patterns.push(pattern);
        }
        sound.then_some(patterns)
    }

    fn draft(&mut self, file: FileId, read: EvaluatorRead, categories: &[&str]) {
        if let (None, Some(id)) = (&read.evaluator, &read.id) {
            self.broken.insert(id.clone());
        }
        self.add(file, read.diagnostics);
        self.drafts.push(Draft {
            file,
            id: read.id,
            evaluator: read.evaluator,
            places: read.places,
            shelf: read.shelf,
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
            beside.insert((folder, name.trim_end_matches(".yaml").to_owned()), at);
            if let Some(id) = &draft.id {
                beside.insert((folder, id.clone()), at);
            }
        }
        for (at, folder, stem) in files {
            let file = (root, *at);
            let found = beside.get(&(*folder, (*stem).to_owned())).copied();
            let found = found.filter(|_| *stem != "evaluator");
            let text = self.text(file);
            let evaluator = found.and_then(|at| self.drafts[at].evaluator.as_ref());
            let read = text.map(|text| read_fixtures(text, evaluator));
            let Some(owner) = found else {
                // One that cannot be read has none that is known.
                if !self.broken.contains(*stem) {
                    let finding =
                        error("E-019", format!("there is no evaluator `{stem}` beside these fixtures"))
                            .help("fixtures are called after the id of their evaluator: `<id>.test.yaml`");
                    self.add(file, [finding]);
                }
                self.add(file, read.map(|read| read.diagnostics).unwrap_or_default());
                continue;
            };
            if self.drafts[owner].has_fixture_file {
                let finding = error("E-019", "the evaluator has other fixtures as well")
                    .help("put all cases into one file, called after the id of the evaluator");
                self.add(file, [finding]);
            }
            self.drafts[owner].has_fixture_file = true;
            match read {
                Some(read) => {
                    if read.fixtures.is_none() {
                        self.reject(owner);
                    }
                    self.add(file, read.diagnostics);
                    self.drafts[owner].fixtures = read.fixtures;
                }
                None => self.reject(owner),
            }
        }
    }

    /// An evaluator with an error in any of its files does not load.
    fn reject(&mut self, draft: usize) {
        let draft = &mut self.drafts[draft];
        draft.evaluator = None;
        self.broken.extend(draft.id.clone());
    }

    fn suite(&mut self, file: FileId, stem: &str) {
        let Some(text) = self.text(file) else {
            self.broken.insert(stem.to_owned());
            return;
        };
        let read = read_suite(text);
        self.add(file, read.diagnostics);
        match (read.suite, read.id) {
            (Some(suite), _) => {
                if suite.id != stem {
                    let message = format!("the file is called `{stem}.yaml`, and the suite `{}`", suite.id);
                    let help = format!("call the file `{}.yaml`, so that it is found by its id", suite.id);
                    self.add(file, [warning("E-101", message).at(suite.id_at).help(help)]);
                }
                let shown = self.roots[file.0].shown(self.path(file));
                self.curated.push((file, Curated { suite, file: shown }));
            }
            (None, id) => self.broken.extend(id),
        }
    }

    fn unique_ids(&mut self) {
        let mut first: HashMap<String, usize> = HashMap::new();
        for at in 0..self.drafts.len() {
            let Some(id) = self.drafts[at].id.clone() else { continue };
            let Some(earlier) = first.get(&id).copied() else {
                first.insert(id, at);
                continue;
            };
            let place = self.place(self.drafts[earlier].file, self.drafts[earlier].places.id);
            let finding = error("E-002", format!("two evaluators have the id `{id}`"))
                .help(format!("the other is `{place}`"))
                .help("ids are unique over `agent/`, `mcp/` and all folders that are loaded together");
            let (file, at_id) = (self.drafts[at].file, self.drafts[at].places.id);
            self.add(
                file,
                [match at_id {
                    Some(at) => finding.at(at).label("second use"),
                    None => finding,
                }],
            );
            self.reject(at);
        }
        let mut first: HashMap<String, usize> = HashMap::new();
        let mut taken = Vec::new();
        for (at, (file, curated)) in self.curated.iter().enumerate() {
            let id = &curated.suite.id;
            let finding = if suites::is_derived(id) {
                error("E-023", format!("`{id}` is a suite that follows from `standards`"))
                    .help("call yours something else; it may include that one")
            } else if let Some(earlier) = first.get(id).copied() {
                let (other, suite) = (self.curated[earlier].0, &self.curated[earlier].1.suite);
                error("E-023", format!("two suites have the id `{id}`"))
                    .help(format!("the other is `{}`", self.place(other, Some(suite.id_at))))
            } else {
                first.insert(id.clone(), at);
                continue;
            };
            taken.push((at, *file, finding.at(curated.suite.id_at)));
        }
        for (at, file, finding) in taken.into_iter().rev() {
            self.add(file, [finding]);
            let (_, curated) = self.curated.remove(at);
            self.broken.insert(curated.suite.id);
        }
    }

    fn dependencies(&mut self) {
        let mut order: Vec<usize> =
            (0..self.drafts.len()).filter(|at| self.drafts[*at].evaluator.is_some()).collect();
        order.sort_by(|a, b| self.drafts[*a].id.cmp(&self.drafts[*b].id));
        let known: HashMap<String, usize> =
            order.iter().filter_map(|at| Some((self.drafts[*at].id.clone()?, *at))).collect();
        let mut findings: Vec<(usize, Diagnostic)> = Vec::new();
        for at in &order {
            let draft = &self.drafts[*at];
            let Some(evaluator) = &draft.evaluator else { continue };
            for (id, span) in evaluator.depends_on.iter().zip(&draft.places.depends_on) {
                if known.contains_key(id) || self.broken.contains(id) {
                    continue;
                }
                let meant = Unknown::new("evaluator", id, known.keys().map(String::as_str)).nearest;
                let finding = error("E-016", format!("there is no evaluator `{id}` to depend on")).at(*span);
                findings.push((
                    *at,
                    match meant {
                        Some(meant) => finding
                            .label(format!("did you mean `{meant}`?"))
                            .help("name the id of an evaluator"),
                        None => finding.help("name the id of an evaluator that is loaded too, or remove it"),
                    },
                ));
            }
        }
        let graph: Vec<(&str, &[String])> = order
            .iter()
            .filter_map(|at| self.drafts[*at].evaluator.as_ref())
            .map(|evaluator| (evaluator.id.as_str(), evaluator.depends_on.as_slice()))
            .collect();
        for cycle in depends::cycles(&graph) {
            let Some(at) = cycle.ids.iter().rev().nth(1).and_then(|id| known.get(id)) else { continue };
            let way = cycle.ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(" → ");
            let finding = error("E-017", format!("these evaluators wait for each other: {way}"))
                .help("remove one of these dependencies: nothing can run first");
            let span = self.drafts[*at].places.depends_on.get(cycle.closes);
            findings.push((
                *at,
                match span {
                    Some(span) => finding.at(*span),
                    None => finding,
                },
            ));
        }
        for (at, finding) in findings {
            let file = self.drafts[at].file;
            self.add(file, [finding]);
            self.reject(at);
        }
    }

    fn finish(mut self, documents: &[DocumentEntry]) -> Loaded {
        let entries = std::mem::take(&mut self.drafts).into_iter().filter_map(|draft| {
            Some(Entry {
                evaluator: draft.evaluator?,
                shelf: draft.shelf,
                categories: draft.categories,
                root: draft.file.0,
                file: self.path(draft.file).to_owned(),
                fixtures: draft.fixtures,
            })
        });
        let catalogue = Catalogue::new(entries.collect());
        let (files, curated): (Vec<_>, Vec<_>) = std::mem::take(&mut self.curated).into_iter().unzip();
        let (suites, faults) = suites::make(&catalogue, documents, &curated, &self.broken);
        for (at, fault) in faults {
            let finding = suite_fault(&curated[at], fault);
            self.add(files[at], [finding]);
        }
        let findings = self.sorted_findings();
        Loaded { catalogue, suites, findings, others: self.others, files: self.files }
    }

    fn sorted_findings(&mut self) -> Vec<FileDiagnostics> {
        let mut findings: Vec<_> = std::mem::take(&mut self.findings).into_iter().collect();
        findings.sort_by_key(|(file, _)| (file.0, self.path(*file)));
        findings
            .into_iter()
            .map(|((root, at), mut diagnostics)| {
                Diagnostic::sort(&mut diagnostics);
                let file = &self.roots[root].files[at];
                let source = match &file.content {
                    Content::Text(text) => Source::new(text.clone()),
                    Content::Refused(_, source) => source.clone(),
                };
                FileDiagnostics { file: self.roots[root].shown(&file.path), source, diagnostics }
            })
            .collect()
    }
}

fn suite_fault(curated: &Curated, fault: SuiteFault<'_>) -> Diagnostic {
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
                    .help("a suite that names nothing would look smaller than it is"),
                None => finding.help("name something that is loaded too, or remove it"),
            }
        }
        SuiteFault::Cycle(include, ids) => {
            let way = ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(" → ");
            error("E-026", format!("these suites include each other: {way}"))
                .at(include.span)
                .help("remove one of these: a suite cannot be a part of itself")
        }
        SuiteFault::Empty => error("E-025", format!("nothing is in the suite `{}`", curated.suite.id))
            .at(curated.suite.id_at)
            .help("a suite without cases would pass everything: include something"),
    }
}
