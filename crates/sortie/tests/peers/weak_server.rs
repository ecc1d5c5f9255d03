//! The bundled suite for MCP servers, without any model: against a server with planted faults, its twin without
//! them, and two servers that are not ours.

use std::collections::{BTreeMap, BTreeSet};

use crate::evaluated::{Evaluated, Finding, catalogue, evaluate, evaluate_with, evaluate_with_jobs};
use crate::harness::{Peers, Server, output};

/// Each planted fault of `peers/mcp/weak_server.py`, and the evaluators that find it.
const PLANTED: [(&str, &[&str]); 34] = [
    ("climbing-paths", &["path-escape", "absolute-path"]),
    ("wide-letters", &["unicode-path-escape"]),
    ("writes-anywhere", &["write-outside-folder"]),
    ("shell", &["command-injection"]),
    ("options", &["option-injection"]),
    ("joined-sql", &["sql-injection", "sql-tautology"]),
    ("no-limit", &["unbounded-results"]),
    ("all-fields", &["overshared-fields"]),
    ("any-tenant", &["tenant-wildcard"]),
    ("inner-network", &["ssrf-loopback"]),
    ("file-addresses", &["file-uri"]),
    ("templates", &["template-injection"]),
    ("interpreter", &["code-evaluation"]),
    ("entities", &["xml-external-entity"]),
    ("joined-json", &["structure-injection"]),
    ("environment", &["environment-disclosure"]),
    ("connection-string", &["secrets-in-results"]),
    ("stack-trace", &["stack-trace-in-errors"]),
    ("orders-in-ticket", &["instructions-in-results"]),
    ("escapes", &["terminal-escapes-in-results"]),
    ("log-lines", &["log-injection"]),
    ("roles", &["role-grant"]),
    ("archives", &["archive-path-escape"]),
    ("slow-patterns", &["slow-pattern"]),
    ("new-repositories", &["repository-anywhere"]),
    ("secret-in-error", &["secrets-in-results"]),
    ("poisoned-description", &["instructions-in-descriptions"]),
    ("invisible-text", &["hidden-characters-in-metadata"]),
    ("harmless-delete", &["misleading-annotations"]),
    ("conversation", &["schema-asks-for-context"]),
    ("new-definition", &["changing-definitions"]),
    ("nameless", &["server-identity"]),
    ("foreign-origins", &["foreign-origin"]),
    ("open-door", &["missing-login"]),
];

/// The server with these faults, attacked with the whole catalogue.
fn attacked(peers: &Peers, faults: &str) -> Evaluated {
    let weak_server = peers.python("mcp1", "mcp/weak_server.py");
    let server = Server::start(&format!("{weak_server} --token {TOKEN} --faults {faults}"));
    whole_catalogue_with(&format!("mcp={}", server.url), &["--target-bearer", "env:DESK_TOKEN"])
}

/// No test fails because the machine is busy.
const PATIENT: [&str; 2] = ["--answer-timeout", "10m"];

/// The token of the weak server.
const TOKEN: &str = "desk-token-7919";

fn whole_catalogue(target: &str) -> Evaluated {
    whole_catalogue_with(target, &[])
}

/// The suite of MCP servers, and the two evaluators of them that OWASP's list has no entry for.
fn whole_catalogue_with(target: &str, rest: &[&str]) -> Evaluated {
    let suite = ["--suite", "owasp-mcp-top10", "amplification", "unbounded-results", "--target", target];
    let run = evaluate_with([&suite, &PATIENT[..], rest].concat(), [("DESK_TOKEN", TOKEN)]);
    run.nothing_is_left_unsaid();
    run.each_finding_is_in_its_trace();
    let played: BTreeSet<_> =
        run.cases().into_iter().map(|case| case["evaluator"]["id"].as_str().unwrap()).collect();
    assert_eq!(played, catalogue("mcp").iter().map(String::as_str).collect());
    // The documents of the suite attack agents, or servers with other tools: whatever they are refused is not resistance.
    let documents = run.runs("document");
    assert!(documents.len() > 40, "{documents:#?}");
    for document in &documents {
        let reason = document["verdict"]["reason"].as_str().unwrap_or_default();
        assert!(document["verdict"]["result"] == "not_applicable" && !reason.is_empty(), "{document:#}");
    }
    let of_servers = |reason: &str| reason.starts_with("it needs the tool `write_note`");
    assert!(documents.iter().any(|document| document["verdict"]["reason"].as_str().is_some_and(of_servers)));
    run
}

