//! Flows that can never be seen, or are seen by chance.

use sortie_bindings::{
    AGENT, Reachability, Side, is_agent_side, is_known_surface, nearest_surface, reachability,
};
use sortie_oatf::extension::flow::{DEFAULT_LENGTH, Flow, matches_name};
use sortie_oatf::model::{Direction, Document, Mode};
use sortie_oatf::rules::RuleReport;
use sortie_syntax::NodePath;

use super::Rule;
use super::scope::{Scope, scopes};

/// Two texts of any length share shorter pieces by chance.
const SHORT: usize = 12;

/// A value can come in by the source of a flow, and leave by its sink after that.
pub(super) const L_024: Rule = Rule::warning("L-024", "", include_str!("l024.md"))
    .titled("a flow has a source that comes before its sink")
    .check(Some(|document, report| {
        for scope in scopes(document) {
            let Some(flow) = Flow::of(scope.indicator) else { continue };
            let Some(protocol) = flow.from.protocol.clone().or_else(|| scope.protocol.map(str::to_owned))
            else {
                continue;
            };
            let path = scope.path.clone().key("x-sortie").key("flow");
            Look { document, scope: &scope, flow: &flow, protocol: &protocol, path }.check(report);
        }
    }));

struct Look<'l> {
    document: &'l Document,
    scope: &'l Scope<'l>,
    flow: &'l Flow,
    /// That of the source.
    protocol: &'l str,
    /// Of the flow.
    path: NodePath,
}

