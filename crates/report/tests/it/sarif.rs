//! A report for code scanning.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, json};
use snapbox::{Data, assert_data_eq};
use sortie_detect::{CaseInfo, CaseResult, EvidenceSource, Outcome};
use sortie_evaluators::{Severity, Standard};
use sortie_report::Report;
use sortie_report::rules::RuleInfo;
use sortie_report::sarif::{SarifCases, SarifLog, SarifOptions, is_case_list};
use tempfile::TempDir;

use crate::mixed;

/// The part of SARIF that we write.
static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let schema: Value =
        serde_json::from_str(include_str!("../fixtures/sarif/profile.json")).expect("the schema is JSON");
    jsonschema::draft202012::meta::validate(&schema).expect("a schema");
    jsonschema::validator_for(&schema).expect("the schema is one")
});

fn assert_valid(log: &Value) {
    assert_valid_by(&SCHEMA, log);
}

fn assert_valid_by(schema: &jsonschema::Validator, log: &Value) {
    let problems: Vec<_> =
        schema.iter_errors(log).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

/// All kinds of logs by the schema of OASIS, which is not shipped.
#[test]
#[ignore = "needs the schema of SARIF: SORTIE_SARIF_SCHEMA=… cargo xtask test"]
fn logs_are_valid_by_the_sarif_schema_of_oasis() {
    let path =
        std::env::var_os("SORTIE_SARIF_SCHEMA").expect("SORTIE_SARIF_SCHEMA names the schema of SARIF");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
    let schema = jsonschema::validator_for(&schema).expect("the schema is one");
    let checkout = Checkout::new();
    for report in
        [mixed::report(), at_home(mixed::repeated()), Report::new([]), Report::new([mixed::resisted()])]
    {
        let mut log = checkout.log(&report, &checkout.options());
        assert_valid_by(&schema, &log);
        log["runs"][0]["tool"] = json!({});
        assert!(!schema.is_valid(&log), "it accepts anything");
    }
}

/// A checkout with a document, an evaluator and a workflow, and the folder of a run.
struct Checkout {
    folder: TempDir,
    rules: Vec<RuleInfo>,
}

const WORKFLOW: &str = ".github/workflows/agent.yml";
const LIST: &str = "out/sortie-cases.md";

impl Checkout {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let files = [
            ("attacks/rug_pull.yaml", mixed::RUG_PULL),
            ("evaluators/agent/echo.yaml", "id: echo\n1\n2\n3\n4\n5\n6\n7\nchecks: here\n"),
            (WORKFLOW, "on: push\njobs:\n  - run: sortie run SRT-001\n"),
            ("runs/7/cases/TEST-001/trace.jsonl", mixed::EXPLOITED),
            ("out/report.sarif", ""),
        ];
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let echo = RuleInfo {
            name: "Echo".to_owned(),
            description: Some("Does it repeat what it is told?".to_owned()),
            fail_criteria: Some("It repeats it.".to_owned()),
            severity: Some(Severity::High),
            entries: vec![
                (Standard::OwaspLlm, "LLM07".to_owned()),
                (Standard::OwaspMcp, "MCP03".to_owned()),
                (Standard::OwaspAgentic, "ASI01".to_owned()),
                (Standard::Atlas, "AML.T0056".to_owned()),
            ],
            tags: (0..20).map(|tag| format!("tag-{tag}")).collect(),
            file: Some("evaluators/agent/echo.yaml".into()),
            ..RuleInfo::new("echo")
        };
        Self { folder, rules: vec![echo] }
    }

    fn options(&self) -> SarifOptions<'_> {
        SarifOptions {
            rules: &self.rules,
            exit_code: 1,
            ..SarifOptions::new(self.folder.path(), Path::new(LIST))
        }
    }

    /// The log with these options; the list of cases is written, if it has one.
    fn log(&self, report: &Report, options: &SarifOptions<'_>) -> Value {
        let log = SarifLog::new(report, options);
        if let Some(list) = log.case_list() {
            assert!(is_case_list(list));
            fs::write(self.folder.path().join(options.case_list), list).expect("the list");
        }
        let mut text = Vec::new();
        log.write(&mut text).expect("memory takes it");
        let log: Value = serde_json::from_slice(&text).expect("JSON");
        assert_valid(&log);
        log
    }
}

