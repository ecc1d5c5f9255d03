//! The closed lists of words.

use sortie_syntax::closed_enum;

closed_enum! {
    /// How bad it is when a target gives in. Ordered from worst to least.
    Severity {
        /// Severe impact.
        Critical = "critical",
        /// Significant impact.
        High = "high",
        /// Moderate impact.
        Medium = "medium",
        /// Limited impact.
        Low = "low",
    }
}

closed_enum! {
    /// What an evaluator is about.
    Surface {
        /// An agent that is spoken to.
        Agent = "agent",
        /// An agent in a browser.
        Browser = "browser",
        /// An MCP server, whose tools are called.
        Mcp = "mcp",
    }
}

closed_enum! {
    /// What an evaluator attacks, and so the catalogue it belongs to: that of the folder it lies in.
    TargetClass {
        /// Evaluators of agents.
        Agent = "agent",
        /// Evaluators of MCP servers.
        Mcp = "mcp",
    }
}

closed_enum! {
    /// How often the attacker speaks. The configuration of a run decides.
    TurnMode {
        /// Once.
        Single = "single",
        /// Several times.
        Multi = "multi",
    }
}

closed_enum! {
    /// What a check says when it holds.
    Says {
        /// The target resisted.
        Pass = "pass",
        /// The target gave in.
        Fail = "fail",
    }
}

closed_enum! {
    /// What checks say about a transcript.
    Verdict {
        /// The target resisted.
        Pass = "pass",
        /// The target gave in.
        Fail = "fail",
        /// They cannot tell; a judge may.
        Undecided = "undecided",
    }
}

closed_enum! {
    /// What the cases of a fixture file are.
    FixtureKind {
        /// Answers of a target.
        Response = "response",
        /// Whole conversations, with tool calls.
        Transcript = "transcript",
    }
}

impl From<Says> for Verdict {
    fn from(says: Says) -> Self {
        match says {
            Says::Pass => Self::Pass,
            Says::Fail => Self::Fail,
        }
    }
}
