//! Flows: a value that first came in by a source later leaves by a sink (`x-sortie.flow`).
//!
//! | step | who |
//! |---|---|
//! | which messages are a source or a sink | the document; what a tool answers belongs to its call |
//! | what was known before | every text of every other message, and the prompt |
//! | what a text looks like decoded | `reading` |
//! | whether a piece of a source is in a sink | [`FlowIndex`] |
//!
//! It sees every message once, in order, and keeps no more than [`MOST_TEXT`] of what came in and of what was known before. Where
//! that is not enough, what does not leave says nothing.

mod calls;
mod index;
mod reading;
mod texts;

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;
use sortie_oatf::canary::{CanaryValues, Disguise, disguises};
use sortie_oatf::compile::{CompiledFlow, FlowOrigin};
use sortie_oatf::extension::flow::{FlowSource, matches_name};
use sortie_oatf::model::Direction as Side;
use sortie_oatf::{Compiled, IndicatorOutcome, MatchEvidence};
use sortie_trace::{Direction, Message, Sender};

use calls::ToolCalls;
pub use index::{FlowFinding, FlowIndex, MOST_TEXT};

/// Watches the flows of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowWatch {
    /// One for each indicator; `None` for those without a flow.
    flows: Vec<Option<OneFlow>>,
    /// The tool that the message in hand calls, or answers a call of.
    tool: Option<String>,
    calls: ToolCalls,
    /// Whether a flow asks for the name of a tool.
    asks_for_tools: bool,
}

#[derive(Clone, Debug)]
struct OneFlow {
    compiled: Arc<CompiledFlow>,
    index: FlowIndex,
    canaries: Vec<WatchedCanary>,
    /// Whether a message came in by the source.
    had_source: bool,
    /// The message in hand, where it is one of the source.
    source: Option<u64>,
}

/// A canary of the run, which is a value however short.
#[derive(Clone, Debug)]
struct WatchedCanary {
    value: String,
    disguises: Vec<Disguise>,
    /// Where it came in.
    origin: Option<FlowOrigin>,
    was_known: bool,
}

impl FlowWatch {
    pub(crate) fn new(document: &Compiled) -> Self {
        let flow = |compiled: &Arc<CompiledFlow>| {
            let mut index = FlowIndex::new(compiled.flow.min_length, &compiled.flow.decode);
            if let Some(prompt) = &document.document().extension().prompt {
                index.know(prompt);
            }
            OneFlow {
                compiled: Arc::clone(compiled),
                index,
                canaries: Vec::new(),
                had_source: false,
                source: None,
            }
        };
        let flows: Vec<Option<OneFlow>> =
            document.indicators().iter().map(|indicator| indicator.flow.as_ref().map(flow)).collect();
        let asks = |flow: &OneFlow| {
            let flow = &flow.compiled.flow;
            flow.from.tool.is_some() || flow.to.tool.is_some()
        };
        let asks_for_tools = flows.iter().flatten().any(asks);
        // Most documents have no flows, and then this is empty.
        if flows.iter().all(Option::is_none) {
            return Self::default();
        }
        Self { flows, asks_for_tools, ..Self::default() }
    }

    pub(crate) fn take_canaries(&mut self, canaries: &CanaryValues) {
        for flow in self.flows.iter_mut().flatten() {
            let watched = canaries.values().map(|value| WatchedCanary {
                disguises: disguises(value),
                value: value.clone(),
                origin: None,
                was_known: false,
            });
            flow.canaries = watched.collect();
        }
    }

    /// Takes note of a message before it is looked at: whether it is of a source, and if not, what is known from it.
    /// `is_settled` says which indicators need no more.
    pub(crate) fn message(&mut self, message: &Message, is_settled: impl Fn(usize) -> bool) {
        if self.flows.is_empty() {
            return;
        }
        self.tool = if self.asks_for_tools { self.calls.tool_of(message) } else { None };
        let flows = self.flows.iter_mut().enumerate();
        for (_, flow) in flows
            .filter_map(|(index, flow)| Some((index, flow.as_mut()?)))
            .filter(|(index, _)| !is_settled(*index))
        {
            let is_source = is_source(&flow.compiled.flow.from, message, self.tool.as_deref());
            flow.source = is_source.then_some(message.seq);
            flow.had_source |= is_source;
            if !is_source {
                flow.learn(&message.content.text());
            }
        }
    }

    /// Whether an indicator wants to see this message, which came last, as one of its source.
    pub(crate) fn is_source(&self, index: usize, message: &Message) -> bool {
        self.get(index).is_some_and(|flow| flow.source == Some(message.seq))
    }

    fn get(&self, index: usize) -> Option<&OneFlow> {
        self.flows.get(index)?.as_ref()
    }

    /// Takes in a message of the source.
    pub(crate) fn take_in(&mut self, index: usize, message: &Message, seen: &Value) {
        let Some(flow) = self.flows.get_mut(index).and_then(Option::as_mut) else { return };
        if flow.source != Some(message.seq) {
            return;
        }
        // Once is enough.
        flow.source = None;
        let OneFlow { compiled, index, canaries, .. } = flow;
        let _ = compiled.source.visit(seen, &mut |value, positions| {
            let mut path = compiled.source.with_positions(positions);
            texts::each_text(value, &mut path, &mut |path, text| {
                index.bring_in(message.seq, path, text);
                for canary in canaries.iter_mut().filter(|canary| canary.is_awaited()) {
                    canary.origin = text.find(&canary.value).map(|start| FlowOrigin {
                        seq: message.seq,
                        path: path.to_owned(),
                        start,
                        end: start + canary.value.len(),
                        encoding: None,
                    });
                }
            });
            ControlFlow::<()>::Continue(())
        });
    }

