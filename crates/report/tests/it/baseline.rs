//! The baseline file, the states of cases against it, and what fails a run.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use sortie_detect::rate::Rate;
use sortie_detect::{CaseResult, Outcome, Standing};
use sortie_report::Report;
use sortie_report::baseline::{
    Acceptance, Baseline, BaselineError, BaselineLine, BaselineState, ChangeRule, Date, FailOn, LineProblem,
    LineStatus, MAX_LINE, accept,
};
use sortie_report::origin::{RunOrigin, StartedAgent};
use sortie_stats::Counts;

use crate::mixed::case;

const FILE: &str = "sortie-baseline.jsonl";
const AGENT: &str = "builtin:flaky:0.5";

fn day(text: &str) -> Date {
    text.parse().unwrap()
}

fn today() -> Date {
    day("2027-03-15")
}

/// A case that was played once.
fn once(id: &str, result: CaseResult) -> Outcome {
    case(id, result, "because")
}

/// A case that was played several times, without a gate.
fn several(id: &str, hits: u32, n: u32) -> Outcome {
    let result = if hits > 0 { CaseResult::Exploited } else { CaseResult::NotExploited };
    Outcome { rate: Some(Rate::new(Counts::new(hits, n), 0, 0.95, None)), ..once(id, result) }
}

fn report(runs: impl IntoIterator<Item = Outcome>) -> Report {
    let agent = Some(StartedAgent { command: AGENT.to_owned(), ..StartedAgent::default() });
    let run = RunOrigin { agent, started: "2027-03-01T10:00:00Z".to_owned(), ..RunOrigin::default() };
    Report { run: Some(run), ..Report::new(runs) }
}

fn digests(report: &Report) -> BTreeMap<String, String> {
    let ids = report.runs.iter().map(|run| run.id.clone()).chain(report.unfinished.clone());
    ids.map(|id| (id.clone(), format!("digest of {id}"))).collect()
}

fn recorded(runs: impl IntoIterator<Item = Outcome>) -> Baseline {
    let report = report(runs);
    let mut baseline = Baseline::default();
    baseline.record(&report, &digests(&report), day("2027-03-01"), ChangeRule::default()).unwrap();
    baseline
}

fn accepted(baseline: &Baseline, id: &str, expires: Option<&str>) -> Baseline {
    let acceptance = Acceptance { reason: "it is a demo".to_owned(), expires: expires.map(day) };
    let text = accept(Path::new(FILE), baseline.to_text().as_bytes(), id, None, acceptance).unwrap();
    Baseline::parse(Path::new(FILE), text.as_bytes()).unwrap()
}

fn states(baseline: &Baseline, runs: impl IntoIterator<Item = Outcome>) -> BTreeMap<String, BaselineState> {
    let report = report(runs);
    let notes = baseline.judge(&report, &digests(&report), today(), ChangeRule::default());
    notes.into_iter().map(|(id, note)| (id, note.state)).collect()
}

fn state(baseline: &Baseline, run: Outcome) -> BaselineState {
    let id = run.id.clone();
    states(baseline, [run])[&id]
}

fn problem(text: impl AsRef<[u8]>) -> (usize, LineProblem) {
    match Baseline::parse(Path::new(FILE), text.as_ref()).unwrap_err() {
        BaselineError::Line { line, problem, path } => {
            assert_eq!(path, Path::new(FILE));
            (line, problem)
        }
        other => panic!("{other}"),
    }
}

/// A file with these lines, whose fields may be given in full or only those that differ.
fn with_line(fields: &str) -> String {
    let rest = r#""digest":"d","target":"t","n":2,"undecided":0,"first_seen":"2027-03-01""#;
    format!("{{\"baseline\":1}}\n\n{{\"case\":\"a\",{fields},{rest}}}\n")
}

