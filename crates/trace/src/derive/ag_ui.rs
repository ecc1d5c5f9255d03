//! AG-UI streams text and arguments in pieces. An indicator wants them whole.

use serde_json::{Map, Value};
use sortie_protocol::ag_ui::{AgentEvent, Assembler, Joined, Stream, StreamStep};

use super::Note;
use crate::record::Message;

/// Adds to an event what the events before it say.
pub(super) fn enrich(assembler: &mut Assembler, message: &Message, event: &mut Value, notes: &mut Vec<Note>) {
    let Value::Object(members) = event else { return };
    let event = AgentEvent::of(members);
    let run = format!("{}\0{}", message.actor, message.connection);
    for surface in &message.surfaces {
        if ["run_finished", "run_error"].contains(&surface.as_str()) {
            assembler.end_run(&run);
        } else if let Some((stream, step)) = Stream::of(surface) {
            let heard = assembler.observe(&run, stream, step, &event);
            if let Some((_, forgotten @ 1..)) = heard {
                notes.push(Note::StreamsForgotten(forgotten));
            }
            tell(heard.map(|(joined, _)| joined), stream, step, members, notes);
        }
    }
}

/// Writes into an event what is known of the text or call that it belongs to.
fn tell(
    joined: Option<&Joined>,
    stream: Stream,
    step: StreamStep,
    event: &mut Map<String, Value>,
    notes: &mut Vec<Note>,
) {
    if let Some(name) = joined.and_then(|joined| joined.name.clone())
        && step != StreamStep::Start
    {
        event.insert("toolCallName".to_owned(), name.into());
    }
    let text = match (step, joined) {
        (StreamStep::End, joined) => joined.map_or("", Joined::part),
        (StreamStep::Chunk, Some(joined)) => joined.part(),
        _ => return,
    };
    if joined.is_some_and(Joined::is_cut) {
        notes.push(Note::TextCut);
    }
    let whole = || Value::String(text.to_owned());
    match stream {
        Stream::Text | Stream::Reasoning => event.insert("_text".to_owned(), whole()),
        Stream::Call => {
            let arguments = serde_json::from_str(text).unwrap_or_else(|_| whole());
            event.insert("_arguments".to_owned(), arguments)
        }
    };
}
