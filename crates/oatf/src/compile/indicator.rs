//! Indicators, compiled.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;
use sortie_expr::cel::{ExpressionPart, PartKind, Program};
use sortie_expr::json;
use sortie_expr::path::{SimplePath, WildcardPath};
use sortie_expr::re2::Regex;

use super::condition::{CompiledCondition, CompiledRegexes, Found};
use super::error::CompileError;
use super::evidence::MatchEvidence;
use super::requirement::{RequiredPlace, Requirement, TextPattern};
use crate::error::{EvaluationError, EvaluationErrorKind};
use crate::extension::flow::Flow;
use crate::extension::texts::reads_texts;
use crate::extension_points::{
    CelEvaluator, DEFAULT_SEMANTIC_THRESHOLD, DefaultCelEvaluator, SemanticEvaluator,
};
use crate::model::{
    Condition, Direction, ExpressionMatch, Indicator, IndicatorResult, PatternMatch, SemanticMatch, Tier,
};

/// The engines that evaluation may use. What needs one that is not there is skipped, and says so.
#[derive(Clone, Copy, Default)]
pub struct Evaluators<'e> {
    /// Evaluates CEL.
    pub cel: Option<&'e dyn CelEvaluator>,
    /// Evaluates meaning.
    pub semantic: Option<&'e dyn SemanticEvaluator>,
}

impl Evaluators<'static> {
    /// CEL with our own evaluator; no semantic engine.
    pub fn standard() -> Self {
        Self { cel: Some(&DefaultCelEvaluator), semantic: None }
    }
}

impl std::fmt::Debug for Evaluators<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evaluators")
            .field("cel", &self.cel.is_some())
            .field("semantic", &self.semantic.is_some())
            .finish()
    }
}

/// What an indicator says about one message.
#[derive(Clone, Debug, PartialEq)]
pub enum IndicatorOutcome {
    /// It matches, and this is why.
    Matched(MatchEvidence),
    /// It does not match.
    NotMatched,
    /// It could not be evaluated on this message.
    Error(EvaluationError),
    /// It was not evaluated.
    Skipped(&'static str),
}

impl IndicatorOutcome {
    /// The result without its reasons.
    pub fn result(&self) -> IndicatorResult {
        match self {
            Self::Matched(_) => IndicatorResult::Matched,
            Self::NotMatched => IndicatorResult::NotMatched,
            Self::Error(_) => IndicatorResult::Error,
            Self::Skipped(_) => IndicatorResult::Skipped,
        }
    }

    /// The reasons as text.
    pub fn evidence(&self) -> Option<String> {
        match self {
            Self::Matched(evidence) => Some(evidence.to_string()),
            Self::NotMatched => None,
            Self::Error(error) => Some(error.to_string()),
            Self::Skipped(why) => Some((*why).to_owned()),
        }
    }
}

/// An indicator, ready to be applied.
#[derive(Clone, Debug)]
pub struct CompiledIndicator {
    /// Its id; empty for one that has none.
    pub id: String,
    /// The protocol it looks at.
    pub protocol: Option<String>,
    /// The operation it looks at.
    pub surface: Option<String>,
    /// The actor it looks at.
    pub actor: Option<String>,
    /// The side it looks at.
    pub direction: Option<Direction>,
    /// How far the attack got when it matches.
    pub tier: Option<Tier>,
    /// Line of the document that holds what decides.
    pub line: Option<usize>,
    /// Whether it reads `_transcript`, the conversation so far. It is asked only of messages that carry it.
    pub reads_transcript: bool,
    /// What must have come in before, and where. It takes more than one message to say whether it did, so whoever sees
    /// them all asks; [`evaluate`](Self::evaluate) does not.
    pub flow: Option<Arc<CompiledFlow>>,
    method: Method,
}

#[derive(Clone, Debug)]
enum Method {
    Pattern(CompiledPattern),
    Expression(CompiledExpression),
    Semantic(CompiledSemantic),
}

pub(crate) const NO_CEL: &str = "there is no CEL evaluator";

impl Method {
    /// What is missing where it cannot be evaluated.
    fn lacks(&self) -> &'static str {
        if let Self::Expression(_) = self { NO_CEL } else { "no judge or embedding model is configured" }
    }
}

impl CompiledIndicator {
    /// Compiles a normalised indicator.
    pub fn new(indicator: &Indicator) -> Result<Self, CompileError> {
        Self::sharing(indicator, &mut CompiledRegexes::default())
    }

