//! The standards that evaluators and documents are mapped to, and the suites that follow from them.

use sortie_oatf::frameworks::{Problem, normalise};
use sortie_syntax::closed_enum;

closed_enum! {
    /// A taxonomy, under the key that evaluators use for it.
    Standard {
        /// OWASP Top 10 for LLM applications.
        OwaspLlm = "owasp-llm",
        /// OWASP MCP Top 10.
        OwaspMcp = "owasp-mcp",
        /// OWASP Top 10 for agentic applications.
        OwaspAgentic = "owasp-agentic",
        /// OWASP API Security Top 10.
        OwaspApi = "owasp-api",
        /// MITRE ATLAS.
        Atlas = "atlas",
        /// The AI Act of the European Union.
        EuAiAct = "eu-ai-act",
        /// Trust and safety.
        TrustSafety = "trust-safety",
    }
}

impl Standard {
    /// The name that documents use for it in `classification.mappings`.
    pub const fn framework(self) -> &'static str {
        match self {
            Self::OwaspLlm => "owasp_llm",
            Self::OwaspMcp => "owasp_mcp",
            Self::OwaspAgentic => "owasp_agentic",
            Self::OwaspApi => "owasp_api",
            Self::Atlas => "atlas",
            Self::EuAiAct => "eu_ai_act",
            Self::TrustSafety => "trust_safety",
        }
    }

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OwaspLlm => "OWASP Top 10 for LLM Applications",
            Self::OwaspMcp => "OWASP MCP Top 10",
            Self::OwaspAgentic => "OWASP Top 10 for Agentic Applications",
            Self::OwaspApi => "OWASP API Security Top 10",
            Self::Atlas => "MITRE ATLAS",
            Self::EuAiAct => "EU AI Act",
            Self::TrustSafety => "Trust and safety",
        }
    }

    /// The suite that holds whatever is mapped to it, where there is one.
    pub const fn suite(self) -> Option<&'static str> {
        match self {
            Self::OwaspLlm => Some("owasp-llm-top10"),
            Self::OwaspMcp => Some("owasp-mcp-top10"),
            Self::OwaspAgentic => Some("owasp-agentic-ai"),
            Self::Atlas => Some("mitre-atlas"),
            Self::EuAiAct => Some("eu-ai-act-bias"),
            Self::OwaspApi | Self::TrustSafety => None,
        }
    }

    /// All entries, where their list is closed.
    ///
    /// ```
    /// use sortie_evaluators::Standard;
    ///
    /// assert_eq!(Standard::OwaspMcp.entries().last().unwrap(), "MCP10");
    /// assert_eq!(Standard::Atlas.entries().count(), 0);
    /// ```
    pub fn entries(self) -> impl Iterator<Item = String> {
        let prefix = match self {
            Self::OwaspLlm => Some("LLM"),
            Self::OwaspMcp => Some("MCP"),
            Self::OwaspAgentic => Some("ASI"),
            Self::OwaspApi => Some("API"),
            Self::Atlas | Self::EuAiAct | Self::TrustSafety => None,
        };
        // OWASP writes the entries of its API list without a zero.
        let width = if self == Self::OwaspApi { 1 } else { 2 };
        prefix
            .into_iter()
            .flat_map(move |prefix| (1..=10).map(move |entry| format!("{prefix}{entry:0width$}")))
    }

    /// The standard that a document means by a framework, however it spells the name.
    ///
    /// ```
    /// use sortie_evaluators::Standard;
    ///
    /// assert_eq!(Standard::of_framework("owasp_mcp"), Some(Standard::OwaspMcp));
    /// assert_eq!(Standard::of_framework("MITRE-ATLAS"), Some(Standard::Atlas));
    /// assert_eq!(Standard::of_framework("house_rules"), None);
    /// ```
    pub fn of_framework(framework: &str) -> Option<Self> {
        let letters = |text: &str| -> String {
            text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
        };
        let folded = letters(framework);
        if folded == "mitreatlas" {
            return Some(Self::Atlas);
        }
        Self::ALL.iter().copied().find(|standard| letters(standard.framework()) == folded)
    }

    /// The one way to write an entry, without the year of an edition: `MCP03` for `MCP-3`, `LLM01` for `LLM01:2025`.
    ///
    /// ```
    /// use sortie_evaluators::Standard;
    ///
    /// assert_eq!(Standard::OwaspLlm.entry("LLM01:2025").unwrap(), "LLM01");
    /// assert!(Standard::OwaspLlm.entry("LLM11").is_err());
    /// ```
    pub fn entry(self, id: &str) -> Result<String, Problem> {
        let mut entry = normalise(self.framework(), id)?;
        if let Some(year) = entry.find(':') {
            entry.truncate(year);
        }
        Ok(entry)
    }
}

/// Entries of standards, one of each at most, in the order of [`Standard::ALL`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standards(Vec<(Standard, String)>);

impl Standards {
    /// Adds an entry; whatever was there before is replaced.
    pub fn insert(&mut self, standard: Standard, entry: String) {
        match self.0.binary_search_by_key(&standard, |(standard, _)| *standard) {
            Ok(at) => self.0[at].1 = entry,
            Err(at) => self.0.insert(at, (standard, entry)),
        }
    }

    /// The entry of a standard.
    pub fn get(&self, standard: Standard) -> Option<&str> {
        self.iter().find(|(own, _)| *own == standard).map(|(_, entry)| entry)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Standard, &str)> {
        self.0.iter().map(|(standard, entry)| (*standard, entry.as_str()))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
