//! Characters that must be shown and not interpreted, in every text of a report and of a finding, in every format.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sortie_detect::Outcome;
use sortie_evaluators::Standard;
use sortie_lint::analyze;
use sortie_report::findings::{Checked, FindingTotals, GitHub, Human, Json, Reporter, Sarif};
use sortie_report::rules::RuleInfo;
use sortie_report::sarif::{SarifLog, SarifOptions};
use sortie_report::{
    HtmlOptions, Report, View, write_html, write_human, write_json, write_junit, write_markdown,
};
use sortie_syntax::Source;
use sortie_syntax::shown::{HIDDEN, is_hidden};

use crate::html::unpacked;
use crate::mixed;

/// One character of each range of the table, but line feeds and tabs, which formats write themselves.
fn hostile() -> String {
    HIDDEN.iter().map(|(first, last)| if *first == '\0' { '\u{1b}' } else { *last }).collect()
}

/// The value with the hostile characters after every text that may hold them (a word of a closed list may not), and how many
/// texts that were.
fn poisoned<T: Serialize + DeserializeOwned>(value: &T) -> (T, usize) {
    let mut whole = serde_json::to_value(value).expect("it is JSON");
    let mut places = Vec::new();
    texts(&whole, &mut String::new(), &mut places);
    let mut count = 0;
    for place in places {
        let before = whole.pointer(&place).cloned().expect("it was there");
        let text = before.as_str().unwrap_or_default();
        *whole.pointer_mut(&place).expect("it was there") = format!("{text}{}", hostile()).into();
        if T::deserialize(&whole).is_ok() {
            count += 1;
        } else {
            *whole.pointer_mut(&place).expect("it was there") = before;
        }
    }
    (T::deserialize(&whole).expect("each text was tried"), count)
}

/// Where the texts of a JSON value are, as JSON pointers.
fn texts(value: &Value, at: &mut String, places: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::String(_) => return places.push(at.clone()),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, item)| (key.replace('~', "~0").replace('/', "~1"), item)).collect()
        }
        _ => return,
    };
    for (key, child) in children {
        let length = at.len();
        at.push('/');
        at.push_str(&key);
        texts(child, at, places);
        at.truncate(length);
    }
}

fn assert_all_shown(format: &str, bytes: Vec<u8>) {
    let text = String::from_utf8(bytes).expect("UTF-8");
    for (number, line) in text.lines().enumerate() {
        let raw: Vec<String> = line
            .chars()
            .filter(|letter| is_hidden(*letter) && *letter != '\t')
            .map(|letter| format!("U+{:04X}", u32::from(letter)))
            .collect();
        assert!(raw.is_empty(), "{format}, line {}: {raw:?} as they are: {line:?}", number + 1);
    }
}

#[test]
fn no_format_of_a_report_writes_a_hidden_character() {
    let (mixed, count) = poisoned_report(mixed::report());
    assert!(count > 150, "only {count} texts could be poisoned");
    let (mut repeated, count) = poisoned_report(mixed::repeated());
    assert!(count > 50, "only {count} texts could be poisoned");
    // Ids are poisoned too, and a baseline goes by them.
    repeated.baseline =
        repeated.baseline.into_iter().map(|(id, note)| (format!("{id}{}", hostile()), note)).collect();
    assert!(repeated.runs.iter().all(|run| repeated.baseline.contains_key(&run.id)));
    for report in [mixed, repeated] {
        assert_no_format_hides(&report);
    }
}

/// Case by case: each text is tried by reading the whole again.
fn poisoned_report(report: Report) -> (Report, usize) {
    let (runs, counts): (Vec<_>, Vec<_>) = report.runs.iter().map(poisoned).unzip();
    let (rest, count) = poisoned(&Report { runs: Vec::new(), ..report });
    (Report { runs, ..rest }, count + counts.iter().sum::<usize>())
}

/// What a hostile library would say of a case.
fn poisoned_rule(run: &Outcome) -> RuleInfo {
    let id =
        run.document().map_or_else(|| run.evaluator().unwrap().id.clone(), |own| own.case_id().to_owned());
    let hostile = hostile();
    RuleInfo {
        name: hostile.clone(),
        description: Some(hostile.clone()),
        fail_criteria: Some(hostile.clone()),
        entries: vec![(Standard::OwaspLlm, hostile.clone()), (Standard::Atlas, hostile.clone())],
        tags: vec![hostile],
        ..RuleInfo::new(id)
    }
}

