//! The documents that are open, the files around them, and what is known of both.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use lsp_types::{MarkupKind, TextDocumentContentChangeEvent, TextDocumentItem, Uri};
use sortie_evaluators::Loaded;
use sortie_evaluators::limits::MAX_PATTERNS;
use sortie_evaluators::schema::{SchemaOf, schema};
use sortie_syntax::yaml::{NodeKind, Tree};
use sortie_syntax::{Diagnostic, NodePath};

use crate::catalogue::EvaluatorFolder;
use crate::document::{OpenDocument, Snapshot};
use crate::files::Files;
use crate::kind::DocumentKind;
use crate::schema::Schema;
use crate::text::{PositionEncoding, Text};

/// More documents than this are not followed: no editor has as many open.
const MOST_DOCUMENTS: usize = 256;

/// What is known about `sortie.toml`. The crate that reads it is the one that runs attacks, which an editor does not need.
#[derive(Clone, Copy)]
pub struct SettingsLanguage {
    /// Everything that is wrong with a text.
    pub check: fn(&str) -> Vec<Diagnostic>,
    /// Its JSON Schema.
    pub schema: &'static str,
}

/// Open documents and the files around them: the language server without its pipes.
pub struct Workspace {
    pub(crate) encoding: PositionEncoding,
    pub(crate) markup: Markup,
    pub(crate) files: Box<dyn Files>,
    /// The folders that the editor has open.
    pub(crate) folders: Vec<PathBuf>,
    settings: SettingsLanguage,
    settings_schema: Schema,
    /// By URI, as the editor writes it.
    documents: BTreeMap<String, OpenDocument>,
    /// What is on disk of folders of evaluators, until something there changes.
    evaluators: HashMap<PathBuf, Arc<EvaluatorFolder>>,
}

/// How an editor shows the texts that explain something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Markup {
    /// What stands under the cursor.
    pub(crate) hover: MarkupKind,
    /// What explains an offer.
    pub(crate) completion: MarkupKind,
}

impl Default for Markup {
    fn default() -> Self {
        Self { hover: MarkupKind::Markdown, completion: MarkupKind::Markdown }
    }
}

static ATTACK: LazyLock<Schema> = LazyLock::new(|| Schema::new(sortie_oatf::schema()));
static EVALUATOR: LazyLock<Schema> = LazyLock::new(|| Schema::new(&schema(SchemaOf::Evaluator)));
static PATTERN: LazyLock<Schema> = LazyLock::new(|| Schema::new(&schema(SchemaOf::Pattern)));
static FIXTURES: LazyLock<Schema> = LazyLock::new(|| Schema::new(&schema(SchemaOf::Fixtures)));
static SUITE: LazyLock<Schema> = LazyLock::new(|| Schema::new(&schema(SchemaOf::Suite)));

impl Workspace {
    /// A workspace without open documents.
    pub fn new(
        files: Box<dyn Files>,
        settings: SettingsLanguage,
        folders: Vec<PathBuf>,
        encoding: PositionEncoding,
    ) -> Self {
        let settings_schema = Schema::new(settings.schema);
        let (documents, evaluators) = (BTreeMap::new(), HashMap::new());
        Self {
            encoding,
            markup: Markup::default(),
            files,
            folders,
            settings,
            settings_schema,
            documents,
            evaluators,
        }
    }

    /// The same workspace for an editor that shows texts in this way.
    pub(crate) fn with_markup(mut self, markup: Markup) -> Self {
        self.markup = markup;
        self
    }

    /// Follows a document. `false` where too many are open already.
    pub(crate) fn open(&mut self, item: TextDocumentItem) -> bool {
        let key = item.uri.as_str().to_owned();
        if self.documents.len() >= MOST_DOCUMENTS && !self.documents.contains_key(&key) {
            return false;
        }
        let document = OpenDocument {
            path: path_of(&item.uri),
            uri: item.uri,
            version: item.version,
            kind: DocumentKind::Other,
            text: Text::new(item.text, self.encoding),
            findings: Vec::new(),
            snapshot: None,
            is_dirty: true,
        };
        self.documents.insert(key, document);
        true
    }

    pub(crate) fn change(&mut self, uri: &Uri, version: i32, changes: &[TextDocumentContentChangeEvent]) {
        if let Some(document) = self.documents.get_mut(uri.as_str()) {
            for change in changes {
                document.text.apply(change);
            }
            (document.version, document.is_dirty) = (version, true);
        }
    }

    pub(crate) fn close(&mut self, uri: &Uri) {
        self.documents.remove(uri.as_str());
        self.forget_files();
    }

    /// Something on disk has changed: it is read again, and what depends on it is analysed again.
    pub(crate) fn forget_files(&mut self) {
        self.evaluators.clear();
        for document in self.documents.values_mut() {
            document.is_dirty |= document.kind.is_of_evaluators();
        }
    }

    /// An open document, analysed.
    pub(crate) fn document(&mut self, uri: &Uri) -> Option<&OpenDocument> {
        self.analyze(uri.as_str());
        self.documents.get(uri.as_str())
    }

    /// An open document as it was last analysed.
    pub(crate) fn opened(&self, uri: &Uri) -> Option<&OpenDocument> {
        self.documents.get(uri.as_str())
    }

