//! What else says something of a call: log events, and the spans of the MCP client and of its server below that of the tool.

use std::collections::{HashMap, VecDeque};

use sortie_trace::Direction::{Request, Response};

use super::story::Story;
use super::{Conversation, ToolRun};
use sortie_recording::input::DeclaredServer;

/// What a function of the program itself is declared as.
pub(super) const LOCAL: &str = "local";

/// How far up the parents of a span are looked for.
const ANCESTORS: usize = 32;

impl ToolRun {
    /// Takes over what a log event says of the same call.
    fn take_log(&mut self, log: Self) {
        if let Some(server) = log.server.filter(|server| self.server.is_none() && !server.is_empty()) {
            (self.server, self.name) = (Some(server), log.name);
        }
        self.arguments = self.arguments.take().or(log.arguments);
        self.result = self.result.take().or(log.result);
        self.is_error |= log.is_error;
        self.refused = self.refused.take().or(log.refused);
        (self.setting, self.result_setting) = (log.setting, log.result_setting);
    }
}

impl Conversation {
    /// Puts what a log event says of a call to the span that ran it: coding agents write both, with one id.
    pub(super) fn join_logs(&mut self) {
        let (logs, spans): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.runs).into_iter().partition(|run| run.is_log);
        self.runs = spans;
        let mut by_id: HashMap<String, VecDeque<usize>> = HashMap::new();
        for (at, run) in self.runs.iter().enumerate().filter(|_| !logs.is_empty()) {
            if let Some(id) = &run.id {
                by_id.entry(id.clone()).or_default().push_back(at);
            }
        }
        for log in logs {
            let span = log.id.as_ref().and_then(|id| by_id.get_mut(id)?.pop_front());
            match span {
                Some(at) => self.runs[at].take_log(log),
                None => self.runs.push(log),
            }
        }
        for run in &mut self.runs {
            let words = run.id.as_ref().and_then(|id| self.refused.get(id));
            run.refused = run.refused.take().or_else(|| words.cloned());
        }
    }

    /// Takes note of whose each tool is, as far as somebody says so.
    pub(crate) fn declare(&mut self, servers: &[DeclaredServer]) {
        let tools =
            servers.iter().flat_map(|server| server.tools.iter().map(move |tool| (tool, &server.name)));
        self.declared = tools.map(|(tool, server)| (tool.clone(), server.clone())).collect();
    }

    /// Gives each call the server that was declared. A call of a tool that was not may be of a server too: then what a document says of
    /// MCP is not decided by silence.
    pub(super) fn assign_servers(&mut self, story: &Story) {
        if self.declared.is_empty() {
            return;
        }
        self.shows("mcp", "tools/call", Request);
        self.shows("mcp", "tools/call", Response);
        for run in self.runs.iter_mut().filter(|run| run.server.is_none()) {
            run.server = self.declared.get(&run.name).filter(|server| *server != LOCAL).cloned();
        }
        let asked = story.asked.iter().filter(|asked| asked.run.is_none()).map(|asked| &asked.name);
        let ran = self.runs.iter().filter(|run| run.server.is_none()).map(|run| &run.name);
        let undeclared = ran.chain(asked).filter(|name| !self.declared.contains_key(*name)).count();
        if undeclared > 0 {
            self.odd("a call of a tool that was declared of no server");
            let why = format!("{undeclared} calls are of tools that were declared of no server");
            for direction in [Request, Response] {
                self.lack(("mcp", "tools/call", direction), &why, "--server local=TOOL, or NAME=TOOL");
            }
        }
    }

    /// Puts what the MCP client says of a call to what ran the tool. What nobody ran is a call of its own.
    pub(super) fn join_wires(&mut self) {
        if self.wires.is_empty() {
            return;
        }
        self.shows("mcp", "tools/call", Request);
        self.shows("mcp", "tools/call", Response);
        let mut wires = std::mem::take(&mut self.wires);
        wires.sort_by_key(|wire| wire.place.as_ref().map_or(0, |place| place.time));
        let runs: HashMap<u64, usize> =
            self.runs.iter().enumerate().map(|(at, run)| (run.span, at)).collect();
        let spans: HashMap<u64, usize> = wires.iter().enumerate().map(|(at, wire)| (wire.span, at)).collect();
        // The outermost first: what is within them only adds to them.
        let mut standing: HashMap<usize, usize> = HashMap::new();
        for (at, wire) in wires.into_iter().enumerate() {
            let mut above = None;
            let mut span = wire.span;
            for _ in 0..ANCESTORS {
                match self.parents.get(&span) {
                    Some(&parent) if parent != 0 && parent != span => span = parent,
                    _ => break,
                }
                if let Some(&run) = runs.get(&span) {
                    above = Some(run);
                    break;
                }
                if let Some(run) = spans.get(&span).and_then(|outer| standing.get(outer)) {
                    above = Some(*run);
                    break;
                }
            }
            let run = if let Some(run) = above {
                let run_at = &mut self.runs[run];
                if wire.name.is_empty() {
                    // The SDK's own span below the client's does not say which tool it is.
                } else if run_at.server.is_none() || !run_at.name.ends_with(&wire.name) {
                    run_at.name.clone_from(&wire.name);
                }
                let unnamed = run_at.server.as_ref().is_none_or(String::is_empty);
                if unnamed {
                    run_at.server = wire.server.or_else(|| Some(String::new()));
                }
                run_at.arguments = run_at.arguments.take().or(wire.arguments);
                run_at.result = run_at.result.take().or(wire.result);
                run_at.is_error |= wire.is_error;
                run
            } else {
                self.runs
                    .push(ToolRun { server: wire.server.clone().or_else(|| Some(String::new())), ..wire });
                self.runs.len() - 1
            };
            standing.insert(at, run);
        }
        // A tool that was called over MCP once is one of MCP, even where the span of its client is not there.
        let mut known: HashMap<&str, &str> = HashMap::new();
        for run in &self.runs {
            if let Some(server) = &run.server {
                known.insert(&run.name, server);
            }
        }
        let known: HashMap<String, String> =
            known.into_iter().map(|(name, server)| (name.to_owned(), server.to_owned())).collect();
        for at in 0..self.runs.len() {
            let run = &mut self.runs[at];
            if run.server.is_none()
                && !run.is_error
                && let Some(server) = known.get(&run.name)
            {
                run.server = Some(server.clone());
                self.odd("a call of an MCP tool without the span of its client");
            }
        }
    }
}
