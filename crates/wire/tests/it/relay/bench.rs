//! What the tests of a relay have in common: a tap that writes down, servers, and relays in front of them.

use std::sync::Arc;
use std::time::Duration;

use sortie_wire::http::{Hosts, Listener};
use sortie_wire::mcp::relay::{Crossing, Overlong, Passage, Relay, RelayFault, RelaySide, Tap};
use sortie_wire::{Address, Endpoint, Limits, Lock};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::peer::{loopback, within};

/// Writes down what crosses, and lets it pass.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) messages: Lock<Vec<(RelaySide, String, Vec<u8>)>>,
    pub(super) overlong: Lock<Vec<(u64, String)>>,
    faults: Lock<Vec<RelayFault>>,
    changed: tokio::sync::Notify,
}

impl Notes {
    fn note(&self, crossing: &Crossing<'_>) -> Passage {
        let message = (crossing.side, crossing.method.to_owned(), crossing.bytes.to_vec());
        self.messages.lock().push(message);
        Passage::PASS
    }

    /// Waits until there is a fault for which this holds.
    pub(super) async fn fault(&self, wanted: impl Fn(&RelayFault) -> bool) {
        within(async {
            loop {
                let changed = self.changed.notified();
                if self.faults.lock().iter().any(&wanted) {
                    return;
                }
                changed.await;
            }
        })
        .await;
    }

    pub(super) fn faults(&self) -> Vec<RelayFault> {
        self.faults.lock().clone()
    }
}

impl Tap for Notes {
    type Asked = ();

    fn request(&self, crossing: &Crossing<'_>) -> ((), Passage) {
        ((), self.note(crossing))
    }

    fn may_change(&self, (): &()) -> bool {
        false
    }

    fn answer(&self, crossing: &Crossing<'_>, (): &()) -> Passage {
        self.note(crossing)
    }

    fn other(&self, crossing: &Crossing<'_>) -> Passage {
        self.note(crossing)
    }

    fn overlong(&self, overlong: &Overlong<'_>, _: Option<&()>) {
        self.overlong.lock().push((overlong.length, overlong.sha256.to_owned()));
    }

    fn fault(&self, _: &str, fault: &RelayFault) {
        self.faults.lock().push(fault.clone());
        self.changed.notify_waiters();
    }
}

/// A server that is a process.
pub(super) fn process(command: &[&str]) -> Endpoint {
    let env = vec![("PATH".to_owned(), std::env::var("PATH").unwrap())];
    let address = Address::Stdio(command.iter().map(|&word| word.to_owned()).collect());
    Endpoint { address, headers: Vec::new(), env, launch: None }
}

/// A server that answers every request with what its script makes of `line`, the bytes of the request, and of `id`.
pub(super) fn python(body: &str) -> Endpoint {
    let script = format!(
        "import re, sys, os, time\n\
         out = sys.stdout.buffer\n\
         def say(text):\n    out.write(text + b'\\n'); out.flush()\n\
         for line in sys.stdin.buffer:\n    line = line.rstrip(b'\\n')\n    \
         found = re.search(rb'\"id\"[ \\t]*:[ \\t]*(-?[0-9]+)', line)\n    id = found.group(1) if found else None\n{body}"
    );
    process(&["python3", "-c", &script])
}

/// A server at a URL.
pub(super) fn url(url: &str) -> Endpoint {
    Endpoint { address: Address::Url(url.to_owned()), headers: Vec::new(), env: Vec::new(), launch: None }
}

/// A relay that serves somebody.
pub(super) struct Running {
    pub(super) notes: Arc<Notes>,
    stop: CancellationToken,
    done: JoinHandle<()>,
}

impl Running {
    pub(super) async fn stop(self) -> Arc<Notes> {
        self.stop.cancel();
        within(self.done).await.unwrap();
        self.notes
    }

    /// Waits until it has ended by itself.
    pub(super) async fn ended(self) -> Arc<Notes> {
        within(self.done).await.unwrap();
        self.notes
    }
}

fn relay(server: Endpoint, limits: Limits) -> Relay<Notes> {
    let (tap, stop) = (Arc::new(Notes::default()), CancellationToken::new());
    Relay { tap, server, limits, patience: Duration::ZERO, stop }
}

/// A client that speaks in lines.
pub(super) struct LineClient {
    pub(super) reader: BufReader<ReadHalf<DuplexStream>>,
    pub(super) writer: WriteHalf<DuplexStream>,
}

impl LineClient {
    pub(super) async fn say(&mut self, message: &str) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// The next line, without its line break.
    pub(super) async fn hear(&mut self) -> String {
        let mut line = String::new();
        within(self.reader.read_line(&mut line)).await.unwrap();
        line.truncate(line.trim_end_matches('\n').len());
        line
    }
}

/// A relay to a client that speaks in lines.
pub(super) fn over_stdio(server: Endpoint, limits: Limits) -> (LineClient, Running) {
    let relay = relay(server, limits);
    let (notes, stop) = (relay.tap.clone(), relay.stop.clone());
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(far);
    let done = tokio::spawn(async move { relay.over_stdio(reader, writer).await.unwrap() });
    let (reader, writer) = tokio::io::split(near);
    (LineClient { reader: BufReader::new(reader), writer }, Running { notes, stop, done })
}

/// A relay to clients that speak HTTP, and where it is.
pub(super) async fn over_http(server: Endpoint, limits: Limits) -> (String, Running) {
    let relay = relay(server, limits);
    let (notes, stop) = (relay.tap.clone(), relay.stop.clone());
    let listener = Listener::bind(loopback(), false).await.unwrap();
    let url = format!("http://{}{}", listener.address(), relay.path());
    let hosts = Hosts::loopback_plus::<[&str; 0]>([]);
    let done = tokio::spawn(async move { relay.over_http(listener, hosts).await.unwrap() });
    (url, Running { notes, stop, done })
}
