//! From roots to catalogues and suites: everything that loads, and a word about everything that does not.

mod across;
mod root;

use std::collections::{BTreeSet, HashMap};

use sortie_oatf::{Diagnostic, Source, Span};

use crate::catalogue::{Catalogue, CatalogueEntry};
use crate::files::{Content, FileDiagnostics, Root};
use crate::fixtures::Fixtures;
use crate::limits::MAX_ALL_FINDINGS;
use crate::model::{Evaluator, TargetClass};
use crate::read::Places;
use crate::suites::{self, Curated, DocumentEntry, Suites};

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
    loading.unique_evaluators();
    loading.unique_suites();
    loading.dependencies();
    loading.finish(documents)
}

/// Where a file is: which root, and which of its files.
type FileId = (usize, usize);

/// An evaluator on its way into the catalogue.
struct Draft {
    file: FileId,
    id: Option<String>,
    /// `None` where there is an error in any of its files.
    evaluator: Option<Evaluator>,
    places: Places,
    class: TargetClass,
    categories: Vec<String>,
    fixtures: Option<Fixtures>,
    has_fixture_file: bool,
}

/// Ids of what is there and has errors: nobody is told that it is not there.
#[derive(Default)]
struct Broken {
    evaluators: BTreeSet<String>,
    suites: BTreeSet<String>,
}

#[derive(Default)]
struct Loading<'r> {
    roots: &'r [Root],
    drafts: Vec<Draft>,
    curated: Vec<(FileId, Curated)>,
    broken: Broken,
    /// In the order of the first finding of each file.
    findings: Vec<(FileId, Vec<Diagnostic>)>,
    findings_of: HashMap<FileId, usize>,
    kept: usize,
    left_out: usize,
    has_errors: bool,
    others: Vec<String>,
    files: usize,
}

impl<'r> Loading<'r> {
    /// Keeps findings, as long as there is room; that there was an error is never forgotten.
    fn add(&mut self, file: FileId, findings: impl IntoIterator<Item = Diagnostic>) {
        for finding in findings {
            self.has_errors |= finding.is_error();
            if self.kept < MAX_ALL_FINDINGS {
                self.kept += 1;
                let at = *self.findings_of.entry(file).or_insert(self.findings.len());
                if at == self.findings.len() {
                    self.findings.push((file, Vec::new()));
                }
                self.findings[at].1.push(finding);
            } else {
                self.left_out += 1;
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
    fn place(&self, file: FileId, span: Option<Span>) -> String {
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
    fn reject(&mut self, draft: usize) {
        let draft = &mut self.drafts[draft];
        draft.evaluator = None;
        self.broken.evaluators.extend(draft.id.clone());
    }

    fn finish(mut self, documents: &[DocumentEntry]) -> Loaded {
        let drafts = std::mem::take(&mut self.drafts);
        let entries = drafts.into_iter().filter_map(|draft| {
            Some(CatalogueEntry {
                evaluator: draft.evaluator?,
                class: draft.class,
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
            self.add(files[at], [across::suite_fault(&curated[at], fault)]);
        }
        let findings = self.sorted_findings();
        Loaded {
            catalogue,
            suites,
            findings,
            others: self.others,
            files: self.files,
            left_out: self.left_out,
            has_errors: self.has_errors,
        }
    }

    fn sorted_findings(&mut self) -> Vec<FileDiagnostics> {
        let mut findings = std::mem::take(&mut self.findings);
        findings.sort_by_key(|(file, _)| (file.0, self.path(*file), self.text(*file)));
        let findings = findings.into_iter().map(|(id, mut diagnostics)| {
            Diagnostic::sort(&mut diagnostics);
            let source = match &self.roots[id.0].files[id.1].content {
                Content::Text(text) => Source::new(text.clone()),
                Content::Refused(_, source) => source.clone(),
            };
            FileDiagnostics { file: self.shown(id), source, diagnostics }
        });
        findings.collect()
    }
}