    /// Compiles a normalised indicator, and shares what is compiled already.
    pub(super) fn sharing(indicator: &Indicator, known: &mut CompiledRegexes) -> Result<Self, CompileError> {
        let method = if let Some(pattern) = &indicator.pattern {
            let texts = reads_texts(indicator);
            let pattern = CompiledPattern::sharing(pattern, &indicator.target, known)?;
            Method::Pattern(CompiledPattern { texts, ..pattern })
        } else if let Some(expression) = &indicator.expression {
            Method::Expression(CompiledExpression::new(expression, &indicator.target)?)
        } else if let Some(semantic) = &indicator.semantic {
            Method::Semantic(CompiledSemantic::new(semantic, &indicator.target)?)
        } else {
            return Err(CompileError::Incomplete(
                "the indicator has no pattern, expression or semantic match",
            ));
        };
        Ok(Self {
            id: indicator.id.clone().unwrap_or_default(),
            protocol: indicator.protocol.clone(),
            surface: indicator.surface.clone(),
            actor: indicator.actor.clone(),
            direction: indicator.direction,
            tier: indicator.tier,
            line: None,
            reads_transcript: reads_transcript(indicator),
            flow: Flow::of(indicator)
                .map(|flow| CompiledFlow::new(flow, deciding_target(indicator)))
                .transpose()?
                .map(Arc::new),
            method,
        })
    }

    /// Whether the indicator matches one message, and why.
    pub fn evaluate(&self, message: &Value, evaluators: Evaluators<'_>) -> IndicatorOutcome {
        if !self.is_about(message) {
            return IndicatorOutcome::NotMatched;
        }
        let found = match (&self.method, evaluators) {
            (Method::Pattern(pattern), _) => Ok(pattern.evaluate(message)),
            (Method::Expression(expression), Evaluators { cel: Some(cel), .. }) => {
                expression.evaluate(message, cel)
            }
            (Method::Semantic(semantic), Evaluators { semantic: Some(engine), .. }) => {
                semantic.evaluate(message, engine)
            }
            (method, _) => return IndicatorOutcome::Skipped(method.lacks()),
        };
        match found {
            Ok(None) => IndicatorOutcome::NotMatched,
            Ok(Some(mut evidence)) => {
                evidence.line = self.line;
                IndicatorOutcome::Matched(evidence)
            }
            Err(mut error) => {
                error.indicator_id = Some(self.id.clone()).filter(|id| !id.is_empty());
                IndicatorOutcome::Error(error)
            }
        }
    }

    /// What a message must have for the indicator to match it, or to fail on it. It is worked out anew.
    pub fn requirement(&self) -> Requirement {
        match &self.method {
            // A conversation holds the texts of many messages.
            _ if self.reads_transcript => Requirement::none(),
            Method::Pattern(pattern) => pattern.requirement(),
            Method::Expression(expression) => expression.requirement(),
            Method::Semantic(semantic) => {
                Requirement { texts: None, place: RequiredPlace::Value(semantic.target.clone()) }
            }
        }
    }

    /// Its pattern, where it has one that looks at texts.
    pub fn text_pattern(&self) -> Option<TextPattern<'_>> {
        match &self.method {
            Method::Pattern(CompiledPattern { target, condition, texts })
                if !self.reads_transcript && condition.presence_only().is_none() =>
            {
                Some(TextPattern { target, below: *texts, clauses: condition.required_clauses() })
            }
            _ => None,
        }
    }

    /// Whether the [pattern](Self::text_pattern) matches a text where it looks. `false` where there is no pattern.
    pub fn matches_text(&self, text: &str) -> bool {
        if let Method::Pattern(pattern) = &self.method { pattern.condition.matches_text(text) } else { false }
    }

    /// The regular expression that decides, where that is all there is.
    pub fn only_regex(&self) -> Option<&Regex> {
        if let Method::Pattern(pattern) = &self.method { pattern.condition.only_regex() } else { None }
    }

    /// Texts of which a message that its expression is true for has at least one, in one text or the name of a member, with letters as in
    /// [`Requirement::texts`]. `None` where there is no expression, or nothing that could be looked for.
    pub fn expression_texts(&self) -> Option<Vec<Vec<u8>>> {
        match &self.method {
            Method::Expression(expression) if !self.reads_transcript => expression.program.required_texts(),
            _ => None,
        }
    }

    /// Regular expressions of which at least one matches a text, or the name of a member, of any message that its expression is true for. `None`
    /// where there is no expression, or it may be true without.
    pub fn expression_patterns(&self) -> Option<Vec<&Regex>> {
        match &self.method {
            Method::Expression(expression) if !self.reads_transcript => {
                expression.program.required_patterns()
            }
            _ => None,
        }
    }

    fn is_about(&self, message: &Value) -> bool {
        !self.reads_transcript || message.get(TRANSCRIPT).is_some()
    }

    /// Whether the indicator matches, without evidence. The fast path of scans over many messages.
    pub fn is_match(&self, message: &Value, evaluators: Evaluators<'_>) -> Result<bool, EvaluationError> {
        if !self.is_about(message) {
            return Ok(false);
        }
        match (&self.method, evaluators) {
            (Method::Pattern(pattern), _) => Ok(pattern.is_match(message)),
            (Method::Expression(expression), Evaluators { cel: Some(cel), .. }) => {
                expression.is_match(message, cel)
            }
            (Method::Semantic(semantic), Evaluators { semantic: Some(engine), .. }) => {
                semantic.evaluate(message, engine).map(|found| found.is_some())
            }
            (method, _) => Err(EvaluationError::new(EvaluationErrorKind::UnsupportedMethod, method.lacks())),
        }
    }
}

