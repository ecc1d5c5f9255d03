//! A run that is killed in the middle is taken up: nothing is lost, and nothing that was kept is played again.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use sortie_run::RunStore;

use crate::cases::bench::{Asked, Bench, agent, play, saying};

const FOLDER: &str = "SORTIE_TEST_FOLDER";

fn bench(folder: &Path) -> Bench {
    let (played, second) = (folder.join("played"), folder.join("second"));
    let (played, second) = (played.display(), second.display());
    // Of the second half nothing is said before the run is taken up: it cannot be over before it is killed.
    let script = format!(
        r#"read line || exit; echo "$line" >> {played}
        case $line in word[23]?) until [ -e {second} ]; do sleep 0.02; done;; esac
        echo "ok $line"; cat > /dev/null"#
    );
    let words: Vec<String> = (0..40).map(|number| format!("word{number}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Bench::new(&[("agent", "many", &saying(&words))], agent(&script))
}

/// Also the program that is killed below: it is started with a folder then, and waits in the middle.
#[tokio::test]
async fn a_run_keeps_each_result_as_it_arrives() {
    let own = tempfile::tempdir().unwrap();
    let folder = std::env::var_os(FOLDER).map_or_else(
        || {
            std::fs::write(own.path().join("second"), "").unwrap();
            own.path().to_owned()
        },
        PathBuf::from,
    );
    let bench = bench(&folder);
    let run_folder = folder.join("run");
    std::fs::create_dir(&run_folder).unwrap();
    let store = RunStore::create(&run_folder, bench.plan().info()).unwrap();
    // Not with `println!`, which a test keeps to itself.
    let tell = |_: &str| std::io::stdout().write_all(b"kept\n").unwrap();
    let asked = Asked { seen: Arc::new(tell), ..Asked::default() };
    let played = play(bench.target(), bench.discovery(), &bench.planned, store, asked).await;
    assert_eq!((played.results.len(), played.unfinished.len()), (40, 0));
    let kept = RunStore::resume(&run_folder, &bench.plan().info()).unwrap();
    assert!(bench.planned.iter().all(|planned| kept.get(planned.id()).is_some()));
}

#[tokio::test]
async fn a_run_that_is_killed_is_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = folder.path().join("run");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cases::killed::a_run_keeps_each_result_as_it_arrives"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It says when a result is on disk, and ends when it has no more: this cannot wait for ever.
    let told = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert_eq!(told.filter(|line| line == "kept").take(5).count(), 5, "the child ended before it was killed");
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();

    std::fs::write(folder.path().join("second"), "").unwrap();
    let bench = bench(folder.path());
    let kept = RunStore::resume(&run_folder, &bench.plan().info()).unwrap();
    let done: Vec<String> = bench
        .planned
        .iter()
        .map(|planned| planned.id().to_owned())
        .filter(|id| kept.get(id).is_some())
        .collect();
    assert!(done.len() >= 5 && done.len() < 40, "{}", done.len());
    let played = play(bench.target(), bench.discovery(), &bench.planned, kept, Asked::default()).await;
    assert_eq!((played.results.len(), played.unfinished.len()), (40, 0));

    let mut times: HashMap<String, usize> = HashMap::new();
    for word in std::fs::read_to_string(folder.path().join("played")).unwrap().lines() {
        *times.entry(format!("many/{word}")).or_default() += 1;
    }
    for id in &done {
        assert_eq!(times.get(id), Some(&1), "{id} was kept, and is not played again");
    }
    assert_eq!(times.len(), 40);
    // What was on its way is played again, once.
    assert!(times.values().all(|count| *count <= 2), "{times:?}");
}
