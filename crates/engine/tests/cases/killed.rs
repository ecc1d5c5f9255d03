//! A run that is killed in the middle is taken up: nothing is lost, and nothing that was kept is played again.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sortie_engine::cases::{Options, Results, run};
use sortie_engine::targets::Offer;

use crate::bench::{Bench, agent, saying};

const FOLDER: &str = "SORTIE_TEST_FOLDER";

fn bench(folder: &Path) -> Bench {
    let played = folder.join("played").display().to_string();
    let script = format!(
        r#"read line || exit; echo "$line" >> {played}; sleep 0.02; echo "ok $line"; cat > /dev/null"#
    );
    let words: Vec<String> = (0..40).map(|number| format!("word{number}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Bench::new(&[("agent", "many", &saying(&words))], agent(&script))
}

fn options() -> Options {
    Options { jobs: 4, ..Options::default() }
}

/// What the child does. Without a folder it is an ordinary run of no test.
#[tokio::test]
async fn child_that_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let bench = bench(Path::new(&folder));
    let run_folder = Path::new(&folder).join("run");
    std::fs::create_dir(&run_folder).unwrap();
    let results = Results::create(&run_folder, &bench.planned).unwrap();
    run(bench.target(), &Offer::default(), &bench.planned, results, &run_folder, options()).await.unwrap();
}

#[tokio::test]
async fn a_run_that_is_killed_is_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = folder.path().join("run");
    let results = Results::path(&run_folder);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::child_that_is_killed"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines = || std::fs::read_to_string(&results).unwrap_or_default().lines().count();
    let deadline = Instant::now() + Duration::from_mins(1);
    while lines() < 6 {
        assert!(Instant::now() < deadline, "the child has kept {} lines", lines());
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();

    let bench = bench(folder.path());
    let kept = Results::resume(&run_folder, &bench.planned).unwrap();
    let done: Vec<String> = bench
        .planned
        .iter()
        .map(|planned| planned.id().to_owned())
        .filter(|id| kept.get(id).is_some())
        .collect();
    assert!(done.len() >= 5 && done.len() < 40, "{}", done.len());
    let played =
        run(bench.target(), &Offer::default(), &bench.planned, kept, &run_folder, options()).await.unwrap();
    assert_eq!((played.results.len(), played.unfinished.len()), (40, 0));

    let mut times: HashMap<String, usize> = HashMap::new();
    for word in std::fs::read_to_string(folder.path().join("played")).unwrap().lines() {
        *times.entry(format!("many/{word}")).or_default() += 1;
    }
    for id in &done {
        assert_eq!(times.get(id), Some(&1), "{id} was kept, and is not played again");
    }
    assert_eq!(times.len(), 40);
    // At most those that were on their way were played twice.
    assert!(times.values().filter(|count| **count > 1).count() <= 4, "{times:?}");
}
