//! Proofs beside their document: `NAME.yaml` has its proofs in `NAME.proofs/`.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use sortie_oatf::Validated;
use sortie_oatf::model::Document;
use sortie_syntax::yaml::MAX_DOCUMENT_BYTES;
use sortie_syntax::{Diagnostic, DiagnosticSeverity, NodePath, Source, utf8};
use sortie_trace::TraceError;

use crate::manifest::{Manifest, Shows};
use crate::recording::Recording;

/// The name of the manifest in a folder of proofs.
pub const MANIFEST: &str = "proofs.yaml";

/// A trace that proves something is at most so long, in bytes.
pub(crate) const MAX_PROOF_BYTES: u64 = 16 * 1024 * 1024;

/// All traces that prove one document are at most so long, in bytes: they are held in memory.
pub(crate) const MAX_PROOFS_BYTES: u64 = 64 * 1024 * 1024;

/// The proofs of a document, read.
#[derive(Debug)]
pub struct Proofs {
    /// The manifest's file.
    pub file: PathBuf,
    /// The manifest's text.
    pub source: Source,
    /// What it says.
    pub manifest: Manifest,
    /// What was said in each run, in the order of the manifest.
    pub recordings: Vec<Recording>,
    /// Recordings in the folder that the manifest does not name.
    pub unlisted: Vec<String>,
}

/// Why proofs could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ProofsError {
    /// A file or folder cannot be read.
    #[error("cannot read `{}`: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The manifest is none.
    #[error("`{}` is not a valid manifest", file.display())]
    Manifest {
        /// Its file.
        file: PathBuf,
        /// Its text.
        source_text: Source,
        /// Everything that is wrong with it.
        findings: Vec<Diagnostic>,
    },
    /// A recording that the manifest names is none.
    #[error("cannot read `{}`: {error}", path.display())]
    Trace {
        /// Its file.
        path: PathBuf,
        /// Why not.
        error: TraceError,
    },
    /// A recording is too long to prove anything.
    #[error("`{}` is too long: {MAX_PROOF_BYTES} bytes are the limit for a proof, {MAX_PROOFS_BYTES} for all of a document", path.display())]
    TooLong {
        /// Its file.
        path: PathBuf,
    },
}

/// The folder in which the proofs of a document stand: `attack.proofs` for `attack.yaml`.
pub fn folder_of(document: &Path) -> PathBuf {
    document.with_extension("proofs")
}

/// Whether a folder is one of proofs, by its name.
pub fn is_proofs_folder(folder: &Path) -> bool {
    folder.extension().is_some_and(|extension| extension == "proofs")
}

/// What `sortie check --deny proofs` says about a document that has indicators and no proofs (L-023). `path` is `None` for one
/// that stands in no file.
pub fn missing(path: Option<&Path>, document: &Document) -> Option<Diagnostic> {
    let has_indicators = document.attack.indicators.as_ref().is_some_and(|indicators| !indicators.is_empty());
    let manifest = path.map(|path| folder_of(path).join(MANIFEST));
    if !has_indicators || manifest.as_ref().is_some_and(|manifest| manifest.is_file()) {
        return None;
    }
    let place = NodePath::root().key("attack").key("indicators");
    let finding = Diagnostic::new(DiagnosticSeverity::Warning, "L-023", "nothing proves these indicators");
    let finding = document.span_of(&place).into_iter().fold(finding, Diagnostic::at);
    let finding = finding.path(place).label("no proofs");
    Some(match manifest {
        Some(manifest) => {
            let finding = finding.help(format!("there is no `{}`", manifest.display()));
            finding.help("`sortie prove` says which runs it takes")
        }
        None => finding.help("proofs stand beside a file; this document is in none"),
    })
}

impl Proofs {
    /// Reads the proofs beside a document; `None` when there is no manifest.
    pub fn beside(path: &Path, document: &Validated) -> Result<Option<Self>, ProofsError> {
        let folder = folder_of(path);
        let file = folder.join(MANIFEST);
        let Some(bytes) = manifest_bytes(&file)? else { return Ok(None) };
        let mut left = MAX_PROOFS_BYTES;
        let mut proofs = Self::read(file, &bytes, document, |name| opened(&folder.join(name), &mut left))?;
        proofs.unlisted = unlisted(&folder, &proofs.manifest)?;
        Ok(Some(proofs))
    }