/// A flow, ready to be looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct CompiledFlow {
    /// What the document says.
    pub flow: Flow,
    /// What counts of a message that comes in by the source.
    pub source: WildcardPath,
    /// What counts of a message that leaves by the sink.
    pub sink: WildcardPath,
}

impl CompiledFlow {
    /// `target` is that of its indicator.
    fn new(flow: Flow, target: &str) -> Result<Self, CompileError> {
        let path = |path: Option<&str>, or| CompileError::path(path.unwrap_or(or), WildcardPath::parse);
        let source = path(flow.from.path.as_deref(), "")?;
        let sink = path(flow.to.path.as_deref(), target)?;
        Ok(Self { flow, source, sink })
    }
}

/// The path that an indicator examines.
fn deciding_target(indicator: &Indicator) -> &str {
    let own = indicator.pattern.as_ref().and_then(|pattern| pattern.target.as_deref());
    own.unwrap_or(&indicator.target)
}

const TRANSCRIPT: &str = "_transcript";

/// What expressions call the message.
const MESSAGE: &str = "message";

/// Whether an indicator names the transcript: as its target, as a variable, or in its expression.
fn reads_transcript(indicator: &Indicator) -> bool {
    let own = indicator.pattern.as_ref().and_then(|pattern| pattern.target.as_deref());
    let own = own.or_else(|| indicator.semantic.as_ref()?.target.as_deref());
    let mut paths =
        indicator.variables().map(|(_, path)| path.as_str()).chain([own.unwrap_or(&indicator.target)]);
    paths.any(is_in_transcript)
        || indicator.expression.as_ref().is_some_and(|expression| {
            let program =
                Program::compile(&expression.cel).ok().filter(|_| expression.cel.contains(TRANSCRIPT));
            program.is_some_and(|program| program.parts().iter().any(reads_field_of_transcript))
        })
}

fn reads_field_of_transcript(part: &ExpressionPart) -> bool {
    let PartKind::Field { path, .. } = &part.kind else { return false };
    path.strip_prefix("message.").is_some_and(is_in_transcript)
}

