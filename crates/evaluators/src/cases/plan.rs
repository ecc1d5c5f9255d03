//! From evaluators and what a target offers to cases.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;
use sortie_oatf::CompileError;

use super::case::{CompiledEvaluator, PatternCase, Play};
use super::excerpt::excerpt;
use super::ids::{Ids, canary, part, slug};
use super::offer::{Offer, TargetKind, Tool};
use super::shape::{Shape, Unplayable, unusable};
use crate::arguments::ArgumentsTemplate;
use crate::{
    ATTACKER_HOST, CatalogueEntry, CompiledChecks, Evaluator, Form, NoArguments, Pattern, TargetClass, Values,
};

/// A plan has at most so many entries: a server with a thousand tools is not asked a million questions unasked.
pub const MAX_PLANNED: usize = 50_000;

/// What becomes of a pattern.
#[derive(Clone, Debug)]
pub enum Planned {
    /// It can be played.
    Ready(Box<PatternCase>),
    /// Something is missing that somebody could give.
    Skipped {
        /// The id that the case would have.
        id: String,
        /// What it belongs to.
        rubric: Arc<CompiledEvaluator>,
        /// The names of the placeholders that nothing is known for.
        missing: Vec<String>,
    },
    /// The target cannot be attacked with it.
    NotApplicable {
        /// The id that the case would have.
        id: String,
        /// What it belongs to.
        rubric: Arc<CompiledEvaluator>,
        /// Why.
        reason: String,
    },
}

/// What becomes of a pattern with placeholders that nothing is known for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It is skipped.
    Skip,
    /// It is ready, and an attacker fills them when it is played.
    LeaveToAttacker,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// There would be too many cases.
    #[error(
        "there would be more than {MAX_PLANNED} cases, which are the limit: name fewer evaluators, or attack a target with fewer tools"
    )]
    TooMany,
    /// The checks of an evaluator do not compile. Evaluators that were loaded compile.
    #[error("the checks of `{evaluator}` do not compile: {source}")]
    Checks {
        /// The evaluator.
        evaluator: String,
        /// Why.
        source: Box<CompileError>,
    },
}

impl Planned {
    /// The id of the case.
    pub fn id(&self) -> &str {
        match self {
            Self::Ready(case) => &case.id,
            Self::Skipped { id, .. } | Self::NotApplicable { id, .. } => id,
        }
    }

    /// What it does, so that a run is taken up with the same cases only.
    pub fn does(&self) -> String {
        let Self::Ready(case) = self else { return String::new() };
        let what = match &case.play {
            Play::Seeds(seeds) => json!({"seeds": seeds}),
            Play::Call { tool, arguments } => json!({"call": {"tool": tool, "arguments": arguments}}),
            Play::Review { text } => json!({"review": text}),
            Play::Unfilled { missing, .. } => {
                json!({"template": case.template.text(), "values": case.values, "missing": missing})
            }
        };
        what.to_string()
    }

    /// The evaluator it belongs to.
    pub fn rubric(&self) -> &Arc<CompiledEvaluator> {
        match self {
            Self::Ready(case) => &case.rubric,
            Self::Skipped { rubric, .. } | Self::NotApplicable { rubric, .. } => rubric,
        }
    }
}

/// Plans every pattern of these evaluators against a target, in their order. Nothing is left out without a word.
///
/// Placeholders are filled by the runner first, then from `values`, then with what the fixtures of the evaluator say; `missing`
/// says what happens to the rest.
pub fn plan(
    evaluators: &[&CatalogueEntry],
    offer: &Offer,
    kind: TargetKind,
    values: &Values,
    missing: Missing,
) -> Result<Vec<Planned>, PlanError> {
    let forms = offer.tools.iter().map(|tool| Form::new(&tool.input_schema)).collect();
    let mut planner =
        Planner { offer, kind, values, missing, forms, ids: Ids::default(), planned: Vec::new() };
    for entry in evaluators {
        planner.evaluator(entry)?;
    }
    Ok(planner.planned)
}

struct Planner<'p> {
    offer: &'p Offer,
    kind: TargetKind,
    values: &'p Values,
    missing: Missing,
    /// One for each tool.
    forms: Vec<Result<Form, NoArguments>>,
    ids: Ids,
    planned: Vec<Planned>,
}

/// A pattern on its way to cases.
struct PatternPlan<'w> {
    id: String,
    pattern: &'w Pattern,
    rubric: &'w Arc<CompiledEvaluator>,
    /// What the user and the fixtures say.
    values: &'w Values,
    /// The placeholders of the checks.
    checks: &'w HashSet<String>,
}

