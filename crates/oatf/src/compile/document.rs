//! A whole document, compiled.

use sortie_syntax::NodePath;

use super::condition::CompiledRegexes;
use super::error::CompileError;
use super::indicator::CompiledIndicator;
use super::phase::{CompiledExtractor, CompiledTrigger};
use crate::extension::wrap::{WrapOperation, wrap_name};
use crate::load::Validated;
use crate::model::fields::Object;
use crate::model::{Actor, Condition, Execution, Indicator, Phase};

/// A document in the form that evaluates. It can only be made of a [`Validated`] one.
///
/// ```
/// use sortie_oatf::{Compiled, Evaluators, IndicatorOutcome, load};
///
/// let text = "
/// oatf: '0.1'
/// attack:
///   execution: {mode: mcp_server, state: {tools: []}}
///   indicators:
///     - surface: tools/call
///       target: arguments.path
///       pattern: {contains: id_rsa}
/// ";
/// let compiled = Compiled::new(load(text).unwrap().document).unwrap();
/// let message = serde_json::json!({"name": "read", "arguments": {"path": "/home/ada/.ssh/id_rsa"}});
/// let IndicatorOutcome::Matched(evidence) = compiled.indicators()[0].evaluate(&message, Evaluators::standard()) else {
///     panic!("the agent read the key");
/// };
/// assert_eq!(evidence.path, "arguments.path");
/// assert_eq!(evidence.range, Some(15..21));
/// assert_eq!(evidence.line, Some(8));
/// ```
#[derive(Clone, Debug)]
pub struct Compiled {
    document: Validated,
    indicators: Vec<CompiledIndicator>,
    actors: Vec<CompiledActor>,
}

/// The evaluating parts of an actor, phase by phase.
#[derive(Clone, Debug)]
pub struct CompiledActor {
    /// The name of the real server behind it.
    pub wrap: Option<String>,
    /// Its phases, in order.
    pub phases: Vec<CompiledPhase>,
}

/// The evaluating parts of a phase.
#[derive(Clone, Debug)]
pub struct CompiledPhase {
    /// What ends it.
    pub trigger: Option<CompiledTrigger>,
    /// What it captures.
    pub extractors: Vec<CompiledExtractor>,
    /// What it changes of what a real server says: the operations of the state in force.
    pub operations: Vec<WrapOperation>,
}

impl Compiled {
    /// Compiles a document.
    pub fn new(document: Validated) -> Result<Self, CompileError> {
        Self::build(document, None)
    }

    /// Compiles another version of the document, and takes over what has not changed: compiling a pattern costs more
    /// than comparing it.
    ///
    /// ```
    /// use sortie_oatf::{Compiled, Validated, load};
    /// use sortie_oatf::model::Direction;
    ///
    /// let text = "
    /// oatf: '0.1'
    /// attack:
    ///   execution: {mode: mcp_server, state: {tools: []}}
    ///   indicators: [{surface: tools/call, target: arguments, pattern: {regex: id_(rsa|dsa)}}]
    /// ";
    /// let compiled = Compiled::new(load(text).unwrap().document).unwrap();
    /// let mut other = compiled.document().clone().into_inner();
    /// other.attack.indicators.as_mut().unwrap()[0].direction = Some(Direction::Request);
    /// let other = compiled.again(Validated::new(other).unwrap().0).unwrap();
    /// assert_eq!(other.indicators()[0].direction, Some(Direction::Request));
    /// ```
    pub fn again(&self, document: Validated) -> Result<Self, CompileError> {
        Self::build(document, Some(self))
    }

    fn build(document: Validated, before: Option<&Self>) -> Result<Self, CompileError> {
        let old = before.and_then(|before| before.document.attack.indicators.as_deref()).unwrap_or_default();
        let mut indicators = Vec::new();
        let mut regexes = CompiledRegexes::default();
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let same = before.filter(|_| old.get(index) == Some(indicator));
            indicators.push(match same.and_then(|before| before.indicators.get(index)) {
                Some(same) => same.clone(),
                None => compiled_indicator(&document, index, indicator, &mut regexes)?,
            });
        }
        let execution = &document.attack.execution;
        let actors =
            if let Some(before) = before.filter(|before| before.document.attack.execution == *execution) {
                before.actors.clone()
            } else {
                let actors = execution.actors.iter().flatten();
                actors.map(|actor| CompiledActor::new(execution, actor)).collect::<Result<_, _>>()?
            };
        Ok(Self { document, indicators, actors })
    }

    /// The document this was made of.
    pub fn document(&self) -> &Validated {
        &self.document
    }

    /// The indicators, in the order of the document.
    pub fn indicators(&self) -> &[CompiledIndicator] {
        &self.indicators
    }

    /// Whether an indicator reads `_transcript`, the conversation so far.
    pub fn reads_transcript(&self) -> bool {
        self.indicators.iter().any(|indicator| indicator.reads_transcript)
    }

    /// The actors, in the order of the document.
    pub fn actors(&self) -> &[CompiledActor] {
        &self.actors
    }
}

impl CompiledActor {
    fn new(execution: &Execution, actor: &Actor) -> Result<Self, CompileError> {
        let mut phases: Vec<CompiledPhase> = Vec::with_capacity(actor.phases.len());
        for phase in &actor.phases {
            let operations = match &phase.state {
                Some(state) => WrapOperation::all(state),
                None => phases.last().map(|before| before.operations.clone()).unwrap_or_default(),
            };
            phases.push(CompiledPhase::new(phase, operations)?);
        }
        Ok(Self { wrap: wrap_name(execution, Some(actor)).map(str::to_owned), phases })
    }
}

impl CompiledPhase {
    fn new(phase: &Phase, operations: Vec<WrapOperation>) -> Result<Self, CompileError> {
        let extractors = phase.extractors.iter().flatten().map(CompiledExtractor::new);
        Ok(Self {
            trigger: phase.trigger.as_ref().map(CompiledTrigger::new).transpose()?,
            extractors: extractors.collect::<Result<_, _>>()?,
            operations,
        })
    }
}

fn compiled_indicator(
    document: &Validated,
    index: usize,
    indicator: &Indicator,
    regexes: &mut CompiledRegexes,
) -> Result<CompiledIndicator, CompileError> {
    let mut compiled = CompiledIndicator::sharing(indicator, regexes)?;
    let path = NodePath::root().key("attack").key("indicators").index(index);
    let asking = path.join(&deciding_field(indicator));
    compiled.line = document.line_column_of(&asking).map(|at| at.line);
    Ok(compiled)
}

/// The field of an indicator that holds what decides, so that evidence can name its line.
fn deciding_field(indicator: &Indicator) -> NodePath {
    let root = NodePath::root();
    if let Some(pattern) = &indicator.pattern {
        let path = root.key("pattern").key("condition");
        return match &pattern.condition {
            Some(Condition::Match(condition)) => {
                condition.given().into_iter().take(1).fold(path, NodePath::key)
            }
            _ => path,
        };
    }
    if indicator.expression.is_some() {
        return root.key("expression").key("cel");
    }
    root.key("semantic").key("intent")
}