fn is_in_transcript(path: &str) -> bool {
    path.strip_prefix(TRANSCRIPT).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// A wildcard path and a condition on what it resolves to.
#[derive(Clone, Debug)]
pub(crate) struct CompiledPattern {
    target: WildcardPath,
    condition: CompiledCondition,
    /// Whether texts below the target count too.
    texts: bool,
}

impl CompiledPattern {
    pub(crate) fn new(pattern: &PatternMatch, target: &str) -> Result<Self, CompileError> {
        Self::sharing(pattern, target, &mut CompiledRegexes::default())
    }

    fn sharing(
        pattern: &PatternMatch,
        target: &str,
        known: &mut CompiledRegexes,
    ) -> Result<Self, CompileError> {
        let target = pattern.target.as_deref().unwrap_or(target);
        let condition = match (&pattern.condition, &pattern.shorthand) {
            (Some(condition), _) => CompiledCondition::sharing(condition, known)?,
            (None, Some(shorthand)) => {
                CompiledCondition::sharing(&Condition::Match(shorthand.clone()), known)?
            }
            (None, None) => return Err(CompileError::Incomplete("the pattern has no condition")),
        };
        let target = CompileError::path(target, WildcardPath::parse)?;
        Ok(Self { target, condition, texts: false })
    }

    fn requirement(&self) -> Requirement {
        if self.condition.presence_only() == Some(false) {
            return Requirement::none();
        }
        let place = RequiredPlace::Value(self.target.clone());
        Requirement { texts: self.condition.required_texts(), place }
    }

    pub(crate) fn is_match(&self, message: &Value) -> bool {
        self.condition.matches_at(&self.target, message)
            || (self.texts && self.condition.presence_only().is_none() && self.text_below(message).is_some())
    }

    /// The first text below the target that satisfies the condition.
    fn text_below(&self, message: &Value) -> Option<MatchEvidence> {
        let found = self.target.visit(message, &mut |value, positions| {
            let found = each_text(value, &mut TextPath::default(), &mut |text, below| match self
                .condition
                .find(text)
            {
                Some(found) => ControlFlow::Break((found, below.to_string())),
                None => ControlFlow::Continue(()),
            });
            match found {
                ControlFlow::Break((found, below)) => {
                    let mut path = self.target.with_positions(positions);
                    path.push_str(if path.is_empty() { below.trim_start_matches('.') } else { &below });
                    ControlFlow::Break(MatchEvidence::of(path, &found.text, found.range))
                }
                ControlFlow::Continue(()) => ControlFlow::Continue(()),
            }
        });
        found.break_value()
    }

    fn evaluate(&self, message: &Value) -> Option<MatchEvidence> {
        let presence = self.condition.presence_only();
        if presence == Some(false) {
            return self.is_match(message).then(|| MatchEvidence::absent(self.target.to_string()));
        }
        // A text says more to people than the JSON that it stands in.
        if self.texts
            && presence.is_none()
            && let Some(found) = self.text_below(message)
        {
            return Some(found);
        }
        let found = self.target.visit(message, &mut |value, positions| {
            let found = match presence {
                Some(_) => Some(Found { text: json::as_text(value), range: None }),
                None => self.condition.find(value),
            };
            match found {
                Some(found) => {
                    let path = self.target.with_positions(positions);
                    ControlFlow::Break(MatchEvidence::of(path, &found.text, found.range))
                }
                None => ControlFlow::Continue(()),
            }
        });
        found.break_value()
    }
}

/// The way from a value to a text below it.
#[derive(Default)]
struct TextPath<'v>(Vec<TextStep<'v>>);

#[derive(Clone, Copy)]
enum TextStep<'v> {
    Field(&'v str),
    Item(usize),
}

impl fmt::Display for TextPath<'_> {
    /// A name that no path could have is written as `*`: it comes from a message, and may be anything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_legal = |name: &str| {
            let is_part = |letter: u8| letter.is_ascii_alphanumeric() || b"_-".contains(&letter);
            (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_part)
        };
        for step in &self.0 {
            match step {
                TextStep::Field(name) if is_legal(name) => write!(f, ".{name}")?,
                TextStep::Field(_) => f.write_str(".*")?,
                TextStep::Item(position) => write!(f, "[{position}]")?,
            }
        }
        Ok(())
    }
}

/// Longer names of fields are not shown.
const LONGEST_NAME: usize = 64;

/// Visits every text below an object or a list, in order, until the visitor breaks.
// Recursion is bounded: readers of JSON stop at 128 levels.
fn each_text<'v, B>(
    value: &'v Value,
    path: &mut TextPath<'v>,
    visit: &mut impl FnMut(&'v Value, &TextPath<'v>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut step = |step, value: &'v Value| {
        path.0.push(step);
        let flow = if value.is_string() { visit(value, path) } else { each_text(value, path, visit) };
        path.0.pop();
        flow
    };
    match value {
        Value::Object(fields) => {
            fields.iter().try_for_each(|(name, value)| step(TextStep::Field(name), value))
        }
        Value::Array(items) => {
            items.iter().enumerate().try_for_each(|(at, item)| step(TextStep::Item(at), item))
        }
        _ => ControlFlow::Continue(()),
    }
}

/// A CEL program and the variables it sees.
#[derive(Clone, Debug)]
pub(crate) struct CompiledExpression {
    program: std::sync::Arc<Program>,
    variables: Box<[(Box<str>, SimplePath)]>,
    /// What the evidence shows: CEL itself looks at the whole message.
    target: WildcardPath,
}

