//! Sixteen connections that ask one question after the other.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// What is asked for.
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) arguments: &'static str,
}

impl Call {
    pub(crate) const FORECAST: Self = Self { name: "forecast", arguments: r#"{"city":"Bern"}"# };

    fn request(&self) -> String {
        let Self { name, arguments } = self;
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
        )
    }
}

/// Open connections to one server.
pub(crate) struct Wire {
    connections: Vec<Connection>,
}

/// What one round took.
pub(crate) struct Round {
    pub(crate) took: Duration,
    /// The median answer.
    pub(crate) median: Duration,
}

struct Connection {
    stream: TcpStream,
    question: Vec<u8>,
    buffer: Vec<u8>,
}

impl Wire {
    pub(crate) async fn open(address: SocketAddr, count: usize, call: &Call) -> Result<Self, String> {
        let mut connections = Vec::new();
        for _ in 0..count {
            connections
                .push(Connection::open(address, call).await.map_err(|error| format!("{address}: {error}"))?);
        }
        Ok(Self { connections })
    }

    /// Asks once, and says how long the answer is, its head included.
    pub(crate) async fn longest(&mut self) -> Result<usize, String> {
        let connection = self.connections.first_mut().ok_or("nobody asks")?;
        connection.ask().await.map_err(|error| error.to_string())?;
        Ok(connection.buffer.len())
    }

    /// Asks so many times in all.
    pub(crate) async fn ask(&mut self, times: usize) -> Result<Round, String> {
        let each = times / self.connections.len();
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for mut connection in self.connections.drain(..) {
            tasks.spawn(async move {
                let mut answers = Vec::with_capacity(each);
                for _ in 0..each {
                    let asked = Instant::now();
                    connection.ask().await?;
                    answers.push(asked.elapsed());
                }
                Ok::<_, std::io::Error>((connection, answers))
            });
        }
        let mut answers = Vec::with_capacity(times);
        while let Some(done) = tasks.join_next().await {
            let (connection, times) =
                done.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
            self.connections.push(connection);
            answers.extend(times);
        }
        let took = start.elapsed();
        answers.sort_unstable();
        Ok(Round { took, median: answers[answers.len() / 2] })
    }
}

impl Connection {
    async fn open(address: SocketAddr, call: &Call) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut connection = Self { stream, question: question(address, "", INITIALIZE), buffer: Vec::new() };
        let head = connection.ask().await?;
        let session = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id")
                .then(|| format!("Mcp-Session-Id: {}\r\n", value.trim()))
        });
        let headers = format!("MCP-Protocol-Version: 2025-11-25\r\n{}", session.unwrap_or_default());
        connection.question = question(address, &headers, INITIALIZED);
        connection.tell().await?;
        connection.question = question(address, &headers, &call.request());
        Ok(connection)
    }

    /// Asks, and reads the whole answer, which must be a result. Gives its head.
    async fn ask(&mut self) -> std::io::Result<String> {
        let head = self.tell().await?;
        if !head.starts_with("HTTP/1.1 200") || !self.buffer.windows(9).any(|window| window == b"\"result\":")
        {
            return Err(std::io::Error::other(String::from_utf8_lossy(&self.buffer).into_owned()));
        }
        Ok(head)
    }

    /// Sends, and reads the whole answer, whatever it is.
    async fn tell(&mut self) -> std::io::Result<String> {
        let broken = |what: &str| std::io::Error::other(what.to_owned());
        self.stream.write_all(&self.question).await?;
        self.buffer.clear();
        let (head, length) = loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(broken("the server hung up"));
            }
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
                });
                // Without a length it is chunked.
                break (head, length.map(|length| end + 4 + length));
            }
        };
        while length.map_or_else(|| !self.buffer.ends_with(b"0\r\n\r\n"), |length| self.buffer.len() < length)
        {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(broken("the server hung up"));
            }
        }
        Ok(head)
    }
}

fn question(address: SocketAddr, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
