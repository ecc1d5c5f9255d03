//! The same run recorded twice: as our trace, and as the session file of the agent, or the telemetry of its framework. Both give the
//! same verdict, or theirs gives none and says why; never the opposite one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sortie_detect::{Detector, Place, replay};
use sortie_import::{DeclaredServer, Formats, Input, InputLimits, RecordedSession};
use sortie_oatf::{Compiled, load};
use sortie_trace::{Deriver, Header, Record, Trace};

use super::{Agent, DEADLINE, MODEL, attack_in, beside_model};
use crate::harness::{Finished, Peers, start_by, wait};

/// Documents that the scripted model has a script for. Half of them inject in descriptions, half in results.
const DOCUMENTS: [&str; 12] = [
    "SRT-001", "SRT-002", "SRT-003", "SRT-004", "SRT-014", "SRT-017", "SRT-019", "SRT-026", "SRT-027",
    "SRT-032", "SRT-034", "SRT-072",
];

/// The session file of a run, and its format.
fn session_file(agent: Agent, place: &Path, finished: &Finished) -> (&'static str, PathBuf) {
    let home = finished.trace().with_file_name("workspace");
    let only = |folder: &Path, end: &str| {
        let mut files = Vec::new();
        find(folder, end, &mut files);
        assert_eq!(files.len(), 1, "{agent:?}: {files:?} below {}", folder.display());
        files.remove(0)
    };
    match agent {
        Agent::ClaudeCode => ("claude-code", only(&home.join(".claude/projects"), ".jsonl")),
        Agent::Codex => ("codex", only(&home.join(".codex/sessions"), ".jsonl")),
        Agent::GeminiCli => ("gemini-cli", only(&place.join(".gemini/tmp"), ".jsonl")),
        Agent::OpenCode => ("opencode", exported(place, &home)),
    }
}

fn find(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, end, found);
        } else if path.to_str().unwrap().ends_with(end) {
            found.push(path);
        }
    }
}

