//! A case: how it is played, what becomes of its template for that, and what decides it.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::excerpt::excerpt;
use super::offer::Offer;
use crate::{CompiledChecks, Evaluator, Form, NoArguments, Template, Unfilled, Values};

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
    /// Which attempt at it is played, from one; `None` where there is only one.
    pub attempt: Option<u32>,
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

/// What a template is filled in for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// A message.
    Message,
    /// A question about the list of tools.
    Review,
    /// The arguments of a call.
    Arguments {
        /// The tool.
        tool: String,
        /// Its place among the tools of the target: names may be given twice.
        at: usize,
        /// For each member of the template, the property of the tool that it is for.
        properties: Vec<String>,
    },
    /// One argument of a call.
    Text {
        /// The tool.
        tool: String,
        /// Its place among the tools of the target.
        at: usize,
        /// The property that takes the text.
        property: String,
    },
}

/// Why nothing comes of a template.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unplayable {
    /// These are not filled.
    #[error(transparent)]
    Unfilled(#[from] Unfilled),
    /// The tool cannot be called with it.
    #[error("{0}")]
    Invalid(String),
}

impl Shape {
    /// The tool that is called.
    fn tool(&self) -> Option<&str> {
        match self {
            Self::Arguments { tool, .. } | Self::Text { tool, .. } => Some(tool),
            Self::Message | Self::Review => None,
        }
    }

    /// How a case is played whose template stands for this. `form` is that of the tool.
    pub(super) fn play(
        &self,
        template: &Template,
        values: &Values,
        form: Result<&Form, &NoArguments>,
    ) -> Result<Play, Unplayable> {
        let (tool, given) = match self {
            Self::Message => return Ok(Play::Seeds(vec![template.fill(values)?])),
            Self::Review => return Ok(Play::Review { text: template.fill(values)? }),
            Self::Arguments { tool, properties, .. } => {
                let arguments = template.arguments().and_then(Result::ok);
                // The planner saw arguments in the same text.
                let arguments = arguments
                    .ok_or_else(|| Unplayable::Invalid("the template has no arguments".to_owned()))?;
                let values = arguments.fill(values)?.into_iter().map(|argument| argument.value);
                (tool, properties.iter().cloned().zip(values).collect())
            }
            Self::Text { tool, property, .. } => {
                let text = Value::String(template.fill(values)?);
                (tool, std::iter::once((property.clone(), text)).collect())
            }
        };
        let filled = form.map_err(Clone::clone).and_then(|form| form.fill(&given));
        match filled {
            Ok(arguments) => Ok(Play::Call { tool: tool.clone(), arguments }),
            Err(why) => Err(Unplayable::Invalid(unusable(tool, &why))),
        }
    }

    /// How a case is played whose template stands for this, against a target that offers this.
    pub fn play_against(
        &self,
        template: &Template,
        values: &Values,
        offer: &Offer,
    ) -> Result<Play, Unplayable> {
        let missing = |why: &str| Err(NoArguments::Schema(why.to_owned()));
        let form = match self {
            Self::Arguments { at, .. } | Self::Text { at, .. } => match offer.tools.get(*at) {
                Some(tool) => Form::new(&tool.input_schema),
                None => missing("it is not among the tools of the target"),
            },
            Self::Message | Self::Review => missing("no tool is called"),
        };
        self.play(template, values, form.as_ref())
    }
}

pub(super) fn unusable(tool: &str, why: &NoArguments) -> String {
    format!("the tool `{}` cannot be called with it: {why}", excerpt(tool.as_bytes()))
}
