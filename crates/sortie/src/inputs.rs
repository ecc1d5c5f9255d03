//! From the paths on the command line to the texts of documents.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sortie_prove::is_proofs_folder;
pub(crate) use sortie_report::counted;
use sortie_syntax::yaml::MAX_DOCUMENT_BYTES;
use sortie_syntax::{Diagnostic, DiagnosticSeverity, ParseErrorKind, Source, Span, utf8};

use crate::failure::Failure;
use crate::library::{self, BundledDocument};
use crate::recognize::{LOOK_AT, Looks, Named, looks};

/// A document to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// `-`
    Stdin,
    /// A file.
    File(PathBuf),
    /// A document that comes with the program.
    Library(&'static BundledDocument),
}

/// What an input holds.
pub(crate) enum Content {
    /// Text that may be a document.
    Text(String),
    /// Something that is none, as far as it can be shown, and why.
    Refused(Source, Box<Diagnostic>),
}

impl Input {
    /// How people are told about it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdin => "<stdin>".into(),
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Library(entry) => entry.name(),
        }
    }

    /// Reads it, and never more than a document may have.
    pub(crate) fn read(&self) -> Result<Content, Failure> {
        let failed = |error: io::Error| Failure::of_name(self.name(), "read", &error);
        let (bytes, length) = match self {
            Self::Stdin => (read_bounded(io::stdin().lock()).map_err(failed)?, None),
            Self::File(path) => {
                let file = File::open(path).map_err(failed)?;
                let length = file.metadata().map_err(failed)?.len();
                (read_bounded(file).map_err(failed)?, Some(length))
            }
            Self::Library(entry) => return Ok(Content::Text(entry.text.to_owned())),
        };
        Ok(content(bytes, length))
    }
}

/// One byte more than allowed is enough to know that it is too long.
fn read_bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_DOCUMENT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn content(bytes: Vec<u8>, length: Option<u64>) -> Content {
    if bytes.len() > MAX_DOCUMENT_BYTES {
        return Content::Refused(Source::new(""), Box::new(too_long(length)));
    }
    match utf8(&bytes) {
        Ok(_) => Content::Text(String::from_utf8(bytes).unwrap_or_default()), // it was just found to be UTF-8
        // What precedes the error is shown as it is, so the place of the error stays right.
        Err(error) => Content::Refused(Source::new(String::from_utf8_lossy(&bytes)), error.diagnostic),
    }
}

/// The same finding that the library gives, without having read it all.
fn too_long(length: Option<u64>) -> Diagnostic {
    let message = match length.filter(|length| *length > MAX_DOCUMENT_BYTES as u64) {
        Some(length) => format!("the document is {length} bytes long; {MAX_DOCUMENT_BYTES} are the limit"),
        None => format!("the document is longer than {MAX_DOCUMENT_BYTES} bytes, which are the limit"),
    };
    let mut finding = Diagnostic::new(DiagnosticSeverity::Error, "P-011", message);
    finding.kind = Some(ParseErrorKind::Syntax);
    finding.span = Some(Span::new(0, 0));
    finding.help.push("large payloads belong into a resource that the document generates or names".into());
    finding
}

/// What stands behind the paths of a command line.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Documents, in the order of the arguments, and by name within folders.
    pub(crate) inputs: Vec<Input>,
    /// Files that look like evaluators or belong to one, with the folder that was looked through, in the same order.
    pub(crate) evaluators: Vec<(PathBuf, Option<PathBuf>)>,
    /// Files in folders that are none of these.
    pub(crate) others: Vec<PathBuf>,
    /// Links to folders, found in folders. They are not followed: they may lead anywhere, and back.
    pub(crate) links: Vec<PathBuf>,
    /// What could not be looked at.
    pub(crate) failures: Vec<Failure>,
    /// Whether evaluators are wanted; they are other files, where they are not.
    with_evaluators: bool,
    seen: HashSet<PathBuf>,
}

/// Finds documents. A file that is named is one, whatever is in it; in a folder, those that look like one.
pub(crate) fn find(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for path in paths {
        found.look_at(path);
    }
    found
}

/// The same, where a word that is no path may name a document of the library.
pub(crate) fn find_or_named(paths: &[PathBuf]) -> Found {
    named_or_found(paths, Found::default())
}

/// The same for documents and evaluators: a file that is named is a document, unless it looks like an evaluator.
pub(crate) fn find_all(paths: &[PathBuf]) -> Found {
    named_or_found(paths, Found { with_evaluators: true, ..Found::default() })
}

