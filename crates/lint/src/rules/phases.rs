//! Phases that are never reached, and what they do first.

use std::collections::HashSet;

use serde_json::Value;
use sortie_bindings::{Reachability, Side, is_agent_side, is_known_event, reachability, structural_keys};
use sortie_expr::path::SimplePath;
use sortie_oatf::model::{ActionKind, Condition, Mode, Phase, Trigger};
use sortie_oatf::rules::{PhaseList, RuleReport};
use sortie_syntax::{NodePath, nearest};

use super::Rule;
use super::scope::{side_of_event, wants_absence};

/// Every phase can be reached.
///
/// An event that the mode never sees is V-029's to report, a condition that can never hold L-016's.
pub(super) const L_006: Rule = Rule::warning("L-006", "§5.3", include_str!("l006.md"))
    .titled("every phase can be reached")
    .check(Some(|document, report| {
        for list in document.phase_lists() {
            let mut offers = Offers::default();
            for phase in list.phases {
                offers.add(phase);
            }
            let mut asked: Option<HashSet<&str>> = Some(HashSet::new());
            for (index, (path, phase)) in list.iter().enumerate() {
                note_requests(phase, &mut asked);
                let last = index + 1 == list.phases.len();
                let (Some(trigger), Some(mode)) = (&phase.trigger, list.mode_of(phase)) else { continue };
                let Some(event) = &trigger.event else { continue };
                if last || trigger.after.is_some() || is_known_event(mode, event) != Some(true) {
                    continue;
                }
                let way = Way { list: &list, next: index + 1, mode, event, path: path.key("trigger") };
                way.match_resolves(trigger, report);
                way.match_is_offered(trigger, &offers, report);
                way.is_asked_for(asked.as_ref(), report);
            }
        }
    }));

/// The way from one phase to the next.
struct Way<'d, 'w> {
    list: &'w PhaseList<'d>,
    next: usize,
    mode: &'d str,
    event: &'d str,
    path: NodePath,
}

impl Way<'_, '_> {
    /// The phase that is not reached, for labels.
    fn behind(&self) -> (NodePath, &'static str) {
        let path = self.list.path.clone().index(self.next);
        let named = self.list.phases.get(self.next).is_some_and(|phase| phase.name.is_some());
        let path = if named { path.key("name") } else { path };
        (path, "so this phase is never reached")
    }

    fn match_resolves(&self, trigger: &Trigger, report: &mut RuleReport<'_>) {
        let Some(protocol) = Mode::protocol(self.mode) else { return };
        let side = side_of_event(self.mode, self.event);
        for (key, condition) in trigger.r#match.iter().flatten() {
            // What is not a path at all is V-027's to report.
            if wants_absence(condition) || SimplePath::parse(key).is_err() {
                continue;
            }
            let answer = reachability(protocol, Some(self.event), side, &[self.mode], key);
            let Reachability::Never { reason, nearest } = answer else { continue };
            let path = self.path.clone().key("match").key(key);
            let (behind, label) = self.behind();
            let mut finding = report
                .add(path, format!("this trigger can never fire: {reason}"))
                .at_key()
                .also(&behind, label);
            let simple = nearest.filter(|nearest| !nearest.path.is_empty() && !nearest.path.contains('['));
            if let Some(nearest) = simple {
                finding = finding.suggest_key("match on", &nearest.path);
            }
            finding.help("a trigger sees the event's `params`, or `result`: its keys start there");
            return;
        }
    }

    /// A tool or a prompt is called by a name that was offered.
    fn match_is_offered(&self, trigger: &Trigger, offers: &Offers<'_>, report: &mut RuleReport<'_>) {
        let (names, what) = match (Mode::of(self.mode), self.event) {
            (Mode::McpServer, "tools/call") => (&offers.tools, "tool"),
            (Mode::McpServer, "prompts/get") => (&offers.prompts, "prompt"),
            _ => return,
        };
        let Some(names) = names.known() else { return };
        let condition = trigger.r#match.as_ref().and_then(|predicate| predicate.get("name"));
        let Some(condition) = condition.filter(|condition| !wants_absence(condition)) else { return };
        let wanted = match condition {
            Condition::Value(Value::String(name)) => Some(name),
            _ => None,
        };
        let offered = if let Some(name) = wanted {
            names.contains(name.as_str())
        } else {
            let length = names.iter().map(|name| name.len()).sum();
            // A condition that cannot be compiled is another rule's to report.
            let check = report.compile(condition).filter(|check| report.can_try(check, length));
            check.is_none_or(|check| names.iter().any(|name| check.matches(&Value::from(*name))))
        };
        if offered {
            return;
        }
        let path = self.path.clone().key("match").key("name");
        let (behind, label) = self.behind();
        let message = match wanted {
            Some(name) => format!("this trigger can never fire: no phase offers a {what} `{name}`"),
            None => format!("this trigger can never fire: no phase offers a {what} of such a name"),
        };
        let mut finding = report.add(path, message).also(&behind, label);
        let mut sorted: Vec<&str> = names.iter().copied().collect();
        sorted.sort_unstable();
        if let Some(meant) = wanted.and_then(|name| nearest(name, sorted)) {
            finding = finding.suggest_text("wait for", meant);
        }
        finding.help(format!("name a {what} that one of this actor's phases offers"));
    }

    /// A client is answered what it asked.
    fn is_asked_for(&self, asked: Option<&HashSet<&str>>, report: &mut RuleReport<'_>) {
        let Some(asked) = asked.filter(|_| matches!(Mode::of(self.mode), Mode::McpClient | Mode::A2aClient))
        else {
            return;
        };
        let sources: &[&str] = match self.event {
            // The handshake is the runner's, and keeping alive may be.
            "initialize" | "server/discover" | "ping" => return,
            "task/status" | "task/artifact" | "message/stream" => &["message/stream", "tasks/resubscribe"],
            event => &[event],
        };
        let is_answer = is_agent_side(self.mode, Some(self.event), Some(Side::Response)) == Some(true);
        if !is_answer || sources.iter().any(|method| asked.contains(method)) {
            return;
        }
        let (behind, label) = self.behind();
        report
            .add(
                self.path.clone().key("event"),
                format!("this trigger can never fire: nothing sends `{}`, so nothing answers it", sources[0]),
            )
            .also(&behind, label)
            .help(format!("add an action with `method: {}`, or wait for another event", sources[0]));
    }
}

