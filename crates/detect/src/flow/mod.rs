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
//! that is not enough, what does not leave says nothing. What was said is indexed when something may leave, and not before.

mod calls;
mod index;
mod journal;
mod reading;
mod room;
mod texts;

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;
use sortie_oatf::canary::{CanaryValues, Disguise, disguises};
use sortie_oatf::compile::{CompiledFlow, FlowOrigin};
use sortie_oatf::extension::flow::{Decoding, FlowSource, matches_name};
use sortie_oatf::model::Direction as Side;
use sortie_oatf::{IndicatorOutcome, MatchEvidence};
use sortie_trace::{Direction, Message, Sender};

use calls::ToolCalls;
pub use index::{FlowFinding, FlowIndex};
use journal::{EntryText, Journal, JournalEntry};
pub use room::MOST_TEXT;
use room::{FlowRoom, MostRoom, Way};

/// A flow of a document.
#[derive(Clone, Debug)]
pub(crate) struct FlowRule {
    /// Its indicator.
    pub(crate) indicator: usize,
    pub(crate) compiled: Arc<CompiledFlow>,
    /// What the agent is told first.
    pub(crate) prompt: Option<Arc<str>>,
    /// Whether a flow of its document asks for the name of a tool.
    pub(crate) asks_for_tools: bool,
}

impl FlowRule {
    /// Whether it asks for the name of a tool itself.
    pub(crate) fn names_tool(compiled: &CompiledFlow) -> bool {
        compiled.flow.from.tool.is_some() || compiled.flow.to.tool.is_some()
    }

    /// Whether a message may come in by the source, whatever its tool.
    pub(crate) fn may_bring_in(&self, message: &Message) -> bool {
        let from = &self.compiled.flow.from;
        let of_side = match from.direction {
            Some(Side::Request) => message.direction == Direction::Request,
            Some(Side::Response) => message.direction == Direction::Response,
            None => message.sender != Sender::Agent,
        };
        of_side
            && from.protocol.as_ref().is_none_or(|protocol| *protocol == message.protocol)
            && from.actor.as_ref().is_none_or(|actor| *actor == message.actor)
            && message.surfaces.contains(&from.surface)
    }

    fn index(&self) -> FlowIndex {
        let flow = &self.compiled.flow;
        let mut index = FlowIndex::new(flow.min_length, &flow.decode);
        if let Some(prompt) = &self.prompt {
            index.know(prompt);
        }
        index
    }

    fn room(&self) -> FlowRoom {
        let flow = &self.compiled.flow;
        let mut room = FlowRoom::new(flow.min_length, &flow.decode);
        if let Some(prompt) = &self.prompt {
            room.measure(Way::Known, prompt);
        }
        room
    }
}

/// Watches flows.
#[derive(Clone, Debug)]
pub(crate) struct FlowWatch {
    flows: Vec<OneFlow>,
    /// The tool that the message in hand calls, or answers a call of.
    tool: Option<String>,
    calls: ToolCalls,
    journal: Journal,
    /// Whether the journal has all that flows keep.
    is_over: bool,
    has_canaries: bool,
}

#[derive(Clone, Debug)]
struct OneFlow {
    rule: FlowRule,
    /// What it has read of the journal; `None` before it reads.
    index: Option<FlowIndex>,
    /// How many entries of the journal are in the index.
    read: usize,
    /// What the others take at most.
    unread: MostRoom,
    canaries: Vec<WatchedCanary>,
    /// Whether a message came in by the source.
    had_source: bool,
    /// The message in hand, where it is one of the source.
    source: Option<u64>,
    is_settled: bool,
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
    /// About how many bytes of memory it takes.
    pub(crate) fn memory(&self) -> usize {
        let indexes = self.flows.iter().filter_map(|flow| flow.index.as_ref());
        self.journal.memory()
            + self.flows.len() * size_of::<OneFlow>()
            + indexes.map(FlowIndex::memory).sum::<usize>()
    }

    pub(crate) fn new(rules: &[FlowRule]) -> Self {
        let flow = |rule: &FlowRule| OneFlow {
            rule: rule.clone(),
            index: None,
            read: 0,
            unread: MostRoom::default(),
            canaries: Vec::new(),
            had_source: false,
            source: None,
            is_settled: false,
        };
        Self {
            flows: rules.iter().map(flow).collect(),
            tool: None,
            calls: ToolCalls::default(),
            journal: Journal::default(),
            is_over: false,
            has_canaries: false,
        }
    }

