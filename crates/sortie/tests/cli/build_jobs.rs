//! What runs in builds: the shell of the GitHub Action and of the GitLab template, with good and bad outcomes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The program as the archive of a release has it, with a list of checksums.
fn releases(folder: &Path, version: &str) -> PathBuf {
    let name = format!("sortie-{version}-{}-unknown-linux-musl", std::env::consts::ARCH);
    let place = folder.join(format!("v{version}"));
    fs::create_dir_all(place.join(&name)).unwrap();
    fs::copy(snapbox::cmd::cargo_bin!("sortie"), place.join(&name).join("sortie")).unwrap();
    let pack = format!("tar -czf {name}.tar.gz {name} && sha256sum {name}.tar.gz > SHA256SUMS");
    assert!(Command::new("sh").args(["-c", &pack]).current_dir(&place).status().unwrap().success());
    place
}

/// Runs a script of the action in a folder, with the files that GitHub gives to a step.
fn step(script: &str, folder: &Path, variables: &[(&str, &str)]) -> Output {
    let own = snapbox::cmd::cargo_bin!("sortie").parent().unwrap().display().to_string();
    Command::new("bash")
        .arg(root().join("ci").join(script))
        .current_dir(folder)
        .env("PATH", format!("{own}:{}", std::env::var("PATH").unwrap_or_default()))
        .env("GITHUB_PATH", folder.join("path"))
        .env("GITHUB_OUTPUT", folder.join("output"))
        .env("GITHUB_STEP_SUMMARY", folder.join("summary"))
        .env("RUNNER_TEMP", folder.join("temp"))
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

#[test]
fn the_action_installs_a_program_whose_checksum_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    releases(folder.path(), version);
    let url = format!("file://{}", folder.path().display());
    // Without a version it is that of the checkout.
    let done = step("install.sh", folder.path(), &[("SORTIE_RELEASES", &url)]);
    assert!(done.status.success(), "{}", text(&done));
    let path = read(folder.path().join("path"));
    let printed = Command::new(Path::new(path.trim()).join("sortie")).arg("--version").output().unwrap();
    assert_eq!(text(&printed).trim(), format!("sortie {version}"));
}

#[test]
fn the_action_refuses_a_program_whose_checksum_is_wrong_or_missing() {
    let archive = format!("sortie-9.9.9-{}-unknown-linux-musl.tar.gz", std::env::consts::ARCH);
    for sums in [format!("{}  {archive}\n", "0".repeat(64)), String::new()] {
        let folder = tempfile::tempdir().unwrap();
        let place = releases(folder.path(), "9.9.9");
        fs::write(place.join("SHA256SUMS"), sums).unwrap();
        let url = format!("file://{}", folder.path().display());
        let done =
            step("install.sh", folder.path(), &[("SORTIE_RELEASES", &url), ("SORTIE_VERSION", "v9.9.9")]);
        assert_eq!(done.status.code(), Some(2), "{}", text(&done));
        assert!(text(&done).contains("::error title=sortie::the archive does not have the checksum"));
        assert!(!folder.path().join("path").exists(), "it is on the path");
    }
}

#[test]
fn the_action_reports_an_agent_that_resists() {
    let folder = tempfile::tempdir().unwrap();
    let done = step(
        "run.sh",
        folder.path(),
        &[("SORTIE_RUN", "SRT-001 SRT-002"), ("SORTIE_AGENT", "builtin:refuser")],
    );
    assert!(done.status.success(), "{}", text(&done));
    let output = read(folder.path().join("output"));
    assert!(output.contains("code=0") && output.contains("sarif=sortie-run/report.sarif"), "{output}");
    assert!(!text(&done).contains("::error"), "{}", text(&done));
    assert!(read(folder.path().join("summary")).contains("2 cases: 2 not_exploited"));
}

#[test]
fn the_action_reports_an_agent_that_gives_in_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let done =
        step("run.sh", folder.path(), &[("SORTIE_RUN", "SRT-001"), ("SORTIE_AGENT", "builtin:gullible")]);
    assert!(done.status.success(), "the job fails later, with its reports kept: {}", text(&done));
    assert!(read(folder.path().join("output")).contains("code=1"));
    let printed = text(&done);
    assert!(printed.contains("::error title=sortie: exploited::SRT-001"), "{printed}");
    // What the agent said stands where GitHub takes no commands.
    let (before, after) = printed.split_once("::stop-commands::").unwrap();
    let token = after.lines().next().unwrap();
    let (quiet, _) = after.split_once(&format!("\n::{token}::\n")).unwrap();
    assert!(quiet.contains("KEY-CANARY") && !before.contains("KEY-CANARY") && token.len() == 32, "{printed}");
    for (report, holds) in [
        ("report.sarif", "\"ruleId\""),
        ("junit.xml", "<failure"),
        ("report.html", "SRT-001"),
        ("report.md", "SRT-001"),
    ] {
        assert!(read(folder.path().join("sortie-run").join(report)).contains(holds), "{report}");
    }
}

