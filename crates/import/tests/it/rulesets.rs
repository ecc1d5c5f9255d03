//! All documents together say of recordings what each says alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sortie_detect::{Detector, Outcome, Place, Ruleset, replay};
use sortie_import::{Formats, Input, InputLimits, RecordedSession};
use sortie_oatf::{Compiled, load};
use sortie_trace::Record;

use crate::recordings;

/// The documents of a folder and of those in it.
fn documents(folder: &Path) -> Vec<Arc<Compiled>> {
    let texts = files(folder, ".yaml").into_iter().map(|file| std::fs::read_to_string(file).unwrap());
    // Proofs are no documents, and one scenario is refused for its look-ahead.
    let loaded = texts.filter(|text| text.contains("\nattack:")).filter_map(|text| load(&text).ok());
    loaded.map(|loaded| Arc::new(Compiled::new(loaded.document).unwrap())).collect()
}

/// The files in a folder and below it that end so, in order.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path, end));
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    found
}

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../library/documents")
}

fn told(outcome: &Outcome) -> String {
    serde_json::to_string_pretty(outcome).unwrap()
}

/// Documents together, and each alone.
struct Both {
    together: Arc<Ruleset>,
    alone: Vec<Detector>,
}

impl Both {
    fn new(documents: Vec<Arc<Compiled>>) -> Self {
        let alone = documents.iter().map(|document| Detector::new(Arc::clone(document))).collect();
        Self { together: Arc::new(Ruleset::new(documents)), alone }
    }
}

/// Compares what all documents say of a trace. Says how many of them it gave in to.
fn compare(both: &Both, trace: &[u8], name: &str) -> usize {
    let session = both.together.replay(trace).unwrap();
    let mut exploited = 0;
    for (at, document) in both.together.documents().enumerate() {
        let mut detectors = [both.alone[at].clone()];
        replay(trace, &mut detectors).unwrap();
        let (together, alone) =
            (session.outcome(at, Place::default()), detectors[0].outcome(Place::default()));
        let id = &document.document().attack.id;
        assert_eq!(told(&together), told(&alone), "{name} with {id:?}");
        assert_eq!(session.standing(at), together.standing, "{name} with {id:?}");
        exploited += usize::from(!alone.evidence.is_empty());
    }
    exploited
}

/// A session as the trace that it is imported to.
fn trace_of(session: RecordedSession) -> Vec<u8> {
    let mut lines = serde_json::to_vec(&Record::Header(Box::new(session.header("test")))).unwrap();
    for record in session.into_records() {
        lines.push(b'\n');
        let line = serde_json::to_vec(&record).unwrap();
        lines.extend(line.into_iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
    }
    lines.push(b'\n');
    lines
}

#[test]
fn the_library_says_of_all_its_proofs_what_each_document_says_alone() {
    let documents = documents(&library());
    assert!(documents.len() >= 80, "there are {} documents", documents.len());
    let both = Both::new(documents);
    let proofs = files(&library(), ".jsonl");
    assert!(proofs.len() >= 240, "there are {} proofs", proofs.len());
    let mut exploited = 0;
    for proof in proofs {
        exploited += compare(&both, &std::fs::read(&proof).unwrap(), &proof.to_string_lossy());
    }
    assert!(exploited >= 78, "only {exploited} times did an agent give in");
}

#[test]
fn the_library_says_of_recordings_what_each_document_says_alone() {
    let both = Both::new(documents(&library()));
    for (format, file) in recordings() {
        let name = file.to_string_lossy();
        let input = Input::file(&file, &name, InputLimits::default()).unwrap();
        // What cannot be read is for another test.
        let _ = format.read(input, &mut |session| {
            compare(&both, &trace_of(session), &name);
            Ok(())
        });
    }
}

#[test]
#[ignore = "needs the official fixtures: SORTIE_FIXTURES=… cargo xtask test"]
fn official_scenarios_say_of_the_published_runs_what_each_says_alone() {
    let fixtures = std::env::var_os("SORTIE_FIXTURES").expect("SORTIE_FIXTURES names the folder of fixtures");
    let archive = PathBuf::from(fixtures).join("traces/thoughtjack.tar.gz");
    let folder = tempfile::tempdir().unwrap();
    let tar = std::process::Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(folder.path()).status();
    assert!(tar.unwrap().success());
    let both = Both::new(documents(&folder.path().join("thoughtjack/scenarios")));
    let format = Formats::named("thoughtjack").unwrap();
    let (mut runs, mut exploited) = (0, 0);
    for file in files(&folder.path().join("thoughtjack/results"), ".trace.jsonl") {
        let name = file.to_string_lossy();
        let input = Input::file(&file, &name, InputLimits::default()).unwrap();
        let read = format.read(input, &mut |session| {
            runs += 1;
            exploited += compare(&both, &trace_of(session), &name);
            Ok(())
        });
        read.unwrap();
    }
    assert!(runs >= 1700 && exploited >= 600, "{runs} runs, {exploited} times an agent gave in");
}
