//! What paths on a command line stand for: the folders of evaluators they lie in, and which files of these are meant.
//!
//! Ids, dependencies and suites are about all evaluators that are loaded together, so a file is checked with its folder.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use sortie_evaluators::folder::{FolderPart, PARTS, is_yaml, load_file, load_folder};
use sortie_evaluators::{DocumentEntry, File, FileContent, FileDiagnostics, Loaded, Root, load};
use sortie_lint::fix_by;
use sortie_report::files::FileError;
use sortie_report::findings::Checked;
use sortie_syntax::{Diagnostic, Source};

use crate::{EvaluatorRoots, LoadError};

/// What is said about other files, since it keeps those that are meant from being loaded: two of the same id, a cycle, a
/// folder that is too large.
const ELSEWHERE: &[&str] = &["E-002", "E-017", "E-027"];

/// Folders of evaluators, and what is meant of them.
#[derive(Debug, Default)]
pub struct EvaluatorScope {
    /// Folders that somebody has named as such.
    known: Vec<PathBuf>,
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    folder: PathBuf,
    extent: Extent,
    /// Paths below the folder: files, folders, or all of it where one is empty.
    meant: Vec<String>,
}

/// How much of a folder is loaded.
#[derive(Debug, PartialEq, Eq)]
enum Extent {
    Read(FolderPart),
    /// These files, for the rest is about something else.
    Files(Vec<PathBuf>),
}

impl EvaluatorScope {
    /// A scope of nothing, with folders that are roots wherever a path leads into one of them.
    pub fn new(known: Vec<PathBuf>) -> Self {
        Self { known, places: Vec::new() }
    }

    /// A file or folder of evaluators.
    pub fn add(&mut self, path: &Path) -> Result<(), LoadError> {
        let metadata = fs::metadata(path).map_err(|error| FileError::io(path, "read", error))?;
        if let Some((folder, part)) = self.root_of(path) {
            let below = below(path, &folder);
            self.place(folder, Extent::Read(part)).meant.push(below);
        } else if metadata.is_dir() {
            self.place(path.to_owned(), Extent::Read(FolderPart::All)).meant.push(String::new());
        } else if metadata.is_file() {
            self.alone(path);
        } else {
            return Err(LoadError::NoFile(path.to_owned()));
        }
        Ok(())
    }

    /// A file that looks like one of an evaluator's, found below a folder that holds other things too.
    pub fn add_found(&mut self, file: &Path, below_folder: Option<&Path>) {
        match (self.root_of(file), below_folder) {
            (Some((folder, part)), _) => {
                let below = below(file, &folder);
                self.place(folder, Extent::Read(part)).meant.push(below);
            }
            (None, Some(folder)) => self.add_files(folder, vec![file.to_owned()], vec![below(file, folder)]),
            (None, None) => self.alone(file),
        }
    }

    /// A file in no folder of evaluators, with the files that belong to it.
    fn alone(&mut self, path: &Path) {
        let own = path.parent().unwrap_or(Path::new(""));
        let holds = |folder: &Path| folder.join("evaluator.yaml").is_file();
        let folder = [own.parent().filter(|_| own.ends_with("patterns")), Some(own)];
        if let Some(folder) = folder.into_iter().flatten().find(|folder| holds(folder)) {
            // Its name is that of the evaluator, so the root is the folder above it.
            let root = match folder.parent() {
                Some(above) if above.as_os_str().is_empty() => Path::new("."),
                Some(above) => above,
                None => Path::new(".."),
            };
            let name = below(folder, root);
            let mut files: Vec<PathBuf> = yaml_in(folder);
            files.extend(yaml_in(&folder.join("patterns")));
            return self.add_files(root, files, vec![name]);
        }
        let root = if own.as_os_str().is_empty() { Path::new(".") } else { own };
        let text = path.to_string_lossy();
        let other = match text.strip_suffix(".test.yaml") {
            Some(stem) => format!("{stem}.yaml"),
            None => format!("{}.test.yaml", text.strip_suffix(".yaml").unwrap_or(&text)),
        };
        let files = [path.to_owned(), PathBuf::from(other)];
        let files: Vec<PathBuf> = files.into_iter().filter(|file| file.is_file()).collect();
        let meant = files.iter().map(|file| below(file, root)).collect();
        self.add_files(root, files, meant);
    }

