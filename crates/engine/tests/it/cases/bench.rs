//! Evaluators and offers, as short as a test needs them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sortie_detect::{Opinion, Outcome, Provenance, Quote, QuoteSource, Ruling};
use sortie_engine::cases::{Discovery, Missing, Planned, PlayOptions, Player, plan};
use sortie_engine::targets::{CmdProtocol, CmdTarget, Offer, Target, Tool};
use sortie_evaluators::{Catalogue, CatalogueEntry, File, Root, Says, Values, load};
use sortie_run::{Observer, Plan, RunLimits, RunStore};
use sortie_trace::{Record, Trace};
use tempfile::TempDir;

/// The catalogue of these evaluators: class, id, and what follows the head.
pub(crate) fn catalogue(evaluators: &[(&str, &str, &str)]) -> Catalogue {
    let files = evaluators.iter().map(|(class, id, rest)| {
        let head = format!(
            "id: {id}\nname: {id}\nseverity: high\nstandards: {{owasp-llm: LLM01}}\ndescription: A test.\npass_criteria: It resists.\nfail_criteria: It gives in.\n"
        );
        File::text(format!("{class}/{id}.yaml"), format!("{head}{rest}"))
    });
    let loaded = load(&[Root::new("test", files.collect())], &[]);
    assert!(loaded.is_sound(), "{:#?}", loaded.findings);
    loaded.catalogue
}

pub(crate) fn entries(catalogue: &Catalogue) -> Vec<&CatalogueEntry> {
    catalogue.in_order(catalogue.entries().iter().map(|entry| entry.evaluator.id.as_str()))
}

pub(crate) fn offer(tools: &[(&str, Value)]) -> Offer {
    let tools = tools.iter().map(|(name, properties)| {
        let schema = json!({"type": "object", "properties": properties});
        Tool::read(&json!({"name": name, "description": format!("Does {name}."), "inputSchema": schema}))
            .unwrap()
    });
    Offer { tools: tools.collect(), ..Offer::default() }
}

/// An exchange in which a server lists these tools.
pub(crate) fn discovery(target: &Target, offer: &Offer) -> Discovery {
    let message = |seq: u64, direction: &str, sender: &str, content: &Value| {
        let line = json!({
            "record": "message", "seq": seq, "time": "2026-11-15T21:50:07.000000Z", "actor": "attacker",
            "mode": "mcp_client", "phase": "attack", "protocol": "mcp", "surfaces": ["tools/list"],
            "direction": direction, "kind": direction, "id": 1, "connection": "session-1", "sender": sender,
            "content": content,
        });
        serde_json::from_str::<Record>(&line.to_string()).unwrap()
    };
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": offer.raw_tools()}});
    let records = vec![message(1, "request", "actor", &request), message(2, "response", "agent", &response)];
    Discovery::new(target.header(), records)
}

/// The messages of a trace, as they were written.
pub(crate) fn messages(text: &str) -> Vec<String> {
    let (_, records) = Trace::open(text.as_bytes()).unwrap();
    let told = records.map(|record| match record.unwrap() {
        Record::Message(message) => {
            format!("{} {:?} {} {}", message.seq, message.sender, message.time, message.content.text())
        }
        other => format!("{} {}", other.seq(), other.name()),
    });
    told.collect()
}

/// A program of the shell that is told lines.
pub(crate) fn agent(script: &str) -> Target {
    let command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let env = vec![("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())];
    Target::Cmd(CmdTarget { command, env, protocol: CmdProtocol::Lines })
}

/// Patterns that each say one word.
pub(crate) fn saying(words: &[&str]) -> String {
    let patterns: Vec<_> =
        words.iter().map(|word| format!("  - {{name: {word}, template: {word}}}\n")).collect();
    format!("patterns:\n{}", patterns.concat())
}

/// A plan, begun in a folder of its own.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) planned: Vec<Planned>,
    discovery: Discovery,
    target: Target,
}

impl Bench {
    pub(crate) fn new(evaluators: &[(&str, &str, &str)], target: Target) -> Self {
        Self::with(evaluators, target, &Offer::default())
    }

    pub(crate) fn with(evaluators: &[(&str, &str, &str)], target: Target, offer: &Offer) -> Self {
        Self::planned(evaluators, target, offer, Missing::Skip)
    }

    /// What nothing is known for is left to an attacker.
    pub(crate) fn open(evaluators: &[(&str, &str, &str)], target: Target, offer: &Offer) -> Self {
        Self::planned(evaluators, target, offer, Missing::LeaveToAttacker)
    }

    fn planned(evaluators: &[(&str, &str, &str)], target: Target, offer: &Offer, missing: Missing) -> Self {
        Self::discovered(evaluators, discovery(&target, offer), target, missing)
    }

    /// A plan for what was discovered.
    pub(crate) fn discovered(
        evaluators: &[(&str, &str, &str)],
        discovery: Discovery,
        target: Target,
        missing: Missing,
    ) -> Self {
        let catalogue = catalogue(evaluators);
        let offer = &discovery.offer;
        let planned = plan(&entries(&catalogue), offer, target.kind(), &Values::new(), missing).unwrap();
        Self { folder: tempfile::tempdir().unwrap(), planned, discovery, target }
    }

    pub(crate) async fn run(&self, options: PlayOptions) -> Played {
        self.run_with(Asked { options, ..Asked::default() }).await
    }

    pub(crate) async fn run_with(&self, asked: Asked) -> Played {
        let store = RunStore::create(self.folder.path(), self.plan().info()).unwrap();
        self.go(store, asked).await
    }

    pub(crate) async fn resume_with(&self, asked: Asked) -> Played {
        let store = RunStore::resume(self.folder.path(), &self.plan().info()).unwrap();
        self.go(store, asked).await
    }

    pub(crate) fn plan(&self) -> Plan {
        let mut plan = Plan::default();
        plan.add_evaluators(&self.planned);
        plan
    }

    async fn go(&self, store: RunStore, asked: Asked) -> Played {
        let playing = play(&self.target, &self.discovery, &self.planned, store, asked);
        let mut played = tokio::time::timeout(Duration::from_mins(2), playing).await.expect("a run ends");
        // Runs in two folders are compared, and files are read by their name within one.
        for trace in played.results.iter_mut().filter_map(|result| result.trace.as_mut()) {
            *trace = Path::new(trace).strip_prefix(self.folder.path()).unwrap().display().to_string();
        }
        played
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// The text of a file of the run.
    pub(crate) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(file)).unwrap()
    }
}

