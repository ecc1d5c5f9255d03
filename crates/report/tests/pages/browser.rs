//! Chromium without a window, driven by its debugging protocol over a socket of this machine.
//!
//! `cargo xtask test --only pages` starts the tests in a network of their own that has nothing but loopback.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Everything here is over long before that.
const DEADLINE: Duration = Duration::from_mins(2);

/// A browser with one page.
pub(crate) struct Browser {
    process: Child,
    socket: TcpStream,
    session: Option<String>,
    last_id: u64,
    events: VecDeque<Value>,
    _profile: tempfile::TempDir,
}

/// What a page did that it must not do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Misdeeds {
    /// Dialogs that were opened.
    pub(crate) dialogs: usize,
    /// Addresses that were asked for, besides the page itself.
    pub(crate) requests: Vec<String>,
    /// What the policy had to prevent.
    pub(crate) violations: Vec<String>,
    /// Errors of scripts.
    pub(crate) errors: Vec<String>,
    /// What scripts in the text of a report leave behind.
    pub(crate) pwned: Option<String>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn program() -> PathBuf {
    let named = std::env::var_os("SORTIE_CHROMIUM").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new("/usr/bin/chromium").to_owned())
}

impl Browser {
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new(program());
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--remote-debugging-port=0", "--window-size=1200,900", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = command.spawn().expect("Chromium starts: SORTIE_CHROMIUM names it");
        let file = profile.path().join("DevToolsActivePort");
        let start = Instant::now();
        let (port, path) = loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            // The second line is written last.
            if let Some((port, path)) = text.split_once('\n').filter(|(_, path)| path.len() > 20) {
                break (port.parse::<u16>().unwrap(), path.trim().to_owned());
            }
            assert!(start.elapsed() < DEADLINE, "Chromium does not listen");
            std::thread::sleep(Duration::from_millis(20));
        };
        let socket = handshake(port, &path);
        let mut browser =
            Self { process, socket, session: None, last_id: 0, events: VecDeque::new(), _profile: profile };
        let target = browser.ask("Target.createTarget", &json!({"url": "about:blank"}));
        let attached =
            browser.ask("Target.attachToTarget", &json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Network", "Log", "Performance"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        let listen = "window.__violations = []; addEventListener('securitypolicyviolation', \
                      event => window.__violations.push(event.violatedDirective + ' ' + event.blockedURI));";
        browser.ask("Page.addScriptToEvaluateOnNewDocument", &json!({"source": listen}));
        browser
    }

    /// Opens a file, and waits until its script has read everything (or only until it is loaded).
    pub(crate) fn open(&mut self, file: &Path, hash: &str) {
        self.events.clear();
        self.ask("Page.navigate", &json!({"url": "about:blank"}));
        let url = format!("file://{}{hash}", file.display());
        let navigated = self.ask("Page.navigate", &json!({"url": url}));
        assert!(navigated["errorText"].is_null(), "{navigated}");
        self.wait_for("document.readyState === 'complete'");
    }

    /// Waits until an expression holds.
    pub(crate) fn wait_for(&mut self, expression: &str) {
        let start = Instant::now();
        while self.eval(expression) != json!(true) {
            assert!(start.elapsed() < DEADLINE, "never: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What an expression comes to; a promise is waited for.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let given = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.ask("Runtime.evaluate", &given);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            self.ask("Input.dispatchKeyEvent", &json!({"type": kind, "key": key, "text": text}));
        }
    }

    /// What the page did that it must not do.
    pub(crate) fn misdeeds(&mut self) -> Misdeeds {
        let pwned = self.eval("window.__pwned === undefined ? null : String(window.__pwned)");
        let violations = self.eval("window.__violations");
        let mut misdeeds = Misdeeds {
            pwned: pwned.as_str().map(str::to_owned),
            violations: serde_json::from_value(violations).unwrap_or_default(),
            ..Misdeeds::default()
        };
        // What the policy stops is asked for, and goes nowhere.
        let is_stopped = |id: &Value| {
            let failed = self.events.iter().filter(|event| event["method"] == "Network.loadingFailed");
            let mut failed = failed.filter(|event| event["params"]["requestId"] == *id);
            failed.any(|event| event["params"]["blockedReason"] == "csp")
        };
        for event in &self.events {
            match event["method"].as_str().unwrap_or_default() {
                "Page.javascriptDialogOpening" => misdeeds.dialogs += 1,
                "Network.requestWillBeSent" => {
                    let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                    // The page itself, and what is in it.
                    let stopped = is_stopped(&event["params"]["requestId"]);
                    if !stopped && !["file:", "data:", "blob:"].iter().any(|scheme| url.starts_with(scheme)) {
                        misdeeds.requests.push(url.to_owned());
                    }
                }
                "Runtime.exceptionThrown" => misdeeds.errors.push(event["params"].to_string()),
                _ => {}
            }
        }
        misdeeds
    }

    /// Seconds that the page took so far: `TaskDuration` of its main thread, `ProcessTime` of all CPU of its process.
    pub(crate) fn seconds(&mut self, metric: &str) -> f64 {
        let metrics = self.ask("Performance.getMetrics", &json!({}));
        let metrics = metrics["metrics"].as_array().cloned().unwrap_or_default();
        let found = metrics.iter().find(|known| known["name"] == metric);
        found.and_then(|metric| metric["value"].as_f64()).unwrap_or_default()
    }

    /// Asks for something, and keeps what happens meanwhile. Dialogs are closed, or the page would wait for ever.
    pub(crate) fn ask(&mut self, method: &str, given: &Value) -> Value {
        let id = self.send(method, given);
        loop {
            let message = self.receive();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            if message["method"] == "Page.javascriptDialogOpening" {
                self.send("Page.handleJavaScriptDialog", &json!({"accept": false}));
            }
            if message["method"].is_string() {
                self.events.push_back(message);
            }
        }
    }

    fn send(&mut self, method: &str, given: &Value) -> u64 {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": given});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let text = message.to_string().into_bytes();
        // One text frame, with a mask of zeros, which changes nothing.
        let mut frame = vec![0x81, 0x80 | 127];
        frame.extend((text.len() as u64).to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(text);
        self.socket.write_all(&frame).expect("Chromium listens");
        self.last_id
    }

    fn receive(&mut self) -> Value {
        let mut text = Vec::new();
        loop {
            let mut head = [0; 2];
            self.socket.read_exact(&mut head).expect("Chromium answers");
            let length = match head[1] & 0x7f {
                126 => u64::from(u16::from_be_bytes(self.exactly())),
                127 => u64::from_be_bytes(self.exactly()),
                short => u64::from(short),
            };
            let at = text.len();
            text.resize(at + usize::try_from(length).unwrap(), 0);
            self.socket.read_exact(&mut text[at..]).expect("Chromium answers");
            if head[0] & 0x80 != 0 {
                return serde_json::from_slice(&text).unwrap_or_default();
            }
        }
    }

    fn exactly<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.socket.read_exact(&mut bytes).expect("Chromium answers");
        bytes
    }
}

fn handshake(port: u16, path: &str) -> TcpStream {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("Chromium listens");
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: c29ydGllLXNvcnRpZS1zbw==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
    socket
}
