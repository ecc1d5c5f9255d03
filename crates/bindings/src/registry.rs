//! The three bindings side by side: modes, events, operations and state keys.

use std::sync::LazyLock;

use super::similarity::closest;
use super::table::{Mode, Side, Starter, Table};
use super::{a2a, ag_ui, mcp};

/// The end of the wire that an actor holds; the agent under test holds the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Client,
    Server,
}

impl Role {
    const fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A list in an actor's `state` whose entries answer what the peer asks: the first entry whose `when` matches,
/// else the one without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchList {
    /// The state key whose elements hold the list, as `tools` does for `tools[*].responses`; `None` when the
    /// list is a state key of its own.
    pub within: Option<&'static str>,
    /// The name of the list.
    pub key: &'static str,
    /// The operations it answers. An entry's `when` sees their request; in AG-UI, the event.
    pub answers: Vec<&'static str>,
}

const MODES: [&str; 5] = ["mcp_server", "mcp_client", "a2a_server", "a2a_client", "ag_ui_client"];
const PROTOCOLS: [&str; 3] = ["mcp", "a2a", "ag_ui"];

// Read on first use: a caller that only parses documents does not pay for the tables.
pub(super) static TABLES: LazyLock<[Table; 3]> =
    LazyLock::new(|| [mcp::TABLE, a2a::TABLE, ag_ui::TABLE].map(Table::read));

/// The modes OATF 0.1 binds, in the order of its specification.
pub fn known_modes() -> &'static [&'static str] {
    &MODES
}

/// The protocols OATF 0.1 binds, in the order of its specification.
pub fn known_protocols() -> &'static [&'static str] {
    &PROTOCOLS
}

/// What indicators name in place of a protocol to look at what the agent tells its user, whatever it is reached by. It is an
/// extension of ours: no actor speaks it.
pub const AGENT: &str = "agent";
/// The one operation of [`AGENT`].
pub const ANSWER: &str = "answer";

/// What indicators name in place of a protocol to look at calls of functions of the agent's own program, which only its own
/// recordings show. A call looks as it does over MCP. It is an extension of ours: no actor speaks it.
pub const LOCAL: &str = "local";
/// The operations of [`LOCAL`].
const LOCAL_SURFACES: [&str; 2] = ["tools/call", "tools/list"];

/// Whether an actor of this mode can see this trigger event; `None` when the mode is not one of ours.
///
/// Server actors see what the agent asks and announces. Client actors see answers under the name of what was
/// asked, and what the server asks and announces.
///
/// ```
/// # use sortie_bindings::is_known_event;
/// assert_eq!(is_known_event("mcp_server", "tools/call"), Some(true));
/// assert_eq!(is_known_event("mcp_server", "message/send"), Some(false));
/// assert_eq!(is_known_event("pigeon_server", "coo"), None);
/// ```
pub fn is_known_event(mode: &str, event: &str) -> Option<bool> {
    Some(events(mode)?.any(|known| known == event))
}

/// The events that an actor of this mode can see, each once, in the order of its table; none when the mode is not one of ours.
pub fn known_events(mode: &str) -> Vec<&'static str> {
    let mut known = Vec::new();
    for event in events(mode).into_iter().flatten() {
        if !known.contains(&event) {
            known.push(event);
        }
    }
    known
}

/// The event of this mode that was probably meant, if one is close enough to say so.
pub fn nearest_event(mode: &str, event: &str) -> Option<&'static str> {
    let (index, _) = find_mode(mode)?;
    let meant = |known: &'static str| (is_known_event(mode, known) == Some(true)).then_some(known);
    alias(index, event).and_then(meant).or_else(|| closest(event, events(mode)?))
}

/// Whether the protocol has this operation; `None` when the protocol is not one of ours.
pub fn is_known_surface(protocol: &str, surface: &str) -> Option<bool> {
    if protocol == AGENT {
        return Some(surface == ANSWER);
    }
    if protocol == LOCAL {
        return Some(LOCAL_SURFACES.contains(&surface));
    }
    Some(table(protocol)?.surfaces().any(|known| known == surface))
}

/// The operations of a protocol, each once, in the order of its table; none when the protocol is not one of ours.
pub fn known_surfaces(protocol: &str) -> Vec<&'static str> {
    if protocol == AGENT {
        return vec![ANSWER];
    }
    if protocol == LOCAL {
        return LOCAL_SURFACES.to_vec();
    }
    let mut known = Vec::new();
    for surface in table(protocol).into_iter().flat_map(Table::surfaces) {
        if !known.contains(&surface) {
            known.push(surface);
        }
    }
    known
}

/// The operation of this protocol that was probably meant, if one is close enough to say so.
pub fn nearest_surface(protocol: &str, surface: &str) -> Option<&'static str> {
    if protocol == AGENT {
        return Some(ANSWER);
    }
    if protocol == LOCAL {
        return closest(surface, LOCAL_SURFACES);
    }
    let index = find_protocol(protocol)?;
    alias(index, surface).or_else(|| closest(surface, TABLES[index].surfaces()))
}

