//! From paths and names to the texts of documents.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sortie_lint::analyze;
use sortie_oatf::{Validated, load};
use sortie_report::counted;
use sortie_report::files::FileError;
use sortie_report::findings::Checked;
use sortie_syntax::yaml::MAX_DOCUMENT_BYTES;
use sortie_syntax::{Diagnostic, ParseErrorKind, Source, Span, utf8};

use crate::recognize::{FileLooks, LOOK_AT, recognize};
use crate::{BundledDocument, LoadError, find, may_name};

/// A document to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentInput {
    /// `-`
    Stdin,
    /// A file.
    File(PathBuf),
    /// A document that comes with the program.
    Library(&'static BundledDocument),
}

impl DocumentInput {
    /// The one document that a word means: a file, or a document of the library.
    pub fn file_or_named(path: &Path) -> Result<Self, LoadError> {
        named_entry(path).map_or_else(|| Ok(Self::File(path.to_owned())), |named| named.map(Self::Library))
    }

    /// How people are told about it.
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => "<stdin>".into(),
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Library(entry) => entry.name(),
        }
    }

    /// Reads it, and never more than a document may have. What is not text is an invalid document.
    pub fn read(&self) -> Result<String, LoadError> {
        let failed = |error: io::Error| FileError::io(Path::new(&self.name()), "read", error);
        let (bytes, length) = match self {
            Self::Stdin => (read_bounded(io::stdin().lock()).map_err(failed)?, None),
            Self::File(path) => {
                let file = File::open(path).map_err(failed)?;
                let length = file.metadata().map_err(failed)?.len();
                (read_bounded(file).map_err(failed)?, Some(length))
            }
            Self::Library(entry) => return Ok(entry.text.to_owned()),
        };
        text(bytes, length).map_err(|(source, finding)| self.invalid(source, vec![*finding]))
    }

    /// Reads it, and says all that is wrong where it is not a valid document.
    pub fn load(&self) -> Result<Validated, LoadError> {
        let text = self.read()?;
        load(&text).map(|loaded| loaded.document).map_err(|_| {
            let findings = analyze(&text).diagnostics.into_iter().filter(Diagnostic::is_error);
            self.invalid(Source::new(text.as_str()), findings.collect())
        })
    }

    fn invalid(&self, source: Source, findings: Vec<Diagnostic>) -> LoadError {
        LoadError::Invalid(Box::new(Checked { name: self.name(), source, valid: false, findings }))
    }
}

/// One byte more than allowed is enough to know that it is too long.
fn read_bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_DOCUMENT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of bytes; else what can be shown of them, and what is wrong.
fn text(bytes: Vec<u8>, length: Option<u64>) -> Result<String, (Source, Box<Diagnostic>)> {
    if bytes.len() > MAX_DOCUMENT_BYTES {
        return Err((Source::new(""), Box::new(too_long(length))));
    }
    match utf8(&bytes) {
        Ok(_) => Ok(String::from_utf8(bytes).unwrap_or_default()), // it was just found to be UTF-8
        // What precedes the error is shown as it is, so the place of the error stays right.
        Err(error) => Err((Source::new(String::from_utf8_lossy(&bytes)), error.diagnostic)),
    }
}

/// The same finding that the library gives, without having read it all.
fn too_long(length: Option<u64>) -> Diagnostic {
    let message = match length.filter(|length| *length > MAX_DOCUMENT_BYTES as u64) {
        Some(length) => format!("the document is {length} bytes long; {MAX_DOCUMENT_BYTES} are the limit"),
        None => format!("the document is longer than {MAX_DOCUMENT_BYTES} bytes, which are the limit"),
    };
    Diagnostic::parse(ParseErrorKind::Syntax, "P-011", message)
        .at(Span::new(0, 0))
        .help("large payloads belong into a resource that the document generates or names")
}

/// What stands behind paths.
#[derive(Debug, Default)]
pub struct Found {
    /// Documents, in the order of the arguments, and by name within folders.
    pub inputs: Vec<DocumentInput>,
    /// Files that look like evaluators or belong to one, with the folder that was looked through, in the same order.
    pub evaluators: Vec<(PathBuf, Option<PathBuf>)>,
    /// Files in folders that are none of these.
    others: Vec<PathBuf>,
    /// Links to folders, found in folders. They are not followed: they may lead anywhere, and back.
    links: Vec<PathBuf>,
    /// What could not be looked at.
    pub failures: Vec<LoadError>,
    /// Whether evaluators are wanted; they are other files, where they are not.
    with_evaluators: bool,
    seen: HashSet<PathBuf>,
}

impl Found {
    /// Finds documents. A file that is named is one, whatever is in it; in a folder, those that look like one.
    pub fn documents(paths: &[PathBuf]) -> Result<Self, LoadError> {
        let mut found = Self::default();
        for path in paths {
            found.look_at(path);
        }
        found.unless_empty(paths)
    }

    /// The same, where a word that is not a path may name a document of the library.
    pub fn documents_or_names(paths: &[PathBuf]) -> Result<Self, LoadError> {
        Self::default().named(paths)
    }

    /// The same for documents and evaluators: a file that is named is a document, unless it looks like an evaluator.
    pub fn everything(paths: &[PathBuf]) -> Result<Self, LoadError> {
        Self { with_evaluators: true, ..Self::default() }.named(paths)
    }

    fn named(mut self, paths: &[PathBuf]) -> Result<Self, LoadError> {
        for path in paths {
            match named_entry(path) {
                Some(Ok(entry)) if self.inputs.contains(&DocumentInput::Library(entry)) => {}
                Some(Ok(entry)) => self.inputs.push(DocumentInput::Library(entry)),
                Some(Err(failure)) => self.failures.push(failure),
                None => self.look_at(path),
            }
        }
        self.unless_empty(paths)
    }

