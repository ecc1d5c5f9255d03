//! Released MCP servers with published weaknesses, and the releases that mended them, each in a sandbox: a weakness is found with proof,
//! and nothing once it is mended.

use std::collections::BTreeSet;

use crate::evaluated::{Evaluated, Finding, evaluate_with_jobs};
use crate::harness::{Peers, root};

/// What is tried: all of the weaknesses are about programs, files and repositories.
const EVALUATORS: [&str; 12] = [
    "command-injection",
    "argument-array-injection",
    "option-injection",
    "path-escape",
    "absolute-path",
    "unicode-path-escape",
    "file-uri",
    "prefix-sibling",
    "link-escape",
    "write-outside-folder",
    "repository-anywhere",
    "archive-path-escape",
];

/// A release of a server, and how it is started.
struct Release {
    name: &'static str,
    command: fn(&Peers) -> String,
    /// What was published about it, and the evaluator and the tool that show it; `*` where all tools share the fault.
    weaknesses: &'static [(&'static str, &'static str, &'static str)],
}

const VULNERABLE: [Release; 7] = [
    Release {
        name: "figma-developer-mcp 0.6.0",
        command: |peers| npm(peers, "figma-vulnerable/dist/cli.js", "--stdio --figma-api-key=none"),
        weaknesses: &[("CVE-2025-53967", "command-injection", "get_figma_data")],
    },
    Release {
        name: "server-filesystem 2025.3.28",
        command: |peers| npm(peers, "filesystem-vulnerable/dist/index.js", "{sandbox_root}"),
        weaknesses: &[
            ("CVE-2025-53110", "prefix-sibling", "read_file"),
            ("CVE-2025-53109", "link-escape", "read_file"),
        ],
    },
    Release {
        name: "mcp-kubernetes-server 0.1.11",
        command: |peers| kubernetes(peers, "vulnerable"),
        weaknesses: &[("CVE-2025-59377", "command-injection", "kubectl")],
    },
    Release {
        name: "github-kanban-mcp-server 0.4.0",
        command: |peers| source(peers, "kanban-vulnerable/build/index.js"),
        // Nothing works without `gh`, and the shell is reached all the same.
        weaknesses: &[("CVE-2025-53818", "command-injection", "create_issue")],
    },
    Release {
        name: "ios-simulator-mcp 1.3.2",
        command: |peers| source(peers, "ios-simulator-vulnerable/build/index.js"),
        weaknesses: &[("CVE-2025-52573", "command-injection", "ui_tap")],
    },
    Release {
        name: "adb-mcp 0.1.0",
        command: |peers| source(peers, "adb-vulnerable/dist/index.js"),
        weaknesses: &[("CVE-2025-59834", "command-injection", "*")],
    },
    Release {
        name: "mcp-server-git 2025.7.1",
        command: |peers| git(peers, "vulnerable"),
        weaknesses: &[
            ("CVE-2025-68143", "repository-anywhere", "git_init"),
            ("CVE-2025-68144", "option-injection", "git_diff"),
        ],
    },
];

const FIXED: [Release; 9] = [
    Release {
        name: "figma-developer-mcp 0.6.4",
        command: |peers| npm(peers, "figma-fixed/dist/bin.js", "--stdio --figma-api-key=none"),
        weaknesses: &[],
    },
    Release {
        name: "server-filesystem 2025.7.1",
        command: |peers| npm(peers, "filesystem-fixed/dist/index.js", "{sandbox_root}"),
        weaknesses: &[],
    },
    Release {
        name: "mcp-kubernetes-server 0.1.12",
        command: |peers| kubernetes(peers, "fixed"),
        weaknesses: &[],
    },
    Release { name: "mcp-server-git 2025.12.18", command: |peers| git(peers, "fixed"), weaknesses: &[] },
    Release {
        name: "adb-mcp 0.1.1",
        command: |peers| npm(peers, "adb-fixed/dist/index.js", ""),
        weaknesses: &[],
    },
    Release {
        name: "ios-simulator-mcp 1.5.2",
        command: |peers| npm(peers, "ios-simulator-fixed/build/index.js", ""),
        weaknesses: &[],
    },
    Release {
        name: "ios-simulator-mcp 1.3.3",
        command: |peers| source(peers, "ios-simulator-mended/build/index.js"),
        weaknesses: &[],
    },
    Release {
        name: "github-kanban-mcp-server 0.4.2",
        command: |peers| source(peers, "kanban-fixed/build/index.js"),
        weaknesses: &[],
    },
    Release {
        name: "mcp-markdownify-server 1.1.0",
        command: |peers| npm(peers, "markdownify-fixed/dist/index.js", ""),
        weaknesses: &[],
    },
];

fn npm(peers: &Peers, script: &str, arguments: &str) -> String {
    let node = peers.path("npm/node_modules/.bin/node");
    let script = peers.path("cve/node_modules").join(script);
    format!("'{}' '{}' {arguments}", node.display(), script.display())
}

fn source(peers: &Peers, script: &str) -> String {
    let node = peers.path("npm/node_modules/.bin/node");
    let script = peers.path("cve-sources").join(script);
    format!("'{}' '{}'", node.display(), script.display())
}

fn kubernetes(peers: &Peers, environment: &str) -> String {
    let server = peers.path(environment).join("bin/mcp-kubernetes-server");
    let config = root().join("peers/cve/kubeconfig.yaml");
    format!("env 'KUBECONFIG={}' '{}'", config.display(), server.display())
}

fn git(peers: &Peers, environment: &str) -> String {
    let server = peers.path(environment).join("bin/mcp-server-git");
    format!("'{}' --repository {{sandbox_repo}}", server.display())
}

/// Attacks a release in a sandbox.
fn attacked(peers: &Peers, release: &Release) -> Evaluated {
    let target = format!("mcp=stdio:{}", (release.command)(peers));
    let mut arguments = EVALUATORS.to_vec();
    // Some import for a minute when the machine is busy.
    arguments.extend(["--sandbox", "--answer-timeout", "10m", "--target", &target]);
    let run = evaluate_with_jobs("2", arguments, []);
    assert!(!run.cases().is_empty(), "{}: nothing was planned\n{}", release.name, run.stderr);
    run
}

#[test]
#[ignore = "needs released servers and namespaces: cargo xtask test --only peers-cve"]
fn what_was_published_is_found_with_proof() {
    let peers = Peers::find();
    let (mut found, mut missed) = (0, Vec::new());
    for release in &VULNERABLE {
        let findings = attacked(&peers, release).findings();
        for (id, evaluator, tool) in release.weaknesses {
            let is_found =
                findings.iter().any(|(id, found)| id == evaluator && (*tool == "*" || found == tool));
            println!(
                "{id} {} {evaluator} {tool}: {}",
                release.name,
                if is_found { "found" } else { "missed" }
            );
            if is_found {
                found += 1;
            } else {
                missed.push(format!("{id} of {}; found: {findings:?}", release.name));
            }
        }
    }
    assert!(found * 5 >= (found + missed.len()) * 4, "{missed:#?}");
    // One that is missed is explained here, or it is a fault of ours.
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
#[ignore = "needs released servers and namespaces: cargo xtask test --only peers-cve"]
fn nothing_is_found_in_what_was_mended() {
    let peers = Peers::find();
    for release in &FIXED {
        let findings: BTreeSet<Finding> = attacked(&peers, release).findings();
        println!("{}: {} findings", release.name, findings.len());
        assert_eq!(findings, BTreeSet::new(), "{}", release.name);
    }
}
