//! Where results point: every file is there, and has the line.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};
use sortie_detect::{CaseInfo, Outcome};

use super::results::is_wanted;
use super::{KnownRules, SarifOptions};
use crate::Report;
use crate::findings::uri;
use crate::rules::{RuleInfo, rule_id};
use crate::summary::name;
use crate::text::line;
use crate::text::markup::code;

/// How relative paths are called: whoever reads the log knows where the checkout is.
pub(super) const BASE: &str = "%SRCROOT%";

/// So much of a file is read to count its lines.
const MAX_BYTES: u64 = 16 << 20;

/// What stands above the cases of the list. A file that begins like this is ours to write again.
pub(super) const LIST_TITLE: &str = "# Cases that come with Sortie\n";
const LIST_INTRODUCTION: &str =
    "\nResults in SARIF point here, since these cases stand in no file of the checkout.\n\n";

/// Where a case is at home.
enum Home {
    /// In a file whose lines are those of its evidence.
    Own(PathBuf),
    /// In a line that asks for it.
    Selected(PathBuf, usize),
    /// In the list that goes with the log.
    Listed,
}

/// The places of a report's results.
pub(super) struct Places<'o> {
    options: &'o SarifOptions<'o>,
    known: &'o KnownRules<'o>,
    /// The lines of the list, by the ids of cases, and what is listed.
    listed: BTreeMap<String, (usize, String)>,
    lines: RefCell<HashMap<PathBuf, Option<usize>>>,
}

impl<'o> Places<'o> {
    pub(super) fn new(report: &Report, options: &'o SarifOptions<'o>, known: &'o KnownRules<'o>) -> Self {
        let mut places = Self { options, known, listed: BTreeMap::new(), lines: RefCell::default() };
        for run in report.runs.iter().filter(|run| is_wanted(run, report, options.cases)) {
            if matches!(places.home(run), Home::Listed) {
                places.listed.insert(run.id.clone(), (0, name(run)));
            }
        }
        let first = LIST_TITLE.lines().count() + LIST_INTRODUCTION.lines().count() + 1;
        for (at, (number, _)) in places.listed.values_mut().enumerate() {
            *number = first + at;
        }
        places
    }

    /// The list of cases that are at home nowhere else.
    pub(super) fn list(&self) -> Option<String> {
        let lines = self.listed.iter().map(|(id, (_, name))| match name.strip_prefix(&**id) {
            Some(rest) if rest.trim().is_empty() => format!("- {}\n", code(id)),
            Some(rest) => format!("- {} {}\n", code(id), code(rest.trim())),
            None => format!("- {} {}\n", code(id), code(name)),
        });
        let lines: String = lines.collect();
        (!lines.is_empty()).then(|| format!("{LIST_TITLE}{LIST_INTRODUCTION}{lines}"))
    }

    /// Where a case is, at a line of its document or evaluator where that is the user's.
    pub(super) fn location(&self, run: &Outcome, asked: Option<usize>) -> Value {
        let (path, number) = match self.home(run) {
            Home::Own(path) => {
                let last = self.lines(&path).unwrap_or(1);
                // The file may have changed since.
                let number = asked.filter(|asked| (1..=last).contains(asked)).unwrap_or(1);
                (path, number)
            }
            Home::Selected(path, number) => (path, number),
            Home::Listed => {
                let number = self.listed.get(&run.id).map_or(1, |(number, _)| *number);
                (self.absolute(self.options.case_list), number)
            }
        };
        json!({
            "physicalLocation": {
                "artifactLocation": self.artifact(&path),
                "region": { "startLine": number },
            },
            "logicalLocations": [{ "fullyQualifiedName": line(&run.id) }],
        })
    }

    fn home(&self, run: &Outcome) -> Home {
        let rule = self.known.get(rule_id(run)).copied();
        let own = match &run.case {
            CaseInfo::Document { document } => Some(PathBuf::from(&document.file)),
            CaseInfo::Evaluator { .. } => rule.and_then(|rule| rule.file.clone()),
        };
        let own = own.map(|own| self.absolute(&own)).filter(|own| self.relative(own).is_some());
        if let Some(own) = own.filter(|own| self.lines(own).is_some()) {
            return Home::Own(own);
        }
        let selected = rule.and_then(|RuleInfo { selected_by, .. }| selected_by.as_ref());
        let selected = selected.map(|(path, number)| (path.as_path(), *number)).or(self.options.anchor);
        let selected = selected.map(|(path, number)| (self.absolute(path), number));
        match selected {
            Some((path, number)) if self.lines(&path).is_some_and(|last| (1..=last).contains(&number)) => {
                Home::Selected(path, number)
            }
            _ => Home::Listed,
        }
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        let mut whole = PathBuf::new();
        for part in self.options.folder.join(path).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    whole.pop();
                }
                part => whole.push(part),
            }
        }
        whole
    }

    /// The path below the root, where it is below it.
    fn relative(&self, path: &Path) -> Option<PathBuf> {
        let root = self.absolute(self.options.root);
        let below = |path: &Path, root: &Path| path.strip_prefix(root).map(Path::to_owned).ok();
        below(path, &root).or_else(|| below(&fs::canonicalize(path).ok()?, &fs::canonicalize(&root).ok()?))
    }

    fn artifact(&self, path: &Path) -> Value {
        match self.relative(path) {
            Some(relative) => json!({ "uri": uri(&relative.to_string_lossy()), "uriBaseId": BASE }),
            None => json!({ "uri": uri(&path.to_string_lossy()) }),
        }
    }

    /// How many lines a file has that is there, and at least one.
    fn lines(&self, path: &Path) -> Option<usize> {
        if let Some(known) = self.lines.borrow().get(path) {
            return *known;
        }
        let counted = count_lines(path);
        self.lines.borrow_mut().insert(path.to_owned(), counted);
        counted
    }
}

/// How many lines a file has; `None` where it is not a file that can be read.
pub(super) fn count_lines(path: &Path) -> Option<usize> {
    // What is not a file may have no end.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    // An empty file has a first line too.
    Some(bytes.split_inclusive(|byte| *byte == b'\n').count().max(1))
}