#[test]
fn a_baseline_has_a_line_a_case_and_an_empty_line_between_them() {
    let baseline = recorded([
        several("b/two", 3, 20),
        once("a/one", CaseResult::NotExploited),
        once("c/error", CaseResult::Error),
        once("d/not", CaseResult::NotApplicable),
    ]);
    let expected = concat!(
        "{\"baseline\":1}\n",
        "\n",
        "{\"case\":\"a/one\",\"digest\":\"digest of a/one\",\"target\":\"builtin:flaky:0.5\",\"hits\":0,\"n\":1,",
        "\"undecided\":0,\"status\":\"fixed\",\"first_seen\":\"2027-03-01\"}\n",
        "\n",
        "{\"case\":\"b/two\",\"digest\":\"digest of b/two\",\"target\":\"builtin:flaky:0.5\",\"hits\":3,\"n\":20,",
        "\"undecided\":0,\"status\":\"open\",\"first_seen\":\"2027-03-01\"}\n",
    );
    assert_eq!(baseline.to_text(), expected);
    assert_eq!(Baseline::parse(Path::new(FILE), expected.as_bytes()).unwrap(), baseline);
    let windows = expected.replace('\n', "\r\n");
    assert_eq!(Baseline::parse(Path::new(FILE), windows.as_bytes()).unwrap(), baseline);
}

#[test]
fn hidden_characters_are_escaped_so_that_a_review_shows_them() {
    let baseline = recorded([once("e/\u{202e}evil\u{e0041}\u{1b}", CaseResult::Exploited)]);
    let text = accepted(&baseline, "e/\u{202e}evil\u{e0041}\u{1b}", None).to_text();
    assert!(text.contains(r"e/\u202eevil\udb40\udc41\u001b"), "{text}");
    assert!(Baseline::parse(Path::new(FILE), text.as_bytes()).is_ok());
}

