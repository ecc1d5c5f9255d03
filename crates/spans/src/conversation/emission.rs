//! What happened, as the messages of a session.

use std::collections::HashMap;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::value::RawValue;
use sortie_trace::Direction::Response;

use super::story::{Answered, Story};
use super::wires::LOCAL;
use super::{Place, ToolRun};
use crate::messages::Role;
use sortie_recording::session::{CalledTool, SessionBuilder};

enum Emission<'s> {
    Text(Role, &'s str),
    Tools(Option<&'s str>, &'s RawValue),
    Call { id: String, tool: CalledTool, arguments: Option<&'s RawValue> },
    Result { id: String, value: Option<&'s RawValue>, is_error: bool },
    Refusal { id: String, words: &'s str },
}

/// Hands over what happened, in the order of time.
pub(super) fn emit(
    story: &Story,
    runs: &[ToolRun],
    declared: &HashMap<String, String>,
    session: &mut SessionBuilder,
) {
    let mut all: Vec<(u64, u8, &Place, Emission<'_>)> = Vec::new();
    let mut used: HashMap<String, u64> = HashMap::new();
    let mut unique = |id: &str| {
        let times = used.entry(id.to_owned()).or_default();
        *times += 1;
        if *times == 1 { id.to_owned() } else { format!("{id}#{times}") }
    };
    for (place, role, text) in &story.texts {
        all.push((place.time, 0, place, Emission::Text(*role, text)));
    }
    for (place, server, tools) in &story.tools {
        all.push((place.time, 1, place, Emission::Tools(server.as_deref(), tools)));
    }
    // A tool that was run over MCP once is one of MCP, and so is one that somebody declared.
    let declared = declared.iter().filter(|(_, server)| *server != LOCAL);
    let mut known: HashMap<&str, &str> =
        declared.map(|(tool, server)| (tool.as_str(), server.as_str())).collect();
    known.extend(runs.iter().filter_map(|run| Some((run.name.as_str(), run.server.as_deref()?))));
    for (calls, asked) in story.asked.iter().enumerate() {
        let id = asked.id.clone().unwrap_or_else(|| format!("call-{}", calls + 1));
        let Some(run) = asked.run.map(|at| &runs[at]) else {
            if asked.result.is_none() && !runs.is_empty() {
                session.odd("a call that a model requested, and that was not run");
                continue;
            }
            if !runs.is_empty() {
                session.odd("a call that has a result, and no span that ran it");
            }
            let id = unique(&id);
            let tool = match known.get(asked.name.as_str()) {
                Some(server) => mcp_tool(server, &asked.name),
                None => CalledTool::named(&asked.name),
            };
            all.push((
                asked.place.time,
                2,
                &asked.place,
                Emission::Call { id: id.clone(), tool, arguments: asked.arguments.as_deref() },
            ));
            if let Some(result) = &asked.result {
                let Answered { place, value, is_error } = result;
                all.push((
                    place.time,
                    3,
                    place,
                    Emission::Result { id, value: value.as_deref(), is_error: *is_error },
                ));
            }
            continue;
        };
        let id = unique(&id);
        put_run(&mut all, run, id, asked.arguments.as_deref(), asked.result.as_ref());
    }
    for at in &story.unasked {
        let run = &runs[*at];
        let item = run.place.as_ref().map_or("", |place| &*place.item);
        let id = unique(run.id.as_deref().unwrap_or(item));
        put_run(&mut all, run, id, None, None);
    }
    all.sort_by_key(|(time, rank, ..)| (*time, *rank));
    for (time, _, place, emission) in all {
        session.at(UNIX_EPOCH + Duration::from_nanos(time));
        if place.line > 0 {
            session.line(place.line);
        }
        session.item(&*place.item);
        match emission {
            Emission::Text(Role::Assistant, text) => session.answer(text),
            Emission::Text(_, text) => session.prompt(text),
            Emission::Tools(server, tools) => {
                session.shows(if server.is_some() { "mcp" } else { "local" }, "tools/list", Response);
                session.tools(server, tools)
            }
            Emission::Call { id, tool, arguments } => {
                session.call(&id, &tool, arguments.unwrap_or(RawValue::NULL))
            }
            Emission::Result { id, value: Some(value), is_error } => session.result(&id, value, is_error),
            // It came back, with nothing that was recorded.
            Emission::Result { id, value: None, is_error } => session.result_text(&id, "", is_error),
            Emission::Refusal { id, words } => session.refuse(&id, words),
        };
    }
}

fn put_run<'s>(
    all: &mut Vec<(u64, u8, &'s Place, Emission<'s>)>,
    run: &'s ToolRun,
    id: String,
    asked: Option<&'s RawValue>,
    answered: Option<&'s Answered>,
) {
    let Some(place) = &run.place else { return };
    let tool = match &run.server {
        Some(server) => mcp_tool(server, &run.name),
        None => CalledTool::named(&run.name),
    };
    let arguments = run.arguments.as_deref().or(asked);
    all.push((place.time, 2, place, Emission::Call { id: id.clone(), tool, arguments }));
    if let Some(words) = &run.refused {
        all.push((run.end.max(place.time), 3, place, Emission::Refusal { id, words }));
        return;
    }
    let result = match (&run.result, answered) {
        (Some(value), _) => Some((run.end.max(place.time), place, Some(&**value), run.is_error)),
        (None, Some(Answered { place, value: Some(value), is_error })) => {
            Some((place.time, place, Some(&**value), *is_error || run.is_error))
        }
        (None, _) if run.is_error => Some((run.end.max(place.time), place, None, true)),
        _ => None,
    };
    if let Some((time, place, value, is_error)) = result {
        all.push((time, 3, place, Emission::Result { id, value, is_error }));
    }
}

/// A tool of a server, which may have no name. Coding agents put the server before the name: `mcp__SERVER__TOOL`, `mcp_SERVER_TOOL`.
fn mcp_tool(server: &str, name: &str) -> CalledTool {
    let prefixes = [format!("mcp__{server}__"), format!("mcp_{server}_")];
    let name = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let server = if server.is_empty() { "mcp" } else { server };
    CalledTool::Mcp { server: server.to_owned(), name: name.to_owned() }
}
