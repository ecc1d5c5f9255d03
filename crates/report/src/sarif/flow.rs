//! How it came about: from the payload through the agent's answers to what shows that it gave in.

use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sortie_detect::{Evidence, Outcome, Seen, Standing};
use sortie_trace::{Message, Record, Role, Sender, Trace, Transcript, Turn};

use super::SarifOptions;
use super::places::Places;
use crate::human::message;
use crate::summary::{cut, decisive};
use crate::text::line;

/// So much of what was said is in a step.
const SHOWN: usize = 400;

/// So many messages of the agent are shown between the payload and the end.
const BETWEEN: usize = 4;

/// So much of a trace is read.
const MAX_TRACE_BYTES: u64 = 64 << 20;

/// One thing that happened.
struct Step {
    text: String,
    /// The line of the document or evaluator that it is about.
    line: Option<usize>,
    is_essential: bool,
}

/// Evidence comes after the message that it is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Message,
    Evidence,
}

/// The flow of a case that was exploited.
pub(super) fn code_flows(run: &Outcome, places: &Places<'_>, options: &SarifOptions<'_>) -> Option<Value> {
    let found = decisive(run).filter(|_| run.standing == Some(Standing::Exploited))?;
    let steps = match &run.transcript {
        Some(transcript) => of_transcript(transcript, run, found),
        None => of_trace(run, found, options),
    };
    let locations = steps.iter().enumerate().map(|(at, step)| {
        let mut location = places.location(run, step.line);
        location["message"] = json!({ "text": step.text });
        let importance = if step.is_essential { "essential" } else { "important" };
        json!({ "location": location, "executionOrder": at + 1, "importance": importance })
    });
    let locations: Vec<_> = locations.collect();
    (!locations.is_empty()).then(|| json!([{ "threadFlows": [{ "locations": locations }] }]))
}

/// Of a case of an evaluator: what the target was told, what it said, and what a check or a judge saw in it.
fn of_transcript(transcript: &Transcript, run: &Outcome, found: &Evidence) -> Vec<Step> {
    let turns = transcript.turns();
    let decided = found.turn.unwrap_or(turns.len()).min(turns.len());
    let told = turns[..decided].iter().rposition(|turn| turn.role == Role::Attacker);
    let shown = told.into_iter().chain(told.map_or(0, |told| told + 1)..decided);
    let last = shown.clone().count().saturating_sub(BETWEEN + 1);
    let mut steps: Vec<_> = shown
        .enumerate()
        .filter(|(at, _)| *at == 0 || *at > last)
        .map(|(_, at)| Step {
            text: of_turn(at, &turns[at]),
            line: None,
            is_essential: turns[at].role == Role::Attacker,
        })
        .collect();
    steps.extend(run.evidence.iter().map(of_evidence));
    steps
}

fn of_turn(at: usize, turn: &Turn) -> String {
    let words = match (&turn.call, turn.role) {
        (Some(call), _) => format!("is called: {} with {}", call.name, turn.text),
        (None, Role::Attacker) => format!("is told: {}", turn.text),
        (None, _) => {
            let calls: Vec<_> = turn.calls.iter().map(|call| call.name.as_str()).collect();
            let calls =
                if calls.is_empty() { String::new() } else { format!(" (calls {})", calls.join(", ")) };
            format!("answers: {}{calls}", turn.text)
        }
    };
    plain(&format!("turn {}: the target {words}", at + 1))
}

/// What shows it, with the line that asked.
fn of_evidence(found: &Evidence) -> Step {
    let at = match (found.seq, found.turn) {
        (_, Some(turn)) => format!("turn {turn}: "),
        (Some(seq), None) => format!("message {seq}: "),
        (None, None) => String::new(),
    };
    let path = if found.path.is_empty() { "the whole of it" } else { &found.path };
    let text = found.text.as_deref().map_or_else(|| "it is absent".to_owned(), |text| cut(text, SHOWN));
    let text = plain(&format!("{at}{} {} at {path}: {text}", found.by, found.name));
    Step { text, line: found.line, is_essential: true }
}

