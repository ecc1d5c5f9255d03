//! What there is to cover, and what is known to be missing.

/// A place in which an attack can stand.
pub(super) struct Place {
    /// The tag of documents that are delivered there.
    pub(super) tag: &'static str,
    /// What it is.
    pub(super) name: &'static str,
    /// The operations that deliver it; one of them must be in `x-sortie.delivered`.
    pub(super) surfaces: &'static [&'static str],
}

const fn place(tag: &'static str, name: &'static str, surfaces: &'static [&'static str]) -> Place {
    Place { tag, name, surfaces }
}

/// Where attacks can stand.
pub(super) const DELIVERY: &[Place] = &[
    place("tool-description", "description of a tool", &["tools/list", "run_agent_input"]),
    place("input-schema", "schema of a tool", &["tools/list"]),
    place("tool-result", "result of a tool", &["tools/call", "run_agent_input"]),
    place("structured-content", "structured content of a result", &["tools/call"]),
    place("tool-error", "error of a tool", &["tools/call"]),
    place("resource", "resource", &["resources/read"]),
    place("prompt-template", "prompt of a server", &["prompts/get"]),
    place("server-instructions", "instructions of a server", &["initialize"]),
    place("log-message", "log message of a server", &["notifications/message"]),
    place("elicitation", "elicitation, or the answer to one", &["elicitation/create"]),
    place("sampling", "sampling, or the answer to it", &["sampling/createMessage"]),
    place("tool-argument", "argument for a server under test", &["tools/call"]),
    place("resource-address", "address for a server under test", &["resources/read"]),
    place("agent-card", "agent card", &["agent_card/get"]),
    place("artifact", "artifact of a task", &["message/send", "message/stream"]),
    place("task-status", "status of a task", &["message/send", "message/stream"]),
    place("message", "message to an agent", &["message/send", "message/stream"]),
    place("forged-history", "history of a conversation", &["run_agent_input"]),
    place("user-message", "what a user pastes", &["run_agent_input"]),
    place("state", "state of a front end", &["run_agent_input"]),
    place("context", "context of a front end", &["run_agent_input"]),
    place("forwarded-props", "forwarded properties", &["run_agent_input"]),
];

/// How attacks can be hidden from whoever reads along.
pub(super) const EVASION: &[(&str, &str)] = &[
    ("homoglyph", "letters of another alphabet"),
    ("zero-width", "characters without a width"),
    ("unicode-tags", "Unicode tags"),
    ("base64", "base64"),
    ("split", "in pieces"),
    ("comment", "in a comment"),
    ("ansi", "escapes of a terminal"),
];

/// A list of ten risks.
pub(super) struct TopTen {
    /// How documents call it.
    pub(super) framework: &'static str,
    pub(super) title: &'static str,
    pub(super) entries: &'static [(&'static str, &'static str)],
    /// Which of them are covered in part only.
    pub(super) notes: &'static [&'static str],
}