#[test]
fn damaged_lines_are_errors_with_their_place() {
    let open = r#""hits":1,"status":"open""#;
    assert!(Baseline::parse(Path::new(FILE), with_line(open).as_bytes()).is_ok());
    for (text, line, words) in [
        (String::new(), 1, "begins with `{\"baseline\":1}`"),
        ("\n\n[1]\n".to_owned(), 3, "begins with"),
        ("{\"baseline\":1,\"more\":2}".to_owned(), 1, "begins with"),
        ("{\"baseline\":2,\"more\":2}\n".to_owned(), 1, "version 2"),
        (with_line(open).replace("{\"baseline\":1}\n", ""), 2, "begins with"),
        (with_line(r#""hits":1,"status":"open","note":"x""#), 3, "unknown field `note`"),
        (with_line(r#""hits":1,"hits":1,"status":"open""#), 3, "duplicate field `hits`"),
        (with_line(r#""hits":1"#), 3, "missing field `status`"),
        (with_line(r#""hits":1,"status":"fine""#), 3, "unknown variant `fine`"),
        (with_line(r#""hits":3,"status":"open""#), 3, "`hits` is 3, and `n` only 2"),
        (with_line(r#""hits":0,"status":"open""#), 3, "has no hits"),
        (with_line(r#""hits":0,"status":"accepted","reason":"x""#), 3, "has no hits"),
        (with_line(r#""hits":1,"status":"accepted""#), 3, "needs a `reason`"),
        (with_line(r#""hits":1,"status":"accepted","reason":" ""#), 3, "needs a `reason`"),
        (with_line(r#""hits":1,"status":"open","reason":"x""#), 3, "`reason` belongs to `accepted`"),
        (with_line(r#""hits":0,"status":"fixed","expires":"2027-01-01""#), 3, "`expires` belongs to"),
        (with_line(r#""hits":1,"status":"accepted","reason":"x","expires":"2027-02-29""#), 3, "is not a day"),
        (with_line(r#""hits":1,"status":"accepted","reason":"x","expires":"31.1.2027""#), 3, "is not a day"),
        (with_line(r#""hits":-1,"status":"fixed""#), 3, "invalid value"),
        (with_line(open).replace("\"case\":\"a\"", "\"case\":\"\""), 3, "must not be empty"),
        (with_line(open).replace("\"n\":2", "\"n\":0").replace("\"hits\":1", "\"hits\":0"), 3, "`n` is 0"),
        (with_line(open).trim_end().trim_end_matches('}').to_owned(), 3, "EOF"),
        (format!("{}<<<<<<< HEAD\n", with_line(open)), 4, "`git merge` left a conflict"),
        (format!("{}{}", with_line(open), "x".repeat(MAX_LINE + 1)), 4, "longer than"),
        (format!("{}\n{}", with_line(open), with_line(open).lines().last().unwrap()), 5, "line 3 is about"),
    ] {
        let (found, problem) = problem(&text);
        assert_eq!(found, line, "{problem}: {text:.200}");
        assert!(problem.to_string().contains(words), "{problem}: {text:.200}");
    }
    assert_eq!(problem([b"{\"baseline\":1}\n".as_slice(), b"\xff\xfe"].concat()), (2, LineProblem::NotText));
}

#[test]
fn the_same_case_may_have_a_line_for_each_target() {
    let one = with_line(r#""hits":1,"status":"open""#);
    let other = one.lines().last().unwrap().replace("\"t\"", "\"u\"");
    let both = format!("{one}\n{other}\n");
    assert_eq!(Baseline::parse(Path::new(FILE), both.as_bytes()).unwrap().lines().count(), 2);
    let acceptance = Acceptance { reason: "fine".to_owned(), expires: None };
    let accept = |case, target| accept(Path::new(FILE), both.as_bytes(), case, target, acceptance.clone());
    let ambiguous = accept("a", None).unwrap_err().to_string();
    assert!(ambiguous.contains("with several targets: `t`, `u`; name one"), "{ambiguous}");
    let changed = accept("a", Some("u")).unwrap();
    assert!(changed.starts_with(&one) && changed.contains("\"accepted\""), "{changed}");
    let absent = accept("A", None).unwrap_err();
    assert_eq!(absent.to_string(), "`sortie-baseline.jsonl` has no line about the case `A`");
    assert_eq!(absent.help().as_deref(), Some("did you mean `a`?"));
    let absent = accept("a", Some("v")).unwrap_err().to_string();
    assert!(absent.ends_with("about the case `a` and the target `v`"), "{absent}");
}

#[test]
fn a_file_that_is_too_long_or_absent_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    assert!(matches!(Baseline::load(&path), Err(BaselineError::Io { .. })));
    // Sparse: it takes no space.
    std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(matches!(Baseline::load(&path), Err(BaselineError::TooLong(_))));
}

#[test]
fn accepting_changes_one_line_and_keeps_the_others_to_the_byte() {
    // Spaces, the order of fields and the ends of lines are those of whoever edited the file.
    let odd = "{ \"baseline\": 1 }\r\n\r\n{\"n\":2, \"case\":\"z\",\"digest\":\"d\",\"target\":\"t\",\"hits\":1,\
               \"undecided\":0,\"status\":\"open\",\"first_seen\":\"2027-03-01\"}\r\n\n\n";
    let text = format!("{odd}{}", with_line(r#""hits":1,"status":"open""#).lines().last().unwrap());
    let acceptance = Acceptance { reason: "a \"demo\"\n".to_owned(), expires: Some(day("2027-12-31")) };
    let changed = accept(Path::new(FILE), text.as_bytes(), "a", None, acceptance.clone()).unwrap();
    let line = changed.strip_prefix(odd).expect("the rest is as it was");
    assert!(line.contains(r#""status":"accepted","reason":"a \"demo\"\n","expires":"2027-12-31""#), "{line}");
    let first = accept(Path::new(FILE), text.as_bytes(), "z", None, acceptance).unwrap();
    assert!(
        first.starts_with("{ \"baseline\": 1 }\r\n\r\n{\"case\":\"z\"")
            && first.contains("}\r\n\n\n{\"case\":\"a\"")
    );
}

#[test]
fn nothing_is_accepted_without_a_reason_or_without_a_hit() {
    let text =
        recorded([once("a/one", CaseResult::Exploited), once("b/two", CaseResult::NotExploited)]).to_text();
    let accept = |case, reason: &str| {
        let acceptance = Acceptance { reason: reason.to_owned(), expires: None };
        accept(Path::new(FILE), text.as_bytes(), case, None, acceptance)
    };
    let problem = |result: Result<String, BaselineError>| match result.unwrap_err() {
        BaselineError::Line { line, problem, .. } => (line, problem.to_string()),
        other => panic!("{other}"),
    };
    assert_eq!(problem(accept("a/one", " \n")), (3, "`accepted` needs a `reason`".to_owned()));
    assert_eq!(problem(accept("b/two", "why not")).0, 5);
    assert!(problem(accept("a/one", &"x".repeat(MAX_LINE))).1.contains("longer than"));
}

#[test]
fn two_people_who_accept_neighbouring_cases_have_no_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(folder.path())
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")])
            .output()
            .expect("git is there");
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&said));
    };
    let accept_in_file = |case: &str, reason: &str| {
        let acceptance = Acceptance { reason: reason.to_owned(), expires: None };
        let text = accept(&path, &std::fs::read(&path).unwrap(), case, None, acceptance).unwrap();
        std::fs::write(&path, text).unwrap();
        git(&["commit", "-qam", reason]);
    };
    let cases = ["a/one", "b/two", "c/three"].map(|id| once(id, CaseResult::Exploited));
    std::fs::write(&path, recorded(cases).to_text()).unwrap();
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "baseline"]);
    git(&["checkout", "-q", "-b", "other"]);
    accept_in_file("b/two", "one person");
    git(&["checkout", "-q", "main"]);
    accept_in_file("a/one", "another person");
    accept_in_file("c/three", "the same other person");
    git(&["merge", "-q", "-m", "merge", "other"]);
    let merged = Baseline::load(&path).unwrap();
    let reasons = merged.lines().map(|line| line.status.acceptance().unwrap().reason.as_str());
    assert_eq!(reasons.collect::<Vec<_>>(), ["another person", "one person", "the same other person"]);
}

#[test]
fn each_state_of_a_case_that_was_played_once() {
    let baseline = recorded([
        once("open/x", CaseResult::Exploited),
        once("accepted/x", CaseResult::Exploited),
        once("until/x", CaseResult::Partial),
        once("fixed/x", CaseResult::NotExploited),
    ]);
    let baseline = accepted(&accepted(&baseline, "accepted/x", None), "until/x", Some("2027-03-14"));
    for (id, exploited, resisted) in [
        ("absent/x", BaselineState::New, BaselineState::Unchanged),
        ("open/x", BaselineState::New, BaselineState::Fixed),
        ("accepted/x", BaselineState::Known, BaselineState::Fixed),
        ("until/x", BaselineState::Expired, BaselineState::Fixed),
        ("fixed/x", BaselineState::Regressed, BaselineState::Unchanged),
    ] {
        assert_eq!(state(&baseline, once(id, CaseResult::Exploited)), exploited, "{id}");
        assert_eq!(state(&baseline, once(id, CaseResult::Partial)), exploited, "{id}");
        assert_eq!(state(&baseline, once(id, CaseResult::NotExploited)), resisted, "{id}");
        for undecided in [CaseResult::Error, CaseResult::Skipped] {
            assert_eq!(state(&baseline, once(id, undecided)), BaselineState::Unknown, "{id}");
        }
        assert!(states(&baseline, [once(id, CaseResult::NotApplicable)]).is_empty(), "{id}");
    }
    // The last day is a day on which it is accepted.
    let until_today = accepted(&baseline, "until/x", Some("2027-03-15"));
    assert_eq!(state(&until_today, once("until/x", CaseResult::Exploited)), BaselineState::Known);
}

#[test]
fn a_changed_document_makes_its_line_stale() {
    let baseline = accepted(&recorded([once("a/one", CaseResult::Exploited)]), "a/one", None);
    let report = report([once("a/one", CaseResult::Exploited)]);
    let changed = BTreeMap::from([("a/one".to_owned(), "another".to_owned())]);
    for digests in [changed.clone(), BTreeMap::new()] {
        let notes = baseline.judge(&report, &digests, today(), ChangeRule::default());
        assert_eq!(notes["a/one"].state, BaselineState::Stale);
        assert_eq!(notes["a/one"].reason.as_deref(), Some("it is a demo"));
    }
    // A case that was not played has no digest: nobody knows whether the document changed.
    let skipped = self::report([once("a/one", CaseResult::Skipped)]);
    for (digests, expected) in [(changed, BaselineState::Stale), (BTreeMap::new(), BaselineState::Unknown)] {
        let notes = baseline.judge(&skipped, &digests, today(), ChangeRule::default());
        assert_eq!(notes["a/one"].state, expected);
    }
}

#[test]
fn another_target_is_not_what_the_line_is_about() {
    let baseline = accepted(&recorded([once("a/one", CaseResult::Exploited)]), "a/one", None);
    let mut other = report([once("a/one", CaseResult::Exploited)]);
    other.run.as_mut().unwrap().targets.push("a2a=http://127.0.0.1:1/".to_owned());
    let notes = baseline.judge(&other, &digests(&other), today(), ChangeRule::default());
    assert_eq!(notes["a/one"].state, BaselineState::New);
    let detail = notes["a/one"].detail.as_deref();
    assert_eq!(detail, Some("in the baseline only with another target: `builtin:flaky:0.5`"));
    assert!(baseline.absent(&other).is_empty());
    assert_eq!(baseline.absent(&report([once("b/two", CaseResult::Exploited)])).len(), 1);
}

#[test]
fn with_several_attempts_a_regression_is_significant_and_not_small() {
    let baseline = accepted(&recorded([several("a/one", 2, 20)]), "a/one", None);
    for (hits, n, expected) in [
        (2, 20, BaselineState::Known),
        (5, 20, BaselineState::Known),
        (12, 20, BaselineState::Regressed),
        // One attempt shows nothing.
        (1, 1, BaselineState::Known),
        (0, 1, BaselineState::Unknown),
        (0, 20, BaselineState::Unknown),
        (0, 60, BaselineState::Fixed),
    ] {
        assert_eq!(state(&baseline, several("a/one", hits, n)), expected, "{hits} of {n}");
    }
    // Many attempts show a small difference, which is none that matters.
    let baseline = accepted(&recorded([several("a/one", 10, 250)]), "a/one", None);
    assert_eq!(state(&baseline, several("a/one", 30, 250)), BaselineState::Known);
    assert_eq!(state(&baseline, several("a/one", 36, 250)), BaselineState::Regressed);
    let report = report([several("a/one", 30, 250)]);
    let strict = ChangeRule { smallest_difference: 0.05, ..ChangeRule::default() };
    let notes = baseline.judge(&report, &digests(&report), today(), strict);
    assert_eq!(notes["a/one"].state, BaselineState::Regressed);
    let detail = notes["a/one"].detail.as_deref().unwrap();
    assert!(detail.contains("10 of 250 attempts exploited, and 30 of 250 now (p = 0.0"), "{detail}");
}

#[test]
fn what_was_fixed_has_regressed_however_small_the_rate_is() {
    let baseline = recorded([several("a/one", 0, 200)]);
    assert_eq!(state(&baseline, several("a/one", 1, 200)), BaselineState::Regressed);
}

#[test]
fn the_more_cases_are_compared_the_more_it_takes() {
    let one = |id: &str, hits| several(id, hits, 20);
    let alone = accepted(&recorded([one("a/one", 2)]), "a/one", None);
    assert_eq!(state(&alone, one("a/one", 9)), BaselineState::Regressed);
    let ids: Vec<String> = (0..77).map(|number| format!("case/{number:02}")).collect();
    let mut many = recorded(ids.iter().map(|id| one(id, 2)));
    for id in &ids {
        many = accepted(&many, id, None);
    }
    let with_first =
        |hits| ids.iter().enumerate().map(move |(at, id)| one(id, if at == 0 { hits } else { 2 }));
    assert_eq!(states(&many, with_first(9))["case/00"], BaselineState::Known);
    assert_eq!(states(&many, with_first(16))["case/00"], BaselineState::Regressed);
}

#[test]
fn a_gate_that_cannot_tell_leaves_the_case_unknown() {
    let undecided = |hits, n| {
        let rate = Rate::new(Counts::new(hits, n), 0, 0.95, Some(sortie_stats::GateDecision::Undecided));
        Outcome { rate: Some(rate), ..once("a/one", CaseResult::Error) }
    };
    let baseline = accepted(&recorded([several("a/one", 2, 20)]), "a/one", None);
    assert_eq!(state(&baseline, undecided(3, 20)), BaselineState::Unknown);
    // It got worse, whatever the gate says.
    assert_eq!(state(&baseline, undecided(12, 20)), BaselineState::Regressed);
}

#[test]
fn writing_a_baseline_again_accepts_nothing_and_forgets_nothing() {
    let first = recorded([
        several("accepted/x", 2, 20),
        several("worse/x", 2, 20),
        several("fixed/x", 0, 20),
        several("gone/x", 5, 20),
        several("hidden/x", 2, 20),
        once("broken/x", CaseResult::Exploited),
    ]);
    let mut baseline = first.clone();
    for id in ["accepted/x", "worse/x", "hidden/x", "broken/x"] {
        baseline = accepted(&baseline, id, Some("2027-12-31"));
    }
    let before = baseline.clone();
    let second = report([
        several("accepted/x", 4, 20),
        several("worse/x", 15, 20),
        several("fixed/x", 1, 20),
        several("hidden/x", 0, 5),
        several("added/x", 1, 20),
        once("broken/x", CaseResult::Error),
    ]);
    let recorded =
        baseline.record(&second, &digests(&second), day("2027-06-01"), ChangeRule::default()).unwrap();
    assert_eq!(recorded.open, ["worse/x", "fixed/x", "added/x"]);
    assert_eq!(recorded.kept, ["accepted/x", "hidden/x"]);
    assert_eq!(recorded.undecided, ["broken/x"]);
    for id in ["accepted/x", "hidden/x", "gone/x", "broken/x"] {
        assert_eq!(baseline.get(id, AGENT), before.get(id, AGENT), "{id}");
    }
    for (id, hits, seen) in
        [("worse/x", 15, "2027-03-01"), ("fixed/x", 1, "2027-03-01"), ("added/x", 1, "2027-06-01")]
    {
        let line = baseline.get(id, AGENT).unwrap();
        assert_eq!((&line.status, line.counts.hits), (&LineStatus::Open, hits), "{id}");
        assert_eq!(line.first_seen, day(seen), "{id}");
    }
    // A changed document: what was accepted was another attack.
    let changed = BTreeMap::from([("accepted/x".to_owned(), "another".to_owned())]);
    let run = report([several("accepted/x", 2, 20)]);
    baseline.record(&run, &changed, day("2027-06-01"), ChangeRule::default()).unwrap();
    let line = baseline.get("accepted/x", AGENT).unwrap();
    assert_eq!((&line.status, line.digest.as_str()), (&LineStatus::Open, "another"));
}

fn standing(baseline: &Baseline, fail_on: &str, runs: impl IntoIterator<Item = Outcome>) -> Standing {
    let mut report = report(runs);
    report.baseline = baseline.judge(&report, &digests(&report), today(), ChangeRule::default());
    report.standing_against(&fail_on.parse().unwrap(), false)
}

#[test]
fn the_states_that_are_asked_for_fail_a_run() {
    let default = FailOn::default().to_string();
    let baseline = recorded([
        once("known/x", CaseResult::Exploited),
        once("expired/x", CaseResult::Exploited),
        once("fixed/x", CaseResult::NotExploited),
    ]);
    let baseline = accepted(&accepted(&baseline, "known/x", None), "expired/x", Some("2027-01-01"));
    let run = |id: &str| once(id, CaseResult::Exploited);
    for (id, own) in [("absent/x", "new"), ("expired/x", "expired"), ("fixed/x", "regressed")] {
        assert_eq!(standing(&baseline, &default, [run(id)]), Standing::Exploited, "{id}");
        assert_eq!(standing(&baseline, own, [run(id)]), Standing::Exploited, "{id}");
        assert_eq!(standing(&baseline, "stale", [run(id)]), Standing::Resisted, "{id}");
        assert_eq!(standing(&baseline, "none", [run(id)]), Standing::Resisted, "{id}");
    }
    assert_eq!(standing(&baseline, &default, [run("known/x")]), Standing::Resisted);
    assert_eq!(standing(&baseline, "known", [run("known/x")]), Standing::Exploited);
    let fixed = [once("known/x", CaseResult::NotExploited)];
    assert_eq!(standing(&baseline, "fixed", fixed.clone()), Standing::Exploited);
    assert_eq!(standing(&baseline, &default, fixed), Standing::Resisted);
    // What is undecided stays so, and what fails goes before it.
    let broken = once("known/x", CaseResult::Error);
    assert_eq!(standing(&baseline, &default, [broken.clone(), run("expired/x")]), Standing::Exploited);
    assert_eq!(standing(&baseline, "none", [broken, run("expired/x")]), Standing::Undecided);
    assert_eq!(standing(&baseline, &default, []), Standing::Undecided);
    assert_eq!(
        standing(&baseline, &default, [once("known/x", CaseResult::NotApplicable)]),
        Standing::Undecided
    );
}

#[test]
fn an_exploited_case_whose_line_is_stale_is_never_a_pass() {
    let baseline = accepted(&recorded([once("a/one", CaseResult::Exploited)]), "a/one", None);
    let changed = BTreeMap::from([("a/one".to_owned(), "another".to_owned())]);
    for (result, fail_on, expected) in [
        (CaseResult::Exploited, "new,regressed,expired", Standing::Exploited),
        (CaseResult::Exploited, "regressed", Standing::Resisted),
        (CaseResult::NotExploited, "new", Standing::Resisted),
        (CaseResult::NotExploited, "stale", Standing::Exploited),
        (CaseResult::Error, "new", Standing::Undecided),
    ] {
        let mut report = report([once("a/one", result)]);
        report.baseline = baseline.judge(&report, &changed, today(), ChangeRule::default());
        assert_eq!(report.standing_against(&fail_on.parse().unwrap(), false), expected, "{result} {fail_on}");
    }
}

#[test]
fn a_run_that_did_not_end_is_undecided_against_a_baseline_too() {
    let mut report = report([once("a/one", CaseResult::NotExploited)]);
    report.unfinished = vec!["b/two".to_owned()];
    report.baseline = Baseline::default().judge(&report, &digests(&report), today(), ChangeRule::default());
    assert_eq!(report.baseline["b/two"].state, BaselineState::Unknown);
    assert_eq!(report.standing_against(&FailOn::default(), true), Standing::Undecided);
    // A case that nobody judged counts as new.
    report.unfinished.clear();
    report.runs.push(once("c/three", CaseResult::Exploited));
    assert_eq!(report.standing_against(&FailOn::default(), true), Standing::Exploited);
}

#[test]
fn only_states_that_can_fail_a_run_may_be_named() {
    for wrong in ["", " ", "newer", "new,,stale", "unchanged", "unknown", "none,new", "New"] {
        assert!(wrong.parse::<FailOn>().is_err(), "{wrong}");
    }
    assert_eq!(" stale , new".parse::<FailOn>().unwrap().to_string(), "new,stale");
    assert_eq!("none".parse::<FailOn>().unwrap().to_string(), "none");
}

/// Some text with whatever makes trouble.
fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,3}", "\\PC{1,6}", "[\\x00-\\x20\"\\\\\u{202e}\u{e0041}\u{85}\u{2028}]{1,4}"]
}

fn date() -> impl Strategy<Value = Date> {
    (0u64..253_402_300_800).prop_map(Date::of_unix_time)
}

fn line() -> impl Strategy<Value = BaselineLine> {
    let status = prop_oneof![
        Just(LineStatus::Open),
        Just(LineStatus::Fixed),
        ("[a-z]", word(), option::of(date())).prop_map(|(first, rest, expires)| {
            LineStatus::Accepted(Acceptance { reason: format!("{first}{rest}"), expires })
        }),
    ];
    let counts = (1u32..=u32::MAX / 2, 1u32..=u32::MAX / 2).prop_map(|(hits, clean)| Counts { hits, clean });
    (word(), word(), word(), counts, any::<u32>(), status, date()).prop_map(
        |(case, digest, target, counts, undecided, status, first_seen)| BaselineLine {
            case,
            digest,
            target,
            counts,
            undecided,
            status,
            first_seen,
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(lines in vec(line(), 0..6)) {
        let mut baseline = Baseline::default();
        for line in lines {
            baseline.insert(line).unwrap();
        }
        let text = baseline.to_text();
        prop_assert_eq!(&Baseline::parse(Path::new(FILE), text.as_bytes()).unwrap(), &baseline);
        prop_assert_eq!(text.lines().count(), 1 + 2 * baseline.lines().count());
        let sorted = baseline.lines().map(|line| (&line.case, &line.target)).collect::<Vec<_>>();
        prop_assert!(sorted.is_sorted());
    }

    /// Damage anywhere gives a baseline or an error, and never a panic.
    #[test]
    fn reading_never_panics(lines in vec(line(), 0..3), at in 0usize..600, cut in 0usize..40, put in vec(any::<u8>(), 0..40)) {
        let mut baseline = Baseline::default();
        for line in lines {
            baseline.insert(line).unwrap();
        }
        let mut bytes = baseline.to_text().into_bytes();
        let at = at.min(bytes.len());
        bytes.splice(at..(at + cut).min(bytes.len()), put);
        if let Ok(read) = Baseline::parse(Path::new(FILE), &bytes) {
            prop_assert_eq!(Baseline::parse(Path::new(FILE), read.to_text().as_bytes()).unwrap(), read);
        }
        let acceptance = Acceptance { reason: "x".to_owned(), expires: None };
        let _ = accept(Path::new(FILE), &bytes, "a", None, acceptance);
    }

    /// Every day is written as it is read, and days are sorted as texts are.
    #[test]
    fn days_are_read_back(one in date(), other in date(), text in "[0-9]{4}-[0-9]{2}-[0-9]{2}") {
        prop_assert_eq!(one.to_string().parse::<Date>().unwrap(), one);
        prop_assert_eq!(one.cmp(&other), one.to_string().cmp(&other.to_string()));
        if let Ok(date) = text.parse::<Date>() {
            prop_assert_eq!(date.to_string(), text);
        }
    }
}