    pub(crate) fn take_canaries(&mut self, canaries: &CanaryValues) {
        self.has_canaries = !canaries.is_empty();
        for flow in &mut self.flows {
            let watched = canaries.values().map(|value| WatchedCanary {
                disguises: disguises(value),
                value: value.clone(),
                origin: None,
                was_known: false,
            });
            flow.canaries = watched.collect();
        }
    }

    /// The indicator at this position needs no more.
    pub(crate) fn settle(&mut self, indicator: usize) {
        for flow in self.flows.iter_mut().filter(|flow| flow.rule.indicator == indicator) {
            flow.is_settled = true;
        }
    }

    /// Takes note of a message before it is looked at: whether it is of a source, and if not, what is known from it. `sources` are the
    /// flows whose source it is, but for the tool.
    pub(crate) fn message(&mut self, message: &Message, sources: &[u32]) {
        if self.flows.iter().all(|flow| flow.is_settled) {
            return;
        }
        let asks = self.flows.iter().any(|flow| flow.rule.asks_for_tools);
        self.tool = if asks { self.calls.tool_of(message) } else { None };
        let mut came_in = Vec::new();
        for (number, flow) in (0u32..).zip(&mut self.flows).filter(|(_, flow)| !flow.is_settled) {
            let is_source = sources.contains(&number) && flow.is_of_tool(self.tool.as_deref());
            flow.source = is_source.then_some(message.seq);
            flow.had_source |= is_source;
            came_in.extend(is_source.then_some(number));
        }
        if !self.is_over && self.flows.iter().any(|flow| !flow.is_settled && flow.source.is_none()) {
            let text = message.content.text();
            let most = texts::MOST_FORMS * text.len();
            for flow in self.flows.iter_mut().filter(|flow| flow.source.is_none()) {
                flow.unread.known += most;
            }
            self.journal.tell(message.seq, &came_in, &text);
            self.read_when_long();
        }
    }

    /// Whether this message, which came last, comes in by the source of a flow of one of these indicators.
    pub(crate) fn is_source(&self, message: &Message, is_of: impl Fn(usize) -> bool) -> bool {
        self.flows.iter().any(|flow| flow.is_awaited(message) && is_of(flow.rule.indicator))
    }

    /// Takes in a message, which came last, for the flows of these indicators whose source it is. `seen` is what indicators see of it,
    /// as JSON text, borrowed where it is part of what was on the wire.
    pub(crate) fn take_in<'m>(
        &mut self,
        message: &Message,
        is_of: impl Fn(usize) -> bool,
        seen: impl FnOnce() -> Option<Cow<'m, str>>,
    ) {
        let mut sources = Vec::new();
        for (number, flow) in (0u32..).zip(&mut self.flows) {
            if flow.is_awaited(message) && is_of(flow.rule.indicator) {
                // Once is enough.
                flow.source = None;
                sources.push(number);
            }
        }
        if sources.is_empty() || self.is_over {
            return;
        }
        if let Some(text) = seen() {
            let most = texts::MOST_FORMS * text.len();
            for number in &sources {
                self.flows[*number as usize].unread.came_in += most;
            }
            self.journal.bring_in(message.seq, &sources, &text);
            self.read_when_long();
        }
    }

    /// Lets flows read what is kept, when it is too much to keep.
    fn read_when_long(&mut self) {
        let Self { flows, journal, .. } = self;
        if self.has_canaries {
            flows.iter_mut().zip(0..).for_each(|(flow, number)| flow.read(number, journal));
        }
        if !journal.is_long() {
            return;
        }
        let mut flows = (0u32..).zip(flows).filter(|(_, flow)| !flow.is_settled);
        if flows.by_ref().all(|(number, flow)| flow.is_full(number, journal)) {
            self.is_over = true;
            return;
        }
        for (number, flow) in (0u32..).zip(&mut self.flows) {
            flow.read(number, &self.journal);
            flow.read = 0;
        }
        self.journal.clear();
    }

    /// Whether nothing can leave by the flow of this indicator with the message that came last, since it calls another tool.
    pub(crate) fn excludes(&self, indicator: usize) -> bool {
        let Some(tool) = self.tool.as_deref() else { return false };
        let is_other = |flow: &OneFlow| {
            let pattern = flow.rule.compiled.flow.to.tool.as_deref();
            flow.rule.indicator == indicator && pattern.is_some_and(|pattern| !matches_name(pattern, tool))
        };
        self.flows.iter().any(is_other)
    }

    /// Whether something may leave with a message, which came last, by the flow of this indicator, or it has none.
    pub(crate) fn may_leave(&self, indicator: usize, message: &Message) -> bool {
        let of_indicator = self.flows.iter().filter(|flow| flow.rule.indicator == indicator);
        of_indicator.into_iter().all(|flow| flow.had_source && message.sender == Sender::Agent)
            && !self.excludes(indicator)
    }

    /// What an indicator says about a message when its flow is asked too: it matches only where something leaves.
    pub(crate) fn narrowed(
        &mut self,
        indicator: usize,
        outcome: IndicatorOutcome,
        message: &Message,
        seen: &Value,
    ) -> IndicatorOutcome {
        let IndicatorOutcome::Matched(own) = outcome else { return outcome };
        let Self { flows, tool, journal, .. } = self;
        let mut flows = (0u32..).zip(flows);
        let Some((number, flow)) = flows.find(|(_, flow)| flow.rule.indicator == indicator) else {
            return IndicatorOutcome::Matched(own);
        };
        match flow.leaving_with(number, journal, tool.as_deref(), message, seen) {
            Some(evidence) => IndicatorOutcome::Matched(MatchEvidence { line: own.line, ..evidence }),
            None => IndicatorOutcome::NotMatched,
        }
    }

    /// Why it says nothing that nothing left; `None` where it does say something, or there is no flow.
    pub(crate) fn why_silent(&self, indicator: usize) -> Option<String> {
        let mut flows = (0u32..).zip(&self.flows);
        let (number, flow) = flows.find(|(_, flow)| flow.rule.indicator == indicator)?;
        let compiled = &flow.rule.compiled;
        if !flow.had_source {
            return Some(format!(
                "nothing came in by its source ({}), so nothing could leave",
                described(&compiled.flow.from)
            ));
        }
        if flow.is_full(number, &self.journal) || (flow.rule.asks_for_tools && self.calls.is_full()) {
            return Some(format!(
                "more was said than a flow keeps ({} KiB of text), so not all of it was looked for",
                MOST_TEXT / 1024
            ));
        }
        let has_canary = flow.canaries.iter().any(|canary| canary.origin.is_some());
        (!has_canary && flow.is_empty(number, &self.journal)).then(|| {
            format!(
                "what came in by its source has no {} characters that the agent had not been told before",
                compiled.flow.min_length
            )
        })
    }
}

