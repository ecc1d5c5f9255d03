//! Everything that an agent can reach.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::a2a_client::Peer;
use super::ag_ui::FrontEnd;
use super::mcp_client::Session;
use crate::acting::{Answer, Hands, Offers, Shared};
use crate::agent::{Reachable, url_of};
use crate::callable::{Callable, Place};
use crate::reading::Source;

/// The servers and agents that an agent uses, connected when they are first needed.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    mind: Shared,
    reachable: Arc<Reachable>,
    connected: Arc<Mutex<Connected>>,
}

#[derive(Debug, Default)]
struct Connected {
    tried: bool,
    /// By their index in what is reachable; those that could not be reached are missing.
    servers: BTreeMap<usize, Session>,
    agents: BTreeMap<usize, Peer>,
}

impl Surroundings {
    pub(crate) fn new(mind: Shared, reachable: Reachable) -> Self {
        let urls = reachable.servers.iter().map(|(name, server)| url_of(server).unwrap_or(name).to_owned());
        let urls = urls.chain(reachable.agents.iter().cloned()).collect();
        mind.with(|mind| mind.servers = urls);
        Self { mind, reachable: Arc::new(reachable), connected: Arc::default() }
    }

    pub(crate) async fn connect(&self) {
        let mut connected = self.connected.lock().await;
        if std::mem::replace(&mut connected.tried, true) {
            return;
        }
        for (index, (name, server)) in self.reachable.servers.iter().enumerate() {
            match Session::open(server, name, &self.mind).await {
                Ok(session) => _ = connected.servers.insert(index, session),
                Err(why) => self.note_unconnected(json!({"server": name, "why": why.to_string()})),
            }
        }
        for (index, url) in self.reachable.agents.iter().enumerate() {
            match Peer::new(url) {
                Ok(peer) => _ = connected.agents.insert(index, peer),
                Err(why) => self.note_unconnected(json!({"agent": url, "why": why.to_string()})),
            }
        }
    }

    fn note_unconnected(&self, details: Value) {
        self.mind.with(|mind| mind.log.note("cannot connect", details));
    }

    /// The same, with someone who can call tools of a front end.
    pub(crate) fn hands(&self, front_end: Option<FrontEnd>) -> SurroundingHands {
        SurroundingHands { surroundings: self.clone(), front_end, looked: false, made: Vec::new() }
    }

    pub(crate) async fn close(&self) {
        let connected = std::mem::take(&mut *self.connected.lock().await);
        for session in connected.servers.values() {
            session.close().await;
        }
    }
}

pub(crate) struct SurroundingHands {
    surroundings: Surroundings,
    pub(super) front_end: Option<FrontEnd>,
    /// Cards are read once in a task.
    looked: bool,
    /// What was called so far, with its arguments.
    pub(super) made: Vec<(String, Map<String, Value>)>,
}

impl Hands for SurroundingHands {
    async fn look(&mut self) -> Offers {
        self.surroundings.connect().await;
        let mut offers = Offers::default();
        let mut connected = self.surroundings.connected.lock().await;
        for (index, session) in &mut connected.servers {
            session.look(*index, &mut offers).await;
        }
        for (index, peer) in &mut connected.agents {
            if !self.looked {
                peer.read_card().await;
            }
            peer.offer(*index, &mut offers);
        }
        self.looked = true;
        if let Some(front_end) = &self.front_end {
            for tool in front_end.tools() {
                offers.add_tool(tool, Place::FrontEnd);
            }
        }
        offers
    }

    async fn call(&mut self, callable: &Callable, arguments: &Map<String, Value>) -> Answer {
        self.made.push((callable.name.clone(), arguments.clone()));
        if callable.place == Place::FrontEnd {
            let Some(front_end) = &mut self.front_end else { return nobody() };
            return front_end.call(&callable.name, arguments).await;
        }
        let number = match &mut self.front_end {
            Some(front_end) => front_end.calling(&callable.name, arguments).await,
            None => String::new(),
        };
        let answer = match callable.place {
            Place::Server(index) => {
                let params = json!({"name": callable.name, "arguments": arguments});
                self.ask(index, "tools/call", params).await
            }
            Place::Agent(index) => match self.surroundings.connected.lock().await.agents.get(&index) {
                Some(peer) => peer.send(arguments).await,
                None => nobody(),
            },
            Place::FrontEnd => nobody(),
        };
        if let Some(front_end) = &mut self.front_end {
            front_end.called(&number, &answer.text).await;
        }
        answer
    }

    async fn ask(&mut self, server: usize, method: &'static str, params: Value) -> Answer {
        match self.surroundings.connected.lock().await.servers.get(&server) {
            Some(session) => session.answer(method, params).await,
            None => nobody(),
        }
    }
}

fn nobody() -> Answer {
    Answer { text: "nobody is there".to_owned(), failed: true }
}

impl Offers {
    /// A tool, and what its description and its schema say.
    pub(crate) fn add_tool(&mut self, tool: &Value, place: Place) {
        let Some(callable) = Callable::from_tool(tool, place) else { return };
        let name = &callable.name;
        let about = |words: String| Source::describing(words, Some(name));
        self.texts.push((about(format!("description of {name}")), callable.description.clone()));
        for property in &callable.properties {
            let source = about(format!("description of {} in {name}", property.name));
            let source = Source { field: Some(property.name.clone()), ..source };
            self.texts.push((source, property.words.clone()));
        }
        let title = tool.get("title").or_else(|| tool.get("annotations")?.get("title"));
        let title = title.and_then(Value::as_str);
        self.texts.extend(title.map(|title| (about(format!("title of {name}")), title.to_owned())));
        self.callables.push(callable);
    }
}
