//! Why a finding cannot be frozen.

use std::path::PathBuf;

use sortie_evaluators::{Unfilled, Unknown};
use sortie_report::counted;
use sortie_report::files::FileError;
use sortie_run::StoreError;
use sortie_trace::TraceError;
use thiserror::Error;

use crate::{ProofsError, SteadyError};

/// Why a finding cannot be frozen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FreezeError {
    /// There is no such folder.
    #[error("there is no folder `{}`", .0.display())]
    NoFolder(PathBuf),
    /// The folder holds documents that were played, and no cases of evaluators.
    #[error("`{}` is a run of documents: there is nothing to freeze", .0.display())]
    RunOfDocuments(PathBuf),
    /// What came of the run cannot be read.
    #[error(transparent)]
    Run(#[from] StoreError),
    /// The target did not give in to the case.
    #[error("`{case}` is `{verdict}` in this run: only what the target gave in to can be frozen")]
    NotExploited {
        /// The case.
        case: String,
        /// What came of it.
        verdict: &'static str,
        /// Cases that the target gave in to.
        exploited: Vec<String>,
    },
    /// What is called a case is a document.
    #[error("`{0}` is a document, and needs no freezing")]
    IsDocument(String),
    /// The run has no such case.
    #[error("there is no case `{case}` among the {} of this run", counted(*cases, "case", "cases"))]
    UnknownCase {
        /// What was asked for.
        case: String,
        /// How many cases there are.
        cases: usize,
        /// The case that was probably meant.
        nearest: Option<String>,
    },
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A trace is longer than a proof may be.
    #[error("`{}` is too long to prove anything: {} bytes are the limit", .0.display(), crate::folder::MAX_PROOF_BYTES)]
    TooLong(PathBuf),
    /// A trace is none.
    #[error("`{}` cannot be read: {error}", path.display())]
    Trace {
        /// Its file.
        path: PathBuf,
        /// Why not.
        error: TraceError,
    },
    /// The evaluator of the case is not there.
    #[error(transparent)]
    UnknownEvaluator(#[from] Unknown),
    /// The case has no trace.
    #[error("nothing was recorded of this case")]
    NothingRecorded,
    /// Documents do not speak the protocol of the target.
    #[error("the target was `{0}`, which no document can attack: documents speak MCP, A2A and AG-UI")]
    OtherProtocol(String),
    /// The result names neither a check nor a judge.
    #[error("the results do not say what decided this case: they were changed")]
    Undecided,
    /// The evaluator has lost the check that decided.
    #[error("`{evaluator}` has no check `{check}` any more")]
    NoCheck {
        /// The evaluator.
        evaluator: String,
        /// The check.
        check: String,
    },
    /// A placeholder of the check has no value.
    #[error("the check `{check}`: {unfilled}")]
    Unfilled {
        /// The check.
        check: String,
        /// What is missing.
        unfilled: Unfilled,
    },
    /// No message of the protocol has what the check looks at.
    #[error("the check `{check}` looks at `{path}`, which no message of `{protocol}` has")]
    NoPlace {
        /// The check.
        check: String,
        /// Where it looks.
        path: String,
        /// The protocol.
        protocol: String,
    },
    /// The check holds in no message of the trace.
    #[error("the check `{0}` holds in no message that was recorded of this case")]
    Silent(String),
    /// The agent answered only when it was asked again.
    #[error("the agent had to be asked for its task again, and a document cannot wait for that")]
    Waited,
    /// A judge quoted nothing that a message holds.
    #[error("a judge decided this case, and quotes nothing that one message holds")]
    NoQuote,
    /// Nothing says what to look for.
    #[error("nothing says what to look for")]
    NothingToLookFor,
    /// A turn has no call, and calls are all that the protocol has.
    #[error("the transcript does not say what was called")]
    NoCall,
    /// The case does not fit into a document.
    #[error("the case cannot be written as a document: {0}")]
    Unwritable(String),
    /// The document that was made is not valid.
    #[error("the document that comes of this case is not valid: {0}")]
    InvalidDocument(String),
    /// A trace of the document cannot be written.
    #[error("the trace cannot be written: {0}")]
    UnwritableTrace(String),
    /// A trace that was made cannot be steadied.
    #[error("the trace cannot be written: {0}")]
    Steady(#[from] SteadyError),
    /// A trace that was made cannot be evaluated.
    #[error("the trace cannot be evaluated: {0}")]
    Unevaluated(String),
    /// The proofs that were made cannot be read back.
    #[error("what proves the document cannot be written: {0}")]
    Proofs(#[from] ProofsError),
}

const BY_HAND: &str = "write it by hand: `sortie new` gives a document to start from, and the trace of the case says what was said";

impl FreezeError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::NoFolder(_) => "name the folder of a run: `sortie run … --run-dir DIR` says where it is",
            Self::RunOfDocuments(_) => {
                "a document is played and evaluated without a model already; `sortie prove` takes its trace as a proof"
            }
            Self::NotExploited { exploited, .. } => return Some(gave_in_to(exploited)),
            Self::IsDocument(_) => {
                "`sortie run` plays it again without a model; `sortie prove` takes its trace as a proof"
            }
            Self::UnknownCase { nearest: Some(nearest), .. } => {
                return Some(format!("did you mean `{nearest}`?"));
            }
            Self::UnknownCase { nearest: None, .. } => {
                "its report, and `results.jsonl` in its folder, name them all"
            }
            Self::UnknownEvaluator(_) => "name the folder that the run was given: `--evaluators DIR`",
            Self::OtherProtocol(_) => {
                "attack the same agent over one of these and freeze that; or keep the case, and `sortie run … --replay` it"
            }
            Self::NoCheck { .. } => {
                "freeze with the evaluators that the run was made with (`--evaluators DIR`)"
            }
            Self::Unfilled { .. } => "say what the run was given: `--var NAME=VALUE`",
            Self::NoPlace { .. } => BY_HAND,
            Self::Silent(_) => {
                "it is about more than what was said, or the evaluator was changed since: `--evaluators DIR` names those of the run"
            }
            Self::Waited => {
                "write it by hand, with phases that wait: `sortie new --mode a2a_client` gives a document to start from"
            }
            Self::NoQuote => "write a document by hand: `sortie new` gives one to start from",
            _ => return None,
        };
        Some(help.to_owned())
    }
}

/// The first cases that a target gave in to, and how many more there are.
fn gave_in_to(exploited: &[String]) -> String {
    let first: Vec<String> = exploited.iter().take(3).map(|case| format!("`{case}`")).collect();
    match exploited.len().saturating_sub(first.len()) {
        _ if first.is_empty() => "it gave in to nothing in this run".to_owned(),
        0 => format!("it gave in to {}", first.join(", ")),
        more => format!("it gave in to {} and {more} more", first.join(", ")),
    }
}
