//! Modes: which side of which protocol an actor plays.

/// What the mode of an actor means. The word itself stays in the document or the trace, where others may have modes that are
/// not known here; these are recognised by their ending, as the specification has it (§4.2).
///
/// ```
/// use sortie_oatf::model::Mode;
///
/// assert_eq!(Mode::of("mcp_server"), Mode::McpServer);
/// assert!(Mode::of("smtp_server").is_server());
/// assert!(!Mode::of("smtp").is_server() && !Mode::of("smtp").is_client());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Serves tools, resources and prompts to an agent.
    McpServer,
    /// Attacks an MCP server.
    McpClient,
    /// Is an agent to an agent.
    A2aServer,
    /// Attacks an agent that speaks A2A.
    A2aClient,
    /// Is the front end of an agent.
    AgUiClient,
    /// Asks a chat endpoint; of traces of evaluators.
    ChatClient,
    /// Asks an HTTP endpoint; of traces of evaluators.
    HttpClient,
    /// Asks a command; of traces of evaluators.
    CmdClient,
    /// A server of a protocol that is not known here.
    OtherServer,
    /// A client of a protocol that is not known here.
    OtherClient,
    /// No mode that is known here.
    Other,
}

impl Mode {
    /// What a word means.
    pub fn of(word: &str) -> Self {
        match word {
            "mcp_server" => Self::McpServer,
            "mcp_client" => Self::McpClient,
            "a2a_server" => Self::A2aServer,
            "a2a_client" => Self::A2aClient,
            "ag_ui_client" => Self::AgUiClient,
            "chat_client" => Self::ChatClient,
            "http_client" => Self::HttpClient,
            "cmd_client" => Self::CmdClient,
            other if other.ends_with(SERVER) => Self::OtherServer,
            other if other.ends_with(CLIENT) => Self::OtherClient,
            _ => Self::Other,
        }
    }

    /// Whether it waits for the agent to connect.
    pub const fn is_server(self) -> bool {
        matches!(self, Self::McpServer | Self::A2aServer | Self::OtherServer)
    }

    /// Whether it connects to what it attacks.
    pub const fn is_client(self) -> bool {
        !self.is_server() && !matches!(self, Self::Other)
    }

    /// The protocol of a mode (`mcp` of `mcp_server`), known or not; `None` for a word that is no mode.
    pub fn protocol(word: &str) -> Option<&str> {
        word.strip_suffix(SERVER).or_else(|| word.strip_suffix(CLIENT))
    }
}

/// The protocol of a mode (specification §5.9): `mcp` for `mcp_server`.
pub fn extract_protocol(mode: &str) -> &str {
    Mode::protocol(mode).unwrap_or(mode)
}

const SERVER: &str = "_server";
const CLIENT: &str = "_client";
