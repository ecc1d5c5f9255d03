//! How much may be written. Whatever is beyond a limit is refused with a word, never left out.

/// Files longer than this are refused before they are read.
pub const MAX_FILE_BYTES: usize = sortie_syntax::yaml::MAX_DOCUMENT_BYTES;
/// A root has at most so many files.
pub const MAX_FILES: usize = 100_000;
/// The files of a root hold at most so much text together.
pub const MAX_ROOT_BYTES: usize = 256 * 1024 * 1024;
/// At most so many findings are kept of all files together: nobody reads more.
pub const MAX_ALL_FINDINGS: usize = 10_000;
/// A root has at most so many suites.
pub const MAX_SUITES: usize = 200;
/// A root has at most so many evaluators.
pub const MAX_EVALUATORS: usize = 20_000;
/// An evaluator has at most so many patterns.
pub const MAX_PATTERNS: usize = 1_000;
/// A template is at most so long.
pub const MAX_TEMPLATE_BYTES: usize = 64 * 1024;
/// What is filled in makes a text at most so long, or all texts of a call's arguments together.
pub const MAX_FILLED_BYTES: usize = 4 * 1024 * 1024;
/// Criteria, hints and descriptions are at most so long.
pub const MAX_TEXT_BYTES: usize = 32 * 1024;
/// Names, tags and ids are at most so long.
pub const MAX_NAME_BYTES: usize = 200;
/// An evaluator has at most so many checks.
pub const MAX_CHECKS: usize = 64;
/// `tags`, `depends_on` and what a suite includes have at most so many items.
pub const MAX_LISTED: usize = 1_000;
/// A fixture file has at most so many cases under each key.
pub const MAX_CASES: usize = 200;
