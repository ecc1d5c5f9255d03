//! Shows a recording to detectors.

use std::io::BufRead;

use sortie_trace::{Deriver, Record, Trace, TraceError};

use crate::detector::Detector;

/// Shows every record of a trace to every detector, in one pass: no more than one record is held at a time.
///
/// A live run does the same with its records as it writes them.
pub fn replay<R: BufRead>(trace: R, detectors: &mut [Detector]) -> Result<(), TraceError> {
    let (header, records) = Trace::open(trace)?;
    let header = Record::Header(Box::new(header));
    for detector in &mut *detectors {
        detector.lifecycle(&header);
    }
    let reads_transcript = detectors.iter().any(Detector::reads_transcript);
    let mut deriver = Deriver::new().with_transcripts(reads_transcript);
    for record in records {
        let record = record?;
        for detector in &mut *detectors {
            detector.lifecycle(&record);
        }
        if let Record::Message(message) = &record {
            if !detectors.iter().any(|detector| detector.looks_at(message)) {
                deriver.skip(message);
                continue;
            }
            let observed = deriver.observe(message);
            for detector in &mut *detectors {
                detector.observe(&observed);
            }
        }
    }
    Ok(())
}