impl PatternPlan<'_> {
    /// What placeholders stand for: the runner's own names win.
    fn filled_in(&self, id: &str, tool: Option<&Tool>) -> Values {
        let mut values = self.values.clone();
        let mut put = |name: &str, value: String| values.insert(name.to_owned(), value);
        put("canary", canary(id));
        put("attacker_host", ATTACKER_HOST.to_owned());
        // Schemas are long, and there may be a case for each of their properties: only what is asked for is kept.
        if let Some(tool) = tool {
            for (name, value) in [
                ("tool_name", &(|| tool.name.clone()) as &dyn Fn() -> String),
                ("tool_description", &|| tool.description.clone()),
                ("input_schema_json", &|| tool.input_schema.to_string()),
            ] {
                if self.pattern.template.mentions(name) || self.checks.contains(name) {
                    put(name, value());
                }
            }
        }
        values
    }
}

impl Planner<'_> {
    fn evaluator(&mut self, entry: &CatalogueEntry) -> Result<(), PlanError> {
        let evaluator = &entry.evaluator;
        let checks = CompiledChecks::new(&evaluator.checks).map_err(|source| PlanError::Checks {
            evaluator: evaluator.id.clone(),
            source: Box::new(source),
        })?;
        let rubric = Arc::new(CompiledEvaluator { evaluator: evaluator.clone(), checks });
        let mut values = fixture_values(entry);
        values.extend(self.values.clone());
        let checks = evaluator.checks.iter().flat_map(|check| check.test.placeholders()).collect();
        let mut slugs = Ids::default();
        for pattern in &evaluator.patterns {
            let slug = slugs.unique(&slug(pattern.slug.as_deref().unwrap_or(&pattern.name)));
            let id = format!("{}/{slug}", evaluator.id);
            let pattern_plan = PatternPlan { id, pattern, rubric: &rubric, values: &values, checks: &checks };
            match (entry.class, self.kind.can_be_called()) {
                (TargetClass::Agent, false) => self.told(&pattern_plan)?,
                (TargetClass::Mcp, true) => self.called(&pattern_plan, evaluator)?,
                (TargetClass::Agent, true) => {
                    self.not_applicable(
                        &pattern_plan,
                        &pattern_plan.id,
                        "it speaks to an agent, and the target is an MCP server",
                    )?;
                }
                (TargetClass::Mcp, false) => {
                    let kind = self.kind.as_str();
                    let reason = format!("it calls the tools of an MCP server, and the target is `{kind}`");
                    self.not_applicable(&pattern_plan, &pattern_plan.id, reason)?;
                }
            }
        }
        Ok(())
    }

    /// Something is said to an agent.
    fn told(&mut self, pattern_plan: &PatternPlan<'_>) -> Result<(), PlanError> {
        let values = pattern_plan.filled_in(&pattern_plan.id, None);
        self.lower(pattern_plan, &pattern_plan.id, Shape::Message, values)
    }

    /// Tools of a server are called, or their list is looked at.
    fn called(&mut self, pattern_plan: &PatternPlan<'_>, evaluator: &Evaluator) -> Result<(), PlanError> {
        if self.offer.tools.is_empty() {
            return self.not_applicable(pattern_plan, &pattern_plan.id, "the server offers no tools");
        }
        let template = &pattern_plan.pattern.template;
        if template.mentions("tool_list_json") {
            let mut values = pattern_plan.filled_in(&pattern_plan.id, None);
            values.insert("tool_list_json".to_owned(), self.offer.tool_list_json());
            return self.lower(pattern_plan, &pattern_plan.id, Shape::Review, values);
        }
        let before = self.planned.len();
        let offer = self.offer;
        let arguments = template.arguments().and_then(Result::ok);
        for (at, tool) in offer.tools.iter().enumerate() {
            let every = evaluator.applies_to_all_tools;
            match &arguments {
                Some(arguments) => self.with_arguments(pattern_plan, at, tool, arguments, every)?,
                None => self.with_text(pattern_plan, at, tool, every)?,
            }
        }
        if self.planned.len() == before {
            let count = offer.tools.len();
            let wanted = match &arguments {
                Some(arguments) => {
                    let keys = arguments.keys().iter().map(|key| format!("`{}`", key.names.join("|")));
                    format!("has the arguments {}", keys.collect::<Vec<_>>().join(", "))
                }
                None => "takes a text".to_owned(),
            };
            let reason = format!("none of the {count} tools of the server {wanted}");
            return self.not_applicable(pattern_plan, &pattern_plan.id, reason);
        }
        Ok(())
    }

    /// The template is the arguments of a call.
    fn with_arguments(
        &mut self,
        pattern_plan: &PatternPlan<'_>,
        at: usize,
        tool: &Tool,
        arguments: &ArgumentsTemplate,
        every: bool,
    ) -> Result<(), PlanError> {
        let id = format!("{}/{}", pattern_plan.id, part(&tool.name));
        let form = match &self.forms[at] {
            Ok(form) => form,
            Err(why) => return self.not_applicable(pattern_plan, &id, unusable(&tool.name, why)),
        };
        let properties = form.properties();
        let mut names = Vec::new();
        for key in arguments.keys() {
            let found = key.names.iter().find(|name| properties.contains(&name.as_str()));
            match found.or_else(|| key.names.first().filter(|_| every)) {
                Some(name) => names.push(name.clone()),
                // The tool does not fit.
                None => return Ok(()),
            }
        }
        let values = pattern_plan.filled_in(&id, Some(tool));
        self.lower(
            pattern_plan,
            &id,
            Shape::Arguments { tool: tool.name.clone(), at, properties: names },
            values,
        )
    }

    /// The template is a text, which is put into each property that takes one.
    fn with_text(
        &mut self,
        pattern_plan: &PatternPlan<'_>,
        at: usize,
        tool: &Tool,
        every: bool,
    ) -> Result<(), PlanError> {
        let id = format!("{}/{}", pattern_plan.id, part(&tool.name));
        let fields: Vec<String> = match &self.forms[at] {
            Ok(form) => form.text_properties().into_iter().map(str::to_owned).collect(),
            Err(why) => return self.not_applicable(pattern_plan, &id, unusable(&tool.name, why)),
        };
        if fields.is_empty() && every {
            return self.not_applicable(
                pattern_plan,
                &id,
                format!("the tool `{}` takes no text", shown(&tool.name)),
            );
        }
        for field in fields {
            let id = format!("{id}/{}", part(&field));
            let values = pattern_plan.filled_in(&id, Some(tool));
            self.lower(
                pattern_plan,
                &id,
                Shape::Text { tool: tool.name.clone(), at, property: field },
                values,
            )?;
        }
        Ok(())
    }

    /// Fills a template in, and says what comes of that.
    fn lower(
        &mut self,
        pattern_plan: &PatternPlan<'_>,
        id: &str,
        shape: Shape,
        values: Values,
    ) -> Result<(), PlanError> {
        // Where no tool is called, no form is asked for.
        let no_tool = NoArguments::Schema(String::new());
        let form = match &shape {
            Shape::Arguments { at, .. } | Shape::Text { at, .. } => self.forms[*at].as_ref(),
            Shape::Message | Shape::Review => Err(&no_tool),
        };
        match shape.play(&pattern_plan.pattern.template, &values, form) {
            Ok(play) => self.ready(pattern_plan, id, play, values),
            Err(Unplayable::Unfilled(unfilled))
                if self.missing == Missing::LeaveToAttacker && !unfilled.too_long =>
            {
                self.ready(pattern_plan, id, Play::Unfilled { shape, missing: unfilled.names }, values)
            }
            Err(Unplayable::Unfilled(unfilled)) => self.skipped(pattern_plan, id, unfilled.names),
            Err(Unplayable::Invalid(reason)) => self.not_applicable(pattern_plan, id, reason),
        }
    }

    fn ready(
        &mut self,
        pattern_plan: &PatternPlan<'_>,
        id: &str,
        play: Play,
        values: Values,
    ) -> Result<(), PlanError> {
        let id = self.ids.unique(id);
        let case = PatternCase {
            id,
            pattern: pattern_plan.pattern.name.clone(),
            template: pattern_plan.pattern.template.clone(),
            judge_hint: pattern_plan.pattern.judge_hint.clone(),
            play,
            rubric: pattern_plan.rubric.clone(),
            values,
            filled: Values::new(),
        };
        self.push(Planned::Ready(Box::new(case)))
    }

    fn skipped(
        &mut self,
        pattern_plan: &PatternPlan<'_>,
        id: &str,
        missing: Vec<String>,
    ) -> Result<(), PlanError> {
        let id = self.ids.unique(id);
        self.push(Planned::Skipped { id, rubric: pattern_plan.rubric.clone(), missing })
    }

    fn not_applicable(
        &mut self,
        pattern_plan: &PatternPlan<'_>,
        id: &str,
        reason: impl Into<String>,
    ) -> Result<(), PlanError> {
        let id = self.ids.unique(id);
        self.push(Planned::NotApplicable { id, rubric: pattern_plan.rubric.clone(), reason: reason.into() })
    }

    fn push(&mut self, planned: Planned) -> Result<(), PlanError> {
        if self.planned.len() == MAX_PLANNED {
            return Err(PlanError::TooMany);
        }
        self.planned.push(planned);
        Ok(())
    }
}

fn shown(name: &str) -> String {
    excerpt(name.as_bytes())
}

/// What the fixtures of an evaluator say about placeholders; the first that says something counts.
fn fixture_values(entry: &CatalogueEntry) -> Values {
    let mut values = Values::new();
    for case in entry.fixtures.iter().flat_map(|fixtures| &fixtures.cases) {
        for (name, value) in &case.variables {
            values.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    values
}