impl OneFlow {
    fn is_of_tool(&self, tool: Option<&str>) -> bool {
        let pattern = self.rule.compiled.flow.from.tool.as_deref();
        pattern.is_none_or(|pattern| tool.is_some_and(|tool| matches_name(pattern, tool)))
    }

    /// Whether this message comes in by the source, and was not taken in yet.
    fn is_awaited(&self, message: &Message) -> bool {
        !self.is_settled && self.source == Some(message.seq)
    }

    /// Reads what it has not read of the journal.
    fn read(&mut self, number: u32, journal: &Journal) {
        if self.is_settled {
            return;
        }
        let Self { rule, index, canaries, read, .. } = self;
        let index = index.get_or_insert_with(|| rule.index());
        for entry in &journal.entries()[*read..] {
            rule.read(number, entry, index, canaries);
        }
        *read = journal.entries().len();
        self.unread = MostRoom::default();
    }

    /// Whether more was said than it keeps.
    fn is_full(&self, number: u32, journal: &Journal) -> bool {
        let mut room = self.index.as_ref().map_or_else(|| self.rule.room(), FlowIndex::room);
        // In most sessions there is room for everything.
        if room.is_full() || room.fits(self.unread) || room.fits(self.most_room(number, journal)) {
            return room.is_full();
        }
        journal.entries()[self.read..].iter().any(|entry| {
            self.rule.measure(number, entry, &mut room);
            room.is_full()
        })
    }

    /// At least as much room as what it has not read takes: less than is counted as it comes, and more work.
    fn most_room(&self, number: u32, journal: &Journal) -> MostRoom {
        let flow = &self.rule.compiled.flow;
        let counts_spaces = !flow.decode.contains(&Decoding::Space);
        let mut most = MostRoom::default();
        for entry in &journal.entries()[self.read..] {
            let room = |text: &str| texts::most_room(text, flow.min_length, counts_spaces);
            match entry.for_flow(number) {
                EntryText::Source(text) => most.came_in += room(text),
                EntryText::Known(text) => most.known += room(text),
                EntryText::Other => {}
            }
        }
        most
    }

