//! Fixtures: what a target might say, and what must be said about it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sortie_oatf::CompileError;
use sortie_syntax::Span;

use crate::checks::{CompiledChecks, Decision};
pub use crate::model::FixtureKind;
use crate::model::{Evaluator, Pattern, Verdict};
use crate::template::{ATTACKER_HOST, Values};
use sortie_trace::{Transcript, TranscriptError, Turn};

/// What `{{canary}}` stands for in a case that does not say.
pub const FIXTURE_CANARY: &str = "canary-fixture";

/// The cases of `<id>.test.yaml`.
#[derive(Clone, Debug, PartialEq)]
pub struct Fixtures {
    /// What the cases are.
    pub kind: FixtureKind,
    /// The cases, those of `pass_case` first.
    pub cases: Vec<FixtureCase>,
}

/// What a target might say, and what must be said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct FixtureCase {
    /// How reports call it: `pass_case`, or `fail_case[1]` where there are several.
    pub name: String,
    /// What it says.
    pub content: FixtureContent,
    /// What must be said about it.
    pub expect: Verdict,
    /// The pattern that it answers; the first where it does not say.
    pub pattern: Option<String>,
    /// What the placeholders stand for.
    pub variables: BTreeMap<String, String>,
    /// Where it stands in its file.
    pub span: Span,
    /// The line it stands on, from one.
    pub line: usize,
}

/// What is said in a case.
#[derive(Clone, Debug, PartialEq)]
pub enum FixtureContent {
    /// One answer.
    Response(String),
    /// What a server says of itself, when its list of tools is looked at.
    Artifact {
        /// The tools there are.
        tools: Vec<Value>,
        /// What the server says about itself.
        server: Map<String, Value>,
    },
    /// A conversation.
    Transcript {
        /// What is said.
        turns: Vec<Turn>,
        /// The tools there are.
        tools: Vec<Value>,
        /// What the server says about itself.
        server: Map<String, Value>,
    },
}

/// What the checks of an evaluator make of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct FixtureOutcome {
    /// Its name.
    pub case: String,
    /// The line it stands on.
    pub line: usize,
    /// What must be said about it.
    pub expect: Verdict,
    /// What the checks say.
    pub decision: Decision,
    /// Whether that is right.
    pub result: FixtureResult,
}

/// Whether what the checks say is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixtureResult {
    /// They say what is expected.
    Right,
    /// They say something else, or nothing where they promise to decide.
    Wrong,
    /// They say nothing, and need not.
    LeftToJudge,
}

impl FixtureCase {
    /// The transcript that checks and judges see.
    pub fn transcript(&self, evaluator: &Evaluator) -> Result<Transcript, TranscriptError> {
        match &self.content {
            FixtureContent::Response(text) => Transcript::new(self.answered(evaluator, text)),
            FixtureContent::Artifact { tools, server } => {
                let told = match tools.as_slice() {
                    [] => json!(server),
                    tools => json!(tools),
                };
                let turns = self.answered(evaluator, &told.to_string());
                Transcript::new(turns)?.with_discovered(tools.clone(), server.clone())
            }
            FixtureContent::Transcript { turns, tools, server } => {
                Transcript::new(turns.clone())?.with_discovered(tools.clone(), server.clone())
            }
        }
    }

    /// What the pattern asks, and what comes back.
    fn answered(&self, evaluator: &Evaluator, text: &str) -> Vec<Turn> {
        let values = self.values();
        let asked = self.pattern_of(evaluator).map(|pattern| {
            let template = &pattern.template;
            template.fill(&values).unwrap_or_else(|_| template.text().to_owned())
        });
        asked.map(Turn::attacker).into_iter().chain([Turn::target(text)]).collect()
    }

    /// What the placeholders of the templates and checks stand for: what the case says, and what the runner would.
    pub fn values(&self) -> Values {
        let mut values = Values::from([
            ("canary".to_owned(), FIXTURE_CANARY.to_owned()),
            ("attacker_host".to_owned(), ATTACKER_HOST.to_owned()),
        ]);
        if let FixtureContent::Transcript { tools, .. } | FixtureContent::Artifact { tools, .. } =
            &self.content
        {
            values.insert("tool_list_json".to_owned(), Value::Array(tools.clone()).to_string());
        }
        if let FixtureContent::Transcript { turns, tools, .. } = &self.content
            && let Some(call) = turns.iter().find_map(|turn| turn.call.as_ref())
        {
            values.insert("tool_name".to_owned(), call.name.clone());
            let tool = tools.iter().find(|tool| tool["name"] == call.name.as_str());
            let text = |key: &str| tool.and_then(|tool| tool.get(key));
            if let Some(description) = text("description").and_then(Value::as_str) {
                values.insert("tool_description".to_owned(), description.to_owned());
            }
            if let Some(schema) = text("inputSchema") {
                values.insert("input_schema_json".to_owned(), schema.to_string());
            }
        }
        values.extend(self.variables.clone());
        values
    }

    fn outcome(&self, decision: Decision, result: FixtureResult) -> FixtureOutcome {
        FixtureOutcome { case: self.name.clone(), line: self.line, expect: self.expect, decision, result }
    }

    /// The pattern that it answers.
    pub fn pattern_of<'e>(&self, evaluator: &'e Evaluator) -> Option<&'e Pattern> {
        match &self.pattern {
            Some(name) => evaluator.patterns.iter().find(|pattern| pattern.name == *name),
            None => evaluator.patterns.first(),
        }
    }
}

/// Asks the checks of an evaluator about every case of its fixtures.
pub fn prove(evaluator: &Evaluator, fixtures: &Fixtures) -> Result<Vec<FixtureOutcome>, CompileError> {
    let checks = CompiledChecks::new(&evaluator.checks)?;
    let outcomes = fixtures.cases.iter().map(|case| {
        // What loads is within the limits; what does not is decided by nobody.
        let Ok(transcript) = case.transcript(evaluator) else {
            return case.outcome(Decision::undecided(), FixtureResult::Wrong);
        };
        let decision = checks.decide(&transcript, &case.values());
        let result = match decision.verdict {
            // A hint says that nothing is decided.
            Verdict::Undecided if case.expect == Verdict::Undecided && !decision.hints.is_empty() => {
                FixtureResult::Right
            }
            Verdict::Undecided if !evaluator.judge_needs_llm => FixtureResult::Wrong,
            Verdict::Undecided if case.expect != Verdict::Undecided => FixtureResult::LeftToJudge,
            verdict if verdict == case.expect => FixtureResult::Right,
            _ => FixtureResult::Wrong,
        };
        case.outcome(decision, result)
    });
    Ok(outcomes.collect())
}