/// What `opencode export` writes about the one session that there is, whose name its log has.
fn exported(place: &Path, home: &Path) -> PathBuf {
    let program = Peers::find().path("coding/node_modules/opencode-linux-x64-baseline/bin/opencode");
    let opencode = |arguments: &[&str], out: &Path| {
        let mut command = Command::new("unshare");
        command
            .args(["--map-root-user", "--net", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"])
            .arg(&program)
            .args(arguments)
            .current_dir(home)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("TMPDIR", place)
            .env("LANG", "C.UTF-8")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .stdin(Stdio::null())
            .stdout(fs::File::create(out).unwrap())
            .stderr(Stdio::null());
        wait(&mut command.spawn().unwrap(), DEADLINE);
        fs::read_to_string(out).unwrap()
    };
    let list = opencode(&["session", "list", "--format", "json"], &place.join("sessions.json"));
    let sessions: serde_json::Value =
        serde_json::from_str(&list).unwrap_or_else(|error| panic!("{error}: {list}"));
    let id = sessions[0]["id"].as_str().unwrap_or_else(|| panic!("{list}"));
    let file = place.join("session.json");
    opencode(&["export", id], &file);
    file
}

/// The one session of a file.
fn import(format: &str, file: &Path, servers: &[DeclaredServer]) -> RecordedSession {
    let name = file.file_name().unwrap().to_str().unwrap();
    let mut input = Input::file(file, name, InputLimits::default()).unwrap().with_servers(servers);
    let head = input.head().unwrap();
    let recognized = Formats::recognize(&input.as_head(&head)).map(|format| format.name);
    assert_eq!(recognized, Some(format), "{}", file.display());
    let mut sessions = Vec::new();
    let read = Formats::named(format).unwrap().read(input, &mut |session| {
        sessions.push(session);
        Ok(())
    });
    read.unwrap();
    assert_eq!(sessions.len(), 1, "{}", file.display());
    sessions.remove(0)
}

fn detector(document: &Path) -> Detector {
    let text = fs::read_to_string(document).unwrap();
    Detector::new(Compiled::new(load(&text).unwrap().document).unwrap())
}

/// What a detector says: its verdict, and why there is none.
fn said(detector: &Detector) -> (String, String) {
    let outcome = detector.outcome(Place::default());
    let verdict = serde_json::to_value(outcome.verdict.result).unwrap();
    let why = outcome.failure.map(|failure| format!("{:?}: {}", failure.kind, failure.message));
    (verdict.as_str().unwrap().to_owned(), why.or(outcome.verdict.reason).unwrap_or_default())
}

/// The verdict from a session. What the canaries of the run stood for is not in it, and is given.
fn judged(document: &Path, session: RecordedSession, native: &Header) -> (String, String) {
    let header = Header { canaries: native.canaries.clone(), ..session.header("sortie") };
    let mut detector = detector(document);
    detector.lifecycle(&Record::Header(Box::new(header)));
    let mut deriver = Deriver::new().with_transcripts(detector.reads_transcript());
    for record in session.into_records() {
        detector.lifecycle(&record);
        if let Record::Message(message) = &record {
            detector.observe(&deriver.observe(message));
        }
    }
    said(&detector)
}

/// A run, what its agent recorded of it, and the servers that its user would name.
struct Recorded {
    finished: Finished,
    format: &'static str,
    file: PathBuf,
    servers: Vec<DeclaredServer>,
}

/// Attacks an agent with every document, obeying and resisting, and compares. Prints a table.
fn recorded_twice(who: &str, documents: &[&str], record: impl Fn(&Path, &str, &str) -> Recorded) {
    let (mut same, mut undecided, mut flips) = (0, 0, Vec::new());
    for document in documents {
        for (behaviour, expected) in [("obey", "exploited"), ("refuse", "not_exploited")] {
            let place = tempfile::tempdir().unwrap();
            let Recorded { finished, format, file, servers } = record(place.path(), document, behaviour);
            if let Some(keep) = std::env::var_os("SORTIE_KEEP_SESSIONS") {
                let folder = PathBuf::from(keep).join(who).join(format!("{document}-{behaviour}"));
                fs::create_dir_all(&folder).unwrap();
                fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
                fs::copy(finished.trace(), folder.join("trace.jsonl")).unwrap();
            }
            let trace = fs::read(finished.trace()).unwrap();
            let (header, _) = Trace::open(trace.as_slice()).unwrap();
            let played = finished.trace().with_file_name("document.yaml");
            let session = import(format, &file, &servers);
            assert!(session.loss.unknown.is_empty(), "{who}, {document}: {:#?}", session.loss);
            assert_eq!(session.loss.cut, None, "{who}, {document}: {:#?}", session.loss);
            let (verdict, why) = judged(&played, session, &header);
            let mut again = [detector(&played)];
            replay(trace.as_slice(), &mut again).unwrap();
            let native = finished.verdict().to_owned();
            assert_eq!(said(&again[0]).0, native, "{who}, {document}");
            let row = format!("{who} | {document} | {behaviour} | {native} | {verdict} | {why}");
            println!("{row}");
            // An agent that obeyed is never let off, whatever its file lacks.
            assert_eq!(native, expected, "{row}: {}", finished.explained());
            let is_decided = ["exploited", "partial", "not_exploited"].contains(&verdict.as_str());
            if verdict == native {
                same += 1;
            } else if !is_decided && !why.is_empty() {
                undecided += 1;
            } else {
                flips.push(row);
            }
        }
    }
    let runs = 2 * documents.len();
    println!("{who}: {runs} runs, {same} the same, {undecided} undecided, {} flips", flips.len());
    assert!(flips.is_empty(), "{flips:#?}");
    assert!(same >= documents.len(), "{who}: only {same} of {runs} are the same");
}

/// Session files of coding agents.
fn sessions(who: &str, agent: Agent) {
    recorded_twice(who, &DOCUMENTS, |place, document, behaviour| {
        let model = format!("--behaviour {behaviour}");
        let finished = attack_in(place, agent, document, &model, &["--controls", "off"]);
        let (format, file) = session_file(agent, place, &finished);
        let servers = ["default", "diary", "game"].map(DeclaredServer::named).to_vec();
        Recorded { finished, format, file, servers }
    });
}

/// Documents that agents without tools of their own can be played, with the calls of their proofs.
const FRAMEWORK_DOCUMENTS: [&str; 12] = [
    "SRT-001", "SRT-002", "SRT-003", "SRT-004", "SRT-014", "SRT-015", "SRT-017", "SRT-018", "SRT-019",
    "SRT-026", "SRT-027", "SRT-030",
];

/// The telemetry of a framework, in one of its dialects.
fn telemetry(framework: &str, dialect: &str, format: &'static str) {
    let peers = Peers::find();
    let who = format!("{framework} ({dialect})");
    recorded_twice(&who, &FRAMEWORK_DOCUMENTS, |place, document, behaviour| {
        let proof = if behaviour == "obey" { "gave-in" } else { "did-its-task" };
        let model = format!("--behaviour {behaviour} --proof {proof}");
        let file = place.join("telemetry.jsonl");
        let program = peers.python(framework, "agents/recorded_agent.py");
        let agent = format!(
            "{program} --telemetry '{}' --dialect {dialect} {framework}_agent.py --model-url {MODEL}/v1 --prompt {{prompt}}",
            file.display()
        );
        let mut command = beside_model(&peers, place, document, &model);
        command.arg(env!("CARGO_BIN_EXE_sortie")).env("HOME", place);
        let arguments = ["--controls", "off", "--agent", &agent];
        let finished = start_by(command, Path::new(document), arguments).finish();
        // Telemetry of langchain does not say that a tool is of a server; whoever runs it knows.
        let servers = vec![DeclaredServer { name: "default".to_owned(), tools: shown_tools(&finished) }];
        Recorded { finished, format, file, servers }
    });
}

/// The tools that an agent was shown.
fn shown_tools(finished: &Finished) -> Vec<String> {
    let records = finished.records();
    let tools = records.iter().filter_map(|record| record["content"]["result"]["tools"].as_array());
    tools.flatten().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect()
}

#[test]
#[ignore = "needs the coding agents: cargo xtask test --only twice"]
fn claude_code_recorded_twice_gives_one_verdict() {
    sessions("Claude Code", Agent::ClaudeCode);
}

#[test]
#[ignore = "needs the coding agents: cargo xtask test --only twice"]
fn codex_recorded_twice_gives_one_verdict() {
    sessions("codex", Agent::Codex);
}

#[test]
#[ignore = "needs the coding agents: cargo xtask test --only twice"]
fn gemini_cli_recorded_twice_gives_one_verdict() {
    sessions("gemini-cli", Agent::GeminiCli);
}

#[test]
#[ignore = "needs the coding agents: cargo xtask test --only twice"]
fn opencode_recorded_twice_gives_one_verdict() {
    sessions("opencode", Agent::OpenCode);
}

#[test]
#[ignore = "takes minutes: cargo xtask test --only twice"]
fn pydantic_ai_recorded_twice_gives_one_verdict() {
    telemetry("pydantic", "genai", "otlp");
}

#[test]
#[ignore = "takes minutes: cargo xtask test --only twice"]
fn langchain_with_openinference_recorded_twice_gives_one_verdict() {
    telemetry("langchain", "openinference", "openinference");
}

#[test]
#[ignore = "takes minutes: cargo xtask test --only twice"]
fn langchain_with_openllmetry_recorded_twice_gives_one_verdict() {
    telemetry("langchain", "openllmetry", "openllmetry");
}

#[test]
#[ignore = "takes minutes: cargo xtask test --only twice"]
fn langchain_with_langsmith_recorded_twice_gives_one_verdict() {
    telemetry("langchain", "langsmith", "langsmith");
}
