//! The traces that a report names, as a page may show them.

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use sortie_engine::cases::case_folder;

use crate::{SetupError, load_info};

/// So much of a trace is read; a page shows far less of it.
const MAX_BYTES: u64 = 32 << 20;

/// Which files may be read. A report may come from somebody else, and must not bring other files of this machine into a page.
#[derive(Clone, Copy, Debug)]
pub enum TraceFiles<'f> {
    /// Those below the folder of a run, wherever that was when the run was made.
    Run(&'f Path),
    /// Those that were named on the command line.
    Named(&'f [PathBuf]),
}

impl TraceFiles<'_> {
    /// Reads the beginning of a trace by the name that the report has for it.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.find(Path::new(name))?;
        let file = File::open(path).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Where a trace is that the report calls so, if it may be read.
    pub(crate) fn find(&self, name: &Path) -> Option<PathBuf> {
        match self {
            Self::Named(paths) => paths.iter().find(|path| path.as_path() == name).cloned(),
            Self::Run(folder) => {
                let folder = folder.canonicalize().ok()?;
                // The run may have been moved since: what counts is the path from `cases` on.
                let parts: Vec<Component<'_>> = name.components().collect();
                let starts = parts.iter().enumerate().filter(|(_, part)| part.as_os_str() == "cases");
                let mut found = starts.filter_map(|(at, _)| {
                    let path = folder.join(parts[at..].iter().collect::<PathBuf>()).canonicalize().ok()?;
                    path.starts_with(&folder).then_some(path)
                });
                found.next()
            }
        }
    }
}

/// The traces that a path stands for: itself, that of a case, or those of all cases of a run in the order of its report.
pub fn traces_of(path: &Path) -> Result<Vec<PathBuf>, SetupError> {
    const TRACE: &str = "trace.jsonl";
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    if path.join(TRACE).is_file() {
        return Ok(vec![path.join(TRACE)]);
    }
    let run = load_info(path).map_err(|_| {
        let message = format!("`{}` is neither the folder of a run nor of a case", path.display());
        SetupError::usage(message)
            .with_help("name a trace, a folder with a `trace.jsonl`, or what `--run-dir` named")
    })?;
    let cases = run.cases.iter().map(|case| path.join(case_folder(&case.id)).join(TRACE));
    let traces: Vec<_> = cases.filter(|trace| trace.is_file()).collect();
    if traces.is_empty() {
        return Err(SetupError::usage(format!("no case of the run `{}` was played", path.display())));
    }
    Ok(traces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_run_are_read_wherever_it_is_now() {
        let home = tempfile::tempdir().unwrap();
        let run = home.path().join("moved");
        std::fs::create_dir_all(run.join("cases/a+b")).unwrap();
        std::fs::write(run.join("cases/a+b/trace.jsonl"), "trace").unwrap();
        std::fs::write(home.path().join("secret"), "secret").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(home.path().join("secret"), run.join("cases/link")).unwrap();
        let files = TraceFiles::Run(&run);
        for name in
            ["first/cases/a+b/trace.jsonl", "/gone/cases/runs/cases/a+b/trace.jsonl", "cases/a+b/trace.jsonl"]
        {
            assert_eq!(files.read(name).as_deref(), Some(&b"trace"[..]), "{name}");
        }
        let secret = home.path().join("secret").display().to_string();
        for name in
            [secret.as_str(), "cases/../../secret", "cases/link", "cases/a+b", "cases", "", "x/trace.jsonl"]
        {
            assert_eq!(files.read(name), None, "{name}");
        }
    }

    #[test]
    fn a_trace_that_was_not_named_is_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let named = [file.path().to_owned()];
        assert_eq!(TraceFiles::Named(&named).read(&file.path().display().to_string()), Some(Vec::new()));
        assert_eq!(TraceFiles::Named(&named).read("/etc/hostname"), None);
    }
}