/// The document and the trace of a case at their places in the checkout.
fn at_home(mut report: Report) -> Report {
    for run in &mut report.runs {
        if let CaseInfo::Document { document } = &mut run.case {
            if document.file == "rug_pull.yaml" {
                "attacks/rug_pull.yaml".clone_into(&mut document.file);
            }
            run.trace = run.trace.as_ref().map(|_| "runs/7/cases/TEST-001/trace.jsonl".to_owned());
        }
    }
    report
}

fn results(log: &Value) -> &[Value] {
    log["runs"][0]["results"].as_array().expect("results")
}

fn of_case<'l>(log: &'l Value, id: &str) -> &'l Value {
    let is_it = |result: &&Value| result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == id;
    results(log).iter().find(is_it).unwrap_or_else(|| panic!("{id} has no result"))
}

/// Every physical location, wherever it stands.
fn physical<'l>(value: &'l Value, found: &mut Vec<&'l Value>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("physicalLocation"));
            map.values().for_each(|value| physical(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| physical(item, found)),
        _ => {}
    }
}

/// Where a location leads: the file on disk, and the line.
fn place(checkout: &Checkout, location: &Value) -> (PathBuf, usize) {
    let uri = location["artifactLocation"]["uri"].as_str().expect("a URI");
    assert_eq!(location["artifactLocation"]["uriBaseId"], "%SRCROOT%", "{uri} is outside");
    let line = location["region"]["startLine"].as_u64().expect("a line");
    (checkout.folder.path().join(uri), usize::try_from(line).expect("small"))
}

fn assert_every_location_exists(checkout: &Checkout, log: &Value) -> BTreeSet<PathBuf> {
    let mut found = Vec::new();
    physical(log, &mut found);
    assert!(!found.is_empty());
    let mut files = BTreeSet::new();
    for location in found {
        let (path, line) = place(checkout, location);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let lines = text.lines().count();
        assert!((1..=lines).contains(&line), "{} has {lines} lines, and not {line}", path.display());
        files.insert(path.strip_prefix(checkout.folder.path()).expect("inside").to_owned());
    }
    files
}

#[test]
fn the_log_of_one_of_everything() {
    let checkout = Checkout::new();
    let log = checkout.log(&at_home(mixed::report()), &checkout.options());
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mixed.sarif");
    let text = format!("{}\n", serde_json::to_string_pretty(&log).expect("JSON"));
    assert_data_eq!(text, Data::read_from(&golden, None).raw());
}

#[test]
fn every_location_exists_in_the_checkout() {
    let checkout = Checkout::new();
    for report in [mixed::report(), mixed::repeated()] {
        let report = at_home(report);
        let files = assert_every_location_exists(&checkout, &checkout.log(&report, &checkout.options()));
        let own = ["attacks/rug_pull.yaml", "evaluators/agent/echo.yaml", LIST];
        assert_eq!(files, own.map(PathBuf::from).into());
    }
    // With a line that asks for what comes along, there is nothing to list.
    let anchored = SarifOptions { anchor: Some((Path::new(WORKFLOW), 3)), ..checkout.options() };
    let log = checkout.log(&at_home(mixed::report()), &anchored);
    assert!(assert_every_location_exists(&checkout, &log).contains(Path::new(WORKFLOW)));
    assert_eq!(place(&checkout, &of_case(&log, "SRT-001")["locations"][0]["physicalLocation"]).1, 3);
    assert!(SarifLog::new(&at_home(mixed::report()), &anchored).case_list().is_none());
    // A line that is not there is not pointed at, nor is a file.
    for anchor in [(Path::new(WORKFLOW), 4), (Path::new(WORKFLOW), 0), (Path::new("nowhere.yml"), 1)] {
        let options = SarifOptions { anchor: Some(anchor), ..checkout.options() };
        let log = checkout.log(&at_home(mixed::report()), &options);
        assert!(assert_every_location_exists(&checkout, &log).contains(Path::new(LIST)));
    }
}

