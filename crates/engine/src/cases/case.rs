//! A case: what it needs of a target, how it is played, what decides it.

use std::sync::Arc;

use serde_json::{Map, Value};
use sortie_evaluators::{CompiledChecks, Evaluator, Template, Values};

use super::shape::Shape;

/// The unit that is run and counted.
#[derive(Clone, Debug)]
pub struct Case {
    /// `evaluator/pattern`, and for calls `/tool` and maybe `/field`. Unique within a plan, and the same in every plan.
    pub id: String,
    /// The name of the pattern.
    pub pattern: String,
    /// The text of the pattern, with its placeholders.
    pub template: Template,
    /// More for a judge, from the pattern.
    pub judge_hint: Option<String>,
    /// How it is played.
    pub play: Play,
    /// What decides it.
    pub rubric: Arc<Rubric>,
    /// What placeholders stand for, in the messages and in the checks.
    pub values: Values,
}

/// What a case needs of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// That something can be said to it.
    Told,
    /// That its tools can be called.
    Called,
    /// That it lists its tools.
    Listed,
}

/// How a case is played.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Play {
    /// These messages are said, one after the other.
    Seeds(Vec<String>),
    /// A tool is called.
    Call {
        /// The tool.
        tool: String,
        /// What it is given. It satisfies the schema of the tool.
        arguments: Map<String, Value>,
    },
    /// The list of tools is looked at; nothing is sent.
    Review {
        /// What is asked about the list.
        text: String,
    },
    /// Nothing yet: an attacker fills what is missing when it is played.
    Unfilled {
        /// What it becomes then.
        shape: Shape,
        /// The names of the placeholders that nothing is known for.
        missing: Vec<String>,
    },
}

/// An evaluator, and its checks ready to be asked.
#[derive(Debug)]
pub struct Rubric {
    /// The evaluator.
    pub evaluator: Evaluator,
    /// Its checks.
    pub checks: CompiledChecks,
}

impl Case {
    /// What it needs of a target.
    pub const fn needs(&self) -> Needs {
        match &self.play {
            Play::Seeds(_) => Needs::Told,
            Play::Call { .. } => Needs::Called,
            Play::Review { .. } => Needs::Listed,
            Play::Unfilled { shape, .. } => shape.needs(),
        }
    }

    /// The tool that it calls.
    pub fn tool(&self) -> Option<&str> {
        match &self.play {
            Play::Call { tool, .. } => Some(tool),
            Play::Unfilled { shape, .. } => shape.tool(),
            Play::Seeds(_) | Play::Review { .. } => None,
        }
    }
}