/// How a plan is played.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) options: PlayOptions,
    pub(crate) jobs: usize,
    pub(crate) rate: Option<f64>,
    /// Sees every result, once it is on disk.
    pub(crate) seen: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Default for Asked {
    fn default() -> Self {
        Self { options: PlayOptions::default(), jobs: 4, rate: None, seen: Arc::new(|_| {}) }
    }
}

/// What came of a plan.
pub(crate) struct Played {
    /// In the order of the plan.
    pub(crate) results: Vec<Outcome>,
    pub(crate) unfinished: Vec<String>,
    pub(crate) stopped: Option<String>,
}

struct Seen(Arc<dyn Fn(&str) + Send + Sync>);

impl Observer for Seen {
    fn started(&self, _: &str, _: Option<u32>) {}

    fn finished(&self, id: &str, outcome: Option<&Outcome>) {
        if outcome.is_some() {
            (self.0)(id);
        }
    }
}

/// Plays a plan.
pub(crate) async fn play(
    target: &Target,
    discovery: &Discovery,
    planned: &[Planned],
    store: RunStore,
    asked: Asked,
) -> Played {
    let mut plan = Plan::default();
    plan.add_evaluators(planned);
    let (stop, abort) = (asked.options.end.clone(), tokio_util::sync::CancellationToken::new());
    let player = Arc::new(Player::new(target, discovery, store.folder(), asked.options));
    let limits = RunLimits { jobs: asked.jobs, rate: asked.rate };
    let played = plan.play(store, limits, (&stop, &abort), Arc::new(Seen(asked.seen)), Some(player));
    let played = played.await.unwrap();
    let report = played.store.report();
    Played { results: report.runs, unfinished: report.unfinished, stopped: played.stopped }
}

/// What a judge says who quotes this.
pub(crate) fn opinion(quote: &str) -> Opinion {
    let quotes = vec![Quote { text: quote.to_owned(), turn: 2, source: QuoteSource::Text }];
    let reasoning = "so it is".to_owned();
    let ruling =
        Ruling { verdict: Says::Fail, confidence: 0.5, reasoning, quotes, turn: 2, asked_again: false };
    let (engine, model) = ("model".to_owned(), "scripted".to_owned());
    let provenance = Provenance { engine, endpoint: String::new(), model, version: 1 };
    Opinion { ruling, agree: 1, votes: Vec::new(), provenance }
}

/// `id: verdict`, a line each.
pub(crate) fn verdicts(played: &Played) -> Vec<String> {
    played.results.iter().map(|result| format!("{}: {}", result.id, result.verdict.result.as_str())).collect()
}

/// Why a case came to what it came to.
pub(crate) fn reason(outcome: &Outcome) -> &str {
    outcome.verdict.reason.as_deref().unwrap_or_default()
}

/// The command of an MCP server in Python: what it does before it reads, and what it does with a `message` that is no greeting, from `elif` on.
pub(crate) fn python_server(before: &str, otherwise: &str) -> Vec<String> {
    let script = format!(
        r#"
import json, os, sys, time
def answer(id, result):
    print(json.dumps({{"jsonrpc": "2.0", "id": id, "result": result}}), flush=True)
{before}
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        answer(message["id"], {{"protocolVersion": "2025-11-25", "capabilities": {{"tools": {{}}}}, "serverInfo": {{"name": "s", "version": "1"}}}})
{otherwise}
"#
    );
    ["python3", "-c", &script].map(str::to_owned).to_vec()
}
