//! A case: how it is played, and what decides it.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::shape::Shape;
use crate::{CompiledChecks, Evaluator, Template, Values};

/// A pattern of an evaluator that is ready to be played against a target.
#[derive(Clone, Debug)]
pub struct PatternCase {
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
    pub rubric: Arc<CompiledEvaluator>,
    /// What placeholders stand for, in the messages and in the checks.
    pub values: Values,
    /// Those among them that an attacker filled in.
    pub filled: Values,
}

/// How a case is played.
#[derive(Clone, Debug, PartialEq)]
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
pub struct CompiledEvaluator {
    /// The evaluator.
    pub evaluator: Evaluator,
    /// Its checks.
    pub checks: CompiledChecks,
}

impl PatternCase {
    /// The tool that it calls.
    pub fn tool(&self) -> Option<&str> {
        match &self.play {
            Play::Call { tool, .. } => Some(tool),
            Play::Unfilled { shape, .. } => shape.tool(),
            Play::Seeds(_) | Play::Review { .. } => None,
        }
    }
}