/// Lists of ten risks.
pub(super) const TOP_TENS: &[TopTen] = &[
    TopTen {
        framework: "owasp_mcp",
        title: "OWASP MCP Top 10",
        entries: &[
            ("MCP01", "Token Mismanagement & Secret Exposure"),
            ("MCP02", "Privilege Escalation via Scope Creep"),
            ("MCP03", "Tool Poisoning"),
            ("MCP04", "Software Supply Chain Attacks & Dependency Tampering"),
            ("MCP05", "Command Injection & Execution"),
            ("MCP06", "Intent Flow Subversion"),
            ("MCP07", "Insufficient Authentication & Authorization"),
            ("MCP08", "Lack of Audit and Telemetry"),
            ("MCP09", "Shadow MCP Servers"),
            ("MCP10", "Context Injection & Over-Sharing"),
        ],
        notes: &[
            "MCP07: an agent that acts for whoever asks; not the sign-in of a server",
            "MCP08: an agent that switches an audit off; not whether anyone keeps a log",
            "MCP09: a server that takes the place of another; not which servers a company runs",
        ],
    },
    TopTen {
        framework: "owasp_agentic",
        title: "OWASP Agentic Top 10",
        entries: &[
            ("ASI01", "Agent Goal Hijack"),
            ("ASI02", "Tool Misuse and Exploitation"),
            ("ASI03", "Identity and Privilege Abuse"),
            ("ASI04", "Agentic Supply Chain Vulnerabilities"),
            ("ASI05", "Unexpected Code Execution (RCE)"),
            ("ASI06", "Memory & Context Poisoning"),
            ("ASI07", "Insecure Inter-Agent Communication"),
            ("ASI08", "Cascading Failures"),
            ("ASI09", "Human-Agent Trust Exploitation"),
            ("ASI10", "Rogue Agents"),
        ],
        notes: &["ASI05: an agent that runs a command it read; not how far its sandbox holds"],
    },
    TopTen {
        framework: "owasp_llm",
        title: "OWASP LLM Top 10",
        entries: &[
            ("LLM01", "Prompt Injection"),
            ("LLM02", "Sensitive Information Disclosure"),
            ("LLM03", "Supply Chain"),
            ("LLM04", "Data and Model Poisoning"),
            ("LLM05", "Improper Output Handling"),
            ("LLM06", "Excessive Agency"),
            ("LLM07", "System Prompt Leakage"),
            ("LLM08", "Vector and Embedding Weaknesses"),
            ("LLM09", "Misinformation"),
            ("LLM10", "Unbounded Consumption"),
        ],
        notes: &[
            "LLM03: servers, tools and packages that an agent meets; not models and data sets, which reach no agent over a protocol",
            "LLM04: what an agent keeps and finds again; not training, for the same reason",
            "LLM08: a poisoned index behind a search; not embeddings themselves, for the same reason",
        ],
    },
];