fn named_or_found(paths: &[PathBuf], mut found: Found) -> Found {
    for path in paths {
        match named_entry(path) {
            Some(Ok(entry)) if found.inputs.contains(&Input::Library(entry)) => {}
            Some(Ok(entry)) => found.inputs.push(Input::Library(entry)),
            Some(Err(failure)) => found.failures.push(failure),
            None => found.look_at(path),
        }
    }
    found
}

/// The one document that a word means: a file, or a document of the library.
pub(crate) fn file_or_named(path: &Path) -> Result<Input, Failure> {
    named_entry(path).map_or_else(|| Ok(Input::File(path.to_owned())), |named| named.map(Input::Library))
}

/// The document of the library that a word means, when it is no path.
fn named_entry(path: &Path) -> Option<Result<&'static BundledDocument, Failure>> {
    let word = library::may_name(path).filter(|_| !path.exists())?;
    Some(library::find(word).map_err(|error| {
        Failure::new(format!("there is no file or folder `{word}`, and {error}")).help(error.help())
    }))
}

/// No path led to a document.
pub(crate) fn nothing_found(paths: &[PathBuf]) -> Failure {
    let names: Vec<_> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    Failure::new(format!("no OATF document found in {}", names.join(", "))).help(
        "in a folder, a document is a file with `oatf` or `attack` at its top level; \
         a file that you name is checked in any case",
    )
}

impl Found {
    fn look_at(&mut self, path: &Path) {
        if path.as_os_str() == "-" {
            if !self.inputs.contains(&Input::Stdin) {
                self.inputs.push(Input::Stdin);
            }
            return;
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => self.folder(path, path),
            Ok(metadata) if metadata.is_file() && self.with_evaluators => match look(path) {
                Ok(Looks::Evaluator) => self.add_evaluator(path.to_owned(), None),
                Ok(Looks::Pattern) if is_of_folder(path) => self.add_evaluator(path.to_owned(), None),
                _ => self.add(path.to_owned()),
            },
            Ok(_) => self.add(path.to_owned()),
            Err(error) => self.failures.push(Failure::at(path, "read", &error)),
        }
    }

    /// Nothing to check, and nothing that says why.
    pub(crate) fn is_empty(&self) -> bool {
        self.inputs.is_empty() && self.evaluators.is_empty() && self.failures.is_empty()
    }

    /// What was left out, in words.
    pub(crate) fn notes(&self) -> Vec<String> {
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

    /// The same file under two paths is read once.
    fn add(&mut self, path: PathBuf) {
        let identity = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if self.seen.insert(identity) {
            self.inputs.push(Input::File(path));
        }
    }

    fn add_evaluator(&mut self, path: PathBuf, top: Option<&Path>) {
        let identity = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if self.seen.insert(identity) {
            self.evaluators.push((path, top.map(Path::to_path_buf)));
        }
    }

    /// Looks through a folder, by name. What starts with a dot is hidden, and stays so.
    // Recursion ends where the system refuses longer paths (4096 bytes on Linux).
    fn folder(&mut self, folder: &Path, top: &Path) {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.failures.push(Failure::at(folder, "read", &error)),
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = tidy(folder, entry.path());
            match (entry.file_type(), fs::metadata(&path)) {
                (Ok(kind), Ok(behind)) if behind.is_dir() && kind.is_symlink() => self.links.push(path),
                // They belong to the document beside them, and hold none.
                (_, Ok(behind)) if behind.is_dir() && is_proofs_folder(&path) => {}
                (_, Ok(behind)) if behind.is_dir() => self.folder(&path, top),
                (_, Ok(behind)) if behind.is_file() => self.file(path, top),
                // Sockets, pipes and devices may block or never end.
                (_, Ok(_)) => self.others.push(path),
                (_, Err(error)) => self.failures.push(Failure::at(&path, "read", &error)),
            }
        }
    }

    fn file(&mut self, path: PathBuf, top: &Path) {
        match look(&path) {
            Ok(Looks::Document) => self.add(path),
            Ok(Looks::Evaluator) if self.with_evaluators => self.add_evaluator(path, Some(top)),
            Ok(Looks::Pattern) if self.with_evaluators && is_of_folder(&path) => {
                self.add_evaluator(path, Some(top));
            }
            Ok(_) => self.others.push(path),
            Err(error) => self.failures.push(Failure::at(&path, "read", &error)),
        }
    }
}

/// What a file looks like. Evaluators are YAML by name too.
fn look(path: &Path) -> io::Result<Looks> {
    let mut start = Vec::new();
    File::open(path)?.take(LOOK_AT as u64).read_to_end(&mut start)?;
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    Ok(match looks(&start, named(path)) {
        Looks::Evaluator | Looks::Pattern if is_json => Looks::Other,
        looks => looks,
    })
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

fn named(path: &Path) -> Named {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known)) {
        Named::LikeADocument
    } else {
        Named::LikeAnything
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