    fn add_files(&mut self, root: &Path, files: Vec<PathBuf>, meant: Vec<String>) {
        let place = self.place(root.to_owned(), Extent::Files(Vec::new()));
        if let Extent::Files(own) = &mut place.extent {
            own.extend(files);
        }
        place.meant.extend(meant);
    }

    /// The folder of evaluators that a path lies in: one that is known, else `evaluators` where `agent`, `mcp` or `suites`
    /// follows, else the one that holds the last of these. A folder that holds them itself lies in no other.
    fn root_of(&self, path: &Path) -> Option<(PathBuf, FolderPart)> {
        if let Some(known) = self.known.iter().find(|known| path.starts_with(known)) {
            return Some((known.clone(), FolderPart::All));
        }
        let parts: Vec<Component<'_>> = path.components().collect();
        let is_part = |at: usize| parts[at].as_os_str().to_str().is_some_and(|name| PARTS.contains(&name));
        let up_to = |end: usize| -> PathBuf {
            let folder: PathBuf = parts[..end].iter().collect();
            if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder }
        };
        let follows = |at: &usize| parts[at - 1].as_os_str() == "evaluators" && is_part(*at);
        if let Some(at) = (1..parts.len()).rfind(follows) {
            return Some((up_to(at), FolderPart::Parts));
        }
        if PARTS.iter().any(|part| path.join(part).is_dir()) {
            return None;
        }
        let at = (0..parts.len()).rfind(|at| is_part(*at))?;
        up_to(at + 1).is_dir().then(|| (up_to(at), FolderPart::Parts))
    }

    fn place(&mut self, folder: PathBuf, extent: Extent) -> &mut Place {
        let at = self.places.iter().position(|place| {
            place.folder == folder
                && matches!(place.extent, Extent::Files(_)) == matches!(extent, Extent::Files(_))
        });
        let at = at.unwrap_or_else(|| {
            self.places.push(Place { folder, extent: Extent::Read(FolderPart::Parts), meant: Vec::new() });
            self.places.len() - 1
        });
        let place = &mut self.places[at];
        // Everything of a folder holds any part of it.
        if place.meant.is_empty() || extent == Extent::Read(FolderPart::All) {
            place.extent = extent;
        }
        place
    }

    /// Reads what is meant, together with everything that would be loaded with it. Also says how many files replace a
    /// bundled one.
    pub fn open(&self, bundled: bool) -> Result<(Opened, usize), LoadError> {
        let mut roots = Vec::new();
        let mut meant: HashSet<String> = HashSet::new();
        for place in &self.places {
            let root = place.read()?;
            place.refuse_unread(&root)?;
            meant.extend(place.meant_in(&root).map(|path| root.shown(path)));
            roots.push(root);
        }
        for known in &self.known {
            if !self.places.iter().any(|place| place.folder == *known) {
                roots.push(load_folder(known, FolderPart::All)?);
            }
        }
        let EvaluatorRoots { roots, replaced, .. } = EvaluatorRoots::new(roots, bundled);
        let documents = crate::evaluators::suite_documents_for(&roots);
        Ok((Opened { roots, meant, documents }, replaced))
    }
}

/// Folders of evaluators that were read, and which of their files are meant.
pub struct Opened {
    roots: Vec<Root>,
    meant: HashSet<String>,
    documents: Vec<DocumentEntry>,
}

impl Opened {
    /// Everything that is to be said about what is meant.
    pub fn check(&self) -> Vec<Checked> {
        checked(&self.roots, &load(&self.roots, &self.documents), &self.meant)
    }

    /// The text of a file after the repairs that its findings offer; `None` where they change nothing.
    pub fn repaired(&self, file: &Checked, wanted: impl Fn(&Diagnostic) -> bool) -> Option<String> {
        if file.findings.iter().all(|finding| finding.fix.is_none()) {
            return None;
        }
        let text = file.source.text();
        let look = |text: &str| {
            let mut roots = self.roots.clone();
            put(&mut roots, &file.name, text);
            let findings = load(&roots, &self.documents).findings;
            findings
                .into_iter()
                .find(|other| other.file == file.name)
                .map(|other| other.diagnostics)
                .unwrap_or_default()
        };
        let (repaired, _) = fix_by(text, look, wanted);
        (repaired != text).then_some(repaired)
    }

    /// A file has another text now.
    pub fn put(&mut self, name: &str, text: &str) {
        put(&mut self.roots, name, text);
    }
}

