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
}

closed_enum! {
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
}

closed_enum! {
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
}

closed_enum! {
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
}

closed_enum! {
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
}

closed_enum! {
    /// How indicator verdicts combine.
    CorrelationLogic {
        /// One match is enough.
        Any = "any",
        /// Every indicator must match.
        All = "all",
    }
}

closed_enum! {
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
}

closed_enum! {
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
}

closed_enum! {
    /// Which message of an exchange an extractor reads.
    ExtractorSource {
        /// The request.
        Request = "request",
        /// The response.
        Response = "response",
    }
}

closed_enum! {
    /// How an extractor selects.
    ExtractorType {
        /// With a `JSONPath` of RFC 9535.
        JsonPath = "json_path",
        /// With the first capture group of an RE2 pattern.
        Regex = "regex",
    }
}

closed_enum! {
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
}

closed_enum! {
    /// How closely a mapping fits.
    Relationship {
        /// The attack is an instance of the entry.
        Primary = "primary",
        /// The entry is akin to it.
        Related = "related",
    }
}

closed_enum! {
    /// How loud a log line is.
    LogLevel {
        /// Information.
        Info = "info",
        /// A warning.
        Warn = "warn",
        /// An error.
        Error = "error",
    }
}

closed_enum! {
    /// How an MCP elicitation asks.
    ElicitationMode {
        /// With a form.
        Form = "form",
        /// By sending the user to a URL.
        Url = "url",
    }
}

closed_enum! {
    /// Which side of an exchange an indicator examines.
    Direction {
        /// The request, or a notification.
        Request = "request",
        /// The response.
        Response = "response",
    }
}

closed_enum! {
    /// How an indicator decides.
    IndicatorMethod {
        /// By comparing values.
        Pattern = "pattern",
        /// By a CEL expression.
        Expression = "expression",
        /// By meaning.
        Semantic = "semantic",
    }
}

closed_enum! {
    /// Why a phase ended.
    AdvanceReason {
        /// Enough matching events were seen.
        EventMatched = "event_matched",
        /// The time was up.
        Timeout = "timeout",
    }
}