/// Of a document: the message that delivered the payload, what the agent did then, and what matched.
fn of_trace(run: &Outcome, found: &Evidence, options: &SarifOptions<'_>) -> Vec<Step> {
    let payload = run.resistance.as_ref().and_then(|facts| facts.reached.seq);
    let last = run.evidence.iter().filter_map(|found| found.seq).chain(found.seq).max();
    let told = last.and_then(|last| read(run, options, payload, last)).unwrap_or_default();
    let mut steps = Vec::new();
    if let Some(payload) = payload {
        let why = run.resistance.as_ref().map_or("", |facts| facts.reached.why.as_str());
        let text = told.iter().find(|told| told.seq == payload).map_or_else(
            || format!("the payload, message {payload}: {why}"),
            |told| format!("the payload, {}: {}", message(&seen(told)), cut(&told.content.text(), SHOWN)),
        );
        steps.push(((payload, Order::Message), Step { text: plain(&text), line: None, is_essential: true }));
    }
    let between = told.iter().filter(|told| told.sender == Sender::Agent);
    let between: Vec<_> = between.filter(|told| payload.is_none_or(|payload| told.seq > payload)).collect();
    for told in &between[between.len().saturating_sub(BETWEEN)..] {
        let text = format!("{}: {}", message(&seen(told)), cut(&told.content.text(), SHOWN));
        steps
            .push(((told.seq, Order::Message), Step { text: plain(&text), line: None, is_essential: false }));
    }
    steps.extend(
        run.evidence
            .iter()
            .map(|found| ((found.seq.unwrap_or(u64::MAX), Order::Evidence), of_evidence(found))),
    );
    steps.sort_by_key(|(order, _)| *order);
    steps.into_iter().map(|(_, step)| step).collect()
}

/// The messages from the payload to the last one that is wanted, as far as the trace is there.
fn read(run: &Outcome, options: &SarifOptions<'_>, first: Option<u64>, last: u64) -> Option<Vec<Message>> {
    let path = trace_file(run.trace.as_deref()?, options)?;
    let file = File::open(path).ok()?.take(MAX_TRACE_BYTES);
    let (_, records) = Trace::open(BufReader::new(file)).ok()?;
    let records = records.map_while(Result::ok).take_while(|record| record.seq() <= last);
    let messages = records.filter_map(|record| match record {
        Record::Message(message) => Some(*message),
        _ => None,
    });
    let is_told = |message: &Message| match first {
        Some(first) => message.seq == first || message.seq > first && message.sender == Sender::Agent,
        None => message.sender == Sender::Agent,
    };
    let mut kept: Vec<Message> = Vec::new();
    for message in messages.filter(is_told) {
        // Of a long story, the beginning and the end are told.
        if kept.len() > 2 * BETWEEN {
            let oldest = kept.iter().position(|kept| Some(kept.seq) != first).unwrap_or(0);
            kept.remove(oldest);
        }
        kept.push(message);
    }
    Some(kept)
}

/// The trace: where the run put it, or below the folder of the run, which may have another name now.
fn trace_file(named: &str, options: &SarifOptions<'_>) -> Option<PathBuf> {
    let below = named.rfind("cases/").map(|at| Path::new(&named[at..]));
    let moved = options.run.zip(below).map(|(run, below)| options.folder.join(run).join(below));
    let paths = [Some(options.folder.join(named)), moved];
    paths.into_iter().flatten().find(|path| fs::metadata(path).is_ok_and(|data| data.is_file()))
}

fn seen(message: &Message) -> Seen {
    Seen {
        seq: message.seq,
        actor: message.actor.clone(),
        phase: message.phase.clone(),
        surfaces: message.surfaces.clone(),
        direction: message.direction,
        sender: message.sender,
        source: message.source.clone(),
    }
}

fn plain(text: &str) -> String {
    super::plain(&line(&cut(text, 2 * SHOWN)))
}
