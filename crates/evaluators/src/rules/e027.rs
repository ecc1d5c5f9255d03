use super::{Diagnostic, Rule, Span, about_file, error, found};
use crate::limits::{MAX_EVALUATORS, MAX_FILE_BYTES, MAX_FILES, MAX_PATTERNS, MAX_ROOT_BYTES, MAX_SUITES};
use sortie_trace::TranscriptError;

pub(crate) const E_027: Rule = error("E-027", "a file keeps within the limits", include_str!("e027.md"));

pub(crate) fn long_text(length: usize, most: usize, at: Span) -> Diagnostic {
    found(&E_027, format!("this text has {length} bytes; {most} are the limit"))
        .at(at)
        .help("say it in fewer words, or in several patterns")
}

pub(crate) fn long_list(length: usize, most: usize, at: Span) -> Diagnostic {
    found(&E_027, format!("there are {length} items; {most} are the limit"))
        .at(at)
        .help("split it into several files")
}

pub(crate) fn large_patterns(at: Span) -> Diagnostic {
    found(&E_027, "the regular expressions of these checks are too large together")
        .at(at)
        .help("count less far in their repeats, or split the evaluator")
}

pub(crate) fn large_transcript(problem: &TranscriptError, at: Span) -> Diagnostic {
    found(&E_027, problem.to_string()).at(at).help("a fixture shows one thing: make it shorter")
}

pub(crate) fn long_file() -> Diagnostic {
    about_file(&E_027, format!("the file is longer than {MAX_FILE_BYTES} bytes, which are the limit"))
        .help("put the patterns into files of their own")
}

pub(crate) fn many_patterns(count: usize) -> Diagnostic {
    about_file(&E_027, format!("there are {count} patterns; {MAX_PATTERNS} are the limit"))
        .help("split the evaluator")
}

pub(crate) fn many_suites() -> Diagnostic {
    large_folder(format!("{MAX_SUITES} suites in one folder are the limit; this is one more"))
}

pub(crate) fn many_evaluators(count: usize) -> Diagnostic {
    large_folder(format!("there are {count} evaluators in one folder; {MAX_EVALUATORS} are the limit"))
}

/// A folder with too many files, or files with too much text together.
pub(crate) fn check_folder(files: usize, bytes: usize) -> Option<Diagnostic> {
    let message = if files > MAX_FILES {
        format!("{files} files in one folder are more than {MAX_FILES}, which are the limit")
    } else if bytes > MAX_ROOT_BYTES {
        format!("the files of this folder have {bytes} bytes; {MAX_ROOT_BYTES} are the limit")
    } else {
        return None;
    };
    Some(large_folder(message))
}

fn large_folder(message: String) -> Diagnostic {
    about_file(&E_027, message).help("split the folder")
}
