//! A system without certificates, as a bare image is one: `http:` works, and `https:` says what is missing.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use snapbox::cmd::Command;

use crate::sortie_in;

/// The program where no certificate is trusted.
fn without_certificates(folder: &Path) -> Command {
    std::fs::write(folder.join("none.pem"), "").unwrap();
    sortie_in(folder).env("SSL_CERT_FILE", folder.join("none.pem")).env_remove("SSL_CERT_DIR")
}

/// Answers one request, and gives its first line. Connections without a request only look whether somebody is there.
fn answer_one(listener: &TcpListener) -> String {
    loop {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        if request.read_line(&mut line).is_ok_and(|read| read > 0) {
            let answer = "HTTP/1.1 418 I'm a teapot\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer.as_bytes()).unwrap();
            // A connection that is closed before everything was read is reset, and the answer is lost.
            let _ = request.read_to_end(&mut Vec::new());
            return line;
        }
    }
}

#[test]
fn a_target_over_http_is_asked_on_a_system_without_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("mcp=http://{}/mcp", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || answer_one(&listener));
    let called = without_certificates(folder.path()).args(["call", &target, "read_mail"]).output().unwrap();
    let said = String::from_utf8_lossy(&called.stderr);
    assert!(said.contains("HTTP status 418"), "{said}");
    assert_eq!(server.join().unwrap(), "POST /mcp HTTP/1.1\r\n");
}

#[test]
fn a_target_over_https_is_not_asked_and_the_message_says_what_to_install() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("mcp=https://{}/mcp", listener.local_addr().unwrap());
    let called = without_certificates(folder.path()).args(["call", &target, "read_mail"]).output().unwrap();
    let said = String::from_utf8_lossy(&called.stderr);
    assert_ne!(called.status.code(), Some(0), "{said}");
    assert!(said.contains("No CA certificates were loaded from the system"), "{said}");
    assert!(said.contains("`ca-certificates`") && said.contains("SSL_CERT_FILE"), "{said}");
    // The program has ended, so whatever it sent is here.
    listener.set_nonblocking(true).unwrap();
    match listener.accept() {
        Ok((mut stream, _)) => assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0, "something was sent"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
    }
}
