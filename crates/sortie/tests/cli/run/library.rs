//! The bundled library in one command: what fits is played, and what does not is listed with its reason.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{sortie_in, stdout};

#[test]
fn what_fits_of_the_library_is_played_and_the_rest_is_listed_in_plain_words() {
    let here = tempfile::tempdir().unwrap();
    let run = || sortie_in(here.path()).args(["run", "--library", "--severity", "critical"]);
    let planned = stdout(run().args(["--agent", "true {mcp_url}", "--dry-run", "--format", "json"]));
    let planned: Value = serde_json::from_str(&planned).unwrap();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for unfit in planned["unfit"].as_array().unwrap() {
        let reason = unfit["reason"].as_str().unwrap();
        // Which server it is differs.
        let reason = reason.split_once(" `--wrap ").map_or(reason, |(reason, _)| reason);
        *reasons.entry(reason).or_default() += 1;
    }
    let expected = [
        "the agent's command uses `{mcp_url}`, but this attack starts no MCP server",
        "this attack needs an A2A agent: add `--target a2a=…`",
        "this attack needs an AG-UI agent: add `--target ag_ui=…`",
        "this attack stands before a real server: add",
    ];
    assert_eq!(reasons.keys().copied().collect::<Vec<_>>(), expected);
    let listed =
        stdout(sortie_in(here.path()).args("library list --severity critical --format json".split(' ')));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let all = listed["documents"].as_array().unwrap().len();
    assert_eq!(planned["plans"].as_array().unwrap().len() + reasons.values().sum::<usize>(), all);

    let alone = sortie_in(here.path()).args(["run", "--library", "--target", "mcp=http://127.0.0.1:1/"]);
    let ended = alone.arg("--dry-run").output().unwrap();
    let text = String::from_utf8(ended.stdout).unwrap();
    assert!(
        text.contains("this attack needs an agent that connects to its MCP server: add `--agent COMMAND`")
    );
}

#[test]
fn the_report_names_every_document_that_was_not_played() {
    let here = tempfile::tempdir().unwrap();
    let ended = sortie_in(here.path())
        .args(["run", "--library", "--mode", "a2a_client", "--agent", "true {mcp_url}"])
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(3), "nothing was decided");
    let report = String::from_utf8(ended.stdout).unwrap();
    let (_, listed) = report.split_once("add `--target a2a=…`\n").unwrap_or_else(|| panic!("{report}"));
    for id in ["SRT-054", "SRT-055", "SRT-056", "SRT-057", "SRT-073"] {
        assert!(listed.contains(id), "{id}: {report}");
    }
    assert!(report.ends_with("5 cases: 5 not_applicable\n"), "{report}");
}

#[test]
fn filters_are_those_of_the_list_and_words_that_mean_the_library_say_how_it_is_played() {
    let here = tempfile::tempdir().unwrap();
    let refused = |words: &[&str]| {
        let ended = sortie_in(here.path()).arg("run").args(words).args(["--agent", "true"]).output().unwrap();
        assert_eq!(ended.status.code(), Some(2), "{words:?}");
        String::from_utf8(ended.stderr).unwrap()
    };
    assert!(refused(&["--library", "--tag", "phishin"]).contains("did you mean `phishing`?"));
    assert!(refused(&["--library", "--covers", "homoglyhp"]).contains("did you mean `homoglyph`?"));
    assert!(refused(&["--mode", "mcp_server", "SRT-001"]).contains("add `--library`, which runs them"));
    assert!(refused(&["--library", "--stdio"]).contains("cannot be used with"));
    for word in ["library", "all", "SRT", "SRT-0*"] {
        assert!(refused(&[word]).contains("`--library` plays what fits"), "{word}");
    }
    for word in ["mcp_server", "mcp-server", "library/mcp-server"] {
        assert!(refused(&[word]).contains("`--library --mode mcp_server` plays what fits"), "{word}");
    }
    // A placeholder that no document knows is a typo, and not a reason to play nothing.
    let ended =
        sortie_in(here.path()).args(["run", "--library", "--agent", "true {mcp_ulr}"]).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("which is not a placeholder"));
}