/// The keys that an actor's `state` may have besides `x-` ones; `None` when the mode is not one of ours.
pub fn structural_keys(mode: &str) -> Option<&'static [&'static str]> {
    Some(&find_mode(mode)?.1.structural_keys)
}

/// The state key of this mode that was probably meant, if one is close enough to say so.
pub fn nearest_structural_key(mode: &str, key: &str) -> Option<&'static str> {
    closest(key, structural_keys(mode)?.iter().copied())
}

/// The response lists in an actor's `state`; `None` when the mode is not one of ours.
pub fn dispatch_lists(mode: &str) -> Option<&'static [DispatchList]> {
    Some(&find_mode(mode)?.1.dispatch_lists)
}

/// Whether a message comes from the agent under test (its behaviour) rather than from the actor (its payload).
///
/// An indicator that looks at a payload finds what the document itself has put there. `None` when it cannot be
/// said: the mode or the operation is unknown, or what was given fits messages of both.
///
/// ```
/// # use sortie_bindings::{is_agent_side, Side};
/// assert_eq!(is_agent_side("mcp_server", Some("tools/call"), Some(Side::Request)), Some(true));
/// assert_eq!(is_agent_side("mcp_server", Some("tools/call"), Some(Side::Response)), Some(false));
/// assert_eq!(is_agent_side("mcp_server", Some("tools/call"), None), None);
/// ```
pub fn is_agent_side(mode: &str, surface: Option<&str>, side: Option<Side>) -> Option<bool> {
    let (index, mode) = find_mode(mode)?;
    let fits = TABLES[index].messages.iter().filter(|message| {
        surface.is_none_or(|surface| surface == message.surface)
            && side.is_none_or(|side| side == message.side)
    });
    let mut authors = fits.map(|message| author(message.starter, message.side));
    let first = authors.next()??;
    authors.all(|author| author == Some(first)).then(|| first == mode.role.peer())
}

/// The table of a protocol.
pub(super) fn table(protocol: &str) -> Option<&'static Table> {
    Some(&TABLES[find_protocol(protocol)?])
}

/// The role an actor of this mode has.
pub(super) fn role(mode: &str) -> Option<Role> {
    Some(find_mode(mode)?.1.role)
}

/// Whether a mode belongs to a protocol.
pub(super) fn speaks(mode: &str, protocol: &str) -> bool {
    find_mode(mode).is_some_and(|(index, _)| PROTOCOLS[index] == protocol)
}

fn find_protocol(protocol: &str) -> Option<usize> {
    PROTOCOLS.iter().position(|known| *known == protocol)
}

fn find_mode(name: &str) -> Option<(usize, &'static Mode)> {
    let tables = TABLES.iter().enumerate();
    let mut modes = tables.flat_map(|(index, table)| table.modes.iter().map(move |mode| (index, mode)));
    modes.find(|(_, mode)| mode.name == name)
}

fn alias(index: usize, name: &str) -> Option<&'static str> {
    let known = TABLES[index].aliases.iter().find(|(alias, _)| *alias == name);
    known.map(|(_, meant)| *meant)
}

/// The events of a mode; an operation can be named more than once.
fn events(mode: &str) -> Option<impl Iterator<Item = &'static str>> {
    let (index, mode) = find_mode(mode)?;
    let seen = TABLES[index].messages.iter().filter(|message| {
        let from_peer = match author(message.starter, message.side) {
            Some(author) => author == mode.role.peer(),
            None => true,
        };
        match (mode.role, message.side) {
            // An answer to what our server asked is not among a server's events (§7.1.2, §7.2.2).
            (Role::Server, Side::Response) => false,
            (_, Side::Request) => from_peer || mode.own_requests_are_events,
            (Role::Client, Side::Response) => from_peer,
        }
    });
    Some(seen.map(|message| message.surface))
}