    /// The URIs of the documents that have changed since they were analysed.
    pub(crate) fn dirty(&self) -> Vec<Uri> {
        let dirty = self.documents.values().filter(|document| document.is_dirty);
        dirty.map(|document| document.uri.clone()).collect()
    }

    /// Every open document as it was last analysed.
    pub(crate) fn documents(&self) -> impl Iterator<Item = &OpenDocument> {
        self.documents.values()
    }

    /// The text of a file: as it is being edited, or as it is on disk.
    pub(crate) fn read(&self, path: &Path) -> Option<String> {
        let open = self.documents.values().find(|document| document.path == path);
        open.map(|document| document.text.as_str().to_owned()).or_else(|| self.files.read(path))
    }

    /// The schema of a kind of file.
    pub(crate) fn schema(&self, kind: DocumentKind) -> Option<&Schema> {
        match kind {
            DocumentKind::Attack => Some(&ATTACK),
            DocumentKind::Evaluator => Some(&EVALUATOR),
            DocumentKind::Pattern => Some(&PATTERN),
            DocumentKind::Fixtures => Some(&FIXTURES),
            DocumentKind::Suite => Some(&SUITE),
            DocumentKind::Settings => Some(&self.settings_schema),
            DocumentKind::Other => None,
        }
    }

    /// The folder of evaluators that a file lies in, as it is on disk.
    pub(crate) fn evaluator_folder(&mut self, path: &Path) -> Arc<EvaluatorFolder> {
        let root = EvaluatorFolder::root_of(path);
        if let Some(known) = self.evaluators.get(&root) {
            return Arc::clone(known);
        }
        let folder = Arc::new(EvaluatorFolder::load(&root, path, &*self.files));
        self.evaluators.insert(root, Arc::clone(&folder));
        folder
    }

    /// Everything that is loaded with a file of evaluators.
    pub(crate) fn loaded_evaluators(&mut self, path: &Path) -> Loaded {
        let folder = self.evaluator_folder(path);
        folder.loaded(path, self.texts())
    }

    /// The names of the patterns of the evaluator that fixtures lie beside. It is not loaded for that: fixtures that are being written
    /// would keep it from loading.
    pub(crate) fn patterns_beside(&self, path: &Path) -> Vec<String> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let flat = path.with_file_name(format!("{}.yaml", name.trim_end_matches(".test.yaml")));
        let own = self.read(&flat).or_else(|| self.read(&path.with_file_name("evaluator.yaml")));
        let mut names = own.map(|text| pattern_names(&text)).unwrap_or_default();
        for file in self.files.below(&path.with_file_name("patterns")) {
            names.extend(
                self.read(&file)
                    .and_then(|text| scalar_at(&Tree::parse(&text).0?, &NodePath::root().key("name"))),
            );
        }
        names
    }

    fn texts(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.documents.values().map(|open| (open.path.as_path(), open.text.as_str()))
    }

    fn analyze(&mut self, key: &str) {
        let Some(document) = self.documents.get(key).filter(|document| document.is_dirty) else { return };
        let (path, text) = (document.path.clone(), document.text.as_str());
        let kind = DocumentKind::of(&path, text);
        let (findings, snapshot) = match kind {
            DocumentKind::Attack => {
                let analysis = sortie_lint::analyze(text);
                let snapshot = analysis.document.map(|document| Snapshot::Attack(Box::new(document)));
                (analysis.diagnostics, snapshot)
            }
            DocumentKind::Settings => ((self.settings.check)(text), None),
            DocumentKind::Other => (Vec::new(), None),
            DocumentKind::Evaluator
            | DocumentKind::Pattern
            | DocumentKind::Fixtures
            | DocumentKind::Suite => {
                let snapshot = Tree::parse(text).0.map(|tree| Snapshot::Yaml(Box::new(tree)));
                let folder = self.evaluator_folder(&path);
                (folder.check(&path, self.texts()), snapshot)
            }
        };
        // The entry was there when the function began, and nothing has removed it.
        let Some(document) = self.documents.get_mut(key) else { return };
        if document.kind != kind {
            document.snapshot = None;
        }
        document.snapshot = snapshot.or(document.snapshot.take());
        (document.kind, document.findings, document.is_dirty) = (kind, findings, false);
    }
}

fn pattern_names(evaluator: &str) -> Vec<String> {
    let Some(tree) = Tree::parse(evaluator).0 else { return Vec::new() };
    let patterns = NodePath::root().key("patterns");
    let name = |index: usize| scalar_at(&tree, &patterns.clone().index(index).key("name"));
    (0..MAX_PATTERNS).map_while(name).collect()
}

fn scalar_at(tree: &Tree, path: &NodePath) -> Option<String> {
    match tree.node(tree.find(path)?.0).kind {
        NodeKind::Scalar(text, _) => Some(text.to_owned()),
        _ => None,
    }
}

/// The path of a file; of what is not a file, the path of its URI.
pub(crate) fn path_of(uri: &Uri) -> PathBuf {
    let parsed = url::Url::parse(uri.as_str()).ok();
    let file = parsed.as_ref().and_then(|url| url.to_file_path().ok());
    file.unwrap_or_else(|| {
        PathBuf::from(parsed.map_or_else(|| uri.as_str().to_owned(), |url| url.path().to_owned()))
    })
}

/// The URI of a file.
pub(crate) fn uri_of(path: &Path) -> Option<Uri> {
    Uri::from_str(url::Url::from_file_path(path).ok()?.as_str()).ok()
}
