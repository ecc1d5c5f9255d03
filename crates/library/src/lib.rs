//! The bundled attacks, proofs, evaluators and suites, as data.
//!
//! | piece | is |
//! |---|---|
//! | [`documents`], [`find`] | all [`BundledDocument`]s with their proofs; find one by name |
//! | [`servers`] | recordings of real MCP servers, for documents that wrap one |
//! | [`bundled_evaluators`] | the evaluators and suites, without those that a user's folder replaces |
//! | [`suite_documents`] | the fields of documents that suites need |
//! | [`Coverage`] | what documents cover, and what they do not |
//! | [`filter`] | select documents by mode, category, severity, tags or coverage |
//! | [`Found`], [`DocumentInput`], [`NamedDocument`] | load documents by path or name |
//! | [`EvaluatorSet`], [`EvaluatorScope`] | load evaluators of folders with the bundled ones |
//! | [`recognize`] | detect the kind of a file from its name and the start of its content |
//! | [`rule_infos`] | metadata of the documents and evaluators of a report, for SARIF and HTML |
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

mod carried;
mod coverage;
mod documents;
mod error;
mod evaluators;
pub mod filter;
mod inputs;
mod lists;
mod named_document;
mod recognize;
mod rule_sources;
mod rules;
mod scope;
mod servers;
mod twins;

pub use coverage::{Coverage, Dimension, Member};
pub use documents::{BundledDocument, NotFound, documents, find, may_name};
pub use error::LoadError;
pub use evaluators::{EvaluatorRoots, EvaluatorSet, bundled_evaluators, suite_documents};
pub use inputs::{DocumentInput, Found};
pub use lists::{write_coverage, write_list, write_list_json};
pub use named_document::{NamedDocument, Purpose};
pub use recognize::{FileLooks, recognize};
pub use rule_sources::RuleSource;
pub use rules::rule_infos;
pub use scope::{EvaluatorScope, Opened};
pub use servers::{BundledServer, servers};
pub use twins::{TwinError, check_twin};
