//! Files: where they lie, and how large they are.

use sortie_trace::TranscriptError;

use super::{Diagnostic, Rule, Span, error, findings, found};
use crate::limits::{MAX_EVALUATORS, MAX_FILE_BYTES, MAX_FILES, MAX_PATTERNS, MAX_ROOT_BYTES, MAX_SUITES};

pub(super) const E_018: Rule = error("E-018", "a file can be read", include_str!("e018.md"));
pub(super) const E_019: Rule = error("E-019", "every file has a known place", include_str!("e019.md"));
pub(super) const E_027: Rule = error("E-027", "a file is within the size limits", include_str!("e027.md"));

/// Where a finding is that is about a file, not about something in it.
pub(crate) const FILE: Span = Span { start: 0, end: 0 };

findings! {
    E_018 unreadable(why: &str): "this file could not be read: {why}",
        help "make it readable, or move it out of the folder";
    E_019 misplaced(help: &str): "a file of this kind is not read here", help help;
    E_019 two_files(): "there are two files of this name", help "give each file once";
    E_019 no_evaluator(stem: &str): "there is no evaluator `{stem}` beside these fixtures",
        help "fixtures are called after the id of their evaluator: `<id>.test.yaml`";
    E_019 other_fixtures(): "the evaluator has other fixtures as well",
        help "put all cases into one file, called after the id of the evaluator";
    E_027 long_text(length: usize, most: usize): "this text has {length} bytes; {most} are the limit",
        help "shorten it, or split it into several patterns";
    E_027 long_list(length: usize, most: usize): "there are {length} items; {most} are the limit",
        help "split it into several files";
    E_027 large_patterns(): "the regular expressions of these checks are too large together",
        help "use smaller repeat counts, or split the evaluator";
    E_027 large_transcript(problem: &TranscriptError): "{problem}",
        help "shorten the fixture";
    E_027 long_file(): "the file is longer than {MAX_FILE_BYTES} bytes, which are the limit",
        help "put the patterns into files of their own";
    E_027 many_patterns(count: usize): "there are {count} patterns; {MAX_PATTERNS} are the limit",
        help "split the evaluator";
    E_027 many_suites(): "{MAX_SUITES} suites in one folder are the limit; this is one more",
        help "split the folder";
    E_027 many_evaluators(count: usize):
        "there are {count} evaluators in one folder; {MAX_EVALUATORS} are the limit", help "split the folder";
    E_027 many_files(count: usize): "{count} files in one folder are more than {MAX_FILES}, which are the limit",
        help "split the folder";
    E_027 many_bytes(bytes: usize): "the files of this folder have {bytes} bytes; {MAX_ROOT_BYTES} are the limit",
        help "split the folder";
}

/// Whether a file is plainly something else, which is said once, and not field by field.
pub(crate) fn something_else(has: impl Fn(&str) -> bool, at: Span) -> Option<Diagnostic> {
    if has("id") || has("pass_criteria") {
        return None;
    }
    let (what, help) = if has("oatf") || has("attack") {
        ("an OATF document", "keep documents in a folder of their own; suites find them by their id")
    } else if has("template") {
        ("a pattern", "put it into `patterns/`, beside the `evaluator.yaml` it belongs to")
    } else if has("include") {
        ("a suite", "put it into `suites/`, at the top of the folder")
    } else if has("pass_case") || has("fail_case") {
        ("fixtures", "call the file `<id>.test.yaml`, after the evaluator beside it")
    } else {
        return None;
    };
    Some(found(&E_019, format!("this is {what}, where an evaluator is looked for")).at(at).help(help))
}

/// A folder with too many files, or files with too much text together.
pub(crate) fn large_folder(files: usize, bytes: usize) -> Option<Diagnostic> {
    let too_many = (files > MAX_FILES).then(|| many_files(files, FILE));
    too_many.or_else(|| (bytes > MAX_ROOT_BYTES).then(|| many_bytes(bytes, FILE)))
}
