//! What a run would do, without a socket.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use sortie_bindings::known_modes;
use sortie_engine::modes::Address;
use sortie_engine::run::RunOptions;
use sortie_oatf::Compiled;
use sortie_oatf::model::{ActionKind, CorrelationLogic, Indicator, Mode, Trigger};

/// What a run of a document would serve, send and watch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DocumentPlan {
    /// Where the document was read from.
    pub file: String,
    /// `attack.id`.
    pub id: Option<String>,
    /// `attack.name`.
    pub name: String,
    /// Its actors, in the order of the document.
    pub actors: Vec<PlannedActor>,
    /// What is looked for, in the order of the document.
    pub indicators: Vec<PlannedIndicator>,
    /// How the indicators combine: `any` or `all`.
    pub correlation: String,
    /// The agent's command, its placeholders unfilled.
    pub agent: Option<Vec<String>>,
    /// The task that the agent is given.
    pub prompt: Option<String>,
    /// How long is watched after the end, in seconds.
    pub grace_seconds: f64,
    /// How long it takes at most, in seconds.
    pub max_duration_seconds: f64,
}

/// What an actor would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedActor {
    /// Its name.
    pub name: String,
    /// Its mode.
    pub mode: String,
    /// Whether it would be left out, since nobody here knows its mode.
    pub skipped: bool,
    /// Where it would listen: an address, or `stdio`. The port 0 is any free one.
    pub listens: Option<String>,
    /// What it would attack.
    pub target: Option<String>,
    /// What it does, phase by phase.
    pub phases: Vec<PlannedPhase>,
}

/// What an actor would do in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedPhase {
    /// Its name.
    pub name: String,
    /// Whether it serves what the phase before it serves.
    pub inherits: bool,
    /// What is done on entry.
    pub on_enter: Vec<String>,
    /// What is served to whoever asks.
    pub serves: Vec<String>,
    /// What is sent, in this order.
    pub sends: Vec<String>,
    /// What is captured.
    pub extracts: Vec<String>,
    /// What ends it; `None` for the last.
    pub until: Option<String>,
}

/// What would be looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedIndicator {
    /// Its id.
    pub id: String,
    /// Which messages it looks at.
    pub looks_at: String,
    /// Which part of them; empty for the whole.
    pub target: String,
    /// How: `pattern`, `expression`, `semantic`.
    pub method: String,
    /// How far the attack got when it matches.
    pub tier: Option<String>,
    /// What it looks for, in the words of the document.
    pub description: Option<String>,
}

impl DocumentPlan {
    /// What a run would do.
    pub fn new(document: &Compiled, file: &str, options: &RunOptions) -> Self {
        let attack = &document.document().attack;
        let actors = attack.execution.actors.iter().flatten();
        let logic = attack.correlation.as_ref().and_then(|correlation| correlation.logic);
        Self {
            file: file.to_owned(),
            id: attack.id.clone(),
            name: attack.name.clone().unwrap_or_default(),
            actors: actors.map(|actor| planned_actor(actor, options)).collect(),
            indicators: attack.indicators.iter().flatten().map(planned_indicator).collect(),
            correlation: logic.unwrap_or(CorrelationLogic::Any).as_str().to_owned(),
            agent: options.agent.as_ref().map(|agent| agent.command.clone()),
            prompt: options.prompt(document).map(str::to_owned),
            grace_seconds: options.grace(document).as_secs_f64(),
            max_duration_seconds: options.max_duration.as_secs_f64(),
        }
    }
}

fn planned_actor(actor: &sortie_oatf::model::Actor, options: &RunOptions) -> PlannedActor {
    let known = known_modes().contains(&actor.mode.as_str());
    let server = known && Mode::of(&actor.mode).is_server();
    let address = || options.address(&actor.name).to_string();
    let listens = server.then(|| if options.stdio { "stdio".to_owned() } else { address() });
    let target = options.targets.get(&actor.name).map(|target| match &target.address {
        Address::Url(url) => url.clone(),
        Address::Stdio(command) => format!("stdio:{}", command.join(" ")),
    });
    let phases = actor.phases.iter().enumerate().map(|(index, phase)| {
        let state = phase.state.as_ref();
        let on_enter = phase.on_enter.iter().flatten().map(|action| entry(&action.kind));
        let extracts = phase.extractors.iter().flatten();
        PlannedPhase {
            name: phase.name.clone().unwrap_or_else(|| format!("phase-{}", index + 1)),
            inherits: state.is_none(),
            on_enter: on_enter.collect(),
            serves: state.map(|state| serves(&actor.mode, state)).unwrap_or_default(),
            sends: state.map(|state| sends(&actor.mode, state)).unwrap_or_default(),
            extracts: extracts.map(|extractor| extractor.name.clone()).collect(),
            until: phase.trigger.as_ref().map(until),
        }
    });
    PlannedActor {
        name: actor.name.clone(),
        mode: actor.mode.clone(),
        skipped: !known,
        listens,
        target,
        phases: phases.collect(),
    }
}