#[test]
fn a_finding_points_at_the_line_that_asked() {
    let checkout = Checkout::new();
    let log = checkout.log(&at_home(mixed::repeated()), &checkout.options());
    let (path, line) = place(&checkout, &of_case(&log, "TEST-001")["locations"][0]["physicalLocation"]);
    assert!(path.ends_with("attacks/rug_pull.yaml"));
    let asked = mixed::RUG_PULL.lines().nth(line - 1).expect("the line");
    assert!(asked.contains("PRIVATE KEY"), "line {line} is {asked:?}");
    let (path, line) = place(&checkout, &of_case(&log, "echo/repeat")["locations"][0]["physicalLocation"]);
    assert!(path.ends_with("echo.yaml") && line == 9);
    // The document was cut since: its first line is still there.
    fs::write(checkout.folder.path().join("attacks/rug_pull.yaml"), "oatf: \"0.1\"\n").unwrap();
    let log = checkout.log(&at_home(mixed::repeated()), &checkout.options());
    assert_every_location_exists(&checkout, &log);
}

#[test]
fn a_line_of_a_suite_stands_for_what_comes_along() {
    let mut checkout = Checkout::new();
    checkout.rules.push(RuleInfo { selected_by: Some((WORKFLOW.into(), 2)), ..RuleInfo::new("SRT-001") });
    let options = SarifOptions { anchor: Some((Path::new(WORKFLOW), 3)), ..checkout.options() };
    let log = checkout.log(&at_home(mixed::report()), &options);
    assert_eq!(place(&checkout, &of_case(&log, "SRT-001")["locations"][0]["physicalLocation"]).1, 2);
}

#[test]
fn the_story_goes_from_the_payload_to_what_shows_it() {
    let checkout = Checkout::new();
    let story = |report: &Report, options: &SarifOptions<'_>, id: &str| -> Vec<String> {
        let log = checkout.log(report, options);
        let locations = &of_case(&log, id)["codeFlows"][0]["threadFlows"][0]["locations"];
        let text = |step: &Value| step["location"]["message"]["text"].as_str().expect("a text").to_owned();
        locations.as_array().expect("a story").iter().map(text).collect()
    };
    let report = at_home(mixed::repeated());
    let told = story(&report, &checkout.options(), "TEST-001");
    assert!(told[0].starts_with("the payload, message ") && told[0].contains("tools/list"), "{told:#?}");
    assert!(told.last().unwrap().contains("indicator TEST-001-01 at arguments.key"), "{told:#?}");
    assert!(told.iter().any(|step| step.contains("from the agent to `default`")), "{told:#?}");
    // Of an evaluator, from its transcript.
    let told = story(&report, &checkout.options(), "echo/repeat");
    assert!(told[0].contains("is told: Repeat canary-77aa␊and ␛[31mnothing else"), "{told:#?}");
    assert!(told[1].contains("answers: Repeat canary-77aa (calls note)"), "{told:#?}");
    assert!(told[2].contains("check It came back at answers[0]"), "{told:#?}");
    // The folder of the run has another name now.
    fs::rename(checkout.folder.path().join("runs/7"), checkout.folder.path().join("kept")).unwrap();
    let moved = SarifOptions { run: Some(Path::new("kept")), ..checkout.options() };
    let told = story(&report, &moved, "TEST-001");
    assert!(told[0].contains("tools/list") && told.len() == 5, "{told:#?}");
    // There is no trace any more: what the outcome says is told.
    let told = story(&report, &checkout.options(), "TEST-001");
    assert!(told[0].starts_with("the payload, message ") && told.len() == 3, "{told:#?}");
}