impl Look<'_> {
    fn check(&self, report: &mut RuleReport<'_>) {
        let length = self.flow.min_length;
        if length < SHORT {
            report
                .add(
                    self.path.clone().key("min_length"),
                    format!("two texts often share {length} characters by chance"),
                )
                .help(format!("use at least {SHORT}; the default is {DEFAULT_LENGTH}"));
        }
        // One mistake is enough: the others often follow from it.
        let _ = self.surface(report)
            || self.is_played(report)
            || self.is_same(report)
            || self.sides(report)
            || self.comes_too_late(report)
            || self.tools(report)
            || self.paths(report);
    }

    fn from(&self, key: &str) -> NodePath {
        self.path.clone().key("from").key(key)
    }

    fn side(&self) -> Option<Side> {
        self.flow.from.direction.map(side)
    }

    /// The modes of the actors by which values can come in.
    fn modes(&self) -> Vec<&str> {
        let actors = self.document.attack.execution.actors.as_deref().unwrap_or_default();
        let wanted = self.flow.from.actor.as_deref();
        let named = actors.iter().filter(|actor| wanted.is_none_or(|wanted| wanted == actor.name));
        let modes = if actors.is_empty() {
            self.document.modes()
        } else {
            named.map(|actor| actor.mode.as_str()).collect()
        };
        modes.into_iter().filter(|mode| Mode::protocol(mode) == Some(self.protocol)).collect()
    }

    fn surface(&self, report: &mut RuleReport<'_>) -> bool {
        let surface = self.flow.from.surface.as_str();
        if is_known_surface(self.protocol, surface) != Some(false) {
            return false;
        }
        let finding = report
            .add(self.from("surface"), format!("`{surface}` is not an operation of `{}`", self.protocol))
            .help("nothing arrives from this source, so the indicator never matches");
        if let Some(meant) = nearest_surface(self.protocol, surface) {
            finding.suggest_text("write", meant);
        }
        true
    }

    /// Whether the document plays nobody who speaks the protocol of the source.
    fn is_played(&self, report: &mut RuleReport<'_>) -> bool {
        let is_known = is_known_surface(self.protocol, &self.flow.from.surface).is_some();
        if !is_known || self.protocol == AGENT || !self.modes().is_empty() {
            return false;
        }
        let message = format!("no actor of this document speaks `{}`, so nothing arrives", self.protocol);
        report
            .add(self.path.clone().key("from"), message)
            .help("name the protocol and the actor of the source");
        true
    }

    fn is_same(&self, report: &mut RuleReport<'_>) -> bool {
        let (from, to) = (&self.flow.from, &self.flow.to);
        let is_same = Some(self.protocol) == self.scope.protocol
            && Some(from.surface.as_str()) == self.scope.surface()
            && from.direction.is_some()
            && from.direction == self.scope.indicator.direction
            && from.actor == self.scope.indicator.actor
            && from.tool == to.tool;
        if is_same {
            report.add(self.path.clone().key("from"), "the source and the sink are the same messages").help(
                "name what the agent is given as the source: often the other `direction`, or another tool",
            );
        }
        is_same
    }

    /// Whether what should come in is sent by the agent, or what should leave is not.
    fn sides(&self, report: &mut RuleReport<'_>) -> bool {
        let modes = self.modes();
        let sends =
            |mode: &&str| is_agent_side(mode, Some(&self.flow.from.surface), self.side()) == Some(true);
        if self.side().is_some() && !modes.is_empty() && modes.iter().all(sends) && !is_tool_result(self.flow)
        {
            report
                .add(self.path.clone().key("from"), "the agent itself sends this, so nothing arrives from it")
                .help("change `direction`, or name an operation that the agent receives");
            return true;
        }
        if self.scope.is_payload_only() {
            report
                .add(self.scope.path.clone(), "the attack itself sends this, so nothing leaves through it")
                .help("look at what the agent sends: often the other `direction`");
            return true;
        }
        false
    }

    /// The first message of a connection comes before all others.
    fn comes_too_late(&self, report: &mut RuleReport<'_>) -> bool {
        let is_first = self.scope.surface() == Some("initialize")
            && self.scope.side == Some(Side::Request)
            && Some(self.protocol) == self.scope.protocol
            && self.document.modes().len() == 1;
        if is_first {
            report
                .add(self.scope.path.clone().key("surface"), "the sink is always before the source")
                .help("`initialize` is the first thing that an agent sends; name a later operation");
        }
        is_first
    }

    fn tools(&self, report: &mut RuleReport<'_>) -> bool {
        let offered = self.offered();
        for (end, tool, surface) in [
            ("from", &self.flow.from.tool, Some(self.flow.from.surface.as_str())),
            ("to", &self.flow.to.tool, self.scope.surface()),
        ] {
            let Some(tool) = tool else { continue };
            let at = self.path.clone().key(end).key("tool");
            if let Some(surface) =
                surface.filter(|surface| *surface != "tools/call" && !surface.starts_with("tool_call_"))
            {
                report
                    .add(at, format!("`{surface}` calls no tool, so nothing matches `{tool}`"))
                    .help("remove `tool`, or name an operation that calls tools");
                return true;
            }
            if let Some(names) =
                offered.as_ref().filter(|names| !names.iter().any(|name| matches_name(tool, name)))
            {
                let names: Vec<_> = names.iter().take(8).map(|name| format!("`{name}`")).collect();
                report
                    .add(at, format!("no tool of this document is called `{tool}`"))
                    .help(format!("its tools are {}", names.join(", ")));
                return true;
            }
        }
        false
    }

    /// The tools that the document serves, where nobody else can serve any.
    fn offered(&self) -> Option<Vec<&str>> {
        let states = self.document.states();
        let is_server = |mode: &&str| Mode::of(mode) == Mode::McpServer;
        let named = states.iter().filter_map(|state| state.value.get("tools")?.as_array()).flatten();
        let names: Vec<&str> = named.filter_map(|tool| tool.get("name")?.as_str()).collect();
        // Names that are filled in when the document is played are not known.
        let is_known = !names.is_empty() && !names.iter().any(|name| name.contains("{{"));
        (is_known && self.document.modes().iter().all(is_server)).then_some(names)
    }

    fn paths(&self, report: &mut RuleReport<'_>) -> bool {
        let source = self.flow.from.path.as_deref().map(|path| {
            let answer =
                reachability(self.protocol, Some(&self.flow.from.surface), self.side(), &self.modes(), path);
            ("from", answer)
        });
        let sink = self.flow.to.path.as_deref().zip(self.scope.protocol).map(|(path, protocol)| {
            ("to", reachability(protocol, self.scope.surface(), self.scope.side, &self.scope.modes, path))
        });
        for (end, answer) in [source, sink].into_iter().flatten() {
            let Reachability::Never { reason, nearest } = answer else { continue };
            let finding = report
                .add(self.path.clone().key(end).key("path"), format!("this path leads nowhere: {reason}"));
            match nearest.filter(|nearest| !nearest.path.is_empty()) {
                Some(nearest) => finding.help(format!("did you mean `{}`?", nearest.path)),
                None => finding.help("look the path up in the protocol: it starts at `params` or `result`"),
            };
            return true;
        }
        false
    }
}

/// AG-UI agents report what their own tools gave them.
fn is_tool_result(flow: &Flow) -> bool {
    flow.from.surface == "tool_call_result"
}

fn side(direction: Direction) -> Side {
    match direction {
        Direction::Request => Side::Request,
        Direction::Response => Side::Response,
    }
}
