//! Verdicts of documents that were being played when the run was killed: what was said until then is in their traces.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use sortie_detect::Outcome;
use sortie_engine::cases::case_folder;
use sortie_engine::run::Folder;
use sortie_library::{self as library, DocumentInput, NamedDocument};
use sortie_oatf::serialize;
use sortie_trace::{Record, Trace, TracedDocument};

use crate::TraceSource;
use crate::store::PlannedCase;

/// What the trace of a case says, where it is one of a document and somebody said something. That the trace was cut short is a
/// failure of the outcome: a match stays a match, and silence is not resistance.
pub(crate) fn recover(run: &Path, case: &PlannedCase) -> Option<Outcome> {
    let folder = run.join(case_folder(&case.id));
    let trace = Folder::trace_in(&folder);
    let (header, mut records) = Trace::open(BufReader::new(File::open(&trace).ok()?)).ok()?;
    let played = header.document?;
    if !records.any(|record| matches!(record, Ok(Record::Message(_)))) {
        return None;
    }
    let document = find_document(&folder, &played, case)?;
    let detected = TraceSource::File(trace).detect(&[document], None, false).ok()?;
    detected.into_iter().next().map(|outcome| Outcome { id: case.id.clone(), ..outcome })
}

/// The document that was played: where it was read from, if it is still the same there, so that the lines of evidence are those
/// of the file that people know; else the copy in the folder of the case.
fn find_document(folder: &Path, played: &TracedDocument, case: &PlannedCase) -> Option<NamedDocument> {
    let bundled = played.id.as_deref().and_then(|id| library::find(id).ok());
    let inputs = [
        Some(DocumentInput::File(played.file.clone().into())),
        bundled.map(DocumentInput::Library),
        Some(DocumentInput::File(Folder::document_in(folder))),
    ];
    let mut documents = inputs.iter().flatten().filter_map(|input| NamedDocument::load(input).ok());
    documents.find(|document| {
        PlannedCase::new("", &serialize(document.compiled.document())).fingerprint == case.fingerprint
    })
}
