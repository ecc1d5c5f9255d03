//! Servers of today that are known to be harmless, each in a sandbox, attacked with the whole catalogue: no finding that nobody would act on.

use std::collections::BTreeSet;

use crate::evaluated::{catalogue, evaluate_with_jobs};
use crate::harness::Peers;

/// A server, how it is started, and what may be found: evaluator and tool, or `-`.
type Harmless = (&'static str, fn(&Peers) -> String, &'static [(&'static str, &'static str)]);

const SERVERS: [Harmless; 8] = [
    (
        "server-everything",
        |peers| format!("{} stdio", peers.npm("mcp-server-everything")),
        &[
            // A tool that shows the environment: by its name, and by what it returns.
            ("development-tools", "-"),
            ("environment-disclosure", "get-env"),
            // It fetches whatever address it is given, also one of the machine itself.
            ("ssrf-loopback", "gzip-file-as-resource"),
        ],
    ),
    ("server-filesystem", |peers| format!("{} {{sandbox_root}}", peers.npm("mcp-server-filesystem")), &[]),
    (
        "server-memory",
        |peers| {
            format!("env MEMORY_FILE_PATH={{sandbox_root}}/memory.jsonl {}", peers.npm("mcp-server-memory"))
        },
        &[],
    ),
    (
        "server-sequential-thinking",
        |peers| {
            let script = "cve/node_modules/@modelcontextprotocol/server-sequential-thinking/dist/index.js";
            let node = peers.path("npm/node_modules/.bin/node");
            format!("'{}' '{}'", node.display(), peers.path(script).display())
        },
        &[],
    ),
    (
        "mcp-server-time",
        |peers| format!("{} --local-timezone UTC", python(peers, "servers/bin/mcp-server-time")),
        &[],
    ),
    ("mcp-server-fetch", |peers| python(peers, "servers/bin/mcp-server-fetch"), &[]),
    (
        "mcp-server-git",
        |peers| format!("{} --repository {{sandbox_repo}}", python(peers, "servers/bin/mcp-server-git")),
        &[],
    ),
    (
        "mcp-server-sqlite",
        |peers| format!("{} --db-path {{sandbox_database}}", python(peers, "sqlite/bin/mcp-server-sqlite")),
        &[],
    ),
];

fn python(peers: &Peers, program: &str) -> String {
    format!("'{}'", peers.path(program).display())
}

#[test]
#[ignore = "needs released servers and namespaces: cargo xtask test --only peers-cve"]
fn harmless_servers_have_no_finding_that_nobody_would_act_on() {
    let peers = Peers::find();
    let whole: BTreeSet<String> = catalogue("mcp").into_iter().collect();
    let mut wrong = Vec::new();
    for (name, command, expected) in SERVERS {
        let target = format!("mcp=stdio:{}", command(&peers));
        let suite = ["--suite", "owasp-mcp-top10", "amplification", "unbounded-results"];
        // Some import for a minute when the machine is busy.
        let rest = ["--sandbox", "--answer-timeout", "10m", "--target", &target];
        let run = evaluate_with_jobs("2", suite.into_iter().chain(rest), []);
        run.nothing_is_left_unsaid();
        let played: BTreeSet<String> = run
            .cases()
            .into_iter()
            .map(|case| case["evaluator"]["id"].as_str().unwrap().to_owned())
            .collect();
        assert!(whole.is_subset(&played), "{name}: {:?}", whole.difference(&played));
        let findings = run.findings();
        println!("{name}: {} findings, {} decided cases", findings.len(), run.decided());
        let expected =
            expected.iter().map(|(evaluator, tool)| ((*evaluator).to_owned(), (*tool).to_owned())).collect();
        if findings != expected {
            wrong.push(format!("{name}: {findings:?}"));
        }
        run.each_weakness_is_told_once();
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