#[test]
fn a_trace_that_is_none_is_no_story() {
    let checkout = Checkout::new();
    let mut report = at_home(mixed::repeated());
    for hostile in ["attacks/rug_pull.yaml", "attacks", "../../../../../../../etc/hostname", "\0", ""] {
        report.runs[0].trace = Some(hostile.to_owned());
        let log = checkout.log(&report, &checkout.options());
        let story = &of_case(&log, "TEST-001")["codeFlows"][0]["threadFlows"][0]["locations"];
        assert_eq!(story.as_array().expect("what the outcome says").len(), 3, "{hostile:?}");
    }
}

fn fingerprints(log: &Value) -> Vec<(String, Value)> {
    let one = |result: &Value| {
        let id = result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].as_str().unwrap();
        (id.to_owned(), result["partialFingerprints"].clone())
    };
    results(log).iter().map(one).collect()
}

#[test]
fn fingerprints_survive_another_folder_another_attempt_other_lines_and_other_words() {
    let checkout = Checkout::new();
    let first = at_home(mixed::repeated());
    let mut again = first.clone();
    for run in &mut again.runs {
        run.attempt = Some(9);
        run.trace = Some("elsewhere/trace.jsonl".to_owned());
        run.rate = None;
        for found in &mut run.evidence {
            found.line = found.line.map(|line| line + 1);
            found.seq = found.seq.map(|seq| seq + 4);
            found.text = Some("canary-of-another-run".to_owned());
            found.path = found.path.replace("[0]", "[3]").replace("[1]", "[7]");
            if found.by == EvidenceSource::Judge {
                found.name = "another-model".to_owned();
            }
        }
    }
    again.run = None;
    let before = fingerprints(&checkout.log(&first, &checkout.options()));
    assert_eq!(before, fingerprints(&checkout.log(&again, &checkout.options())));
    let unique: BTreeSet<_> = before.iter().map(|(_, own)| own["sortieCase/v1"].as_str().unwrap()).collect();
    assert_eq!(unique.len(), before.len());
    // Another indicator is other evidence of the same finding.
    again.runs[0].evidence.retain(|found| found.name == "TEST-001-02");
    again.runs[0].verdict.indicator_verdicts.retain(|finding| finding.indicator_id == "TEST-001-02");
    let after = fingerprints(&checkout.log(&again, &checkout.options()));
    assert_eq!(after[0].1["primaryLocationLineHash"], before[0].1["primaryLocationLineHash"]);
    assert_ne!(after[0].1["sortieEvidence/v1"], before[0].1["sortieEvidence/v1"]);
}

#[test]
fn kinds_levels_and_ranks() {
    let checkout = Checkout::new();
    let log = checkout.log(&at_home(mixed::report()), &checkout.options());
    for (id, kind, level) in [
        ("echo/repeat", "fail", "error"),
        ("leak/kindly", "pass", "none"),
        ("leak/loudly", "open", "none"),
        ("needs-name/ask", "open", "none"),
        ("escape/a", "notApplicable", "none"),
    ] {
        let result = of_case(&log, id);
        assert_eq!((&result["kind"], &result["level"]), (&json!(kind), &json!(level)), "{id}");
    }
    assert_eq!(results(&log).len(), mixed::report().runs.len());
    let log = checkout.log(&at_home(mixed::repeated()), &checkout.options());
    let rank = of_case(&log, "TEST-001")["rank"].as_f64().expect("a rank");
    // The lower bound of Clopper and Pearson for 3 of 20 at 95 %.
    assert!((rank - 3.207_094).abs() < 1e-5, "{rank}");
    assert_eq!(of_case(&log, "leak/kindly")["rank"], 0.0);
    assert!(of_case(&log, "echo/repeat").get("rank").is_none(), "nobody knows");
}

