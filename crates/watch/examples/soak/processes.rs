//! The server and the watch.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::Failure;

/// What runs, and where.
#[derive(Debug)]
pub(crate) struct Processes {
    program: PathBuf,
    server_program: PathBuf,
    folder: PathBuf,
    pub(crate) port: u16,
    server: Child,
    watch: Child,
}

impl Processes {
    pub(crate) fn start(
        program: &Path,
        server_program: &Path,
        folder: &Path,
        port: u16,
    ) -> Result<Self, Failure> {
        let server = start_server(server_program, folder, port)?;
        let watch = start_watch(program, folder, port)?;
        let (program, server_program) = (program.to_owned(), server_program.to_owned());
        Ok(Self { program, server_program, folder: folder.to_owned(), port, server, watch })
    }

    pub(crate) fn kill_watch(&mut self) -> Result<(), Failure> {
        self.watch.kill()?;
        self.watch.wait()?;
        self.watch = start_watch(&self.program, &self.folder, self.port)?;
        Ok(())
    }

    /// Kills the server and starts it again. The watch stands still afterwards.
    pub(crate) fn kill_server(&mut self) -> Result<(), Failure> {
        self.server.kill()?;
        self.server.wait()?;
        self.signal("STOP")?;
        self.server = start_server(&self.server_program, &self.folder, self.port)?;
        Ok(())
    }

    /// Lets the watch go on.
    pub(crate) fn resume_watch(&self) -> Result<(), Failure> {
        self.signal("CONT")
    }

    fn signal(&self, name: &str) -> Result<(), Failure> {
        let status =
            Command::new("kill").args([&format!("-{name}"), &self.watch.id().to_string()]).status()?;
        if status.success() { Ok(()) } else { Err("the watch has ended".into()) }
    }

    /// Ends the watch as a user would.
    pub(crate) fn terminate_watch(&mut self) -> Result<ExitStatus, Failure> {
        self.signal("TERM")?;
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            if let Some(status) = self.watch.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                return Err("the watch does not end".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What the watch has in memory, in kB.
    pub(crate) fn resident(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.watch.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }

    /// The last notes of the watch.
    pub(crate) fn notes(&self) -> String {
        let notes = fs::read_to_string(self.folder.join("notes.txt")).unwrap_or_default();
        let from = notes.lines().count().saturating_sub(20);
        notes.lines().skip(from).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in [&mut self.watch, &mut self.server] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn start_server(program: &Path, folder: &Path, port: u16) -> Result<Child, Failure> {
    let log = OpenOptions::new().create(true).append(true).open(folder.join("server.txt"))?;
    Ok(Command::new(program)
        .args(["--jetstream", "--addr", "127.0.0.1", "--port", &port.to_string(), "--store_dir"])
        .arg(folder.join("store"))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()?)
}

fn start_watch(program: &Path, folder: &Path, port: u16) -> Result<Child, Failure> {
    let notes = OpenOptions::new().create(true).append(true).open(folder.join("notes.txt"))?;
    Ok(Command::new(program)
        .args([
            "watch",
            "--nats",
            &format!("nats://127.0.0.1:{port}"),
            "--stream",
            "agents",
            "--rules",
            "rules",
        ])
        .args(["--out", "findings.jsonl", "--state", "state"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(notes)
        .spawn()?)
}