    /// Nothing was found, and nothing that says why, is an error.
    fn unless_empty(self, paths: &[PathBuf]) -> Result<Self, LoadError> {
        if self.inputs.is_empty() && self.evaluators.is_empty() && self.failures.is_empty() {
            return Err(LoadError::NoDocument(paths.to_vec()));
        }
        Ok(self)
    }
}

/// The document of the library that a word means, when it is not a path.
fn named_entry(path: &Path) -> Option<Result<&'static BundledDocument, LoadError>> {
    let word = may_name(path).filter(|_| !path.exists())?;
    Some(find(word).map_err(|source| LoadError::NotFound { word: word.to_owned(), source }))
}

impl Found {
    fn look_at(&mut self, path: &Path) {
        if path.as_os_str() == "-" {
            if !self.inputs.contains(&DocumentInput::Stdin) {
                self.inputs.push(DocumentInput::Stdin);
            }
            return;
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => self.folder(path, path),
            Ok(metadata) if metadata.is_file() && self.with_evaluators => match look(path) {
                Ok(FileLooks::Evaluator) => self.add_evaluator(path.to_owned(), None),
                Ok(FileLooks::Pattern) if is_of_folder(path) => self.add_evaluator(path.to_owned(), None),
                _ => self.add(path.to_owned()),
            },
            Ok(_) => self.add(path.to_owned()),
            Err(error) => self.failures.push(FileError::io(path, "read", error).into()),
        }
    }

    /// What was left out, in words.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(names) = listed(&self.others) {
            let (one, many) = if self.with_evaluators {
                ("file is neither a document nor an evaluator", "files are neither documents nor evaluators")
            } else {
                ("file is not an OATF document", "files are not OATF documents")
            };
            let count = counted(self.others.len(), one, many);
            notes.push(format!("{count}: {names}"));
        }
        if let Some(names) = listed(&self.links) {
            let count = counted(self.links.len(), "link to a folder was", "links to folders were");
            notes.push(format!("{count} not followed: {names}"));
        }
        notes
    }

    fn add(&mut self, path: PathBuf) {
        if self.is_new(&path) {
            self.inputs.push(DocumentInput::File(path));
        }
    }

    fn add_evaluator(&mut self, path: PathBuf, top: Option<&Path>) {
        if self.is_new(&path) {
            self.evaluators.push((path, top.map(Path::to_path_buf)));
        }
    }

    /// The same file under two paths is read once.
    fn is_new(&mut self, path: &Path) -> bool {
        self.seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// Looks through a folder, by name. What starts with a dot is hidden, and stays so.
    // Recursion ends where the system refuses longer paths (4096 bytes on Linux).
    fn folder(&mut self, folder: &Path, top: &Path) {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.failures.push(FileError::io(folder, "read", error).into()),
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = tidy(folder, entry.path());
            match (entry.file_type(), fs::metadata(&path)) {
                (Ok(kind), Ok(behind)) if behind.is_dir() && kind.is_symlink() => self.links.push(path),
                // Proofs belong to the document beside them.
                (_, Ok(behind)) if behind.is_dir() && path.extension().is_some_and(|end| end == "proofs") => {
                }
                (_, Ok(behind)) if behind.is_dir() => self.folder(&path, top),
                (_, Ok(behind)) if behind.is_file() => self.file(path, top),
                // Sockets, pipes and devices may block or never end.
                (_, Ok(_)) => self.others.push(path),
                (_, Err(error)) => self.failures.push(FileError::io(&path, "read", error).into()),
            }
        }
    }

    fn file(&mut self, path: PathBuf, top: &Path) {
        match look(&path) {
            Ok(FileLooks::Document) => self.add(path),
            Ok(FileLooks::Evaluator) if self.with_evaluators => self.add_evaluator(path, Some(top)),
            Ok(FileLooks::Pattern) if self.with_evaluators && is_of_folder(&path) => {
                self.add_evaluator(path, Some(top));
            }
            Ok(_) => self.others.push(path),
            Err(error) => self.failures.push(FileError::io(&path, "read", error).into()),
        }
    }
}

fn look(path: &Path) -> io::Result<FileLooks> {
    let mut start = Vec::new();
    File::open(path)?.take(LOOK_AT as u64).read_to_end(&mut start)?;
    Ok(recognize(path, &start))
}

/// Whether a pattern lies in the folder of an evaluator: `<id>/patterns/<slug>.yaml`.
fn is_of_folder(path: &Path) -> bool {
    let above = path.parent().filter(|folder| folder.ends_with("patterns")).and_then(Path::parent);
    above.is_some_and(|folder| folder.join("evaluator.yaml").is_file())
}

/// `sortie check .` speaks of `a.yaml`, not of `./a.yaml`.
fn tidy(folder: &Path, path: PathBuf) -> PathBuf {
    if folder.as_os_str() == "." {
        path.strip_prefix(".").map_or(path.clone(), Path::to_path_buf)
    } else {
        path
    }
}

/// How many names a note holds.
const NAMED: usize = 5;

fn listed(paths: &[PathBuf]) -> Option<String> {
    let names: Vec<_> = paths.iter().take(NAMED).map(|path| path.to_string_lossy()).collect();
    let more = paths.len().saturating_sub(NAMED);
    match names.len() {
        0 => None,
        _ if more > 0 => Some(format!("{} and {more} more", names.join(", "))),
        _ => Some(names.join(", ")),
    }
}
