//! Where in the messages of a protocol that stands which a transcript calls an answer, a call or a tool.

/// What stands in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// What the target says.
    Words,
    /// What it calls.
    Calls,
    /// What it offers.
    Tools,
}

/// A place in the messages of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// What stands there.
    pub(super) shows: Shows,
    /// The protocol.
    pub(super) protocol: String,
    /// The operation.
    pub(super) surface: &'static str,
    /// The path in a message.
    pub(super) path: String,
    /// An expression that says whether the message is an error.
    pub(super) is_error: &'static str,
}

const NEVER: &str = "false";
const ALWAYS: &str = "true";
const FLAG: &str = "(has(message.isError) && message.isError == true)";

/// The places at which answers may stand, by the protocol; the usual ones first.
fn answers(protocol: &str) -> &'static [(&'static str, &'static str, &'static str)] {
    match protocol {
        "mcp" => &[
            ("tools/call", "content[*].text", FLAG),
            ("tools/call", "content[*].resource.text", FLAG),
            ("tools/call", "structuredContent", FLAG),
            ("tools/call", "message", ALWAYS),
        ],
        "a2a" => &[
            ("message/send", "artifacts[*].parts[*].text", NEVER),
            ("message/send", "parts[*].text", NEVER),
            ("message/send", "status.message.parts[*].text", NEVER),
            ("message/send", "message", ALWAYS),
        ],
        "ag_ui" => &[
            ("text_message_end", "_text", NEVER),
            ("text_message_chunk", "_text", NEVER),
            ("run_error", "message", ALWAYS),
        ],
        _ => &[],
    }
}

/// The places at which what a path of a transcript leads to may stand. None where a message has no such thing.
pub(super) fn places(protocol: &str, path: &str) -> Vec<Place> {
    let (key, rest) = split(path);
    let place = |shows, surface, path: String, is_error| Place {
        shows,
        protocol: protocol.to_owned(),
        surface,
        path,
        is_error,
    };
    let words = || {
        let answers = answers(protocol).iter();
        answers
            .map(|(surface, path, error)| place(Shows::Words, *surface, (*path).to_owned(), *error))
            .collect()
    };
    match (protocol, key, rest) {
        (_, "answers", "") | (_, "turns", "text") => words(),
        ("mcp", "turns", "result") => vec![place(Shows::Words, "tools/call", "content".to_owned(), FLAG)],
        ("ag_ui", "calls", rest) => {
            let path = match rest.split_once('.').unwrap_or((rest, "")) {
                ("", _) => String::new(),
                ("name", "") => "toolCallName".to_owned(),
                ("arguments", "") => "_arguments".to_owned(),
                ("arguments", field) => format!("_arguments.{field}"),
                _ => return Vec::new(),
            };
            let of = |surface| place(Shows::Calls, surface, path.clone(), NEVER);
            vec![of("tool_call_end"), of("tool_call_chunk")]
        }
        ("mcp", "tools", _) => vec![place(Shows::Tools, "tools/list", path.to_owned(), NEVER)],
        ("mcp", "server", "instructions") => {
            vec![place(Shows::Tools, "initialize", "instructions".to_owned(), NEVER)]
        }
        _ => Vec::new(),
    }
}

/// `answers[*]` is `answers`; `calls[*].arguments` is `calls`, `arguments`. A position is any.
fn split(path: &str) -> (&str, &str) {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (key, rest) = path.split_at(end);
    let rest = rest.strip_prefix('[').map_or(rest, |rest| rest.split_once(']').map_or("", |(_, rest)| rest));
    (key, rest.strip_prefix('.').unwrap_or(rest))
}

/// The list of a transcript that an expression goes through.
pub(super) fn list_of(cel: &str) -> &'static str {
    if cel.contains("transcript.calls") {
        "calls[*]"
    } else if cel.contains("transcript.tools")
        && !cel.contains("transcript.turns")
        && !cel.contains("transcript.answers")
    {
        "tools"
    } else {
        "answers[*]"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_transcripts_lead_to_places_of_messages() {
        let first =
            |protocol, path| places(protocol, path).first().map(|place| (place.surface, place.path.clone()));
        let is = |surface, path: &str| Some((surface, path.to_owned()));
        assert_eq!(first("mcp", "answers[*]"), is("tools/call", "content[*].text"));
        assert_eq!(first("mcp", "turns[*].text"), is("tools/call", "content[*].text"));
        assert_eq!(first("a2a", "answers[0]"), is("message/send", "artifacts[*].parts[*].text"));
        assert_eq!(first("ag_ui", "calls[*].arguments.to"), is("tool_call_end", "_arguments.to"));
        assert_eq!(first("ag_ui", "calls[*].name"), is("tool_call_end", "toolCallName"));
        assert_eq!(first("mcp", "tools[*].description"), is("tools/list", "tools[*].description"));
        assert_eq!(first("mcp", "calls[*].name"), None);
        assert_eq!(first("a2a", "calls[*].arguments"), None);
        assert_eq!(first("chat", "answers[*]"), None);
    }
}
