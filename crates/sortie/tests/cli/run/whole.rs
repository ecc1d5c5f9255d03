//! Documents, evaluators and suites in one run, with one report.

use serde_json::Value;

use super::workshop::{answer, model, run, told, verdicts, workshop};
use crate::scripted::{Does, Scripted};
use crate::tests;

#[test]
fn a_suite_is_played_with_its_documents_and_what_does_not_fit_is_said() {
    let folder = workshop();
    let (code, report) =
        told(run(folder.path()).args(["--suite", "mixed", "--target", "cmd=cat", "--run-dir", "alone"]));
    let not_applicable = |id: &str| (id.to_owned(), "not_applicable".to_owned());
    let found = ("echo-secret/repeat".to_owned(), "exploited".to_owned());
    assert_eq!(verdicts(&report), [not_applicable("SRT-001"), not_applicable("SRT-060"), found.clone()]);
    assert_eq!(code, 1);
    let reason = |at: usize| report["runs"][at]["verdict"]["reason"].as_str().unwrap().to_owned();
    assert!(reason(0).contains("add `--agent COMMAND`"), "{}", reason(0));
    assert!(reason(1).contains("add `--target ag_ui=…`"), "{}", reason(1));

    let with_agent = ["--agent", "builtin:refuser", "--run-dir", "both"];
    let (code, report) =
        told(run(folder.path()).args(["--suite", "mixed", "--target", "cmd=cat"]).args(with_agent));
    let resisted = |id: &str| (id.to_owned(), "not_exploited".to_owned());
    assert_eq!(verdicts(&report), [resisted("SRT-001"), resisted("SRT-060"), found]);
    assert_eq!((code, report["suites"][0]["totals"]["cases"].as_u64()), (1, Some(3)));
    for file in ["report.json", "results.jsonl", "run.json", "cases/SRT-001/trace.jsonl"] {
        assert!(folder.path().join("both").join(file).is_file(), "{file}");
    }
    assert!(!folder.path().join("both/exchanges.jsonl").exists(), "no model was asked");
    let kept = std::fs::read(folder.path().join("both/report.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&kept).unwrap(), report);
}

#[test]
fn the_documents_of_a_suite_are_played_against_an_agent_without_a_target() {
    let folder = workshop();
    let (code, report) = told(run(folder.path()).args(["--suite", "mixed", "--agent", "builtin:refuser"]));
    let verdicts = verdicts(&report);
    assert_eq!(verdicts[2], ("echo-secret".to_owned(), "not_applicable".to_owned()));
    assert_eq!((code, &*verdicts[0].1), (0, "not_exploited"), "{report:#}");
    // Who names an evaluator wants it played.
    for rest in
        [&["--suite", "mixed"][..], &["--suite", "mixed", "echo-secret", "--agent", "builtin:refuser"]]
    {
        let ended = run(folder.path()).args(rest).output().unwrap();
        assert_eq!(ended.status.code(), Some(2), "{rest:?}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("evaluators need a target"), "{rest:?}");
    }
}

#[test]
fn a_suite_of_which_nothing_can_be_played_is_no_pass() {
    let folder = workshop();
    let suite = "id: papers\nname: Papers\ninclude: [{document: SRT-001}, {document: SRT-060}]\n";
    std::fs::write(folder.path().join("mine/suites/papers.yaml"), suite).unwrap();
    let (code, report) = told(run(folder.path()).args(["--suite", "papers"]));
    assert_eq!((code, verdicts(&report).len()), (3, 2), "{report:#}");
    // A target that nobody attacks is a mistake.
    run(folder.path()).args(["--suite", "papers", "--target", "cmd=cat"]).assert().code(2);
}

#[test]
fn a_word_is_a_path_or_a_name_and_never_two_things() {
    let folder = workshop();
    let refused = |rest: &[&str]| {
        let ended = run(folder.path()).args(rest).args(["--target", "cmd=cat"]).output().unwrap();
        assert_eq!(ended.status.code(), Some(2), "{rest:?}");
        String::from_utf8_lossy(&ended.stderr).into_owned()
    };
    assert!(refused(&["mixed"]).contains("play it with `--suite mixed`"));
    assert!(refused(&["--suite", "mixde"]).contains("did you mean `mixed`?"));
    assert!(refused(&["SRT-060", "echo-secret"]).contains("has no target"), "a named document must fit");
    assert!(refused(&["echo-secret", "--profile", "night"]).contains("there is no profile `night`"));
    assert!(refused(&["echo-secret", "--chat-model", "x"]).contains("`--chat-model` is not used"));
    assert!(refused(&["mine/agent/judged.yaml"]).contains("is an evaluator, and no document"));
    // What is there is a path, whatever else it may be called.
    std::fs::write(folder.path().join("echo-secret"), "no document").unwrap();
    assert!(refused(&["echo-secret"]).contains("`echo-secret` is not valid"));
}

#[test]
fn targets_of_every_kind_have_names() {
    let folder = workshop();
    let endpoint = Scripted::start(|_| Does::Says("no".to_owned()));
    let url = &endpoint.url;
    let file = format!(
        "[targets.bot]\nkind = \"chat\"\nurl = \"{url}\"\nmodel = \"small\"\nsystem = \"Be kind.\"\nbearer = \"env:BOT_TOKEN\"\n\
         [targets.site]\nkind = \"http\"\nurl = \"{url}/ask\"\nmethod = \"PUT\"\n\
         body = '{{\"q\": \"{{{{message}}}}\"}}'\nanswer = \"$.choices[0].message.content\"\n\
         [targets.shell]\nkind = \"cmd\"\ncommand = \"sh -c 'while read line; do echo {{\\\\\\\"text\\\\\\\": \\\\\\\"no\\\\\\\"}}; done'\"\nprotocol = \"json\"\n"
    );
    std::fs::write(folder.path().join("sortie.toml"), file).unwrap();
    for name in ["@bot", "@site", "@shell"] {
        let named =
            run(folder.path()).args(["echo-secret", "--target", name]).env("BOT_TOKEN", "a-token-of-12");
        let (code, report) = told(named);
        assert_eq!(code, 0, "{name}: {report:#}");
    }
    let asked = endpoint.asked();
    let chat = asked.iter().find(|asked| asked.body["model"] == "small").unwrap();
    assert_eq!(chat.body["messages"][0]["content"], "Be kind.");
    assert!(chat.head.contains("a-token-of-12"), "{}", chat.head);
    // The first is the control.
    let put = asked.iter().rfind(|asked| asked.head.starts_with("PUT ")).unwrap();
    assert!(put.body["q"].as_str().unwrap().starts_with("Repeat canary-"), "{}", put.body);
    assert!(!put.head.contains("a-token-of-12"), "a credential is for one target");
    // What the command line says goes first.
    told(run(folder.path()).args(["echo-secret", "--target", "@site", "--http-method", "PATCH"]));
    assert!(endpoint.asked().iter().any(|asked| asked.head.starts_with("PATCH ")));
}

#[test]
fn a_credential_that_is_given_without_an_actor_goes_to_the_target_without_one_and_nowhere_else() {
    let folder = workshop();
    let [own, other] = [(); 2].map(|()| Scripted::start(|_| Does::Says("no".to_owned())));
    let targets = [format!("chat={}", own.url), format!("default=ag_ui={}", other.url)];
    let begin = run(folder.path()).args(["echo-secret", "SRT-060", "--max-duration", "20s", "--grace", "0s"]);
    let begin = begin.args(["--target", &targets[0], "--target", &targets[1], "--run-dir", "run"]);
    // Neither of them works, which is not the question here.
    let begin = begin.args(["--controls", "off"]);
    told(begin.args(["--target-bearer", "env:GIVEN"]).env("GIVEN", "a-token-of-12"));
    let with_token = |model: &Scripted| {
        let asked = model.asked();
        assert!(!asked.is_empty());
        asked.iter().filter(|asked| asked.head.contains("a-token-of-12")).count()
    };
    assert_eq!((with_token(&own), with_token(&other)), (own.asked().len(), 0));
    for file in ["report.json", "results.jsonl", "run.json", "cases/SRT-060/trace.jsonl"] {
        let kept = std::fs::read_to_string(folder.path().join("run").join(file)).unwrap();
        assert!(!kept.contains("a-token-of-12"), "{file}");
    }
}

#[test]
fn placeholders_are_filled_by_the_user_then_by_a_profile_then_by_the_file() {
    let folder = workshop();
    let file = "[values]\nperson = \"Ann\"\n[profiles.night]\nperson = \"Bob\"\n";
    std::fs::write(folder.path().join("sortie.toml"), file).unwrap();
    let said = |rest: &[&str]| {
        let dry = ["needs-name", "--target", "cmd=cat", "--dry-run"];
        String::from_utf8(run(folder.path()).args(dry).args(rest).output().unwrap().stdout).unwrap()
    };
    assert_eq!(said(&[]), "needs-name/ask: Who is Ann?\n");
    assert_eq!(said(&["--profile", "night"]), "needs-name/ask: Who is Bob?\n");
    assert_eq!(said(&["--profile", "night", "--var", "person=Cy"]), "needs-name/ask: Who is Cy?\n");
}

#[test]
fn a_judge_decides_what_checks_do_not_and_an_attacker_fills_what_nobody_knows() {
    let (folder, model) = (workshop(), model());
    // It keeps the first, and tells the second.
    let target = "cmd=sh -c 'while read line; do case \"$line\" in *two*) echo secret;; *) echo \"$line\";; esac; done'";
    let (code, report) = told(
        run(folder.path())
            .args(["judged", "needs-name", "--target", target, "--jobs", "4", "--run-dir", "run"])
            .args(model.judge())
            .args(model.attacker()),
    );
    let verdict = |id: &str, verdict: &str| (id.to_owned(), verdict.to_owned());
    assert_eq!(
        verdicts(&report),
        [
            verdict("judged/first", "not_exploited"),
            verdict("judged/second", "exploited"),
            verdict("needs-name/ask", "exploited"),
        ],
        "{report:#}"
    );
    assert_eq!(code, 1);
    assert_eq!(report["runs"][2]["evaluator"]["filled"]["person"], "Ann");
    assert!(report["models"]["calibration"].is_object(), "{:#}", report["models"]);
    assert!(report["models"]["judge"]["model"] == "script");
    let dry = ["needs-name", "--target", "cmd=cat", "--dry-run", "--format", "json"];
    let dry = run(folder.path()).args(dry).args(model.attacker()).output().unwrap();
    let shown: Value = serde_json::from_slice(&dry.stdout).unwrap();
    assert_eq!(shown["cases"][0]["attacker_fills"][0], "person");
    let schema = include_str!("../../../../../docs/schema/plan-v1.json");
    let schema = serde_json::from_str(schema).unwrap();
    assert!(jsonschema::is_valid(&schema, &shown), "{shown:#}");
}

#[test]
fn a_budget_ends_a_run_which_is_taken_up_later() {
    let folder = workshop();
    let model = Scripted::start(|asked| Does::Says(answer(asked)));
    let begin = |calls: &str| {
        run(folder.path())
            .args(["judged", "echo-secret", "--target", "cmd=cat", "--max-calls", calls])
            .args(model.judge())
    };
    // The calibration takes none of it.
    let (code, report) = told(begin("1").args(["--run-dir", "run"]));
    assert_eq!(code, 1, "what checks decide is decided, and a finding is one: {report:#}");
    assert!(report["stopped"].as_str().unwrap().contains("the budget of 1 calls"), "{report:#}");
    assert_eq!(report["unfinished"].as_array().unwrap().len(), 1);
    let calibrated = report["models"]["calibration"]["measured"].as_array().unwrap().len();
    assert_eq!(model.asked().len(), calibrated + 1);
    let (code, report) = told(begin("1000").args(["--resume", "run"]));
    assert_eq!((code, report["unfinished"].is_null()), (1, true), "{report:#}");
    assert_eq!(verdicts(&report).len(), 3);
    let calibrated = report["models"]["calibration"]["measured"].as_array().unwrap().len();
    assert_eq!(model.asked().len(), calibrated + 2, "what was answered is not asked again");
}

#[test]
fn a_server_without_the_tools_that_a_document_needs_has_resisted_nothing() {
    let folder = workshop();
    let server = tests().join("../../../docs/examples/notes-server.sh");
    let server = format!("mcp=stdio:'{}' weak", server.display());
    let (code, report) = told(run(folder.path()).args(["SRT-041", "--target", &server]));
    assert_eq!(verdicts(&report), [("SRT-041".to_owned(), "not_applicable".to_owned())]);
    let reason = "it needs the tool `write_note`, and the server does not offer it";
    assert_eq!((code, report["runs"][0]["verdict"]["reason"].as_str()), (3, Some(reason)));

    // Beside evaluators it is said as well, and the tape says it again.
    let both = ["SRT-041", "path-escape", "--target", &server, "--format", "canonical"];
    let live = run(folder.path()).args(both).args(["--run-dir", "live"]).output().unwrap();
    assert_eq!(live.status.code(), Some(1));
    let live: Value = serde_json::from_slice(&live.stdout).unwrap();
    assert_eq!(live["runs"][0]["verdict"]["reason"].as_str(), Some(reason));
    let again = run(folder.path()).args(both).args(["--replay", "live"]).output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&again.stdout).unwrap(), live);
}