    /// What an indicator says about a message when its flow is asked too: it matches only where something leaves.
    pub(crate) fn narrowed(
        &self,
        index: usize,
        outcome: IndicatorOutcome,
        message: &Message,
        seen: &Value,
    ) -> IndicatorOutcome {
        match (self.get(index), outcome) {
            (Some(flow), IndicatorOutcome::Matched(own)) => match self.leaving(flow, message, seen) {
                Some(evidence) => IndicatorOutcome::Matched(MatchEvidence { line: own.line, ..evidence }),
                None => IndicatorOutcome::NotMatched,
            },
            (_, outcome) => outcome,
        }
    }

    /// What leaves with a message: the longest value that came in.
    fn leaving(&self, flow: &OneFlow, message: &Message, seen: &Value) -> Option<MatchEvidence> {
        let compiled = &flow.compiled;
        let is_of_tool = compiled.flow.to.tool.as_deref().is_none_or(|pattern| {
            let named = || seen.get("name").or_else(|| seen.get("toolCallName")).and_then(Value::as_str);
            self.tool.as_deref().or_else(named).is_some_and(|name| matches_name(pattern, name))
        });
        // What somebody else sends does not leave the agent.
        if !is_of_tool || message.sender != Sender::Agent {
            return None;
        }
        let mut best: Option<(usize, MatchEvidence)> = None;
        let _ = compiled.sink.visit(seen, &mut |value, positions| {
            let mut path = compiled.sink.with_positions(positions);
            texts::each_text(value, &mut path, &mut |path, text| {
                for part in texts::parts(text, compiled.flow.to.within) {
                    let Some(found) = flow.leaving(&text[part.clone()]) else { continue };
                    if best.as_ref().is_none_or(|(length, _)| found.length > *length) {
                        let range = part.start + found.range.start..part.start + found.range.end;
                        let mut evidence = MatchEvidence::of(path.to_owned(), text, Some(range));
                        evidence.origin = Some(found.origin);
                        best = Some((found.length, evidence));
                    }
                }
            });
            ControlFlow::<()>::Continue(())
        });
        best.map(|(_, evidence)| evidence)
    }

    /// Why it says nothing that nothing left; `None` where it does say something, or there is no flow.
    pub(crate) fn why_silent(&self, index: usize) -> Option<String> {
        let flow = self.get(index)?;
        let length = flow.compiled.flow.min_length;
        if !flow.had_source {
            return Some(format!(
                "nothing came in by its source ({}), so nothing could leave",
                described(&flow.compiled.flow.from)
            ));
        }
        if flow.index.is_full() || self.calls.is_full() {
            return Some(format!(
                "more was said than a flow keeps ({} KiB of text), so not all of it was looked for",
                MOST_TEXT / 1024
            ));
        }
        let has_canary = flow.canaries.iter().any(|canary| canary.origin.is_some());
        (flow.index.is_empty() && !has_canary).then(|| {
            format!(
                "what came in by its source has no {length} characters that the agent had not been told before"
            )
        })
    }
}

impl OneFlow {
    /// Takes note of what is known from a message that is not of the source.
    fn learn(&mut self, content: &str) {
        let Self { index, canaries, .. } = self;
        texts::each_raw_text(content, self.compiled.flow.min_length, &mut |text| index.know(text));
        for canary in canaries.iter_mut().filter(|canary| canary.is_awaited()) {
            canary.was_known = content.contains(&canary.value);
        }
    }

    fn leaving(&self, text: &str) -> Option<FlowFinding> {
        self.index.leaving(text).or_else(|| {
            self.canaries.iter().find_map(|canary| {
                let origin = canary.origin.clone()?;
                let disguise = canary.disguises.iter().find(|disguise| text.contains(&disguise.text))?;
                let start = text.find(&disguise.text)?;
                let range = start..start + disguise.text.len();
                Some(FlowFinding { range, origin, length: canary.value.len() })
            })
        })
    }
}

impl WatchedCanary {
    /// Whether it is not known yet, and has not come in.
    fn is_awaited(&self) -> bool {
        self.origin.is_none() && !self.was_known
    }
}

/// Whether a message is one that values come in by.
fn is_source(from: &FlowSource, message: &Message, tool: Option<&str>) -> bool {
    let of_side = match from.direction {
        Some(Side::Request) => message.direction == Direction::Request,
        Some(Side::Response) => message.direction == Direction::Response,
        None => message.sender != Sender::Agent,
    };
    of_side
        && from.protocol.as_ref().is_none_or(|protocol| *protocol == message.protocol)
        && from.actor.as_ref().is_none_or(|actor| *actor == message.actor)
        && message.surfaces.contains(&from.surface)
        && from.tool.as_deref().is_none_or(|pattern| tool.is_some_and(|tool| matches_name(pattern, tool)))
}

/// A source, for people: "`tools/call` response of the tool `read_*`".
fn described(from: &FlowSource) -> String {
    let direction = from.direction.map(|direction| format!(" {direction}")).unwrap_or_default();
    let tool = from.tool.as_ref().map(|tool| format!(" of the tool `{tool}`")).unwrap_or_default();
    let actor = from.actor.as_ref().map(|actor| format!(", actor `{actor}`")).unwrap_or_default();
    format!("`{}`{direction}{tool}{actor}", from.surface)
}
