//! From evaluators and what a target offers to cases.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;
use sortie_oatf::CompileError;

use super::case::{CompiledEvaluator, PatternCase, Play, Shape, Unplayable, unusable};
use super::excerpt::excerpt;
use super::ids::{Ids, canary, part, slug};
use super::offer::{Offer, TargetKind, Tool, ToolControl};
use crate::arguments::{Argument, ArgumentsTemplate};
use crate::model::ScanMode;
use crate::{
    ATTACKER_HOST, CatalogueEntry, CompiledChecks, Evaluator, Form, LISTENER_NAMES, NoArguments, Pattern,
    TargetClass, Unfilled, Values,
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
            Play::Series { tool, calls } => json!({"series": {"tool": tool, "calls": calls}}),
            Play::Review { text } => json!({"review": text}),
            Play::Connection { headers } => json!({"connection": headers}),
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
///
/// ```
/// use sortie_evaluators::cases::{Missing, Offer, Planned, TargetKind, plan};
/// use sortie_evaluators::{File, Root, Values, load};
///
/// let text = r#"
/// id: path-escape
/// name: Path escape
/// severity: high
/// standards: {owasp-mcp: MCP05}
/// description: A name leads out of the folder.
/// pass_criteria: It refuses.
/// fail_criteria: It gives the file.
/// checks: [{name: Accounts, says: fail, pattern: {target: 'answers[*]', contains: 'root:'}}]
/// patterns: [{name: Up, template: '{"path": "../../etc/passwd"}'}]
/// "#;
/// let loaded = load(&[Root::new("mine", vec![File::text("mcp/path-escape.yaml", text)])], &[]);
/// let evaluator = loaded.catalogue.find("path-escape").unwrap();
/// // A server without tools has nothing that a name could be given to.
/// let planned = plan(&[evaluator], &Offer::default(), TargetKind::Mcp, &Values::new(), Missing::Skip).unwrap();
/// assert!(matches!(&planned[0], Planned::NotApplicable { reason, .. } if reason == "the server offers no tools"));
/// ```
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
        if let Some(reason) = evaluator.not_applicable() {
            return self.add(&evaluator.id, |id| Planned::NotApplicable { id, rubric, reason });
        }
        let mut values = fixture_values(entry);
        values.extend(self.values.clone());
        let checks = evaluator.checks.iter().flat_map(|check| check.test.placeholders()).collect();
        let mut slugs = Ids::default();
        for pattern in &evaluator.patterns {
            let slug = slugs.unique(&slug(pattern.slug.as_deref().unwrap_or(&pattern.name)));
            let id = format!("{}/{slug}", evaluator.id);
            let plan = PatternPlan { id, pattern, rubric: &rubric, values: &values, checks: &checks };
            match (entry.class, self.kind.can_be_called()) {
                (TargetClass::Agent, false) => self.lower(&plan, &plan.id, Shape::Message, None)?,
                (TargetClass::Mcp, true) => self.called(&plan, evaluator)?,
                (TargetClass::Agent, true) => {
                    let reason = "it speaks to an agent, and the target is an MCP server";
                    self.not_applicable(&plan, &plan.id, reason)?;
                }
                (TargetClass::Mcp, false) => {
                    let reason =
                        format!("it calls the tools of an MCP server, and the target is `{}`", self.kind);
                    self.not_applicable(&plan, &plan.id, reason)?;
                }
            }
        }
        Ok(())
    }

    /// Tools of a server are called, or their list is looked at.
    fn called(&mut self, plan: &PatternPlan<'_>, evaluator: &Evaluator) -> Result<(), PlanError> {
        // Whether it fits or not.
        let every = evaluator.applies_to_all_tools;
        let (offer, template) = (self.offer, &plan.pattern.template);
        if offer.tools.is_empty() {
            return self.not_applicable(plan, &plan.id, "the server offers no tools");
        }
        if template.mentions("tool_list_json") || evaluator.scan_mode == Some(ScanMode::ToolDescription) {
            return self.lower(plan, &plan.id, Shape::Review, None);
        }
        if evaluator.scan_mode == Some(ScanMode::Connection) {
            return self.connected(plan);
        }
        let before = self.planned.len();
        let arguments = template.arguments().and_then(Result::ok);
        for (at, tool) in offer.tools.iter().enumerate() {
            let id = format!("{}/{}", plan.id, part(&tool.name));
            let name = || tool.name.clone();
            let shapes: Vec<_> = match (&self.forms[at], &arguments) {
                (Err(why), _) => {
                    self.not_applicable(plan, &id, unusable(&tool.name, why))?;
                    continue;
                }
                (Ok(form), Some(arguments)) => {
                    let properties = properties(arguments, form, every);
                    let shape = |properties| (id.clone(), Shape::Arguments { tool: name(), at, properties });
                    properties.map(shape).into_iter().collect()
                }
                // A text is put into each property that takes one.
                (Ok(form), None) => {
                    let shape = |property: &str| {
                        let id = format!("{id}/{}", part(property));
                        (id, Shape::Text { tool: name(), at, property: property.to_owned() })
                    };
                    form.text_properties().into_iter().map(shape).collect()
                }
            };
            if shapes.is_empty() && every {
                let reason = format!("the tool `{}` takes no text", excerpt(tool.name.as_bytes()));
                self.not_applicable(plan, &id, reason)?;
            }
            for (id, shape) in shapes {
                self.lower(plan, &id, shape, Some(tool))?;
            }
        }
        if self.planned.len() > before {
            return Ok(());
        }
        let wanted = match &arguments {
            Some(arguments) => {
                let keys = arguments.keys().iter().map(|key| format!("`{}`", key.names.join("|")));
                format!("has the arguments {}", keys.collect::<Vec<_>>().join(", "))
            }
            None => "takes a text".to_owned(),
        };
        let reason = format!("none of the {} tools of the server {wanted}", offer.tools.len());
        self.not_applicable(plan, &plan.id, reason)
    }

    /// A connection is opened with other headers than those of the target.
    fn connected(&mut self, plan: &PatternPlan<'_>) -> Result<(), PlanError> {
        let named = plan.pattern.template.arguments().and_then(Result::ok);
        let names_host = named.is_some_and(|named| {
            named.keys().iter().any(|header| header.names.iter().any(|name| name == "host"))
        });
        let reason = match self.offer.http {
            None => "the server is started as a process, and listens nowhere",
            // Names lead a browser to the machine it runs on, and to its network.
            Some(http) if names_host && !http.is_local => "the server is not on the loopback address",
            Some(http) if !names_host && !http.has_credentials => "the target is asked without credentials",
            Some(_) => return self.lower(plan, &plan.id, Shape::Connection, None),
        };
        self.not_applicable(plan, &plan.id, reason)
    }

    /// Fills a template in, and says what comes of that.
    fn lower(
        &mut self,
        plan: &PatternPlan<'_>,
        id: &str,
        shape: Shape,
        tool: Option<&Tool>,
    ) -> Result<(), PlanError> {
        let mut values = plan.filled_in(id, tool);
        if shape == Shape::Review {
            values.insert("tool_list_json".to_owned(), self.offer.tool_list_json());
        }
        let control = tool.and_then(|tool| self.offer.control_arguments(&tool.name));
        if plan.pattern.template.mentions("control") {
            values.insert("control".to_owned(), shape.control_value(control));
        }
        // Where no tool is called, no form is asked for.
        let no_tool = NoArguments::Schema(String::new());
        let form = match &shape {
            Shape::Arguments { at, .. } | Shape::Text { at, .. } => self.forms[*at].as_ref(),
            Shape::Message | Shape::Review | Shape::Connection => Err(&no_tool),
        };
        let argument = shape.argument();
        let play = match shape.play(&plan.pattern.template, &values, form, control) {
            Ok(play) => play,
            Err(Unplayable::Unfilled(unfilled))
                if (self.missing == Missing::LeaveToAttacker || is_listener(&unfilled.names))
                    && !unfilled.too_long =>
            {
                Play::Unfilled { shape, missing: unfilled.names }
            }
            Err(Unplayable::Unfilled(Unfilled { names: missing, .. })) => {
                return self.add(id, |id| Planned::Skipped { id, rubric: plan.rubric.clone(), missing });
            }
            Err(Unplayable::Invalid(reason)) => return self.not_applicable(plan, id, reason),
        };
        let Pattern { name, template, judge_hint, first, .. } = plan.pattern.clone();
        let (rubric, filled) = (plan.rubric.clone(), Values::new());
        let control_failure = match tool.and_then(|tool| self.offer.controls.get(&tool.name)) {
            Some(ToolControl::Failed { why, .. }) => Some(why.clone()),
            Some(ToolControl::Works { .. }) | None => None,
        };
        self.add(id, |id| {
            let pattern = name;
            let attempt = None;
            Planned::Ready(Box::new(PatternCase {
                id,
                pattern,
                template,
                judge_hint,
                play,
                rubric,
                values,
                filled,
                argument,
                first,
                control_failure,
                attempt,
            }))
        })
    }

    fn not_applicable(
        &mut self,
        plan: &PatternPlan<'_>,
        id: &str,
        reason: impl Into<String>,
    ) -> Result<(), PlanError> {
        let (rubric, reason) = (plan.rubric.clone(), reason.into());
        self.add(id, |id| Planned::NotApplicable { id, rubric, reason })
    }

    fn add(&mut self, id: &str, planned: impl FnOnce(String) -> Planned) -> Result<(), PlanError> {
        if self.planned.len() == MAX_PLANNED {
            return Err(PlanError::TooMany);
        }
        let planned = planned(self.ids.unique(id));
        self.planned.push(planned);
        Ok(())
    }
}

/// Whether only a listener of ours is missing, which is there when the case is played.
fn is_listener(missing: &[String]) -> bool {
    missing.iter().all(|name| LISTENER_NAMES.contains(&name.as_str()))
}

/// The property of a tool that each argument is for; `None` where the tool does not fit.
fn properties(arguments: &ArgumentsTemplate, form: &Form, every: bool) -> Option<Vec<String>> {
    let known = form.properties();
    let every = every && known.is_empty();
    let property = |key: &Argument| {
        let found = key.names.iter().find(|name| known.contains(&name.as_str()));
        found.or_else(|| key.names.first().filter(|_| every)).cloned()
    };
    arguments.keys().iter().map(property).collect()
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
