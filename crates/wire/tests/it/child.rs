//! Processes that end as they should, and those that do not want to.

use std::path::Path;
use std::time::Duration;

use sortie_wire::Limits;
use sortie_wire::stdio::{Child, Line, Lines, ProcessEnd, SpawnError, write_line};
use tokio::io::{AsyncReadExt as _, BufReader};
use tokio::process::ChildStdout;
use tokio::time::timeout;

/// No test waits longer for anything.
const DEADLINE: Duration = Duration::from_secs(20);

/// What a process may take that does not want to end.
const SHORT: Duration = Duration::from_millis(50);

fn shell(script: &str) -> Child {
    Child::spawn(&["sh", "-c", script], &[("PATH", "/usr/bin:/bin"), ("GIVEN", "yes")]).unwrap()
}

/// A process that has said `ready`, and the rest of what it says.
async fn ready(script: &str) -> (Child, BufReader<ChildStdout>) {
    let mut child = shell(script);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut said = [0; 6];
    timeout(DEADLINE, stdout.read_exact(&mut said)).await.unwrap().unwrap();
    assert_eq!(&said, b"ready\n");
    (child, stdout)
}

/// Everyone who could still write has ended.
async fn is_over(mut stdout: BufReader<ChildStdout>) {
    let mut rest = Vec::new();
    timeout(DEADLINE, stdout.read_to_end(&mut rest)).await.expect("someone is still there").unwrap();
}

#[tokio::test]
async fn a_process_answers_line_by_line_and_ends_with_its_input() {
    let limits = Limits::default();
    let mut child = shell("while read line; do echo \"got $line\"; done; exit 7");
    let mut lines = Lines::new(child.stdout.take().unwrap(), &limits);
    for _ in 0..3 {
        write_line(child.stdin.as_mut().unwrap(), b"{}", &limits).await.unwrap();
        let line = timeout(DEADLINE, lines.next()).await.unwrap().unwrap();
        assert_eq!(line, Some(Line::Frame("got {}".into())));
    }
    let ended = child.end(DEADLINE).await.unwrap();
    assert!(matches!(ended, ProcessEnd::Itself(status) if status.code() == Some(7)), "{ended:?}");
}

#[tokio::test]
async fn a_process_sees_what_it_was_given_and_nothing_else() {
    let mut child = shell("exec env");
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).await.unwrap();
    let mut names: Vec<_> = said.lines().filter_map(|line| line.split('=').next()).collect();
    // The shell itself may add these.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["GIVEN", "PATH"]);
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_process_that_needs_asking_is_asked() {
    let (mut child, stdout) = ready("trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done").await;
    // Long enough to obey on a busy machine; it also waits that long before it asks.
    let ended = child.end(Duration::from_secs(2)).await.unwrap();
    assert!(matches!(ended, ProcessEnd::Asked(status) if status.code() == Some(3)), "{ended:?}");
    is_over(stdout).await;
}

#[tokio::test]
async fn a_process_that_does_not_listen_is_killed_with_its_children() {
    let (mut child, stdout) = ready(
        "trap '' TERM; sleep 1000 & (sleep 1000 & sleep 1000) & echo ready; while :; do sleep 1000; done",
    )
    .await;
    let ended = child.end(SHORT).await.unwrap();
    assert!(matches!(ended, ProcessEnd::Killed(_)), "{ended:?}");
    is_over(stdout).await;
}

#[tokio::test]
async fn what_a_process_leaves_behind_is_ended_too() {
    for left in ["sleep 1000 &", "(trap '' TERM; sleep 1000) &"] {
        let (mut child, stdout) = ready(&format!("{left} echo ready; exit 0")).await;
        assert!(timeout(DEADLINE, child.wait()).await.unwrap().unwrap().success());
        let ended = child.end(SHORT).await.unwrap();
        assert!(matches!(ended, ProcessEnd::Itself(status) if status.success()), "{ended:?}");
        is_over(stdout).await;
    }
}

#[tokio::test]
async fn a_process_that_is_forgotten_is_killed() {
    let (child, stdout) = ready("sleep 1000 & echo ready; trap '' TERM; sleep 1000").await;
    drop(child);
    is_over(stdout).await;
}

#[tokio::test]
async fn what_cannot_be_started_is_said() {
    let spawn = |argv: &[&'static str]| Child::spawn(argv, &[]).map(drop);
    assert!(matches!(spawn(&[]), Err(SpawnError::Empty)));
    assert!(
        matches!(spawn(&["/no/such/program"]), Err(SpawnError::NotFound(name)) if name == "/no/such/program")
    );
    assert!(matches!(spawn(&["/etc/passwd"]), Err(SpawnError::Refused { .. })));
}

#[tokio::test]
async fn a_process_starts_in_the_folder_it_is_given() {
    let folder = std::env::temp_dir().canonicalize().unwrap();
    let env = [("PATH", "/usr/bin:/bin")];
    let mut child = Child::spawn_in(&["pwd", "-P"], &env, Some(&folder)).unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).await.unwrap();
    assert_eq!(Path::new(said.trim_end()), folder);
}
