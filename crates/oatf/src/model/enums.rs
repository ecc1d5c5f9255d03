//! The closed enumerations, each with its canonical words.

use sortie_syntax::closed_enum;

closed_enum! {
    /// How far an attack got when an indicator matches. Ordered from least to worst.
    Tier {
        /// The payload was read and not filtered.
        Ingested = "ingested",
        /// A tool was misused inside the agent's own environment.
        LocalAction = "local_action",
        /// Data or control crossed a trust boundary.
        BoundaryBreach = "boundary_breach",
    }

    /// How bad the threat is.
    SeverityLevel {
        /// An observation.
        Informational = "informational",
        /// Limited impact.
        Low = "low",
        /// Moderate impact.
        Medium = "medium",
        /// Significant impact.
        High = "high",
        /// Severe impact.
        Critical = "critical",
    }

    /// What kind of harm an attack does.
    Impact {
        /// The agent's reasoning is corrupted.
        BehaviorManipulation = "behavior_manipulation",
        /// Data is sent to the attacker.
        DataExfiltration = "data_exfiltration",
        /// Persistent data is changed.
        DataTampering = "data_tampering",
        /// The agent acts outside its scope.
        UnauthorizedActions = "unauthorized_actions",
        /// Information is revealed.
        InformationDisclosure = "information_disclosure",
        /// Authentication material is exposed.
        CredentialTheft = "credential_theft",
        /// The agent or what it runs on is degraded.
        ServiceDisruption = "service_disruption",
        /// The attacker gains capabilities.
        PrivilegeEscalation = "privilege_escalation",
    }

    /// How an attack works.
    Category {
        /// Malicious capability descriptions.
        CapabilityPoisoning = "capability_poisoning",
        /// Malicious results.
        ResponseFabrication = "response_fabrication",
        /// A false frame around honest capabilities.
        ContextManipulation = "context_manipulation",
        /// Human control is circumvented.
        OversightBypass = "oversight_bypass",
        /// Timing and order are exploited.
        TemporalManipulation = "temporal_manipulation",
        /// Service is denied.
        AvailabilityDisruption = "availability_disruption",
        /// Several protocols are chained.
        CrossProtocolChain = "cross_protocol_chain",
    }

    /// Where a document stands in its life.
    Status {
        /// Being written.
        Draft = "draft",
        /// Complete, not yet validated widely.
        Experimental = "experimental",
        /// Validated.
        Stable = "stable",
        /// Superseded.
        Deprecated = "deprecated",
    }

    /// How indicator verdicts combine.
    CorrelationLogic {
        /// One match is enough.
        Any = "any",
        /// Every indicator must match.
        All = "all",
    }

    /// What an indicator found.
    IndicatorResult {
        /// The agent did what the attacker wanted.
        Matched = "matched",
        /// It did not, as far as this indicator sees.
        NotMatched = "not_matched",
        /// The indicator could not be evaluated on what was seen.
        Error = "error",
        /// The indicator was not evaluated.
        Skipped = "skipped",
    }

    /// What became of an attack.
    AttackResult {
        /// The agent gave in.
        Exploited = "exploited",
        /// It resisted.
        NotExploited = "not_exploited",
        /// Some, not all, of the indicators matched where all must.
        Partial = "partial",
        /// No verdict could be reached.
        Error = "error",
    }

    /// Which message of an exchange an extractor reads.
    ExtractorSource {
        /// The request.
        Request = "request",
        /// The response.
        Response = "response",
    }

    /// How an extractor selects.
    ExtractorType {
        /// With a `JSONPath` of RFC 9535.
        JsonPath = "json_path",
        /// With the first capture group of an RE2 pattern.
        Regex = "regex",
    }

    /// A hint for engines that classify.
    SemanticIntentClass {
        /// Injected instructions.
        PromptInjection = "prompt_injection",
        /// Data on its way out.
        DataExfiltration = "data_exfiltration",
        /// Capabilities gained.
        PrivilegeEscalation = "privilege_escalation",
        /// A person deceived.
        SocialEngineering = "social_engineering",
        /// Instructions replaced.
        InstructionOverride = "instruction_override",
    }

    /// How closely a mapping fits.
    Relationship {
        /// The attack is an instance of the entry.
        Primary = "primary",
        /// The entry is akin to it.
        Related = "related",
    }

    /// How loud a log line is.
    LogLevel {
        /// Information.
        Info = "info",
        /// A warning.
        Warn = "warn",
        /// An error.
        Error = "error",
    }

    /// How an MCP elicitation asks.
    ElicitationMode {
        /// With a form.
        Form = "form",
        /// By sending the user to a URL.
        Url = "url",
    }

    /// Which side of an exchange an indicator examines.
    Direction {
        /// The request, or a notification.
        Request = "request",
        /// The response.
        Response = "response",
    }

    /// How an indicator decides.
    IndicatorMethod {
        /// By comparing values.
        Pattern = "pattern",
        /// By a CEL expression.
        Expression = "expression",
        /// By meaning.
        Semantic = "semantic",
    }

    /// Why a phase ended.
    AdvanceReason {
        /// Enough matching events were seen.
        EventMatched = "event_matched",
        /// The time was up.
        Timeout = "timeout",
    }
}

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

    /// The protocol of a mode (`mcp` of `mcp_server`), known or not; `None` for a word that is not a mode.
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
