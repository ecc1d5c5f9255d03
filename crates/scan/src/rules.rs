//! Documents, compiled to look for them in many sessions.

use std::sync::Arc;

use sortie_detect::matches::{MatchRuleset, MessageMatch};
use sortie_oatf::{Compiled, CompiledIndicator};
use sortie_trace::{Direction, Message, Sender};

use crate::finding::{FindingRow, RowError, Scanned};

/// Documents, compiled once to scan any number of sessions, from any number of threads.
#[derive(Debug)]
pub struct Rules {
    ruleset: Arc<MatchRuleset>,
    documents: Vec<RuleDocument>,
}

/// What rows say of a document.
#[derive(Debug)]
struct RuleDocument {
    compiled: Arc<Compiled>,
    id: String,
    title: Option<String>,
    severity: Option<String>,
    /// For each indicator.
    severities: Vec<Option<String>>,
    /// For each indicator, what it means.
    descriptions: Vec<Option<String>>,
}

impl Rules {
    /// Compiles documents into one ruleset.
    pub fn new(documents: impl IntoIterator<Item = Arc<Compiled>>) -> Self {
        let documents: Vec<_> = documents.into_iter().map(RuleDocument::new).collect();
        let ruleset = MatchRuleset::new(documents.iter().map(|document| Arc::clone(&document.compiled)));
        Self { ruleset: Arc::new(ruleset), documents }
    }

    /// The ruleset.
    pub fn ruleset(&self) -> &Arc<MatchRuleset> {
        &self.ruleset
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Indicators that nobody can evaluate here, since they need a judge: their ids.
    pub fn not_evaluated(&self) -> impl Iterator<Item = &str> {
        let indicators = |document: &RuleDocument| {
            let written = document.compiled.document().attack.indicators.iter().flatten();
            let semantic: Vec<bool> = written.map(|indicator| indicator.semantic.is_some()).collect();
            semantic
        };
        self.documents.iter().flat_map(move |document| {
            let own = document.compiled.indicators().iter().zip(indicators(document));
            own.filter(|(_, is_semantic)| *is_semantic).map(|(indicator, _)| indicator.id.as_str())
        })
    }

    /// A match as a row.
    pub(crate) fn row(&self, source: &str, session: &str, message: &Message, found: MessageMatch) -> Scanned {
        let document = &self.documents[found.document];
        let indicator = &document.compiled.indicators()[found.indicator];
        let evidence = match found.found {
            Ok(evidence) => evidence,
            Err(error) => {
                return Scanned::Error(RowError {
                    source: source.to_owned(),
                    session: Some(session.to_owned()),
                    at: Some(message.seq),
                    indicator: Some(indicator.id.clone()),
                    reason: error.to_string(),
                });
            }
        };
        let direction = match message.direction {
            Direction::Request => "request",
            Direction::Response => "response",
        };
        let sender = match message.sender {
            Sender::Agent => "agent",
            Sender::Actor => "actor",
        };
        let row = FindingRow {
            id: String::new(),
            source: source.to_owned(),
            session: session.to_owned(),
            seq: message.seq,
            time: message.time.clone(),
            document: document.id.clone(),
            title: document.title.clone(),
            indicator: indicator.id.clone(),
            description: document.descriptions[found.indicator].clone(),
            severity: document.severities[found.indicator].clone().or_else(|| document.severity.clone()),
            protocol: message.protocol.clone(),
            surface: surface_of(indicator, message),
            direction: direction.to_owned(),
            sender: sender.to_owned(),
            actor: message.actor.clone(),
            path: evidence.path,
            start: evidence.range.as_ref().map(|range| range.start),
            end: evidence.range.map(|range| range.end),
            text: evidence.excerpt,
            needs_session: found.needs_session,
            refused: message.refused.is_some(),
            from: evidence.origin,
            line: evidence.line,
        };
        Scanned::Finding(Box::new(row.with_id()))
    }
}

fn surface_of(indicator: &CompiledIndicator, message: &Message) -> String {
    let named = indicator.surface.clone();
    named.or_else(|| message.surfaces.first().cloned()).unwrap_or_default()
}

impl RuleDocument {
    fn new(compiled: Arc<Compiled>) -> Self {
        let attack = &compiled.document().attack;
        let severity = attack.severity.as_ref().map(|severity| severity.level.as_str().to_owned());
        let severities = attack.indicators.iter().flatten();
        let severities =
            severities.map(|indicator| indicator.severity.map(|level| level.as_str().to_owned())).collect();
        let written = attack.indicators.iter().flatten();
        let descriptions = written.map(|indicator| indicator.description.as_deref().map(one_line)).collect();
        let id = attack.id.clone().or_else(|| attack.name.clone()).unwrap_or_default();
        Self { id, title: attack.name.clone(), severity, severities, descriptions, compiled }
    }
}

/// A text on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
