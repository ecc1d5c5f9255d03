//! What becomes of a template once its placeholders are filled in.

use serde_json::Value;

use super::case::Play;
use super::excerpt::excerpt;
use super::offer::Offer;
use crate::{Form, NoArguments, Template, Unfilled, Values};

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
#[derive(Clone, Debug, PartialEq)]
pub enum Unplayable {
    /// These are not filled.
    Unfilled(Unfilled),
    /// The tool cannot be called with it.
    Invalid(String),
}

impl Shape {
    /// The tool that is called.
    pub(super) fn tool(&self) -> Option<&str> {
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
        self.play(template, values, self.form(offer).as_ref())
    }

    fn form(&self, offer: &Offer) -> Result<Form, NoArguments> {
        match self {
            Self::Arguments { at, .. } | Self::Text { at, .. } => match offer.tools.get(*at) {
                Some(tool) => Form::new(&tool.input_schema),
                None => Err(NoArguments::Schema("it is not among the tools of the target".to_owned())),
            },
            Self::Message | Self::Review => Err(NoArguments::Schema("no tool is called".to_owned())),
        }
    }
}

impl From<Unfilled> for Unplayable {
    fn from(unfilled: Unfilled) -> Self {
        Self::Unfilled(unfilled)
    }
}

/// Why a tool cannot be called.
pub(super) fn unusable(tool: &str, why: &NoArguments) -> String {
    format!("the tool `{}` cannot be called with it: {why}", excerpt(tool.as_bytes()))
}
