//! A case: how it is played, what becomes of its template for that, and what decides it.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::excerpt::excerpt;
use super::offer::Offer;
use crate::template::{DOSES, FALSE, LENGTHS, TRUE};
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
    /// The argument of the tool that the attack changes.
    pub argument: Option<String>,
    /// Whether it is played before the others of its evaluator at the same place.
    pub first: bool,
    /// Why the tool it calls never worked, where harmless calls were made and none did.
    pub control_failure: Option<String>,
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
    /// A tool is called several times, with one argument changed from call to call.
    Series {
        /// The tool.
        tool: String,
        /// What it is given in each call. It satisfies the schema of the tool.
        calls: Vec<Map<String, Value>>,
    },
    /// The list of tools is looked at; nothing is sent.
    Review {
        /// What is asked about the list.
        text: String,
    },
    /// A connection is opened with these headers, and without credentials.
    Connection {
        /// The headers.
        headers: Map<String, Value>,
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
            Play::Call { tool, .. } | Play::Series { tool, .. } => Some(tool),
            Play::Unfilled { shape, .. } => shape.tool(),
            Play::Seeds(_) | Play::Review { .. } | Play::Connection { .. } => None,
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
    /// The headers of a connection.
    Connection,
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
            Self::Message | Self::Review | Self::Connection => None,
        }
    }

    /// The argument that is attacked; of several, the first.
    pub(super) fn argument(&self) -> Option<String> {
        match self {
            Self::Arguments { properties, .. } => properties.first().cloned(),
            Self::Text { property, .. } => Some(property.clone()),
            Self::Message | Self::Review | Self::Connection => None,
        }
    }

    /// What `{{control}}` stands for: the value of the attacked argument in a call that works.
    pub(super) fn control_value(&self, control: Option<&Map<String, Value>>) -> String {
        let property = match self {
            Self::Arguments { properties, .. } => properties.first(),
            Self::Text { property, .. } => Some(property),
            Self::Message | Self::Review | Self::Connection => None,
        };
        match property.and_then(|property| control?.get(property)) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => HARMLESS.to_owned(),
        }
    }

    /// How a case is played whose template stands for this. `form` is that of the tool, `control` a call of it that works.
    pub(super) fn play(
        &self,
        template: &Template,
        values: &Values,
        form: Result<&Form, &NoArguments>,
        control: Option<&Map<String, Value>>,
    ) -> Result<Play, Unplayable> {
        let tool = match self {
            Self::Message => return Ok(Play::Seeds(vec![template.fill(values)?])),
            Self::Review => return Ok(Play::Review { text: template.fill(values)? }),
            Self::Connection => return Ok(Play::Connection { headers: headers(template, values)? }),
            Self::Arguments { tool, .. } | Self::Text { tool, .. } => tool.clone(),
        };
        let call = Call { shape: self, form, control };
        let with = |name: &str, value: String| {
            let mut values = values.clone();
            values.insert(name.to_owned(), value);
            call.arguments(template, &values)
        };
        if template.mentions("dose") {
            let calls = DOSES.iter().map(|dose| with("dose", dose.to_string())).collect::<Result<_, _>>()?;
            return Ok(Play::Series { tool, calls });
        }
        if template.mentions("growth") {
            let calls = LENGTHS.iter().map(|length| with("growth", "a".repeat(*length)));
            return Ok(Play::Series { tool, calls: calls.collect::<Result<_, _>>()? });
        }
        if template.mentions("truth") {
            let name = if template.mentions("control") { "control" } else { "canary" };
            let harmless = call.harmless(values.get(name).map_or(HARMLESS, String::as_str))?;
            let conditions = [TRUE, FALSE, TRUE, FALSE];
            let conditions = conditions.into_iter().map(|truth| with("truth", truth.to_owned()));
            let calls = std::iter::once(Ok(harmless)).chain(conditions).collect::<Result<_, _>>()?;
            return Ok(Play::Series { tool, calls });
        }
        Ok(Play::Call { tool, arguments: call.arguments(template, values)? })
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
            Self::Message | Self::Review | Self::Connection => missing("no tool is called"),
        };
        let control = self.tool().and_then(|tool| offer.control_arguments(tool));
        self.play(template, values, form.as_ref(), control)
    }
}

/// The headers that a template names.
fn headers(template: &Template, values: &Values) -> Result<Map<String, Value>, Unplayable> {
    let named = template.arguments().and_then(Result::ok);
    let named = named.ok_or_else(|| Unplayable::Invalid("the template names no headers".to_owned()))?;
    let filled = named.fill(values)?.into_iter();
    Ok(filled.filter_map(|header| Some((header.names.into_iter().next()?, header.value))).collect())
}

/// What an argument is where nothing better is known.
const HARMLESS: &str = "sortie";

/// A call of a tool that is to be filled in.
struct Call<'c> {
    shape: &'c Shape,
    form: Result<&'c Form, &'c NoArguments>,
    control: Option<&'c Map<String, Value>>,
}

impl Call<'_> {
    /// The arguments that a template gives, and those of the control besides.
    fn arguments(&self, template: &Template, values: &Values) -> Result<Map<String, Value>, Unplayable> {
        let given = match self.shape {
            Shape::Arguments { properties, .. } => {
                let arguments = template.arguments().and_then(Result::ok);
                // The planner saw arguments in the same text.
                let arguments = arguments
                    .ok_or_else(|| Unplayable::Invalid("the template has no arguments".to_owned()))?;
                let values = arguments.fill(values)?.into_iter().map(|argument| argument.value);
                properties.iter().cloned().zip(values).collect()
            }
            Shape::Text { property, .. } => {
                std::iter::once((property.clone(), Value::String(template.fill(values)?))).collect()
            }
            Shape::Message | Shape::Review | Shape::Connection => Map::new(),
        };
        self.filled(&given)
    }

    /// A call in which every attacked argument has a harmless value.
    fn harmless(&self, value: &str) -> Result<Map<String, Value>, Unplayable> {
        let properties = match self.shape {
            Shape::Arguments { properties, .. } => properties.as_slice(),
            Shape::Text { property, .. } => std::slice::from_ref(property),
            Shape::Message | Shape::Review | Shape::Connection => &[],
        };
        self.filled(&properties.iter().map(|name| (name.clone(), value.into())).collect())
    }

    /// What is given with what the control has besides; where a schema does not allow both, with what it requires.
    fn filled(&self, given: &Map<String, Value>) -> Result<Map<String, Value>, Unplayable> {
        let form = self.form.map_err(|why| self.unusable(why))?;
        let mut varied = self.control.cloned().unwrap_or_default();
        varied.extend(given.clone());
        form.fill(&varied).or_else(|_| form.fill(given)).map_err(|why| self.unusable(&why))
    }

    fn unusable(&self, why: &NoArguments) -> Unplayable {
        Unplayable::Invalid(unusable(self.shape.tool().unwrap_or_default(), why))
    }
}

pub(super) fn unusable(tool: &str, why: &NoArguments) -> String {
    format!("the tool `{}` cannot be called with it: {why}", excerpt(tool.as_bytes()))
}
