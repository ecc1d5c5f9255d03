//! Whatever lies in a folder, loading it ends, soon, with a reason.

use sortie_evaluators::limits::{
    MAX_ALL_FINDINGS, MAX_EVALUATORS, MAX_FILE_BYTES, MAX_FILES, MAX_TEMPLATE_BYTES,
};
use sortie_evaluators::{File, Loaded, Root, Template, Values, load};
use sortie_trace::{Transcript, TranscriptError, Turn};

const HEAD: &str = "id: a\nname: A\nseverity: low\ndescription: d\npass_criteria: p\nfail_criteria: f\n";

fn loaded(files: Vec<File>) -> Loaded {
    load(&[Root::new("", files)], &[])
}

fn one(text: impl Into<String>) -> Loaded {
    loaded(vec![File::text("agent/a.yaml", text.into())])
}

#[track_caller]
fn refused(loaded: &Loaded, code: &str) {
    let codes: Vec<_> =
        loaded.findings.iter().flat_map(|file| &file.diagnostics).map(|finding| finding.code).collect();
    assert!(codes.contains(&code), "{codes:?}");
    assert!(!loaded.is_sound());
    assert!(
        loaded.catalogue.entries().iter().all(|entry| entry.evaluator.id != "a"),
        "it is refused and loaded"
    );
}

#[test]
fn a_hundred_thousand_patterns_are_refused() {
    let many = "  - {name: n, template: t}\n".repeat(100_000);
    refused(&one(format!("{HEAD}patterns:\n{many}")), "P-011");
    let some =
        (0..1_001).map(|index| format!("  - {{name: n{index}, template: t}}\n")).collect::<Vec<_>>().concat();
    refused(&one(format!("{HEAD}patterns:\n{some}")), "E-027");
}

#[test]
fn a_hundred_thousand_pattern_files_are_refused() {
    let mut files = vec![File::text("agent/a/evaluator.yaml", HEAD)];
    files.extend(
        (0..MAX_FILES)
            .map(|index| File::text(format!("agent/a/patterns/{index}.yaml"), "name: n\ntemplate: t\n")),
    );
    refused(&loaded(files.clone()), "E-027");
    files.truncate(1_002);
    refused(&loaded(files), "E-027");
}

#[test]
fn what_is_too_long_is_refused() {
    refused(&loaded(vec![File::bytes("agent/a.yaml", &vec![b'a'; MAX_FILE_BYTES + 1])]), "E-027");
    let long = "x".repeat(MAX_TEMPLATE_BYTES + 1);
    refused(&one(format!("{HEAD}patterns: [{{name: n, template: {long}}}]\n")), "E-027");
    refused(&one(format!("{HEAD}judge_hint: {long}\npatterns: [{{name: n, template: t}}]\n")), "E-027");
    refused(
        &one(format!("{HEAD}tags: [{}]\npatterns: [{{name: n, template: t}}]\n", "t, ".repeat(2000))),
        "E-027",
    );
    let checks = (0..100)
        .map(|index| format!("  - {{name: n{index}, says: fail, cel: 'true'}}\n"))
        .collect::<Vec<_>>()
        .concat();
    refused(&one(format!("{HEAD}checks:\n{checks}patterns: [{{name: n, template: t}}]\n")), "E-027");
}

#[test]
fn what_is_too_deep_is_refused() {
    refused(&one(format!("{HEAD}tags: {}{}\n", "[".repeat(10_000), "]".repeat(10_000))), "P-011");
    let deep = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
    let arguments = loaded(vec![File::text(
        "mcp/a.yaml",
        format!("{HEAD}patterns:\n  - name: n\n    template: '{deep}'\n"),
    )]);
    let codes: Vec<_> =
        arguments.findings.iter().flat_map(|file| &file.diagnostics).map(|finding| finding.code).collect();
    assert_eq!(codes, ["E-107"], "what JSON readers do not read is not arguments");
    let cel = format!("{}true{}", "(".repeat(3_000), ")".repeat(3_000));
    refused(
        &one(format!(
            "{HEAD}checks: [{{name: c, says: fail, cel: '{cel}'}}]\npatterns: [{{name: n, template: t}}]\n"
        )),
        "E-014",
    );
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    refused(&loaded(vec![File::bytes("agent/a.yaml", b"id: a\xff\xfe\0\x01")]), "P-002");
    refused(&one("\0\u{1}\u{2}"), "P-001");
}

#[test]
fn what_cannot_be_read_is_an_error_and_says_whose() {
    let link = || File::unreadable("agent/a.yaml", "it is a link that leads out of the folder");
    refused(&loaded(vec![link()]), "E-018");
    // Nobody is told that it is not there: it is.
    let depends = HEAD.replace("id: a", "id: b") + "depends_on: [a]\npatterns: [{name: n, template: t}]\n";
    let both = loaded(vec![link(), File::text("agent/b.yaml", depends)]);
    assert_eq!(both.findings.len(), 1, "{:#?}", both.findings);
    let pattern = File::unreadable("agent/a/patterns/p.yaml", "permission denied");
    refused(&loaded(vec![File::text("agent/a/evaluator.yaml", HEAD), pattern]), "E-018");
    let fixtures = File::unreadable("agent/a.test.yaml", "permission denied");
    let evaluator = File::text("agent/a.yaml", format!("{HEAD}patterns: [{{name: n, template: t}}]\n"));
    refused(&loaded(vec![evaluator, fixtures]), "E-018");
}