impl CompiledExpression {
    pub(crate) fn new(expression: &ExpressionMatch, target: &str) -> Result<Self, CompileError> {
        let variables = expression.variables.iter().flatten().map(|(name, path)| {
            let simple = CompileError::path(path, SimplePath::parse)?;
            Ok((name.as_str().into(), simple))
        });
        let program = Program::compile(&expression.cel)?;
        program.compile_patterns();
        Ok(Self {
            program: program.into(),
            variables: variables.collect::<Result<_, CompileError>>()?,
            target: CompileError::path(target, WildcardPath::parse)?,
        })
    }

    fn requirement(&self) -> Requirement {
        if self.variables.iter().any(|(name, _)| &**name == MESSAGE) {
            return Requirement::none();
        }
        let names: Vec<Box<str>> = self.program.leading_field(MESSAGE).into_iter().map(Into::into).collect();
        let place = if names.is_empty() { RequiredPlace::Anywhere } else { RequiredPlace::Member(names) };
        Requirement { texts: None, place }
    }

    pub(crate) fn is_match(&self, message: &Value, cel: &dyn CelEvaluator) -> Result<bool, EvaluationError> {
        // A variable called `message` stands for what its author says it does.
        let own = self.variables.iter().map(|(name, path)| (&**name, path.resolve(message)));
        let mut variables = Vec::with_capacity(self.variables.len() + 1);
        variables.extend(own);
        if !variables.iter().any(|(name, _)| *name == MESSAGE) {
            variables.push((MESSAGE, Some(message)));
        }
        match cel.evaluate_program(&self.program, &variables)? {
            Value::Bool(result) => Ok(result),
            other => Err(EvaluationError::new(
                EvaluationErrorKind::TypeError,
                format!("the expression gives {}, not a boolean", json::kind(&other)),
            )),
        }
    }

    fn evaluate(
        &self,
        message: &Value,
        cel: &dyn CelEvaluator,
    ) -> Result<Option<MatchEvidence>, EvaluationError> {
        if !self.is_match(message, cel)? {
            return Ok(None);
        }
        let mut shown = (message, String::new());
        // An expression over a conversation holds from a turn on: the last value is that turn's.
        let wants_last = is_in_transcript(&self.target.to_string());
        let _ = self.target.visit(message, &mut |value, positions| {
            shown = (value, self.target.with_positions(positions));
            if wants_last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let (value, path) = shown;
        Ok(Some(MatchEvidence::of(path, &json::as_text(value), None)))
    }
}

/// An intent and where to look for it.
#[derive(Clone, Debug)]
pub(crate) struct CompiledSemantic {
    target: WildcardPath,
    semantic: SemanticMatch,
}

impl CompiledSemantic {
    fn new(semantic: &SemanticMatch, target: &str) -> Result<Self, CompileError> {
        let target = semantic.target.as_deref().unwrap_or(target);
        let target = CompileError::path(target, WildcardPath::parse)?;
        Ok(Self { target, semantic: semantic.clone() })
    }

    /// The best score over all values decides, so every value is asked about.
    fn evaluate(
        &self,
        message: &Value,
        engine: &dyn SemanticEvaluator,
    ) -> Result<Option<MatchEvidence>, EvaluationError> {
        let semantic = &self.semantic;
        let mut best: Option<(f64, &Value, String)> = None;
        let flow = self.target.visit(message, &mut |value, positions| {
            let text = json::as_text(value);
            let score = engine.evaluate(
                &text,
                &semantic.intent,
                semantic.intent_class,
                semantic.threshold,
                semantic.examples.as_ref(),
            );
            match score {
                Err(error) => ControlFlow::Break(error),
                Ok(score) if !(0.0..=1.0).contains(&score) => ControlFlow::Break(EvaluationError::new(
                    EvaluationErrorKind::SemanticError,
                    format!("the semantic evaluator gave {score}, which is not a score from 0 to 1"),
                )),
                Ok(score) => {
                    if best.as_ref().is_none_or(|(best, ..)| score > *best) {
                        best = Some((score, value, self.target.with_positions(positions)));
                    }
                    ControlFlow::Continue(())
                }
            }
        });
        if let ControlFlow::Break(error) = flow {
            return Err(error);
        }
        let threshold = semantic.threshold.unwrap_or(DEFAULT_SEMANTIC_THRESHOLD);
        Ok(best.filter(|(score, ..)| *score >= threshold).map(|(score, value, path)| MatchEvidence {
            score: Some(score),
            ..MatchEvidence::of(path, &json::as_text(value), None)
        }))
    }
}
