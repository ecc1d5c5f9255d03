//! A listener on the loopback address that answers whoever connects, and remembers what was asked.
//!
//! A server that can be made to fetch an address shows it here: nothing else knows the address.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::Lock;

/// So much of a request is read.
const MAX_HEAD: usize = 4_096;
/// So many requests are remembered.
const MAX_CONTACTS: usize = 1_000;
/// So many connections are served at a time.
const MAX_CONNECTIONS: usize = 16;
/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(2);

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\nConnection: close\r\n\r\nsortie\n";

/// Listens on a port of its own until it is dropped.
#[derive(Debug)]
pub struct ContactListener {
    address: SocketAddr,
    contacts: Arc<Lock<Vec<String>>>,
    task: JoinHandle<()>,
}

impl ContactListener {
    /// Begins to listen. It needs a runtime.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let contacts: Arc<Lock<Vec<String>>> = Arc::default();
        let task = tokio::spawn(accept(listener, contacts.clone()));
        Ok(Self { address, contacts, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The first request that holds a text.
    pub fn contact_with(&self, text: &str) -> Option<String> {
        self.contacts.lock().iter().find(|head| head.contains(text)).cloned()
    }
}

impl Drop for ContactListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, contacts: Arc<Lock<Vec<String>>>) {
    let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    while let Ok(permit) = free.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else { return };
        let contacts = contacts.clone();
        tokio::spawn(async move {
            // Who is slow has made contact all the same.
            let _ = tokio::time::timeout(PATIENCE, serve(stream, &contacts)).await;
            drop(permit);
        });
    }
}

/// Reads the head of a request, remembers it, and answers.
async fn serve(mut stream: TcpStream, contacts: &Lock<Vec<String>>) -> io::Result<()> {
    let mut head = vec![0; MAX_HEAD];
    let mut length = 0;
    while length < MAX_HEAD {
        let read = stream.read(&mut head[length..]).await?;
        length += read;
        if read == 0 || head[..length].windows(4).any(|end| end == b"\r\n\r\n") {
            break;
        }
    }
    {
        let mut contacts = contacts.lock();
        if contacts.len() < MAX_CONTACTS {
            contacts.push(String::from_utf8_lossy(&head[..length]).into_owned());
        }
    }
    stream.write_all(ANSWER).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_asks_is_answered_and_remembered() {
        let listener = ContactListener::start().await.unwrap();
        let mut stream = TcpStream::connect(listener.address()).await.unwrap();
        stream.write_all(b"GET /canary-1 HTTP/1.1\r\nX: y\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("sortie\n"), "{answer}");
        assert!(listener.contact_with("canary-1").unwrap().contains("X: y"));
        assert_eq!(listener.contact_with("canary-2"), None);
    }
}
