//! What was said in a run: read once, derived once, shown as often as one likes.

use std::io::BufRead;
use std::sync::Arc;

use serde_json::Value;
use sortie_bindings::is_agent_side;
use sortie_detect::{Detector, NoIndicators, Outcome, Place};
use sortie_oatf::canary;
use sortie_oatf::{Compiled, SemanticEvaluator};
use sortie_trace::{
    Content, Deriver, Direction, Header, Kind, Message, Observed, Record, Sender, Trace, TraceError,
    TraceOrigin,
};

use crate::manifest::Said;
use crate::scene::side;

/// A run that is held whole. Traces may be longer than memory; proofs are short.
#[derive(Clone, Debug)]
pub struct Recording {
    records: Vec<Record>,
    /// What indicators see of the messages, where nobody recorded what was on the wire.
    said: Option<Vec<Value>>,
}

/// What the canaries of proofs are derived from, so that they are the same in all of them.
pub(crate) const PROOF_SEED: u64 = 0;

impl Recording {
    /// Reads a trace.
    pub fn read<R: BufRead>(trace: R) -> Result<Self, TraceError> {
        let (header, rest) = Trace::open(trace)?;
        let mut records = vec![Record::Header(Box::new(header))];
        for record in rest {
            records.push(record?);
        }
        Ok(Self { records, said: None })
    }

    /// A run of which nothing is known but a few messages.
    pub fn of_messages(messages: &[Said]) -> Self {
        let canaries = canary::derive(PROOF_SEED);
        let filled = |said: &Said| {
            let mut message = said.message.clone();
            canary::fill(&mut message, &canaries);
            message
        };
        let said = messages.iter().map(filled).collect();
        let header = Header {
            version: Header::VERSION,
            origin: TraceOrigin::Foreign,
            written_by: "proofs".to_owned(),
            time: String::new(),
            document: None,
            case: None,
            target: None,
            control: None,
            recorded: None,
            canaries,
        };
        let mut records = vec![Record::Header(Box::new(header))];
        records.extend(
            messages.iter().zip(1..).map(|(said, seq)| Record::Message(Box::new(message(said, seq)))),
        );
        Self { records, said: Some(said) }
    }

    /// Whether it was recorded, and not written by hand into a manifest.
    pub fn is_recorded(&self) -> bool {
        self.said.is_none()
    }

    /// What the indicators of a document see of it.
    pub(crate) fn observed(&self, document: &Compiled) -> Vec<Observed<'_>> {
        let mut deriver = Deriver::new().with_transcripts(document.reads_transcript());
        let mut said = self.said.iter().flatten();
        let messages = self.records.iter().filter_map(|record| match record {
            Record::Message(message) => Some(message),
            _ => None,
        });
        let observed = messages.map(|message| {
            let mut observed = deriver.observe(message);
            if let Some(said) = said.next() {
                observed.message = said.clone();
            } else if observed.transcript.is_some() {
                observed.message = observed.with_transcript().into_owned();
            }
            Observed { transcript: None, ..observed }
        });
        observed.collect()
    }

    /// What a document makes of it. `observed` is what [`Self::observed`] gave.
    pub(crate) fn judged(
        &self,
        observed: &[Observed<'_>],
        document: &Arc<Compiled>,
        semantic: Option<Arc<dyn SemanticEvaluator + Send + Sync>>,
    ) -> Result<Outcome, NoIndicators> {
        let mut detector = Detector::new(Arc::clone(document)).complete().require_indicators()?;
        if let Some(semantic) = semantic {
            detector = detector.with_semantic(semantic);
        }
        let mut observed = observed.iter();
        for record in &self.records {
            detector.lifecycle(record);
            if let Record::Message(message) = record
                && let Some(observed) = observed.next()
                && detector.looks_at(message)
            {
                detector.observe(observed);
            }
        }
        Ok(detector.outcome(Place::default()))
    }
}

pub(crate) fn message(said: &Said, seq: u64) -> Message {
    let from_agent = is_agent_side(&said.mode, Some(&said.surface), Some(side(said.direction)));
    let (direction, kind) = match said.direction {
        sortie_oatf::model::Direction::Request => (Direction::Request, Kind::Request),
        sortie_oatf::model::Direction::Response => (Direction::Response, Kind::Response),
    };
    Message {
        seq,
        time: String::new(),
        actor: said.actor.clone(),
        mode: said.mode.clone(),
        phase: String::new(),
        protocol: said.protocol().to_owned(),
        surfaces: vec![said.surface.clone()],
        direction,
        kind,
        id: None,
        connection: String::new(),
        sender: if from_agent == Some(false) { Sender::Actor } else { Sender::Agent },
        source: None,
        refused: None,
        wrapped: None,
        // A flow looks at what was said before, whatever its indicator is shown.
        content: Content::from_wire(said.message.to_string().as_bytes()),
    }
}
