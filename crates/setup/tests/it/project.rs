//! The first files of a project.

use std::fs;

use sortie_run::Config;
use sortie_setup::{BuildService, FIRST_RUN, Project, ProjectError, WriteResult};

fn project(agent: Option<&str>, build: BuildService) -> Project {
    Project { agent: agent.map(str::to_owned), build }
}

#[test]
fn a_project_gets_settings_a_baseline_and_a_job() {
    for (build, job) in [
        (BuildService::Github, Some(".github/workflows/sortie.yml")),
        (BuildService::Gitlab, Some("sortie.gitlab-ci.yml")),
        (BuildService::Other, None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let written = project(None, build).write(folder.path()).unwrap();
        let names: Vec<_> = written.iter().map(|(path, _)| path.to_str().unwrap()).collect();
        let wanted: Vec<_> = ["sortie.toml", "sortie-baseline.jsonl"].into_iter().chain(job).collect();
        assert_eq!(names, wanted);
        for name in names {
            let text = fs::read_to_string(folder.path().join(name)).unwrap();
            assert!(
                !text.contains("@RUN@") && !text.contains("@VERSION@") && !text.contains("@AGENT@"),
                "{name}"
            );
        }
    }
}

#[test]
fn a_file_that_is_there_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sortie.toml"), "# mine\n").unwrap();
    let written = project(Some("codex"), BuildService::Other).write(folder.path()).unwrap();
    assert_eq!(written[0].1, WriteResult::Kept);
    assert_eq!(written[1].1, WriteResult::Written);
    assert_eq!(fs::read_to_string(folder.path().join("sortie.toml")).unwrap(), "# mine\n");
}

#[test]
fn an_agent_is_a_preset_or_a_command_whatever_is_in_it() {
    for (agent, words) in [
        ("codex", None),
        ("python 'my agent.py' {prompt}", Some(vec!["python", "my agent.py", "{prompt}"])),
        ("run \"quoted\" back\\\\slash", Some(vec!["run", "quoted", "back\\slash"])),
    ] {
        let folder = tempfile::tempdir().unwrap();
        project(Some(agent), BuildService::Github).write(folder.path()).unwrap();
        let config = Config::load(Some(&folder.path().join("sortie.toml"))).unwrap();
        let mine = config.agent("mine").unwrap();
        match words {
            Some(words) => assert_eq!(mine.command, words),
            None => assert_eq!(mine.command[0], "codex"),
        }
        let job = fs::read_to_string(folder.path().join(".github/workflows/sortie.yml")).unwrap();
        assert!(job.contains("--agent @mine"), "{job}");
    }
}

#[test]
fn an_agent_that_cannot_be_written_is_refused_before_anything_is() {
    let folder = tempfile::tempdir().unwrap();
    let refused = project(Some("never 'closed"), BuildService::Other).write(folder.path());
    assert!(matches!(refused, Err(ProjectError::Agent { .. })), "{refused:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn without_an_agent_the_build_plays_the_first_run() {
    let folder = tempfile::tempdir().unwrap();
    project(None, BuildService::Gitlab).write(folder.path()).unwrap();
    let job = fs::read_to_string(folder.path().join("sortie.gitlab-ci.yml")).unwrap();
    assert!(job.contains(&FIRST_RUN.join(" ")), "{job}");
}

#[test]
fn the_service_is_that_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(BuildService::detect(folder.path()), BuildService::Other);
    fs::create_dir(folder.path().join(".git")).unwrap();
    assert_eq!(BuildService::detect(folder.path()), BuildService::Github);
    fs::write(folder.path().join(".gitlab-ci.yml"), "").unwrap();
    assert_eq!(BuildService::detect(folder.path()), BuildService::Gitlab);
}