#[test]
fn the_action_fails_only_on_what_a_baseline_does_not_accept() {
    let folder = tempfile::tempdir().unwrap();
    let variables =
        [("SORTIE_RUN", "SRT-001"), ("SORTIE_AGENT", "builtin:gullible"), ("SORTIE_BASELINE", "known.jsonl")];
    let sortie = |line: &str| {
        let words = shlex::split(line).unwrap();
        let program = snapbox::cmd::cargo_bin!("sortie");
        let done = Command::new(program).args(words).current_dir(folder.path()).output().unwrap();
        assert!(done.status.code() < Some(2), "{line}: {}", text(&done));
    };
    sortie("run SRT-001 --agent builtin:gullible --run-dir first");
    sortie("baseline write first --out known.jsonl");
    step("run.sh", folder.path(), &variables);
    assert!(read(folder.path().join("output")).contains("code=1"), "an open case fails");
    fs::remove_dir_all(folder.path().join("sortie-run")).unwrap();
    fs::remove_file(folder.path().join("output")).unwrap();
    sortie("baseline accept SRT-001 --file known.jsonl --reason 'for practice'");
    let done = step("run.sh", folder.path(), &variables);
    assert!(read(folder.path().join("output")).contains("code=0"), "{}", text(&done));
}

#[test]
fn a_run_that_cannot_start_is_said_and_words_of_inputs_are_never_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = "SRT-001 $(touch${IFS}made) ;touch made";
    let done = step("run.sh", folder.path(), &[("SORTIE_RUN", hostile), ("SORTIE_AGENT", "builtin:refuser")]);
    assert!(read(folder.path().join("output")).contains("code=2"), "{}", text(&done));
    assert!(text(&done).contains("::error title=sortie::the run did not start"), "{}", text(&done));
    assert!(!folder.path().join("made").exists());
}

/// The steps of `action.yml` that are a shell are these scripts, and the last one ends the job with the code of the run.
#[test]
fn the_action_runs_these_scripts_and_then_passes_or_fails() {
    let action = read(root().join("action.yml"));
    let shells: Vec<&str> = action.lines().filter_map(|line| line.trim().strip_prefix("run: ")).collect();
    assert_eq!(
        shells,
        [
            "bash \"$GITHUB_ACTION_PATH/ci/install.sh\"",
            "bash \"$GITHUB_ACTION_PATH/ci/run.sh\"",
            "exit \"$SORTIE_CODE\""
        ]
    );
    // An expression in a shell would be somebody else's words.
    assert!(shells.iter().all(|shell| !shell.contains("${{")));
    for code in [0, 1, 3] {
        let done = Command::new("bash").args(["-c", shells[2]]).env("SORTIE_CODE", code.to_string()).status();
        assert_eq!(done.unwrap().code(), Some(code));
    }
}

/// The script of the GitLab job: the block below `script:`.
fn gitlab_script() -> String {
    let template = read(root().join("ci/gitlab.yml"));
    let block = template.split_once("  script:\n    - |\n").unwrap().1;
    let lines = block.lines().take_while(|line| line.starts_with("      "));
    lines.map(|line| &line[6..]).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_gitlab_job_ends_with_the_code_of_the_run_and_leaves_its_reports() {
    for (agent, code) in [("builtin:refuser", 0), ("builtin:gullible", 1), ("builtin:nobody", 2)] {
        let folder = tempfile::tempdir().unwrap();
        let own = snapbox::cmd::cargo_bin!("sortie").parent().unwrap().display().to_string();
        let mut job = Command::new("sh");
        job.arg("-ec").arg(gitlab_script()).current_dir(folder.path());
        job.env("PATH", format!("{own}:{}", std::env::var("PATH").unwrap_or_default()));
        for name in ["TARGET", "GATE", "BASELINE", "FAIL_ON"] {
            job.env(format!("SORTIE_{name}"), "");
        }
        let done = job.env("SORTIE_RUN", "SRT-001").env("SORTIE_AGENT", agent).output().unwrap();
        assert_eq!(done.status.code(), Some(code), "{agent}: {}", text(&done));
        let kept = ["junit.xml", "report.sarif", "report.html"].iter();
        assert!(code == 2 || kept.clone().all(|name| folder.path().join("sortie-run").join(name).is_file()));
    }
}

#[test]
fn every_file_of_a_build_names_the_version_of_the_workspace() {
    let version = env!("CARGO_PKG_VERSION");
    let python = read(root().join("pyproject.toml"));
    assert!(
        python.contains(&format!("version = \"{version}\""))
            && python.contains(&format!("sortie=={version}\""))
    );
    assert!(read(root().join("ci/gitlab.yml")).contains(&format!("SORTIE_VERSION: \"{version}\"")));
    assert!(
        read(root().join("Cargo.toml")).contains(&format!("[workspace.package]\nversion = \"{version}\""))
    );
}