/// Who writes a message; `None` when either may.
const fn author(starter: Starter, side: Side) -> Option<Role> {
    match (starter, side) {
        (Starter::Client, Side::Request) | (Starter::Server, Side::Response) => Some(Role::Client),
        (Starter::Server, Side::Request) | (Starter::Client, Side::Response) => Some(Role::Server),
        (Starter::Either, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_modes_are_those_of_the_bindings() {
        let modes: Vec<_> = TABLES.iter().flat_map(|table| &table.modes).map(|mode| mode.name).collect();
        assert_eq!(known_modes(), modes);
    }

    #[track_caller]
    fn sees(mode: &str, expected: bool, events: &str) {
        for event in events.split(' ') {
            assert_eq!(is_known_event(mode, event), Some(expected), "{mode} {event}");
        }
    }

    #[test]
    fn a_server_is_triggered_by_what_the_agent_sends() {
        sees("mcp_server", true, "initialize tools/call notifications/initialized ping tasks/get");
        sees("mcp_server", false, "notifications/elicitation/complete notifications/tools/list_changed");
        sees("mcp_server", false, "elicitation/create message/send");
        sees("a2a_server", true, "message/send agent_card/get agent/getAuthenticatedExtendedCard");
        sees("a2a_server", false, "task/status");
    }

    #[test]
    fn a_client_is_triggered_by_answers_and_by_what_the_server_starts() {
        sees("mcp_client", true, "tools/call sampling/createMessage elicitation/create");
        sees("mcp_client", true, "notifications/elicitation/complete notifications/tools/list_changed");
        sees("mcp_client", false, "notifications/initialized");
        sees("a2a_client", true, "message/send message/stream task/status task/artifact agent_card/get");
        sees("ag_ui_client", true, "run_agent_input run_finished tool_call_result reasoning_start");
        sees("ag_ui_client", false, "RUN_FINISHED");
    }

    #[test]
    fn an_unknown_mode_or_protocol_has_no_opinion() {
        assert_eq!(is_known_event("custom_proto_server", "custom/event"), None);
        assert_eq!(is_known_event("ag_ui_server", "run_started"), None);
        assert_eq!(is_known_surface("custom_proto", "x"), None);
        assert_eq!(structural_keys("custom_proto_server"), None);
        assert_eq!(dispatch_lists("custom_proto_server"), None);
        assert_eq!(is_agent_side("custom_proto_server", Some("x"), Some(Side::Request)), None);
    }

    #[test]
    fn a_slip_gets_a_suggestion_and_nonsense_does_not() {
        assert_eq!(nearest_event("mcp_server", "tool/call"), Some("tools/call"));
        assert_eq!(nearest_event("ag_ui_client", "RUN_FINISHED"), Some("run_finished"));
        assert_eq!(nearest_event("a2a_server", "SendMessage"), Some("message/send"));
        assert_eq!(nearest_event("mcp_server", "coffee_break"), None);
        assert_eq!(nearest_event("custom_proto_server", "tools/call"), None);
        assert_eq!(nearest_surface("mcp", "elicitation_request"), Some("elicitation/create"));
        assert_eq!(nearest_surface("a2a", "agent_card"), Some("agent_card/get"));
        assert_eq!(nearest_surface("mcp", "invalid_surface"), None);
    }

    #[test]
    fn surfaces_belong_to_their_protocol() {
        assert_eq!(is_known_surface("mcp", "tools/list"), Some(true));
        assert_eq!(is_known_surface("mcp", "agent_card/get"), Some(false));
        assert_eq!(is_known_surface("a2a", "task/artifact"), Some(true));
        assert_eq!(is_known_surface("ag_ui", "run_agent_input"), Some(true));
    }

    #[test]
    fn the_agent_is_at_the_other_end() {
        let (request, response) = (Some(Side::Request), Some(Side::Response));
        for (mode, surface, side, expected) in [
            ("mcp_server", "tools/call", request, Some(true)),
            ("mcp_server", "tools/call", response, Some(false)),
            ("mcp_server", "tools/list", response, Some(false)),
            ("mcp_server", "initialize", response, Some(false)),
            ("mcp_server", "sampling/createMessage", request, Some(false)),
            ("mcp_server", "sampling/createMessage", response, Some(true)),
            ("mcp_server", "notifications/initialized", None, Some(true)),
            ("mcp_server", "ping", request, None),
            ("mcp_client", "tools/call", request, Some(false)),
            ("mcp_client", "tools/call", response, Some(true)),
            ("mcp_client", "elicitation/create", request, Some(true)),
            ("mcp_client", "elicitation/create", response, Some(false)),
            ("a2a_server", "message/send", request, Some(true)),
            ("a2a_server", "message/send", response, Some(false)),
            ("a2a_server", "agent_card/get", response, Some(false)),
            ("a2a_client", "task/status", None, Some(true)),
            ("ag_ui_client", "run_agent_input", None, Some(false)),
            ("ag_ui_client", "text_message_end", None, Some(true)),
            ("ag_ui_client", "tool_call_result", request, Some(false)),
            ("ag_ui_client", "tool_call_result", response, None),
            ("mcp_server", "tools/call", None, None),
            ("mcp_server", "no/such", request, None),
        ] {
            assert_eq!(is_agent_side(mode, Some(surface), side), expected, "{mode} {surface} {side:?}");
        }
    }

    #[test]
    fn without_a_surface_a_side_may_still_tell() {
        assert_eq!(is_agent_side("a2a_server", None, Some(Side::Request)), Some(true));
        assert_eq!(is_agent_side("ag_ui_client", None, Some(Side::Request)), Some(false));
        assert_eq!(is_agent_side("mcp_server", None, Some(Side::Request)), None);
    }

    #[test]
    fn state_keys_and_response_lists_agree() {
        for mode in known_modes() {
            let keys = structural_keys(mode).expect(mode);
            for list in dispatch_lists(mode).expect(mode) {
                assert!(keys.contains(&list.within.unwrap_or(list.key)), "{mode}: {list:?}");
                let (index, _) = find_mode(mode).expect(mode);
                for surface in &list.answers {
                    assert!(TABLES[index].surfaces().any(|known| known == *surface), "{surface}");
                }
            }
        }
        assert_eq!(nearest_structural_key("mcp_server", "resourceTemplates"), Some("resource_templates"));
        assert_eq!(nearest_structural_key("ag_ui_client", "run_input"), None);
    }
}