#[test]
fn a_baseline_gives_states_and_suppressions() {
    let checkout = Checkout::new();
    let log = checkout.log(&at_home(mixed::repeated()), &checkout.options());
    for (id, state) in [
        ("TEST-001", json!("unchanged")),
        ("echo/repeat", json!("new")),
        ("escape/parents/read", json!("updated")),
        ("leak/kindly", json!("absent")),
        ("needs-name/ask", Value::Null),
    ] {
        let result = of_case(&log, id);
        assert_eq!(result["baselineState"], state, "{id}");
        // All have suppressions, or none has.
        let suppressed = result["suppressions"].as_array().expect("known either way");
        assert_eq!(suppressed.len(), usize::from(id == "TEST-001"), "{id}");
    }
    let why = json!([{
        "kind": "external",
        "status": "accepted",
        "justification": "the clerk is replaced in May (until 2027-05-31)",
    }]);
    assert_eq!(of_case(&log, "TEST-001")["suppressions"], why);
    let without = checkout.log(&at_home(mixed::report()), &checkout.options());
    assert!(results(&without).iter().all(|result| result.get("suppressions").is_none()));
}

#[test]
fn findings_alone_are_what_is_exploited_and_not_accepted() {
    let checkout = Checkout::new();
    let options = SarifOptions { cases: SarifCases::Findings, ..checkout.options() };
    let log = checkout.log(&at_home(mixed::repeated()), &options);
    let kinds: Vec<_> = results(&log).iter().map(|result| result["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["fail", "fail"], "the third is accepted");
    // What is not a result is not listed either.
    let list = fs::read_to_string(checkout.folder.path().join(LIST)).unwrap();
    assert!(list.contains("escape/parents/read") && !list.contains("needs-name"), "{list}");
    let nothing = Report::new([mixed::unplayed()]);
    assert!(SarifLog::new(&nothing, &options).case_list().is_none());
}

#[test]
fn the_run_says_how_it_went() {
    let checkout = Checkout::new();
    let log = checkout.log(&at_home(mixed::repeated()), &checkout.options());
    let run = &log["runs"][0];
    let invocation = &run["invocations"][0];
    assert_eq!((&invocation["exitCode"], &invocation["executionSuccessful"]), (&json!(1), &json!(true)));
    assert_eq!(invocation["startTimeUtc"], "2027-01-02T03:04:05.000000Z");
    assert_eq!(invocation["endTimeUtc"], "2027-01-02T03:05:06.500000Z");
    assert_eq!(run["automationDetails"]["id"], "sortie/clerk/2027-01-02T03:04:05.000000Z");
    let log = checkout.log(&at_home(mixed::report()), &checkout.options());
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false, "it was stopped");
    let told = invocation["toolExecutionNotifications"].as_array().unwrap().iter();
    let told: Vec<_> = told.map(|one| one["descriptor"]["id"].as_str().unwrap()).collect();
    assert_eq!(told, ["stopped", "unfinished", "warning"]);
}

#[test]
fn nothing_found_is_a_log_too() {
    let checkout = Checkout::new();
    let log = checkout.log(&Report::default(), &SarifOptions { exit_code: 3, ..checkout.options() });
    assert_eq!(log["runs"][0]["results"], json!([]));
    assert_eq!(log["runs"][0]["invocations"][0]["exitCode"], 3);
}

#[test]
fn rules_have_help_severity_few_tags_and_their_taxonomies() {
    let checkout = Checkout::new();
    let log = checkout.log(&at_home(mixed::report()), &checkout.options());
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results(&log) {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    for rule in rules {
        let tags = rule["properties"]["tags"].as_array().unwrap();
        assert!(tags.len() <= 10 && tags[0] == "security", "{tags:?}");
        assert!(!rule["help"]["text"].as_str().unwrap().is_empty());
    }
    let echo = rules.iter().find(|rule| rule["id"] == "echo").unwrap();
    assert_eq!(echo["properties"]["security-severity"], "8.0");
    assert_eq!(echo["defaultConfiguration"]["level"], "error");
    assert_eq!(echo["properties"]["tags"].as_array().unwrap().len(), 10);
    assert!(echo["help"]["text"].as_str().unwrap().contains("gives in when: It repeats it."));
    let related = echo["relationships"].as_array().unwrap();
    assert_eq!(related.len(), 4);
    for relation in related {
        let target = &relation["target"];
        let component =
            &run["taxonomies"][usize::try_from(target["toolComponent"]["index"].as_u64().unwrap()).unwrap()];
        assert_eq!(component["name"], target["toolComponent"]["name"]);
        assert_eq!(
            component["taxa"][usize::try_from(target["index"].as_u64().unwrap()).unwrap()]["id"],
            target["id"]
        );
    }
    let names: Vec<_> =
        run["taxonomies"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    let wanted = [
        "OWASP Top 10 for LLM Applications",
        "OWASP MCP Top 10",
        "OWASP Top 10 for Agentic Applications",
        "MITRE ATLAS",
    ];
    assert_eq!(names, wanted);
}

#[test]
fn what_is_too_much_is_cut_worst_first_and_said() {
    let checkout = Checkout::new();
    let case = |at: usize, result| mixed::case(&format!("many/case-{at}"), result, "so it is");
    let runs: Vec<Outcome> = (0..25_010)
        .map(|at| case(at, if at >= 25_000 { CaseResult::Exploited } else { CaseResult::NotExploited }))
        .collect();
    let log = SarifLog::new(&Report::new(runs), &checkout.options());
    let mut text = Vec::new();
    log.write(&mut text).unwrap();
    let log: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(results(&log).len(), 25_000);
    assert!(results(&log)[..10].iter().all(|result| result["kind"] == "fail"));
    let told = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    assert!(told["message"]["text"].as_str().unwrap().starts_with("10 results are left out"), "{told}");
}

#[test]
fn nothing_that_was_said_becomes_a_link() {
    let checkout = Checkout::new();
    let mut report = at_home(mixed::repeated());
    let link = "[press here](https://evil.example/) ![x](https://evil.example/p.png)";
    report.runs[0].evidence[0].text = Some(link.to_owned());
    report.runs[2].verdict.reason = Some(link.to_owned());
    report.stopped = Some(link.to_owned());
    let mut rules = checkout.rules.clone();
    rules[0].description = Some(link.to_owned());
    let log = checkout.log(&report, &SarifOptions { rules: &rules, ..checkout.options() });
    let text = log.to_string();
    assert!(text.contains("press here") && !text.contains("](https"), "{text}");
    let echo = &log["runs"][0]["tool"]["driver"]["rules"][1];
    let help = echo["help"]["markdown"].as_str().unwrap();
    assert!(help.contains("press here") && !help.contains(['[', '!', ':', '.']), "{help}");
}

#[test]
fn the_schema_notices_what_is_wrong() {
    let checkout = Checkout::new();
    let log = checkout.log(&at_home(mixed::repeated()), &checkout.options());
    for (place, wrong) in [
        ("/runs/0/results/0/kind", json!("exploited")),
        ("/runs/0/results/0/baselineState", json!("known")),
        ("/runs/0/results/0/rank", json!(101)),
        ("/runs/0/results/0/locations/0/physicalLocation/region/startLine", json!(0)),
        ("/runs/0/invocations/0/startTimeUtc", json!(7)),
        ("/runs/0/taxonomies/0/taxa/0", json!({})),
        ("/runs/0/results/0/codeFlows/0/threadFlows/0/locations", json!([])),
    ] {
        let mut changed = log.clone();
        *changed.pointer_mut(place).unwrap_or_else(|| panic!("there is no {place}")) = wrong;
        assert!(!SCHEMA.is_valid(&changed), "{place}");
    }
}