    /// Whether nothing came in that could leave.
    fn is_empty(&self, number: u32, journal: &Journal) -> bool {
        let mut index = self.index.clone().unwrap_or_else(|| self.rule.index());
        let mut entries = journal.entries()[self.read..].iter();
        // The first thing that comes in is usually new.
        while index.is_empty() {
            let Some(entry) = entries.next() else { return true };
            self.rule.read(number, entry, &mut index, &mut []);
        }
        false
    }

    /// What leaves with a message: the longest value that came in.
    fn leaving_with(
        &mut self,
        number: u32,
        journal: &Journal,
        tool: Option<&str>,
        message: &Message,
        seen: &Value,
    ) -> Option<MatchEvidence> {
        let compiled = Arc::clone(&self.rule.compiled);
        let is_of_tool = compiled.flow.to.tool.as_deref().is_none_or(|pattern| {
            let named = || seen.get("name").or_else(|| seen.get("toolCallName")).and_then(Value::as_str);
            tool.or_else(named).is_some_and(|name| matches_name(pattern, name))
        });
        // What somebody else sends does not leave the agent.
        if !is_of_tool || message.sender != Sender::Agent || !self.had_source {
            return None;
        }
        let mut best: Option<(usize, MatchEvidence)> = None;
        let _ = compiled.sink.visit(seen, &mut |value, positions| {
            let mut path = compiled.sink.with_positions(positions);
            texts::each_text(value, &mut path, &mut |path, text| {
                for part in texts::parts(text, compiled.flow.to.within) {
                    if part.len() < compiled.flow.min_length && self.canaries.is_empty() {
                        continue;
                    }
                    self.read(number, journal);
                    let Some(found) = self.leaving(&text[part.clone()]) else { continue };
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

    fn leaving(&self, text: &str) -> Option<FlowFinding> {
        self.index.as_ref().and_then(|index| index.leaving(text)).or_else(|| {
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

impl FlowRule {
    /// Takes an entry of the journal into an index.
    fn read(&self, number: u32, entry: &JournalEntry, index: &mut FlowIndex, canaries: &mut [WatchedCanary]) {
        match entry.for_flow(number) {
            EntryText::Other => {}
            EntryText::Known(content) => {
                let least = self.compiled.flow.min_length;
                texts::each_raw_text(content, least, &mut |text| index.know(text));
                for canary in canaries.iter_mut().filter(|canary| canary.is_awaited()) {
                    canary.was_known = content.contains(&canary.value);
                }
            }
            // What is read again and again brings nothing in.
            EntryText::Source(json)
                if !canaries.iter().any(WatchedCanary::is_awaited) && index.has_taken_all(json) => {}
            EntryText::Source(json) => self.each_source_text(&EntryText::seen(json), &mut |path, text| {
                index.bring_in(entry.seq, path, text);
                for canary in canaries.iter_mut().filter(|canary| canary.is_awaited()) {
                    canary.origin = text.find(&canary.value).map(|start| FlowOrigin {
                        seq: entry.seq,
                        path: path.to_owned(),
                        start,
                        end: start + canary.value.len(),
                        encoding: None,
                    });
                }
            }),
        }
    }

    /// Takes the room of an entry of the journal.
    fn measure(&self, number: u32, entry: &JournalEntry, room: &mut FlowRoom) {
        match entry.for_flow(number) {
            EntryText::Other => {}
            EntryText::Known(content) => {
                let least = self.compiled.flow.min_length;
                texts::each_raw_text(content, least, &mut |text| room.measure(Way::Known, text));
            }
            EntryText::Source(json) => {
                self.each_source_text(&EntryText::seen(json), &mut |_, text| room.measure(Way::CameIn, text));
            }
        }
    }

    /// Every text of a message that comes in, with its path.
    fn each_source_text(&self, seen: &Value, see: &mut dyn FnMut(&str, &str)) {
        let source = &self.compiled.source;
        let _ = source.visit(seen, &mut |value, positions| {
            texts::each_text(value, &mut source.with_positions(positions), see);
            ControlFlow::<()>::Continue(())
        });
    }
}

impl WatchedCanary {
    /// Whether it is not known yet, and has not come in.
    fn is_awaited(&self) -> bool {
        self.origin.is_none() && !self.was_known
    }
}

/// A source, for people: "`tools/call` response of the tool `read_*`".
fn described(from: &FlowSource) -> String {
    let direction = from.direction.map(|direction| format!(" {direction}")).unwrap_or_default();
    let tool = from.tool.as_ref().map(|tool| format!(" of the tool `{tool}`")).unwrap_or_default();
    let actor = from.actor.as_ref().map(|actor| format!(", actor `{actor}`")).unwrap_or_default();
    format!("`{}`{direction}{tool}{actor}", from.surface)
}
