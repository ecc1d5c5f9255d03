//! Everything that an agent can reach.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::a2a_client::Peer;
use super::ag_ui_events::FrontEnd;
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
    servers: Vec<(usize, Session)>,
    agents: Vec<(usize, Peer)>,
}

impl Connected {
    fn server(&self, index: usize) -> Option<&Session> {
        self.servers.iter().find(|(known, _)| *known == index).map(|(_, session)| session)
    }
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
                Ok(session) => connected.servers.push((index, session)),
                Err(why) => self.note_unconnected(json!({"server": name, "why": why.to_string()})),
            }
        }
        for (index, url) in self.reachable.agents.iter().enumerate() {
            match Peer::new(url) {
                Ok(peer) => connected.agents.push((index, peer)),
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
        for (_, session) in connected.servers {
            session.close().await;
        }
    }
}

pub(crate) struct SurroundingHands {
    surroundings: Surroundings,
    front_end: Option<FrontEnd>,
    /// Cards are read once in a task.
    looked: bool,
    made: Vec<Made>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Made {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
}

impl SurroundingHands {
    pub(super) fn made(&self) -> &[Made] {
        &self.made
    }

    /// Gives the front end back, to say the end of the run.
    pub(super) fn into_front_end(self) -> Option<FrontEnd> {
        self.front_end
    }
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
        self.made.push(Made { name: callable.name.clone(), arguments: arguments.clone() });
        if callable.place == Place::FrontEnd {
            let Some(front_end) = &mut self.front_end else { return nobody() };
            return front_end.call(&callable.name, arguments).await;
        }
        let number = match &mut self.front_end {
            Some(front_end) => Some(front_end.calling(&callable.name, arguments).await),
            None => None,
        };
        let connected = self.surroundings.connected.lock().await;
        let answer = match callable.place {
            Place::Server(index) => match connected.server(index) {
                Some(session) => session.call(callable, arguments).await,
                None => nobody(),
            },
            Place::Agent(index) => match connected.agents.iter().find(|(known, _)| *known == index) {
                Some((_, peer)) => peer.send(arguments).await,
                None => nobody(),
            },
            Place::FrontEnd => nobody(),
        };
        drop(connected);
        if let (Some(front_end), Some(number)) = (&mut self.front_end, number) {
            front_end.called(&number, &answer.text).await;
        }
        answer
    }

    async fn read(&mut self, server: usize, uri: &str) -> Answer {
        let connected = self.surroundings.connected.lock().await;
        match connected.server(server) {
            Some(session) => session.read(uri).await,
            None => nobody(),
        }
    }

    async fn prompt(&mut self, server: usize, name: &str, arguments: &Map<String, Value>) -> Answer {
        let connected = self.surroundings.connected.lock().await;
        match connected.server(server) {
            Some(session) => session.prompt(name, arguments).await,
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
