//! A model that is a script, behind a real listener on the loopback address.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// What a script was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The request's first line and its headers, as they came.
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// What a script does.
pub(crate) enum Does {
    /// Answers these words, as chat completions do.
    Says(String),
    /// Answers with a status.
    Fails(u16),
    /// Nothing, until the other end gives up.
    Waits,
}

/// A scripted model. Its thread ends with the test's process.
pub(crate) struct Scripted {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

type Script = dyn Fn(&Asked) -> Does + Send + Sync;

impl Asked {
    /// The last thing that was said to it.
    pub(crate) fn question(&self) -> &str {
        self.body["messages"].as_array().and_then(|said| said.last()?["content"].as_str()).unwrap_or_default()
    }
}

impl Scripted {
    /// A model that does what `script` says for what it is asked.
    pub(crate) fn start(script: impl Fn(&Asked) -> Does + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (seen, script): (_, Arc<Script>) = (asked.clone(), Arc::new(script));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, script) = (seen.clone(), script.clone());
                // A connection that breaks off is the program's end of it.
                thread::spawn(move || answer(&stream, &seen, &*script).ok());
            }
        });
        Self { url, asked }
    }

    /// What it was asked up to now.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The options that make it the judge.
    pub(crate) fn judge(&self) -> Vec<String> {
        [
            "--judge".to_owned(),
            format!("openai={}", self.url),
            "--judge-model".to_owned(),
            "script".to_owned(),
        ]
        .into()
    }

    /// The options that make it the attacker.
    pub(crate) fn attacker(&self) -> Vec<String> {
        let at = format!("openai={}", self.url);
        ["--attacker".to_owned(), at, "--attacker-model".to_owned(), "script".to_owned()].into()
    }
}

fn answer(stream: &TcpStream, seen: &Mutex<Vec<Asked>>, script: &Script) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let asked = Asked { head, body: serde_json::from_slice(&body).unwrap_or_default() };
    seen.lock().unwrap().push(asked.clone());
    let (status, body) = match script(&asked) {
        Does::Says(words) => (200, chat(&words)),
        Does::Fails(status) => (status, json!({"error": {"message": "it is a script"}})),
        Does::Waits => {
            reader.read_to_end(&mut Vec::new())?;
            return Ok(());
        }
    };
    let body = body.to_string();
    let length = body.len();
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn chat(words: &str) -> Value {
    json!({
        "model": "script-1",
        "choices": [{"message": {"role": "assistant", "content": words}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5},
    })
}
