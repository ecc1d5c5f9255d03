//! HTTP by hand, for what no well-behaved client would do.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A kept-alive connection to one of our listeners.
pub(crate) struct Raw {
    stream: BufReader<TcpStream>,
    host: String,
    session: Option<String>,
}

/// An answer: its status, the lines of its head, its body.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) head: Vec<String>,
    pub(crate) body: String,
}

/// `http://127.0.0.1:1234/mcp` as an address.
pub(crate) fn address(url: &str) -> SocketAddr {
    url.trim_start_matches("http://").split('/').next().unwrap().parse().unwrap()
}

impl Raw {
    pub(crate) fn connect(url: &str) -> io::Result<Self> {
        let address = address(url);
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        Ok(Self { stream: BufReader::new(stream), host: address.to_string(), session: None })
    }

    /// Connects and shakes hands.
    pub(crate) fn initialized(url: &str) -> io::Result<Self> {
        let mut raw = Self::connect(url)?;
        let answered = raw.post(
            r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#,
        )?;
        raw.session = answered.head.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
        });
        Ok(raw)
    }

    /// A message to the MCP endpoint, and its answer.
    pub(crate) fn post(&mut self, body: &str) -> io::Result<Answered> {
        self.post_bytes(body.as_bytes())
    }

    pub(crate) fn post_bytes(&mut self, body: &[u8]) -> io::Result<Answered> {
        self.send_head(body.len())?;
        self.stream.get_mut().write_all(body)?;
        self.answer()
    }

    /// The head of a request whose body is so long.
    pub(crate) fn send_head(&mut self, length: usize) -> io::Result<()> {
        let session = self.session.as_ref().map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{session}Content-Length: {length}\r\n\r\n",
            self.host
        );
        self.stream.get_mut().write_all(head.as_bytes())
    }

    /// Asks for the standalone stream, and reads the head of the answer only.
    pub(crate) fn listen(&mut self) -> io::Result<u16> {
        let session = self.session.as_ref().map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
        let head =
            format!("GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n{session}\r\n", self.host);
        self.stream.get_mut().write_all(head.as_bytes())?;
        Ok(self.head()?.0)
    }

    /// The connection itself.
    pub(crate) fn socket(&mut self) -> &mut TcpStream {
        self.stream.get_mut()
    }

    /// The same session on another connection.
    pub(crate) fn again(&self, url: &str) -> io::Result<Self> {
        Ok(Self { session: self.session.clone(), ..Self::connect(url)? })
    }

    /// Reads one answer: with a length, in chunks, or up to the end.
    pub(crate) fn answer(&mut self) -> io::Result<Answered> {
        let (status, head) = self.head()?;
        let header = |wanted: &str| {
            head.iter().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned())
            })
        };
        let mut body = Vec::new();
        if let Some(length) = header("content-length") {
            body.resize(length.parse().map_err(io::Error::other)?, 0);
            self.stream.read_exact(&mut body)?;
        } else if header("transfer-encoding").is_some() {
            loop {
                let size = usize::from_str_radix(self.line()?.trim(), 16).map_err(io::Error::other)?;
                let start = body.len();
                body.resize(start + size, 0);
                self.stream.read_exact(&mut body[start..])?;
                self.line()?;
                if size == 0 {
                    break;
                }
            }
        }
        Ok(Answered { status, head, body: String::from_utf8_lossy(&body).into_owned() })
    }

    fn head(&mut self) -> io::Result<(u16, Vec<String>)> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status: {first}")))?;
        let mut head = Vec::new();
        loop {
            let line = self.line()?;
            if line.trim().is_empty() {
                return Ok((status, head));
            }
            head.push(line.trim().to_owned());
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line)
    }
}
