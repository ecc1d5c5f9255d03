//! What is missing in a conversation.

use std::collections::HashMap;

use sortie_trace::Direction::{self, Request, Response};

use super::parts::words_of;
use super::story::{Asked, Story};
use super::{ANSWERS, Conversation, ToolRun};

impl Conversation {
    /// Says what is missing.
    pub(super) fn account(&mut self, story: &Story) {
        let mut missing: HashMap<(&str, Direction, &'static str), u64> = HashMap::new();
        let protocol = |run: &ToolRun| if run.server.is_some() { "mcp" } else { "local" };
        let asked_of: HashMap<usize, &Asked> =
            story.asked.iter().filter_map(|asked| Some((asked.run?, asked))).collect();
        let mut unlike = 0;
        for (at, run) in self.runs.iter().enumerate() {
            let asked = asked_of.get(&at);
            let shown = asked.and_then(|asked| asked.result.as_ref()?.value.as_ref());
            if let (Some(given), Some(shown)) = (&run.result, shown)
                && given.get() != shown.get()
                && words_of(given) != words_of(shown)
            {
                unlike += 1;
            }
            if run.arguments.is_none() && asked.is_none_or(|asked| asked.arguments.is_none()) {
                *missing.entry((protocol(run), Request, run.setting)).or_default() += 1;
            }
            let in_history =
                asked.and_then(|asked| asked.result.as_ref()).is_some_and(|result| result.value.is_some());
            if run.result.is_none() && !run.is_error && !in_history && run.refused.is_none() {
                let setting = run.result_setting.unwrap_or(run.setting);
                *missing.entry((protocol(run), Response, setting)).or_default() += 1;
            }
        }
        for _ in 0..unlike.min(1000) {
            self.odd("a result that is not what the model was shown of it");
        }
        if self.runs.iter().any(|run| run.server.as_ref().is_some_and(String::is_empty)) {
            self.odd("an MCP server without a name");
        }
        if let Some(run) = self.runs.iter().find(|run| run.is_log && run.name == "mcp_tool") {
            let setting = run.setting;
            self.lack(("mcp", "tools/call", Request), "the names of MCP tools were not recorded", setting);
        }
        let mut unrun = 0;
        for asked in &story.asked {
            if asked.run.is_none() && asked.result.is_none() && !self.runs.is_empty() {
                unrun += 1;
            } else if asked.arguments.is_none() && asked.run.is_none() {
                let setting = self.models.first().map_or("", |call| call.setting);
                *missing.entry(("local", Request, setting)).or_default() += 1;
            }
        }
        let mut missing: Vec<_> = missing.into_iter().collect();
        missing
            .sort_by_key(|((protocol, direction, setting), _)| (*protocol, *direction == Response, *setting));
        for ((protocol, direction, setting), times) in missing {
            let what = if direction == Request { "arguments" } else { "results" };
            let why =
                format!("the {what} of {times} call{} were not recorded", if times == 1 { "" } else { "s" });
            self.lack((protocol, "tools/call", direction), &why, setting);
        }
        if unrun > 0 {
            let why = format!(
                "{unrun} of the calls that a model asked for have neither a span that ran them nor a result"
            );
            for protocol in ["local", "mcp"] {
                if protocol == "local" || self.runs.iter().any(|run| run.server.is_some()) {
                    self.lack((protocol, "tools/call", Request), &why, "");
                }
            }
        }
        match self.agent_log {
            Some(log) if self.models.is_empty() => {
                if !log.has_answers {
                    for class in ANSWERS {
                        self.lack(class, "what the agent answers is not in its log events", log.setting);
                    }
                }
            }
            _ => self.account_models(),
        }
    }

    fn account_models(&mut self) {
        let all = self.models.len();
        let setting = self.models.first().map_or("", |call| call.setting);
        // A model call that failed said nothing.
        let silent = self.models.iter().filter(|call| !call.has_output && call.failure.is_none()).count();
        let blind = self.models.iter().filter(|call| !call.has_input).count();
        if all == 0 {
            let why = "no call of a model was recorded";
            for class in ANSWERS {
                self.lack(class, why, "");
            }
            self.lack(("ag_ui", "run_agent_input", Request), why, "");
            if self.runs.iter().all(|run| run.server.is_some()) {
                self.lack(("local", "tools/call", Request), "only calls of MCP tools were recorded", "");
                self.lack(("local", "tools/call", Response), "only calls of MCP tools were recorded", "");
            }
            return;
        }
        if silent > 0 {
            let why = format!("what the model said was not recorded for {silent} of {all} calls of it");
            for class in ANSWERS {
                self.lack(class, &why, setting);
            }
            if self.runs.is_empty() {
                self.lack(("local", "tools/call", Request), &why, setting);
            }
        }
        if blind > 0 {
            let why = format!("what the model was shown was not recorded for {blind} of {all} calls of it");
            self.lack(("ag_ui", "run_agent_input", Request), &why, setting);
            if self.runs.is_empty() {
                self.lack(("local", "tools/call", Response), &why, setting);
            }
        }
    }
}
