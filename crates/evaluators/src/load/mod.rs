//! From roots to catalogues and suites: everything that loads, and a word about everything that does not.

mod root;

use std::collections::{BTreeSet, HashMap};

use sortie_syntax::{Diagnostic, Source, Span};

use crate::catalogue::{Catalogue, CatalogueEntry};
use crate::files::{FileContent, FileDiagnostics, Root};
use crate::fixtures::Fixtures;
use crate::limits::MAX_ALL_FINDINGS;
use crate::parse::ParsedEvaluator;
use crate::rules::dependencies::{circular_dependencies, unknown_dependencies};
use crate::rules::ids::duplicate_ids;
use crate::rules::suites as suite_rules;
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
    /// How many findings were left out, beyond [`MAX_ALL_FINDINGS`].
    pub left_out: usize,
    has_errors: bool,
}

impl Loaded {
    /// Whether nothing is wrong. Warnings are no errors.
    pub fn is_sound(&self) -> bool {
        !self.has_errors
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
    loading.reject(duplicate_ids(&loading));
    loading.reject_suites(suite_rules::duplicate_suites(&loading));
    let order = loading.order();
    let mut findings = unknown_dependencies(&loading, &order);
    findings.extend(circular_dependencies(&loading, &order));
    loading.reject(findings);
    loading.finish(documents)
}

/// Where a file is: which root, and which of its files.
pub(crate) type FileId = (usize, usize);

/// An evaluator on its way into the catalogue.
pub(crate) struct Draft {
    pub(crate) file: FileId,
    /// Without its evaluator, where there is an error in any of its files.
    pub(crate) read: ParsedEvaluator,
    categories: Vec<String>,
    fixtures: Option<Fixtures>,
    has_fixture_file: bool,
}

/// Ids of what is there and has errors: nobody is told that it is not there.
#[derive(Default)]
pub(crate) struct Broken {
    pub(crate) evaluators: BTreeSet<String>,
    suites: BTreeSet<String>,
}

#[derive(Default)]
/// Files on their way into the catalogue: what is checked over all of them looks at this.
pub(crate) struct Loading<'r> {
    roots: &'r [Root],
    pub(crate) drafts: Vec<Draft>,
    pub(crate) curated: Vec<(FileId, Curated)>,
    pub(crate) broken: Broken,
    /// In the order of the first finding of each file.
    findings: Vec<(FileId, Vec<Diagnostic>)>,
    findings_of: HashMap<FileId, usize>,
    kept: usize,
    /// What is known of the result so far.
    loaded: Loaded,
}

impl<'r> Loading<'r> {
    /// Keeps findings, as long as there is room; that there was an error is never forgotten.
    fn add(&mut self, file: FileId, findings: impl IntoIterator<Item = Diagnostic>) {
        for finding in findings {
            self.loaded.has_errors |= finding.is_error();
            if self.kept < MAX_ALL_FINDINGS {
                self.kept += 1;
                let at = *self.findings_of.entry(file).or_insert(self.findings.len());
                if at == self.findings.len() {
                    self.findings.push((file, Vec::new()));
                }
                self.findings[at].1.push(finding);
            } else {
                self.loaded.left_out += 1;
            }
        }
    }

    fn path(&self, (root, file): FileId) -> &'r str {
        &self.roots[root].files[file].path
    }

    /// How people are told about a file.
    fn shown(&self, file: FileId) -> String {
        self.roots[file.0].shown(self.path(file))
    }

    fn text(&self, (root, file): FileId) -> Option<&'r str> {
        self.roots[root].files[file].as_text().map(|text| &**text)
    }

    /// `folder/file.yaml:3`, for findings about another file.
    pub(crate) fn place(&self, file: FileId, span: Option<Span>) -> String {
        let shown = self.shown(file);
        match (self.text(file), span) {
            (Some(text), Some(span)) => {
                let before = text.get(..span.start).unwrap_or_default();
                format!("{shown}:{}", 1 + before.matches('\n').count())
            }
            _ => shown,
        }
    }

    /// An evaluator with an error in any of its files does not load.
    fn reject_draft(&mut self, draft: usize) {
        let draft = &mut self.drafts[draft];
        draft.read.evaluator = None;
        self.broken.evaluators.extend(draft.read.id.clone());
    }

    fn reject(&mut self, findings: Vec<(usize, Diagnostic)>) {
        for (at, finding) in findings {
            self.add(self.drafts[at].file, [finding]);
            self.reject_draft(at);
        }
    }

    fn reject_suites(&mut self, findings: Vec<(usize, Diagnostic)>) {
        // From the end, so that the places of the others stay right.
        for (at, finding) in findings.into_iter().rev() {
            let (file, _) = self.curated.remove(at);
            self.add(file, [finding]);
        }
    }

    /// The evaluators without errors, in the order of their ids.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> =
            (0..self.drafts.len()).filter(|at| self.drafts[*at].read.evaluator.is_some()).collect();
        order.sort_by(|a, b| self.drafts[*a].read.id.cmp(&self.drafts[*b].read.id));
        order
    }

    fn finish(mut self, documents: &[DocumentEntry]) -> Loaded {
        let drafts = std::mem::take(&mut self.drafts);
        let entries = drafts.into_iter().filter_map(|draft| {
            Some(CatalogueEntry {
                evaluator: draft.read.evaluator?,
                class: draft.read.class,
                categories: draft.categories,
                root: draft.file.0,
                file: self.path(draft.file).to_owned(),
                fixtures: draft.fixtures,
            })
        });
        let catalogue = Catalogue::new(entries.collect());
        let (files, curated): (Vec<_>, Vec<_>) = std::mem::take(&mut self.curated).into_iter().unzip();
        let broken = std::mem::take(&mut self.broken);
        let (suites, faults) =
            suites::make(&catalogue, documents, &curated, &broken.evaluators, &broken.suites);
        for (at, fault) in faults {
            let finding = match fault {
                SuiteFault::Unknown(include, nearest) => suite_rules::unknown(include, nearest.as_deref()),
                SuiteFault::Cycle(include, ids) => suite_rules::cycle(&ids, include.span),
                SuiteFault::Empty => {
                    let suite = &curated[at].suite;
                    suite_rules::holds_nothing(&suite.id, suite.id_at)
                }
            };
            self.add(files[at], [finding]);
        }
        let findings = self.sorted_findings();
        Loaded { catalogue, suites, findings, ..self.loaded }
    }

    fn sorted_findings(&mut self) -> Vec<FileDiagnostics> {
        let mut findings = std::mem::take(&mut self.findings);
        findings.sort_by_key(|(file, _)| (file.0, self.path(*file), self.text(*file)));
        let findings = findings.into_iter().map(|(id, mut diagnostics)| {
            Diagnostic::sort(&mut diagnostics);
            let source = match &self.roots[id.0].files[id.1].content {
                FileContent::Text(text) => Source::new(text.clone()),
                FileContent::Refused(_, source) => source.clone(),
            };
            FileDiagnostics { file: self.shown(id), source, diagnostics }
        });
        findings.collect()
    }
}