    /// Reads proofs that a program carries in itself: the text of the manifest, and recordings by name. `file` is how
    /// people are told about the manifest.
    pub fn carried(
        file: &Path,
        manifest: &str,
        traces: &[(&str, &str)],
        document: &Validated,
    ) -> Result<Self, ProofsError> {
        let mut proofs = Self::read(file.to_owned(), manifest.as_bytes(), document, |name| {
            let path = file.with_file_name(name);
            match traces.iter().find(|(known, _)| *known == name) {
                Some((_, text)) => read(text.as_bytes(), path),
                None => Err(ProofsError::Io { path, error: io::ErrorKind::NotFound.into() }),
            }
        })?;
        let names = traces.iter().map(|(name, _)| (*name).to_owned());
        proofs.unlisted = names.filter(|name| !proofs.manifest.names(name)).collect();
        Ok(proofs)
    }

    /// Reads a manifest, and each recording that it names.
    fn read(
        file: PathBuf,
        bytes: &[u8],
        document: &Validated,
        mut trace: impl FnMut(&str) -> Result<Recording, ProofsError>,
    ) -> Result<Self, ProofsError> {
        let (source, manifest) = parsed(&file, bytes, document)?;
        let recordings = manifest.proofs.iter().map(|proof| match &proof.shows {
            Shows::Messages(messages) => Ok(Recording::of_messages(messages)),
            Shows::Trace(name) => trace(name),
        });
        let recordings = recordings.collect::<Result<_, _>>()?;
        Ok(Self { file, source, manifest, recordings, unlisted: Vec::new() })
    }
}

impl Manifest {
    /// Reads the manifest beside a document and none of the recordings it names, with its text; `None` when there is none.
    pub fn beside(path: &Path, document: &Validated) -> Result<Option<(Source, Self)>, ProofsError> {
        let file = folder_of(path).join(MANIFEST);
        manifest_bytes(&file)?.map(|bytes| parsed(&file, &bytes, document)).transpose()
    }
}

fn manifest_bytes(file: &Path) -> Result<Option<Vec<u8>>, ProofsError> {
    match File::open(file).and_then(|file| bounded(file, MAX_DOCUMENT_BYTES as u64)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ProofsError::Io { path: file.to_owned(), error }),
    }
}

fn parsed(file: &Path, bytes: &[u8], document: &Validated) -> Result<(Source, Manifest), ProofsError> {
    let invalid = |source_text: Source, findings| ProofsError::Manifest {
        file: file.to_owned(),
        source_text,
        findings,
    };
    let text = utf8(bytes)
        .map_err(|error| invalid(Source::new(String::from_utf8_lossy(bytes)), vec![*error.diagnostic]))?;
    let source = Source::new(text);
    let manifest = Manifest::parse(text, document).map_err(|findings| invalid(source.clone(), findings))?;
    Ok((source, manifest))
}

fn bounded(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than allowed is enough to know that it is too long; the parser says so.
    file.take(most + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a recording from a file. `left` is what all of them may still take.
fn opened(path: &Path, left: &mut u64) -> Result<Recording, ProofsError> {
    let failed = |error| ProofsError::Io { path: path.to_owned(), error };
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    if length > MAX_PROOF_BYTES.min(*left) {
        return Err(ProofsError::TooLong { path: path.to_owned() });
    }
    *left -= length;
    read(BufReader::new(file.take(MAX_PROOF_BYTES)), path.to_owned())
}

fn read(trace: impl BufRead, path: PathBuf) -> Result<Recording, ProofsError> {
    Recording::read(trace).map_err(|error| ProofsError::Trace { path, error })
}

/// Recordings that nobody says anything about, by name.
fn unlisted(folder: &Path, manifest: &Manifest) -> Result<Vec<String>, ProofsError> {
    let failed = |error| ProofsError::Io { path: folder.to_owned(), error };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_trace = path.extension().is_some_and(|extension| extension == "jsonl");
        if is_trace && !name.starts_with('.') && !manifest.names(&name) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