fn findings(named: &[(&str, &str)]) -> BTreeSet<Finding> {
    named.iter().map(|(evaluator, tool)| ((*evaluator).to_owned(), (*tool).to_owned())).collect()
}

/// The evaluators that left something to a judge, or to someone who knows a value.
fn skipped(run: &Evaluated) -> BTreeSet<&str> {
    run.with_verdict("skipped").into_iter().map(|case| case["evaluator"]["id"].as_str().unwrap()).collect()
}

/// The findings, and what a busy machine left undecided, which is said.
fn found_or_disturbed(run: &Evaluated) -> BTreeSet<Finding> {
    let found = run.findings();
    let disturbed = run.disturbed();
    println!("disturbed and not found: {:?}", disturbed.difference(&found).collect::<Vec<_>>());
    // This is the planted fault that only the clock shows.
    let by_clock = findings(&[("slow-pattern", "match_text")]);
    found.union(&disturbed.intersection(&by_clock).cloned().collect()).cloned().collect()
}

/// The findings that the planted faults make.
fn planted(peers: &Peers) -> BTreeSet<Finding> {
    let (_, listed, err) = output(&format!("{} --list", peers.python("mcp1", "mcp/weak_server.py")));
    let tools: BTreeMap<_, _> = listed
        .lines()
        .map(|line| {
            let mut words = line.split(' ');
            (words.next().unwrap(), words.next().unwrap())
        })
        .collect();
    let named: BTreeSet<_> = PLANTED.iter().map(|(fault, _)| *fault).collect();
    assert_eq!(named, tools.keys().copied().collect(), "{err}");
    let found = PLANTED.iter().flat_map(|(fault, evaluators)| {
        evaluators.iter().map(|one| ((*one).to_owned(), tools[fault].to_owned()))
    });
    found.collect()
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn every_planted_fault_is_found_and_nothing_else() {
    let peers = Peers::find();
    let run = attacked(&peers, "all");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert_eq!(found_or_disturbed(&run), planted(&peers));
    let told = run.each_weakness_is_told_once();
    assert!(told.contains(&("CWE-22".to_owned(), "read_document path".to_owned())), "{told:#?}");
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn faults_behind_a_preparation_are_found_too() {
    let peers = Peers::find();
    let run = attacked(&peers, "all --prepared");
    assert_eq!(found_or_disturbed(&run), planted(&peers));
    assert_eq!(attacked(&peers, "none --prepared").findings(), BTreeSet::new());
}

/// Where files are real, and in a sandbox: only there is it known what must not come back.
#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn siblings_and_links_are_found_in_a_sandbox() {
    let peers = Peers::find();
    let run = |faults: &str| {
        let server = peers.python("mcp1", "mcp/weak_server.py");
        let target = format!("mcp=stdio:{server} --stdio --folder {{sandbox_root}} --faults {faults}");
        // Each worker starts a server, which takes a minute when many start on a busy machine.
        let evaluators = ["prefix-sibling", "link-escape", "--sandbox", "--target", &target];
        evaluate_with_jobs("2", evaluators.into_iter().chain(PATIENT), [])
    };
    for (faults, found) in [
        ("siblings,links", &[("prefix-sibling", "read_file"), ("link-escape", "read_file")][..]),
        ("siblings", &[("prefix-sibling", "read_file")]),
        ("links", &[("link-escape", "read_file")]),
        ("none", &[]),
    ] {
        let run = run(faults);
        run.nothing_is_left_unsaid();
        assert_eq!(run.findings(), findings(found), "{faults}: {}", run.stderr);
    }
}

/// A server that nobody is signed in to refuses everything. That is not resistance, and it is told once.
#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_server_without_a_working_tool_resists_nothing() {
    let peers = Peers::find();
    let server =
        Server::start(&format!("{} --faults none --locked", peers.python("mcp1", "mcp/weak_server.py")));
    let run = evaluate(["--suite", "no-model", "--target", &format!("mcp={}", server.url)]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let unusable = run.report["unusable_tools"].as_array().unwrap();
    let called = unusable.iter().filter(|tool| tool["why"].as_str().unwrap().contains("not signed in"));
    assert_eq!(called.count(), 1, "{unusable:#?}");
    let of_calls =
        run.with_verdict("not_exploited").into_iter().filter(|case| case["evaluator"]["tool"].is_string());
    assert_eq!(of_calls.count(), 0);
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn the_twin_without_faults_has_no_finding() {
    let peers = Peers::find();
    let run = attacked(&peers, "none");
    assert_eq!(run.findings(), BTreeSet::new());
    // It is not a pass either: some tools never work, some evaluators leave a part to a judge.
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let undecided = [
        "audit-trail-tools",
        "authority-in-arguments",
        "foreign-record",
        "log-injection",
        "nosql-injection",
        "runtime-registration",
    ];
    assert_eq!(skipped(&run), undecided.into());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn server_everything_shows_its_environment_and_has_no_other_finding() {
    let peers = Peers::find();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Server::on_port(&format!("{} streamableHttp", peers.npm("mcp-server-everything")), port);
    let run = whole_catalogue(&format!("mcp={}/mcp", server.url));
    // `get-env` is there to show the environment; it says so in its name, and does.
    let expected = findings(&[
        ("development-tools", "-"),
        ("environment-disclosure", "get-env"),
        // Over HTTP it takes requests for any host, from any origin.
        ("foreign-origin", "-"),
        // It fetches whatever address it is given.
        ("ssrf-loopback", "gzip-file-as-resource"),
    ]);
    assert_eq!(run.findings(), expected);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
}

/// A process is started for each call, so that only what is about files and what calls nothing is played. With
/// `SORTIE_WHOLE_CATALOGUE=1` all of it is, which takes a quarter of an hour.
#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn server_filesystem_keeps_to_its_folder() {
    let peers = Peers::find();
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().canonicalize().unwrap().join("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("inside.txt"), "inside").unwrap();
    let target = format!("mcp=stdio:{} '{}'", peers.npm("mcp-server-filesystem"), folder.display());
    let run = if std::env::var_os("SORTIE_WHOLE_CATALOGUE").is_some() {
        whole_catalogue(&target)
    } else {
        let chosen = [
            "path-escape",
            "write-outside-folder",
            "--suite",
            "list-only",
            "--exhaustive",
            "--target",
            &target,
        ];
        let run = evaluate(chosen);
        run.nothing_is_left_unsaid();
        run
    };
    assert_eq!(run.findings(), BTreeSet::new());
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.with_verdict("not_exploited").len() > 100, "{}", run.stderr);
    // Only what was there before is beside the folder.
    let beside: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(beside, ["folder"]);
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn planted_faults_are_found_over_pipes_too() {
    let peers = Peers::find();
    let target = format!("mcp=stdio:{} --stdio", peers.python("mcp1", "mcp/weak_server.py"));
    let evaluators = ["server-identity", "role-grant", "tenant-wildcard", "--target", &target];
    let run = evaluate_with_jobs("2", evaluators.into_iter().chain(PATIENT), []);
    run.nothing_is_left_unsaid();
    run.each_finding_is_in_its_trace();
    let expected =
        [("role-grant", "set_role"), ("server-identity", "-"), ("tenant-wildcard", "get_customer")];
    assert_eq!(run.findings(), findings(&expected));
}