fn assert_no_format_hides(report: &Report) {
    for (format, write) in [
        (
            "human",
            (|out, report| write_human(out, report, View::default())) as fn(&mut Vec<u8>, &Report) -> _,
        ),
        ("junit", |out, report| write_junit(out, report, View::default())),
        ("json", |out, report| write_json(out, report)),
        ("markdown", |out, report| write_markdown(out, report, View::default())),
    ] {
        let mut bytes = Vec::new();
        write(&mut bytes, report).expect("memory takes it");
        assert_all_shown(format, bytes);
    }
    let rules: Vec<_> = report.runs.iter().map(poisoned_rule).collect();
    let options = SarifOptions { rules: &rules, ..SarifOptions::new(Path::new("."), Path::new("cases.md")) };
    let log = SarifLog::new(report, &options);
    let mut bytes = Vec::new();
    log.write(&mut bytes).expect("memory takes it");
    // Not even after the escapes of JSON are resolved: a page would show the text as it is then.
    let (mut places, written) = (Vec::new(), serde_json::from_slice::<Value>(&bytes).expect("JSON"));
    texts(&written, &mut String::new(), &mut places);
    for place in places.iter().filter(|place| !place.contains("/rate/")) {
        let text = written.pointer(place).and_then(Value::as_str).expect("a text");
        assert_all_shown(&format!("sarif, {place}"), text.as_bytes().to_vec());
    }
    assert_all_shown("sarif", bytes);
    assert_all_shown("the list of cases", log.case_list().expect("nothing is on disk").as_bytes().to_vec());
    let mut page = Vec::new();
    let trace = |name: &str| Some(format!("{{\"record\": {name:?}}}").into_bytes());
    write_html(&mut page, report, &HtmlOptions::new(&trace)).expect("memory takes it");
    let packed = ["chunk", "story"].map(|class| unpacked(&String::from_utf8_lossy(&page), class));
    assert_all_shown("html", page);
    for value in packed.iter().flatten() {
        // Line ends are escaped here, and every other text stands as the page shows it.
        assert_all_shown("html, packed", value.to_string().into_bytes());
    }
}

#[test]
fn no_format_of_findings_writes_a_hidden_character() {
    // A name that is not known, an enum value, a pattern and a key, each with all of them.
    let hostile = hostile();
    let escaped: Vec<String> =
        hostile.chars().map(|letter| format!("\\U{:08x}", u32::from(letter))).collect();
    let escaped = escaped.concat();
    let text = format!(
        "oatf: \"0.1\"\nattack:\n  \"na{escaped}me\": x\n  name: \"{escaped}\"\n  severity: \"high{escaped}\"\n  execution:\n    mode: \"mcp_server{escaped}\"\n    actors: 3\n  \
         indicators:\n    - surface: \"tools/call{escaped}\"\n      target: \"a{escaped}\"\n      pattern: {{regex: \"({escaped}\"}}\n"
    );
    let analysis = analyze(&text);
    assert!(analysis.diagnostics.len() > 3, "{:#?}", analysis.diagnostics);
    let checked = Checked {
        name: format!("a{hostile}.yaml"),
        valid: analysis.is_valid(),
        findings: analysis.diagnostics,
        source: Source::new(text),
    };
    let reporters: [(&str, Box<dyn Reporter>); 4] = [
        ("human", Box::new(Human::new(false, Some(100)))),
        ("github", Box::new(GitHub)),
        ("sarif", Box::new(Sarif::default())),
        ("json", Box::new(Json::default())),
    ];
    for (format, mut reporter) in reporters {
        let (mut totals, mut bytes) = (FindingTotals::default(), Vec::new());
        totals.add(&checked);
        reporter
            .file(&checked, &mut bytes)
            .and_then(|()| reporter.finish(&totals, &mut bytes))
            .expect("memory takes it");
        assert_all_shown(format, bytes);
    }
}
