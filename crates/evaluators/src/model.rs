//! What an evaluator says, under the names of the authoring document.

use sortie_oatf::frameworks::{Problem, normalise};
use sortie_oatf::model::Condition;
use sortie_syntax::closed_enum;

use crate::template::Template;

/// A rubric with the attacks that are judged by it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluator {
    /// Kebab-case, unique over all catalogues.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// How bad it is when a target gives in.
    pub severity: Severity,
    /// Entries of standards; they decide which derived suites it is in.
    pub standards: Standards,
    /// The weakness it finds, in the Common Weakness Enumeration: `CWE-78`. Findings with one cause share it.
    pub cwe: Option<String>,
    /// What to change in a target that gives in.
    pub remedy: Option<String>,
    /// One line about it.
    pub description: Option<String>,
    /// What a target that resists does; a judge reads it as it is.
    pub pass_criteria: String,
    /// What a target that gives in does; a judge reads it as it is.
    pub fail_criteria: String,
    /// More for the judge.
    pub judge_hint: Option<String>,
    /// Whether a judge may be needed. `false` promises that the checks decide.
    pub judge_needs_llm: bool,
    /// Whether every pattern is tried on every tool of an MCP server, not only on those that fit.
    pub applies_to_all_tools: bool,
    /// What it is about. Informational, but for [`Surface::Code`] alone.
    pub surfaces: Vec<Surface>,
    /// What is looked at in place of the answers to its attacks.
    pub scan_mode: Option<ScanMode>,
    /// The evaluator that tries on a running target what this one looks for in source code.
    pub correlates_with: Option<String>,
    /// Why nobody can try it, where its author says so.
    pub untestable_reason: Option<String>,
    /// How often the attacker speaks. Informational.
    pub turn_mode: Option<TurnMode>,
    /// Evaluators that must have run first.
    pub depends_on: Vec<String>,
    /// Names that curated suites may use.
    pub tags: Vec<String>,
    /// What decides without a judge.
    pub checks: Vec<Check>,
    /// The attacks. Empty only while the pattern files of a folder have not been read, and where nothing can be played.
    pub patterns: Vec<Pattern>,
}

impl Evaluator {
    /// Whether it is about source code, which only a source scanner reads.
    pub fn reads_source(&self) -> bool {
        self.scan_mode == Some(ScanMode::SourceCode) || self.surfaces == [Surface::Code]
    }

    /// Why nothing of it can be played, whatever the target is.
    pub fn not_applicable(&self) -> Option<String> {
        if let Some(reason) = &self.untestable_reason {
            return Some(format!("its author says that it cannot be tested: {reason}"));
        }
        let other = |id: &String| format!("; `{id}` tries the same on a running target");
        let other = self.correlates_with.as_ref().map(other).unwrap_or_default();
        self.reads_source().then(|| format!("it reads source code, which needs a source scanner{other}"))
    }
}

/// An attack.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// What people call it; unique within the evaluator.
    pub name: String,
    /// The name of its file, where it has one of its own.
    pub slug: Option<String>,
    /// What is said or sent.
    pub template: Template,
    /// More for the judge.
    pub judge_hint: Option<String>,
    /// Whether it is played before the others of its evaluator, which are played only where a first one met something.
    pub first: bool,
}

/// Something that decides without a judge when it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What people call it; unique within the evaluator.
    pub name: String,
    /// What it says when it holds.
    pub says: CheckSays,
    /// When it holds.
    pub test: Test,
    /// The line of the file that asks, from one.
    pub line: usize,
}

/// When a check holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// A value at a path of the transcript satisfies a condition.
    Pattern {
        /// The path, such as `answers[*]`.
        target: String,
        /// The condition.
        condition: Condition,
    },
    /// A CEL expression over `transcript` is true.
    Cel(String),
    /// What several calls show together.
    Measure(Measure),
}

closed_enum! {
    /// How bad it is when a target gives in. Ordered from worst to least.
    #[derive(Default)]
    Severity {
        /// Severe impact.
        Critical = "critical",
        /// Significant impact.
        High = "high",
        /// Moderate impact.
        Medium = "medium",
        /// Limited impact.
        #[default]
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
        /// Source code, which is read.
        Code = "code",
    }
}

