//! Proves detections.
//!
//! An indicator that never fires reports every agent as safe. An indicator that always fires reports every agent as
//! exploited. A document is proved when
//!
//! 1. each of its recorded runs gives the verdict that its author declared;
//! 2. each of its indicators fires in one run, and in another run examines a message and stays silent;
//! 3. each changed indicator (a [`Mutant`]) gives another verdict in one run.
//!
//! The proofs of `attack.yaml` are in `attack.proofs/`: recordings, and a [`Manifest`] with the expected verdicts.
//! [`Proofs::beside`] reads them, [`prove`] evaluates them, and a [`ProofsReport`] has the result. Every trace
//! is read and derived once, and every mutant is compiled once.
//!
//! ```no_run
//! use std::path::Path;
//! use std::sync::Arc;
//! use sortie_oatf::{Compiled, load};
//! use sortie_prove::{Proofs, ProofsReport, prove};
//!
//! let text = std::fs::read_to_string("attack.yaml").unwrap();
//! let document = Arc::new(Compiled::new(load(&text).unwrap().document).unwrap());
//! let proofs = Proofs::beside(Path::new("attack.yaml"), document.document()).unwrap();
//! let report = ProofsReport::new(vec![prove(&document, "attack.yaml", proofs.as_ref())]);
//! assert!(report.is_proved(), "{:#?}", report.documents[0].findings);
//! ```
//!
//! To turn a finding of an evaluator into such a document, with proofs:
//!
//! ```no_run
//! use sortie_evaluators::load;
//! use sortie_prove::FreezeRequest;
//!
//! let (evaluators, _) = sortie_library::bundled_evaluators(&[]);
//! let loaded = load(&[evaluators], &sortie_library::suite_documents());
//! let request = FreezeRequest {
//!     folder: "run".into(),
//!     case: "path-escape/parent-folders/read_note".to_owned(),
//!     file: Some("escape.yaml".into()),
//!     id: None,
//!     values: Default::default(),
//! };
//! let frozen = request.draft(&loaded.catalogue).unwrap().proved().unwrap();
//! assert!(frozen.proved.proved);
//! frozen.write().unwrap();
//! ```

mod adding;
mod checks;
mod files;
mod folder;
mod freeze;
mod manifest;
mod mutate;
mod near;
mod offers;
mod page;
mod prover;
mod quote;
mod record;
mod recording;
pub mod report;
mod scene;
mod steady;

pub use adding::{NotAdded, Recorded, added};
pub use files::ProofFiles;
pub use folder::{MANIFEST, Proofs, ProofsError, folder_of, is_proofs_folder, missing};
pub use freeze::{Draft, FreezeError, FreezeRequest, Frozen};
pub use manifest::{MOST_LISTED, Manifest, Proof, Said, Shows, Survivor};
pub use mutate::{Mutant, Operator};
pub use near::{NearMiss, NearMisses};
pub use page::write_proofs;
pub use prover::{mutants, prove};
pub use record::{RecordError, RecordRequest, RecordedEvent, USUAL_AGENTS, parse_agents};
pub use recording::Recording;
pub use report::{Fate, Finding, FindingKind, ProofsReport, Proved};
pub use steady::{SteadyError, steady};
