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

pub(super) struct TopTen {
    /// How documents call it.
    pub(super) framework: &'static str,
    pub(super) title: &'static str,
    /// Which of them are covered in part only.
    pub(super) notes: &'static [&'static str],
}

pub(super) const TOP_TENS: &[TopTen] = &[
    TopTen {
        framework: "owasp_mcp",
        title: "OWASP MCP Top 10",
        notes: &[
            "MCP07: an agent that acts for whoever asks; not the sign-in of a server",
            "MCP08: an agent that switches an audit off; not whether anyone keeps a log",
            "MCP09: a server that takes the place of another; not which servers a company runs",
        ],
    },
    TopTen {
        framework: "owasp_agentic",
        title: "OWASP Agentic Top 10",
        notes: &["ASI05: an agent that runs a command it read; not how far its sandbox holds"],
    },
    TopTen {
        framework: "owasp_llm",
        title: "OWASP LLM Top 10",
        notes: &[
            "LLM03: servers, tools and packages that an agent meets; not models and data sets, which reach no agent over a protocol",
            "LLM04: what an agent keeps and finds again; not training, for the same reason",
            "LLM08: a poisoned index behind a search; not embeddings themselves, for the same reason",
        ],
    },
];

/// What the list of ATLAS leaves out.
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