/// What the phases of an actor offer by name.
#[derive(Default)]
struct Offers<'d> {
    tools: Names<'d>,
    prompts: Names<'d>,
}

#[derive(Default)]
struct Names<'d> {
    names: HashSet<&'d str>,
    /// A name is missing, no string, or filled in later.
    unclear: bool,
}

impl<'d> Offers<'d> {
    fn add(&mut self, phase: &'d Phase) {
        let Some(state) = &phase.state else { return };
        self.tools.add(state.get("tools"));
        self.prompts.add(state.get("prompts"));
    }
}

impl<'d> Names<'d> {
    fn add(&mut self, list: Option<&'d Value>) {
        for item in list.and_then(Value::as_array).into_iter().flatten() {
            match item.get("name").and_then(Value::as_str) {
                Some(name) if !name.contains("{{") => {
                    self.names.insert(name);
                }
                _ => self.unclear = true,
            }
        }
    }

    fn known(&self) -> Option<&HashSet<&'d str>> {
        (!self.unclear).then_some(&self.names)
    }
}

/// Adds the methods that a phase sends; `None` when they cannot be told.
fn note_requests<'d>(phase: &'d Phase, asked: &mut Option<HashSet<&'d str>>) {
    let mut methods: Vec<Option<&str>> = Vec::new();
    if let Some(actions) = phase.state.as_ref().and_then(|state| state.get("actions")) {
        match actions.as_array() {
            Some(actions) => {
                methods.extend(actions.iter().map(|action| action.get("method").and_then(Value::as_str)));
            }
            None => methods.push(None),
        }
    }
    for action in phase.on_enter.iter().flatten() {
        if let ActionKind::Send(send) = &action.kind {
            methods.push(Some(&send.method));
        }
    }
    for method in methods {
        match (method.filter(|method| !method.contains("{{")), asked.as_mut()) {
            (Some(method), Some(asked)) => {
                asked.insert(method);
            }
            _ => *asked = None,
        }
    }
}

pub(super) const L_017: Rule = Rule::warning("L-017", "§7", include_str!("l017.md"))
    .titled("the mode supports every entry action")
    .check(Some(|document, report| {
        for list in document.phase_lists() {
            for (path, phase) in list.iter() {
                let Some(mode) = list.mode_of(phase).filter(|mode| structural_keys(mode).is_some()) else {
                    continue;
                };
                for (index, action) in phase.on_enter.iter().flatten().enumerate() {
                    let ActionKind::Other(actions) = &action.kind else { continue };
                    // Several keys, or none, are V-041's to report.
                    let (Some(name), 1) = (actions.keys().next(), actions.len()) else { continue };
                    let known = actions_of(mode);
                    if known.contains(&name.as_str()) {
                        continue;
                    }
                    let path = path.clone().key("on_enter").index(index).key(name);
                    let message = format!("`{mode}` has no entry action `{name}`, so it is skipped");
                    let finding = report.add(path, message).at_key();
                    match nearest(name, known.iter().copied()) {
                        Some(meant) => finding.suggest_key("write", meant),
                        None => finding
                            .label("skipped")
                            .help("any message can be sent with `send: {method: ..., params: ...}`"),
                    };
                }
            }
        }
    }));

fn actions_of(mode: &str) -> &'static [&'static str] {
    match Mode::of(mode) {
        Mode::A2aServer | Mode::A2aClient => &["send", "log", "send_push_notification"],
        _ => &["send", "log"],
    }
}
