//! What is refused before anything is started. Typos never weaken a run.

use std::fmt::Write as _;

use snapbox::assert_data_eq;

use crate::{fixtures, golden, sortie_in};

/// Command lines, as one would type them in the folder of the fixtures.
const REFUSED: &[&str] = &[
    "nothing.yaml",
    "empty",
    "invalid.yaml",
    "--listen shpo=8080 shop.yaml",
    "--listen localhost:8080 shop.yaml",
    "--listen 8080 --listen 8081 shop.yaml",
    "--listen 8080 chain.yaml --target user=ag_ui=http://127.0.0.1:1",
    "--listen 8080 --jobs 2 shop.yaml simulates.yaml",
    "--listen 0.0.0.0:8080 shop.yaml",
    "--public shop.yaml",
    "chain.yaml",
    "--target usr=ag_ui=http://127.0.0.1:1 chain.yaml",
    "--target user=a2a=http://127.0.0.1:1 chain.yaml",
    "--target a2a=http://127.0.0.1:1 chain.yaml",
    "--target mcp=http://127.0.0.1:1 shop.yaml",
    "--target ag_ui=http://127.0.0.1:1 --target ag_ui=http://127.0.0.1:2 chain.yaml",
    "--target user=http://127.0.0.1:1 chain.yaml",
    "--target ag_ui=127.0.0.1:1 chain.yaml",
    "--target ag_ui=stdio:agent chain.yaml",
    "--target ag_ui=http://ada:hunter2@127.0.0.1:1 chain.yaml",
    "--target @nobody chain.yaml",
    "--target ag_ui=http://127.0.0.1:1 --target-bearer hunter2 chain.yaml",
    "--target ag_ui=http://127.0.0.1:1 --target-header X-Key=hunter2 chain.yaml",
    "--target ag_ui=http://127.0.0.1:1 --target-bearer env:SORTIE_TEST_UNSET chain.yaml",
    "--target ag_ui=http://127.0.0.1:1 --target-bearer usr=env:HOME chain.yaml",
    "--target ag_ui=http://127.0.0.1:1 --target-env HOME chain.yaml",
    "--agent @nobody shop.yaml",
    "--agent /no/such/agent shop.yaml",
    "--agent true --env SORTIE_TEST_UNSET shop.yaml",
    "--env HOME shop.yaml",
    "--agent 'echo {mcp_ulr}' shop.yaml",
    "--agent 'echo {a2a_url}' shop.yaml",
    "--agent 'echo {prompt}' shop.yaml",
    "--agent 'echo \"open' shop.yaml",
    "--agent '' shop.yaml",
    "--stdio --agent true shop.yaml",
    "--stdio chain.yaml --target ag_ui=http://127.0.0.1:1",
    "--stdio shop.yaml simulates.yaml",
    "--stdio -",
    "--wire 2025-01-01 shop.yaml",
    "--isolate sessions shop.yaml",
    "--idle 5 shop.yaml",
    "--redact hunter2 shop.yaml",
    "--redact value:abc shop.yaml",
    "--out nowhere/report.json shop.yaml",
    "--listen mail=8080 unknown-mode.yaml",
    "--dry-run --format junit shop.yaml",
    "--config wrong.toml shop.yaml",
    "--config nowhere.toml shop.yaml",
    "--jobs 0 shop.yaml",
    "--max-duration forever shop.yaml",
];

/// One golden file for all of them: the words are what is tested.
#[test]
fn what_does_not_fit_is_refused_before_anything_is_started() {
    let mut said = String::new();
    let here = tempfile::tempdir().unwrap();
    copy(&fixtures().join("run"), here.path());
    std::fs::create_dir(here.path().join("empty")).unwrap();
    for line in REFUSED {
        let words = shlex::split(line).unwrap();
        let ended = sortie_in(here.path())
            .arg("run")
            .args(&words)
            .env_remove("SORTIE_TEST_UNSET")
            .stdin("")
            .output()
            .unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{line}: {stderr}");
        assert!(ended.stdout.is_empty(), "{line}: {}", String::from_utf8_lossy(&ended.stdout));
        assert!(!stderr.contains("listening"), "{line}: {stderr}");
        assert!(!stderr.contains("hunter2"), "{line}: a secret is repeated: {stderr}");
        writeln!(said, "$ sortie run {}\n{stderr}", line.replace("hunter2", "SECRET")).unwrap();
    }
    assert!(!here.path().join(".sortie").exists(), "something was started");
    assert_data_eq!(said, golden("run/refused.txt"));
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