/// Techniques of ATLAS (5.6) that can be tried on an agent by what it is told. Which those are is our choice.
pub(super) const ATLAS: &[(&str, &str)] = &[
    ("AML.T0010.001", "AI Supply Chain Compromise: AI Software"),
    ("AML.T0010.005", "AI Supply Chain Compromise: AI Agent Tool"),
    ("AML.T0011.001", "User Execution: Malicious Package"),
    ("AML.T0011.002", "User Execution: Poisoned AI Agent Tool"),
    ("AML.T0011.003", "User Execution: Malicious Link"),
    ("AML.T0029", "Denial of AI Service"),
    ("AML.T0034.000", "Cost Harvesting: Excessive Queries"),
    ("AML.T0034.001", "Cost Harvesting: Resource-Intensive Queries"),
    ("AML.T0034.002", "Cost Harvesting: Agentic Resource Consumption"),
    ("AML.T0036", "Data from Information Repositories"),
    ("AML.T0037", "Data from Local System"),
    ("AML.T0048.000", "External Harms: Financial Harm"),
    ("AML.T0048.001", "External Harms: Reputational Harm"),
    ("AML.T0048.002", "External Harms: Societal Harm"),
    ("AML.T0048.003", "External Harms: User Harm"),
    ("AML.T0050", "Command and Scripting Interpreter"),
    ("AML.T0051.000", "LLM Prompt Injection: Direct"),
    ("AML.T0051.001", "LLM Prompt Injection: Indirect"),
    ("AML.T0051.002", "LLM Prompt Injection: Triggered"),
    ("AML.T0052", "Phishing"),
    ("AML.T0052.000", "Phishing: Spearphishing via Social Engineering LLM"),
    ("AML.T0053", "AI Agent Tool Invocation"),
    ("AML.T0054", "LLM Jailbreak"),
    ("AML.T0055", "Unsecured Credentials"),
    ("AML.T0056", "Extract LLM System Prompt"),
    ("AML.T0057", "LLM Data Leakage"),
    ("AML.T0061", "LLM Prompt Self-Replication"),
    ("AML.T0066", "Retrieval Content Crafting"),
    ("AML.T0067", "LLM Trusted Output Components Manipulation"),
    ("AML.T0067.000", "LLM Trusted Output Components Manipulation: Citations"),
    ("AML.T0068", "LLM Prompt Obfuscation"),
    ("AML.T0069.000", "Discover LLM System Information: Special Character Sets"),
    ("AML.T0069.001", "Discover LLM System Information: System Instruction Keywords"),
    ("AML.T0069.002", "Discover LLM System Information: System Prompt"),
    ("AML.T0070", "RAG Poisoning"),
    ("AML.T0071", "False RAG Entry Injection"),
    ("AML.T0072", "Reverse Shell"),
    ("AML.T0073", "Impersonation"),
    ("AML.T0074", "Masquerading"),
    ("AML.T0077", "LLM Response Rendering"),
    ("AML.T0078", "Drive-by Compromise"),
    ("AML.T0080.000", "AI Agent Context Poisoning: Memory"),
    ("AML.T0080.001", "AI Agent Context Poisoning: Thread"),
    ("AML.T0081", "Modify AI Agent Configuration"),
    ("AML.T0082", "RAG Credential Harvesting"),
    ("AML.T0083", "Credentials from AI Agent Configuration"),
    ("AML.T0084", "Discover AI Agent Configuration"),
    ("AML.T0084.000", "Discover AI Agent Configuration: Embedded Knowledge"),
    ("AML.T0084.001", "Discover AI Agent Configuration: Tool Definitions"),
    ("AML.T0084.002", "Discover AI Agent Configuration: Activation Triggers"),
    ("AML.T0084.003", "Discover AI Agent Configuration: Call Chains"),
    ("AML.T0085", "Data from AI Services"),
    ("AML.T0085.000", "Data from AI Services: RAG Databases"),
    ("AML.T0085.001", "Data from AI Services: AI Agent Tools"),
    ("AML.T0086", "Exfiltration via AI Agent Tool Invocation"),
    ("AML.T0091.000", "Use Alternate Authentication Material: Application Access Token"),
    ("AML.T0092", "Manipulate User LLM Chat History"),
    ("AML.T0093", "Prompt Infiltration via Public-Facing Application"),
    ("AML.T0094", "Delay Execution of LLM Instructions"),
    ("AML.T0096", "AI Service API"),
    ("AML.T0097", "Virtualization/Sandbox Evasion"),
    ("AML.T0098", "AI Agent Tool Credential Harvesting"),
    ("AML.T0099", "AI Agent Tool Data Poisoning"),
    ("AML.T0100", "AI Agent Clickbait"),
    ("AML.T0101", "Data Destruction via AI Agent Tool Invocation"),
    ("AML.T0103", "Deploy AI Agent"),
    ("AML.T0105", "Escape to Host"),
    ("AML.T0108", "AI Agent"),
    ("AML.T0109", "AI Supply Chain Rug Pull"),
    ("AML.T0110", "AI Agent Tool Poisoning"),
    ("AML.T0111", "AI Supply Chain Reputation Inflation"),
    ("AML.T0112.000", "Machine Compromise: Local AI Agent"),
];

/// What the list above leaves out.
pub(super) const ATLAS_NOTES: &[&str] = &[
    "techniques that happen before, around or inside a model are left out: reconnaissance, preparation, training, theft of models",
];

/// What no document is about.
pub(super) const BEYOND: &[&str] = &[
    "languages other than English, images and sound: every payload is English text",
    "transports and sign-in: OAuth, TLS, sessions, names of hosts",
    "models, training data, embeddings, and whatever else an agent is not told over a protocol",
    "what takes many turns or many sessions: the longest attack here has a handful",
    "wordings: each attack is told in one, and an agent that resists it may give in to another",
];
