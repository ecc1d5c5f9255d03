//! Where messages have the texts that rules look for.
//!
//! The engine of the rules sees events, and says which rules an event is for and what each field is there. A place is where
//! messages have that text.

use sortie_oatf::model::{Direction, Tier};

/// A place in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TextPlace {
    /// What the user says, to an agent with a front end.
    UserInput,
    /// What somebody says to an agent over A2A.
    PeerMessage,
    /// What the agent tells its user.
    Answer,
    /// What a tool of an MCP server returns.
    Result,
    /// What a tool of the agent's own program returns.
    LocalResult,
    /// The arguments of a call.
    Arguments,
    LocalArguments,
    /// The name of the called tool.
    Name,
    LocalName,
    /// The descriptions of tools.
    Description,
    LocalDescription,
    /// What an agent answers over A2A: a message, or the artifacts of a task.
    PeerAnswer,
    PeerArtifact,
}

/// Which messages, and what of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaceTarget {
    pub(crate) protocol: &'static str,
    pub(crate) surface: &'static str,
    pub(crate) direction: Direction,
    pub(crate) target: &'static str,
    /// Whether texts below the target count.
    pub(crate) texts: bool,
    /// What it means that something was found there.
    pub(crate) tier: Option<Tier>,
}

impl TextPlace {
    /// The last digit of the ids of its indicators. No field has two places with the same digit.
    pub(crate) const fn digit(self) -> usize {
        match self {
            Self::Result | Self::Name | Self::Description => 1,
            Self::LocalResult | Self::LocalName | Self::LocalDescription => 2,
            Self::Arguments => 3,
            Self::LocalArguments => 4,
            Self::UserInput => 5,
            Self::Answer => 6,
            Self::PeerMessage => 7,
            Self::PeerAnswer => 8,
            Self::PeerArtifact => 9,
        }
    }

    pub(crate) const fn target(self) -> PlaceTarget {
        const fn at(
            protocol: &'static str,
            surface: &'static str,
            direction: Direction,
            target: &'static str,
            tier: Option<Tier>,
        ) -> PlaceTarget {
            PlaceTarget { protocol, surface, direction, target, texts: false, tier }
        }
        const READ: Option<Tier> = Some(Tier::Ingested);
        const DONE: Option<Tier> = Some(Tier::LocalAction);
        use Direction::{Request, Response};
        match self {
            Self::UserInput => PlaceTarget {
                texts: true,
                ..at("ag_ui", "run_agent_input", Request, "messages[*].content", READ)
            },
            Self::PeerMessage => at("a2a", "message/send", Request, "message.parts[*].text", READ),
            Self::PeerAnswer => at("a2a", "message/send", Response, "parts[*].text", None),
            Self::PeerArtifact => at("a2a", "message/send", Response, "artifacts[*].parts[*].text", None),
            Self::Answer => at("agent", "answer", Response, "text", None),
            Self::Result => at("mcp", "tools/call", Response, "content[*].text", READ),
            Self::LocalResult => at("local", "tools/call", Response, "content[*].text", READ),
            Self::Arguments => {
                PlaceTarget { texts: true, ..at("mcp", "tools/call", Request, "arguments", DONE) }
            }
            Self::LocalArguments => {
                PlaceTarget { texts: true, ..at("local", "tools/call", Request, "arguments", DONE) }
            }
            Self::Name => at("mcp", "tools/call", Request, "name", DONE),
            Self::LocalName => at("local", "tools/call", Request, "name", DONE),
            Self::Description => at("mcp", "tools/list", Response, "tools[*].description", READ),
            Self::LocalDescription => at("local", "tools/list", Response, "tools[*].description", READ),
        }
    }
}

/// The places of a field, for rules of a source; none where no message has it. The first is where tests put their text.
///
/// A rule sees the events of its source, and two kinds of rules see more: those for MCP see calls of any tool, and those for models
/// see what tools return, where their fields stand for the same text.
pub(crate) fn places(field: &str, source: &str) -> &'static [TextPlace] {
    use TextPlace::{
        Answer, Arguments, Description, LocalArguments, LocalDescription, LocalName, LocalResult, Name,
        PeerAnswer, PeerArtifact, PeerMessage, Result, UserInput,
    };
    let source = EventSource::of(source);
    match (field, source) {
        ("content", EventSource::Model) => &[UserInput, PeerMessage, Answer, Result, LocalResult],
        ("content", EventSource::Mcp) => &[Result, LocalResult, Arguments, LocalArguments],
        ("content" | "agent_message", EventSource::Peer) => &[PeerMessage, PeerAnswer, PeerArtifact],
        ("user_input", EventSource::Model) => &[UserInput, PeerMessage, Result, LocalResult],
        ("user_input" | "agent_output", EventSource::Mcp) | ("tool_response", _) => &[Result, LocalResult],
        ("user_input", _) => &[UserInput, PeerMessage],
        ("agent_output", EventSource::Model) => &[Answer, Result, LocalResult],
        ("agent_output", _) => &[Answer],
        ("content", EventSource::Call) | ("tool_args" | "tool_input", _) => &[Arguments, LocalArguments],
        ("tool_name", _) => &[Name, LocalName],
        ("tool_description", _) => &[Description, LocalDescription],
        ("agent_message", _) => &[PeerMessage],
        _ => &[],
    }
}

/// The events that a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventSource {
    /// What goes into a model and comes out of it, and what tools return.
    Model,
    /// What goes to a tool and comes back.
    Mcp,
    /// Calls of tools.
    Call,
    /// What agents say to each other.
    Peer,
}

impl EventSource {
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "mcp_exchange" => Self::Mcp,
            "tool_call" | "skill_lifecycle" | "skill_permission" | "skill_chain" => Self::Call,
            "multi_agent_comm" => Self::Peer,
            // `llm_io`, `context_window`, `memory_access`
            _ => Self::Model,
        }
    }
}