#[test]
fn more_evaluators_than_there_may_be_are_refused() {
    let files = (0..=MAX_EVALUATORS).map(|index| File::text(format!("agent/e{index}.yaml"), "{}"));
    refused(&loaded(files.collect()), "E-027");
}

#[test]
fn a_chain_of_dependencies_as_long_as_the_folder_is_walked() {
    let count = 5_000;
    let files = (0..count).map(|index| {
        let next = (index + 1) % count;
        let text = HEAD.replace("id: a", &format!("id: e{index}"))
            + &format!("depends_on: [e{next}]\npatterns: [{{name: n, template: t}}]\n");
        File::text(format!("agent/e{index}.yaml"), text)
    });
    refused(&loaded(files.collect()), "E-017");
}

#[test]
fn suites_that_include_each_other_many_times_do_not_grow() {
    let mut files = vec![File::text(
        "agent/e.yaml",
        HEAD.replace("id: a", "id: e") + "patterns: [{name: n, template: t}]\n",
    )];
    for index in 0..200 {
        let below = format!("  - suite: s{}\n", index + 1).repeat(20);
        let include = if index == 199 { "  - evaluator: e\n" } else { &below };
        files.push(File::text(
            format!("suites/s{index}.yaml"),
            format!("id: s{index}\nname: S\ninclude:\n{include}"),
        ));
    }
    let loaded = loaded(files);
    assert!(loaded.is_sound(), "{:#?}", loaded.findings.first());
    assert_eq!(loaded.suites.resolve("s0").unwrap().evaluators, ["e"]);
}

#[test]
fn checks_that_take_long_to_compile_are_refused() {
    let check = |index: usize| {
        format!(
            "  - {{name: n{index}, says: fail, pattern: {{target: 'answers[*]', regex: '(a{{50}}){{20}}\\\\pL{{300}}'}}}}\n"
        )
    };
    let checks: String = (0..60).map(check).collect::<Vec<_>>().concat();
    refused(&one(format!("{HEAD}checks:\n{checks}patterns: [{{name: n, template: t}}]\n")), "E-027");
}

#[test]
fn findings_beyond_number_are_counted_and_not_kept() {
    let many: Vec<_> = (0..900).map(|index| format!("x{index}")).collect();
    let files = (0..30).map(|index| {
        let text = HEAD.replace("id: a", &format!("id: e{index}"))
            + &format!("depends_on: [{}]\npatterns: [{{name: n, template: t}}]\n", many.join(", "));
        File::text(format!("agent/e{index}.yaml"), text)
    });
    let loaded = loaded(files.collect());
    let kept: usize = loaded.findings.iter().map(|file| file.diagnostics.len()).sum();
    assert_eq!((kept, loaded.left_out > 0, loaded.is_sound()), (MAX_ALL_FINDINGS, true, false));
}

#[test]
fn a_value_that_is_filled_in_thousands_of_times_is_bounded() {
    let values = Values::from([("x".to_owned(), "y".repeat(1024 * 1024))]);
    let template = Template::new("{{x}}".repeat(10_000));
    assert!(template.fill(&values).unwrap_err().too_long);
    let members: Vec<_> = (0..1_000).map(|index| format!("\"k{index}\": \"{{{{x}}}}\"")).collect();
    let arguments = Template::new(format!("{{{}}}", members.join(","))).arguments().unwrap().unwrap();
    assert!(arguments.fill(&values).unwrap_err().too_long);
    assert!(Template::new("{{x}}{{x}}").fill(&values).is_ok());
}

#[test]
fn a_transcript_is_bounded() {
    let turns = |count: usize| (0..count).map(|_| Turn::target("x")).collect::<Vec<_>>();
    assert!(Transcript::new(turns(Transcript::MAX_TURNS)).is_ok());
    assert_eq!(
        Transcript::new(turns(Transcript::MAX_TURNS + 1)),
        Err(TranscriptError::Turns(Transcript::MAX_TURNS + 1))
    );
    let long = "x".repeat(Transcript::MAX_BYTES / 2);
    assert_eq!(
        Transcript::new(vec![Turn::attacker(&*long), Turn::target(&*long)]),
        Err(TranscriptError::Bytes)
    );
}

#[test]
fn a_path_that_is_given_twice_is_an_error_whatever_comes_first() {
    let file = |name: &str| {
        File::text(
            "agent/b.yaml",
            HEAD.replace("id: a", "id: b").replace("name: A", name) + "patterns: [{name: n, template: t}]\n",
        )
    };
    let names = |files: Vec<File>| {
        let loaded = loaded(files);
        refused(&loaded, "E-019");
        loaded.catalogue.entries().iter().map(|entry| entry.evaluator.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(vec![file("name: X"), file("name: Y")]), names(vec![file("name: Y"), file("name: X")]));
}
