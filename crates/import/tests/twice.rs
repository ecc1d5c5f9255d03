//! Runs that were recorded twice: by Sortie on the wire, and by the telemetry of the agent's framework. The verdict is the same, or
//! undecided for a reason; it never flips.
//!
//! `peers/agents/record_twice.sh` makes the recordings; `SORTIE_TWICE` names their folder.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use sortie_detect::{Detector, Place, Standing, replay, replay_records};
use sortie_import::{Formats, Input, InputLimits, RecordedSession};
use sortie_oatf::{Compiled, Validated};
use sortie_trace::{Header, Trace};

const FORMATS: [(&str, &str); 4] = [
    ("genai", "otlp"),
    ("openinference", "openinference"),
    ("openllmetry", "openllmetry"),
    ("langsmith", "langsmith"),
];

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Exploited,
    NotExploited,
    Undecided(String),
}

fn compiled(id: &str) -> Compiled {
    let document: Validated = sortie_library::find(id).unwrap().document().unwrap();
    Compiled::new(document).unwrap()
}

fn verdict_of(detector: &Detector) -> Verdict {
    let outcome = detector.outcome(Place::default());
    match outcome.standing {
        Some(Standing::Exploited) => Verdict::Exploited,
        Some(Standing::Resisted) => Verdict::NotExploited,
        other => Verdict::Undecided(format!("{other:?}: {:?}", outcome.failure)),
    }
}

fn native(id: &str, trace: &Path) -> (Verdict, Header) {
    let (header, _) = Trace::open(BufReader::new(File::open(trace).unwrap())).unwrap();
    let mut detectors = [Detector::new(compiled(id))];
    replay(BufReader::new(File::open(trace).unwrap()), &mut detectors).unwrap();
    (verdict_of(&detectors[0]), header)
}

fn imported(id: &str, session: RecordedSession, native: &Header) -> Verdict {
    let header = Header { canaries: native.canaries.clone(), ..session.header("test") };
    let mut detectors = [Detector::new(compiled(id))];
    replay_records(header, session.into_records(), &mut detectors);
    verdict_of(&detectors[0])
}

#[test]
#[ignore = "needs recordings: peers/agents/record_twice.sh, then SORTIE_TWICE=FOLDER"]
fn recorded_twice_has_one_verdict() {
    let root = PathBuf::from(std::env::var_os("SORTIE_TWICE").expect("SORTIE_TWICE names the recordings"));
    let (mut runs, mut same, mut undecided) = (0, 0, 0);
    for (dialect, format) in FORMATS {
        for play in ["obeys", "resists"] {
            let Ok(folder) = std::fs::read_dir(root.join(dialect).join(play)) else { continue };
            let mut cases: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
            cases.sort();
            for case in cases {
                let id = case.file_name().unwrap().to_str().unwrap();
                let (trace, telemetry) = (case.join("trace.jsonl"), case.join("telemetry.jsonl"));
                if !trace.is_file() || !telemetry.is_file() {
                    println!("{dialect} {play} {id}: not recorded");
                    continue;
                }
                let (ours, header) = native(id, &trace);
                let input = Input::file(&telemetry, "telemetry.jsonl", InputLimits::default()).unwrap();
                let mut theirs = Vec::new();
                let read = Formats::named(format).unwrap().read(input, &mut |session| {
                    assert!(session.loss.unknown.is_empty(), "{id}: {:?}", session.loss.unknown);
                    theirs.push(imported(id, session, &header));
                    Ok(())
                });
                read.unwrap();
                let [theirs] = &theirs[..] else {
                    panic!("{dialect} {play} {id}: {} sessions", theirs.len())
                };
                println!("{dialect} {play} {id}: {ours:?}, imported {theirs:?}");
                runs += 1;
                same += u64::from(ours == *theirs);
                undecided += u64::from(matches!(theirs, Verdict::Undecided(_)));
                assert!(
                    ours == *theirs || matches!(theirs, Verdict::Undecided(_)),
                    "{dialect} {play} {id} flips"
                );
            }
        }
    }
    println!("{runs} runs: {same} the same, {undecided} undecided, 0 flips");
    assert!(runs >= 20, "there are only {runs} recordings");
}
