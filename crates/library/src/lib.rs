//! The attacks, proofs, evaluators and suites that come with Sortie, as data.
//!
//! | piece | is |
//! |---|---|
//! | [`documents`], [`find`] | every [`BundledDocument`] with its proofs, and the one that a word names |
//! | [`bundled_evaluators`] | the evaluators and suites, without those that a user's folder replaces |
//! | [`suite_documents`] | the documents, as far as suites need them |
//! | [`Coverage`] | what documents cover, and what they do not |
//! | [`filter`] | the documents that are of a mode, a category, a severity, have tags or cover something |
//! | [`Found`], [`DocumentInput`], [`NamedDocument`] | documents behind paths and names, loaded |
//! | [`EvaluatorSet`], [`EvaluatorScope`] | evaluators of folders, loaded with the bundled ones |
//! | [`rule_infos`] | what is known about the documents and evaluators of a report, for SARIF and HTML |
//!
//! ```
//! use sortie_library::{NamedDocument, Purpose};
//!
//! let attack = sortie_library::find("SRT-001").unwrap();
//! assert_eq!(attack.document().unwrap().attack.id.as_deref(), Some("SRT-001"));
//! let typo = sortie_library::find("SRT-0O1").unwrap_err();
//! assert_eq!(typo.help(), "did you mean `SRT-001`?");
//!
//! let (documents, _) = NamedDocument::load_all(&["SRT-001".into()], Purpose::Play).unwrap();
//! assert!(!documents[0].compiled.indicators().is_empty());
//! ```

mod coverage;
mod documents;
mod error;
mod evaluators;
pub mod filter;
mod inputs;
mod lists;
mod named_document;
mod recognize;
mod rules;
mod scope;
mod twins;

pub use coverage::{Coverage, Dimension, Member};
pub use documents::{BundledDocument, NotFound, documents, find, may_name};
pub use error::LoadError;
pub use evaluators::{EvaluatorRoots, EvaluatorSet, bundled_evaluators, suite_documents};
pub use inputs::{DocumentInput, Found};
pub use lists::{write_coverage, write_list, write_list_json};
pub use named_document::{NamedDocument, Purpose};
pub use rules::rule_infos;
pub use scope::{EvaluatorScope, Opened};
pub use twins::{TwinError, check_twin};