fn entry(kind: &ActionKind) -> String {
    match kind {
        ActionKind::Send(send) => format!("sends {}", send.method),
        ActionKind::Log(log) => format!("logs \"{}\"", log.message),
        ActionKind::Other(actions) => actions.keys().cloned().collect::<Vec<_>>().join(", "),
    }
}

fn until(trigger: &Trigger) -> String {
    let event = trigger.event.as_ref().map(|event| {
        let event = match trigger.count {
            Some(count) if count > 1 => format!("{event}, {count} times"),
            _ => event.clone(),
        };
        match &trigger.r#match {
            Some(predicate) => {
                let paths: Vec<_> = predicate.keys().map(|path| format!("`{path}`")).collect();
                format!("{event}, where {} fits", paths.join(" and "))
            }
            None => event,
        }
    });
    let after = trigger.after.as_ref().map(|after| format!("after {after}"));
    event.into_iter().chain(after).collect::<Vec<_>>().join(", or ")
}

fn serves(mode: &str, state: &Value) -> Vec<String> {
    let named = |kind: &str, list: &str, name: &str| {
        let items = state.get(list).and_then(Value::as_array).into_iter().flatten();
        let items = items.map(|item| {
            let named = item.get(name).and_then(Value::as_str).unwrap_or("without a name");
            let responses = item.get("responses").and_then(Value::as_array).map_or(0, Vec::len);
            match responses {
                0 => format!("{kind} `{named}`"),
                responses => format!("{kind} `{named}`, {}", counted(responses, "response")),
            }
        });
        items.collect::<Vec<_>>()
    };
    match Mode::of(mode) {
        Mode::McpServer => {
            let instructions = state.get("instructions").map(|_| "instructions".to_owned());
            let mut serves: Vec<_> = instructions.into_iter().collect();
            serves.extend(named("tool", "tools", "name"));
            serves.extend(named("resource", "resources", "uri"));
            serves.extend(named("resource template", "resource_templates", "uriTemplate"));
            serves.extend(named("prompt", "prompts", "name"));
            serves.extend(named("elicitation", "elicitations", "message"));
            serves
        }
        Mode::A2aServer => {
            let card = state.get("agent_card").and_then(|card| card.get("name")).and_then(Value::as_str);
            let mut serves = vec![format!("agent card `{}`", card.unwrap_or("of our own"))];
            let responses = state.get("task_responses").and_then(Value::as_array).map_or(0, Vec::len);
            serves.push(match responses {
                0 => "an empty task".to_owned(),
                responses => counted(responses, "task response"),
            });
            serves
        }
        _ => {
            let lists = ["sampling_responses", "elicitation_responses", "tool_responses", "roots"];
            let lists = lists.iter().filter(|list| state.get(list).is_some());
            lists.map(|list| list.replace('_', " ")).collect()
        }
    }
}

fn sends(mode: &str, state: &Value) -> Vec<String> {
    if Mode::of(mode) == Mode::AgUiClient {
        let Some(input) = state.get("run_agent_input") else { return Vec::new() };
        let messages = input.get("messages").and_then(Value::as_array).map_or(0, Vec::len);
        let tools = input.get("tools").and_then(Value::as_array).map_or(0, Vec::len);
        return vec![format!(
            "run_agent_input, {}, {}",
            counted(messages, "message"),
            counted(tools, "tool")
        )];
    }
    let actions = state.get("actions").and_then(Value::as_array).into_iter().flatten();
    let actions = actions.map(|action| {
        let method = action.get("method").and_then(Value::as_str).unwrap_or("an action without a method");
        match action.get("params").and_then(|params| params.get("name")).and_then(Value::as_str) {
            Some(name) => format!("{method} `{name}`"),
            None => method.to_owned(),
        }
    });
    actions.collect()
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn planned_indicator(indicator: &Indicator) -> PlannedIndicator {
    let mut looks_at = indicator.protocol.clone().unwrap_or_default();
    looks_at.push(' ');
    looks_at.push_str(indicator.surface.as_deref().unwrap_or("messages"));
    if let Some(direction) = indicator.direction {
        looks_at.push(' ');
        looks_at.push_str(direction.as_str());
    }
    if let Some(actor) = &indicator.actor {
        let _ = write!(looks_at, " of `{actor}`"); // writing to a string cannot fail
    }
    let method = match indicator {
        Indicator { pattern: Some(_), .. } => "pattern",
        Indicator { expression: Some(_), .. } => "expression",
        _ => "semantic",
    };
    PlannedIndicator {
        id: indicator.id.clone().unwrap_or_default(),
        looks_at,
        target: indicator.target.clone(),
        method: method.to_owned(),
        tier: indicator.tier.map(|tier| tier.to_string()),
        description: indicator.description.clone(),
    }
}