fn put(roots: &mut [Root], name: &str, text: &str) {
    for root in roots {
        if let Some(at) = root.files.iter().position(|file| root.shown(&file.path) == name) {
            root.files[at].content = FileContent::Text(text.into());
        }
    }
}

fn checked(roots: &[Root], loaded: &Loaded, meant: &HashSet<String>) -> Vec<Checked> {
    let findings: HashMap<&str, &FileDiagnostics> =
        loaded.findings.iter().map(|file| (file.file.as_str(), file)).collect();
    let mut reported = Vec::new();
    for root in roots {
        let mut names: Vec<(&File, String)> =
            root.files.iter().map(|file| (file, root.shown(&file.path))).collect();
        names.sort_by(|(a, _), (b, _)| a.path.as_bytes().cmp(b.path.as_bytes()));
        for (file, name) in names {
            let found = findings.get(name.as_str());
            let is_meant = meant.contains(&name);
            let counts = |finding: &&Diagnostic| is_meant || ELSEWHERE.contains(&finding.code);
            let diagnostics = found.into_iter().flat_map(|found| &found.diagnostics);
            let own: Vec<_> = diagnostics.filter(counts).cloned().collect();
            let is_read = is_meant && is_yaml(Path::new(&file.path));
            if is_read || !own.is_empty() {
                let text = || Source::new(file.as_text().cloned().unwrap_or_default());
                let source = found.map_or_else(text, |found| found.source.clone());
                let valid = !own.iter().any(Diagnostic::is_error);
                reported.push(Checked { name, source, valid, findings: own });
            }
        }
    }
    reported
}

impl Place {
    fn read(&self) -> Result<Root, LoadError> {
        let files = match &self.extent {
            Extent::Read(part) => return Ok(load_folder(&self.folder, *part)?),
            Extent::Files(files) => files,
        };
        let mut files: Vec<_> = files.iter().collect();
        files.sort();
        files.dedup();
        let files = files.into_iter().map(|path| load_file(path, below(path, &self.folder)));
        Ok(Root::new(self.folder.to_string_lossy(), files.collect()))
    }

    /// What is meant and was not read would pass for being in order.
    fn refuse_unread(&self, root: &Root) -> Result<(), LoadError> {
        let is_read = |meant: &str| {
            let below = |path: &str| {
                path.strip_prefix(meant).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            meant.is_empty() || root.files.iter().any(|file| below(&file.path))
        };
        let Some(unread) = self.meant.iter().find(|meant| !is_read(meant)) else { return Ok(()) };
        Err(LoadError::NotRead { path: root.shown(unread), root: root.name.clone() })
    }

    /// The files of the root that are meant, and those that belong to the same evaluators.
    fn meant_in<'r>(&self, root: &'r Root) -> impl Iterator<Item = &'r str> {
        let paths: HashSet<&str> = root.files.iter().map(|file| file.path.as_str()).collect();
        let mut meant: Vec<String> = self.meant.clone();
        for path in &self.meant {
            let (folder, _) = path.rsplit_once('/').unwrap_or(("", path));
            let above = folder.strip_suffix("/patterns").unwrap_or(folder);
            if paths.contains(format!("{above}/evaluator.yaml").as_str()) {
                meant.push(above.to_owned());
            } else if let Some(stem) = path.strip_suffix(".test.yaml") {
                meant.push(format!("{stem}.yaml"));
            } else if let Some(stem) = path.strip_suffix(".yaml") {
                meant.push(format!("{stem}.test.yaml"));
            }
        }
        let meant: HashSet<String> = meant.into_iter().collect();
        let is_meant = move |path: &str| {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([0, path.len()]);
            ends.into_iter().any(|end| meant.contains(&path[..end]))
        };
        root.files.iter().map(|file| file.path.as_str()).filter(move |path| is_meant(path))
    }
}

/// A path below a folder, with `/` between folders.
fn below(path: &Path, folder: &Path) -> String {
    // `./a` and `a` are the same, whichever of the two somebody writes.
    let plain = |path: &Path| -> Vec<String> {
        let parts = path.components().filter(|part| *part != Component::CurDir);
        parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let (path, folder) = (plain(path), plain(folder));
    path.strip_prefix(folder.as_slice()).unwrap_or(&path).join("/")
}

/// The YAML files of a folder.
fn yaml_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| is_yaml(path) && !path.is_dir());
    files.collect()
}