closed_enum! {
    /// What an evaluator looks at in place of the answers to its attacks.
    ScanMode {
        /// Source code, for which there are source scanners.
        SourceCode = "source_code",
        /// What a server says of its tools; nothing is called.
        ToolDescription = "tool_description",
        /// Whether a server takes a connection with the headers that the template names, and without credentials.
        Connection = "connection",
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
    CheckSays {
        /// The target resisted.
        Pass = "pass",
        /// The target gave in.
        Fail = "fail",
        /// Something is suspicious and proves nothing: the target has not resisted, and nobody says that it gave in.
        Hint = "hint",
    }
}

closed_enum! {
    /// What a series of calls shows that no single answer does.
    Measure {
        /// Answers come later by what `{{dose}}` asks for, dose by dose.
        Delay = "delay",
        /// Answers take far longer with each letter of `{{growth}}`.
        Growth = "growth",
        /// Whether `{{truth}}` is true decides the answer, and one of both answers is that to a harmless call.
        Condition = "condition",
    }
}

closed_enum! {
    /// What a judge says about a target.
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
        /// What a target says of itself: descriptions of tools, manifests.
        Artifact = "artifact",
        /// Quantities, which nothing here measures.
        Metric = "metric",
    }
}

closed_enum! {
    /// What a case of [`FixtureKind::Artifact`] shows.
    ArtifactType {
        /// The description of a tool.
        ToolDescription = "tool_description",
        /// What a server declares.
        Manifest = "manifest",
        /// Source code, which only a source scanner reads.
        SourceFile = "source_file",
    }
}

impl From<CheckSays> for Verdict {
    fn from(says: CheckSays) -> Self {
        match says {
            CheckSays::Pass => Self::Pass,
            CheckSays::Fail => Self::Fail,
            CheckSays::Hint => Self::Undecided,
        }
    }
}

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
        /// The AI Risk Management Framework of NIST.
        Nist = "nist",
    }
}

impl Standard {
    /// What documents call it, what people do, the suite that holds what is mapped to it, and how its ten entries begin;
    /// empty for what it does not have.
    const fn words(self) -> [&'static str; 4] {
        match self {
            Self::OwaspLlm => ["owasp_llm", "OWASP Top 10 for LLM Applications", "owasp-llm-top10", "LLM"],
            Self::OwaspMcp => ["owasp_mcp", "OWASP MCP Top 10", "owasp-mcp-top10", "MCP"],
            Self::OwaspAgentic => {
                ["owasp_agentic", "OWASP Top 10 for Agentic Applications", "owasp-agentic-ai", "ASI"]
            }
            Self::OwaspApi => ["owasp_api", "OWASP API Security Top 10", "", "API"],
            Self::Atlas => ["atlas", "MITRE ATLAS", "mitre-atlas", ""],
            Self::EuAiAct => ["eu_ai_act", "EU AI Act", "eu-ai-act-bias", ""],
            Self::TrustSafety => ["trust_safety", "Trust and safety", "", ""],
            Self::Nist => ["nist_ai_rmf", "NIST AI RMF", "nist-ai-rmf", ""],
        }
    }

    /// The name that documents use for it in `classification.mappings`.
    pub const fn framework(self) -> &'static str {
        self.words()[0]
    }

    /// What people call it.
    pub const fn name(self) -> &'static str {
        self.words()[1]
    }

    /// The suite that holds whatever is mapped to it, where there is one.
    pub fn suite(self) -> Option<&'static str> {
        Some(self.words()[2]).filter(|suite| !suite.is_empty())
    }

    /// How its entries begin, where there are ten with a number each.
    pub(crate) fn prefix(self) -> Option<&'static str> {
        Some(self.words()[3]).filter(|prefix| !prefix.is_empty())
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
        // OWASP writes the entries of its API list without a zero.
        let width = if self == Self::OwaspApi { 1 } else { 2 };
        self.prefix()
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

/// Entries of standards, in the order of [`Standard::ALL`], and those of one standard as they were named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standards(Vec<(Standard, String)>);

impl Standards {
    /// Adds an entry, unless it is there.
    pub fn insert(&mut self, standard: Standard, entry: String) {
        if self.entries(standard).all(|own| own != entry) {
            let at = self.0.partition_point(|(own, _)| *own <= standard);
            self.0.insert(at, (standard, entry));
        }
    }

    /// The entries of a standard.
    pub fn entries(&self, standard: Standard) -> impl Iterator<Item = &str> {
        self.iter().filter(move |(own, _)| *own == standard).map(|(_, entry)| entry)
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
