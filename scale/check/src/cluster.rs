//! A cluster on this machine: a scheduler and executors as processes, on loopback.

use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cpu;

/// How long anything may take to start.
const PATIENCE: Duration = Duration::from_mins(2);

/// A scheduler and executors, which end with this.
#[derive(Debug)]
pub struct Cluster {
    url: String,
    /// The scheduler, and then the executors.
    processes: Vec<Child>,
    folder: tempfile::TempDir,
}

impl Cluster {
    /// Starts a scheduler and so many executors of one core. `programs` is the folder they are in; logs go to `folder`.
    pub fn start(programs: &Path, folder: &Path, executors: usize) -> io::Result<Self> {
        let ports = free_ports(1 + 2 * executors)?;
        let log = |name: &str| File::create(folder.join(name));
        let program = |name: &str| programs.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let address = format!("127.0.0.1:{}", ports[0]);
        let scheduler = Command::new(program("sortie-scheduler"))
            .args(["--bind", &address, "--executor-timeout", "10"])
            .stdin(Stdio::null())
            .stdout(log("scheduler.out")?)
            .stderr(log("scheduler.err")?)
            .spawn()?;
        let scratch = tempfile::tempdir_in(folder)?;
        let mut cluster =
            Self { url: format!("df://{address}"), processes: vec![scheduler], folder: scratch };
        wait_for_port(ports[0])?;
        for at in 0..executors {
            let work = cluster.work_dir(at);
            fs::create_dir_all(&work)?;
            let executor = Command::new(program("sortie-executor"))
                .args(["--scheduler", &address, "--cores", "1", "--heartbeat", "2"])
                .args([
                    "--port",
                    &ports[1 + 2 * at].to_string(),
                    "--grpc-port",
                    &ports[2 + 2 * at].to_string(),
                ])
                .arg("--work-dir")
                .arg(&work)
                .stdin(Stdio::null())
                .stdout(log(&format!("executor-{at}.out"))?)
                .stderr(log(&format!("executor-{at}.err"))?)
                .spawn()?;
            cluster.processes.push(executor);
        }
        for port in &ports[1..] {
            wait_for_port(*port)?;
        }
        Ok(cluster)
    }

    /// Where clients connect to.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What all processes have used of processors.
    pub fn cpu_time(&self) -> Option<Duration> {
        self.processes.iter().map(|process| cpu::of_process(process.id())).sum()
    }

    fn work_dir(&self, executor: usize) -> PathBuf {
        self.folder.path().join(format!("executor-{executor}"))
    }

    /// Kills the first executor that has written a result, which is lost with it. Says which it was.
    pub fn kill_one_that_works(&mut self) -> io::Result<usize> {
        let started = Instant::now();
        loop {
            for executor in 0..self.processes.len() - 1 {
                if has_results(&self.work_dir(executor)) {
                    // On Unix, this is signal 9.
                    self.processes[executor + 1].kill()?;
                    self.processes[executor + 1].wait()?;
                    fs::remove_dir_all(self.work_dir(executor))?;
                    return Ok(executor);
                }
            }
            if started.elapsed() > PATIENCE {
                return Err(io::Error::other("no executor wrote a result"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn has_results(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() { has_results(&path) } else { entry.metadata().is_ok_and(|about| about.len() > 0) }
    })
}

/// Ports that nobody listens on. Another process may take one before it is used, which fails loudly.
fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let sockets: io::Result<Vec<_>> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    sockets?.iter().map(|socket| Ok(socket.local_addr()?.port())).collect()
}

fn wait_for_port(port: u16) -> io::Result<()> {
    let started = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if started.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("nobody listens on port {port}")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
