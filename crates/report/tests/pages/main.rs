//! The HTML report in a real browser.

#[allow(dead_code, reason = "some of it is for other tests")]
#[path = "../it/mixed.rs"]
mod mixed;

mod browser;
mod payloads;
mod reports;

use std::collections::BTreeMap;
use std::path::PathBuf;

use browser::{Browser, Misdeeds};
use serde_json::json;
use sortie_report::compare::ComparedRun;
use sortie_report::rules::RuleInfo;
use sortie_report::{HtmlOptions, Report, write_html};

/// Writes a page to a file for a while.
fn written(report: &Report, traces: &dyn Fn(&str) -> Option<Vec<u8>>) -> (tempfile::TempDir, PathBuf) {
    let command =
        ["run", "--agent", "clerk --mcp {mcp_url}", "--repeat", "20", "--run-dir", "run"].map(str::to_owned);
    let options = HtmlOptions { command: &command, ..HtmlOptions::new(traces) };
    page(|text| write_html(text, report, &options).unwrap())
}

/// The finding, with what its documents are mapped to and an earlier run beside it.
fn write_beside(report: &Report, earlier: &Report, rules: &[RuleInfo], text: &mut Vec<u8>) {
    let digests = BTreeMap::new();
    let beside = [ComparedRun { name: "runs/october", report: earlier, digests: &digests }];
    let options = HtmlOptions { rules, beside: &beside, ..HtmlOptions::new(&reports::trace) };
    write_html(text, report, &options).unwrap();
}

fn page(write: impl FnOnce(&mut Vec<u8>)) -> (tempfile::TempDir, PathBuf) {
    let mut text = Vec::new();
    write(&mut text);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, text).unwrap();
    (folder, file)
}

const READY: &str = "document.documentElement.dataset.ready === 'yes'";

/// The stories that fit are read, so that they can be printed.
const PRINTABLE: &str = "document.documentElement.dataset.printable === 'yes'";

/// Opens everything that can be opened: cases, attempts, stories.
const OPEN_ALL: &str = "(async () => {
  for (const one of document.querySelectorAll('details.case')) one.open = true;
  const settled = async done => { while (!done()) await new Promise(next => setTimeout(next, 20)); };
  await settled(() => [...document.querySelectorAll('details.case')].every(one => one.dataset.filled));
  for (const button of document.querySelectorAll('.more, .attempts li:first-child button')) button.click();
  await settled(() => [...document.querySelectorAll('.story')].every(one => one.textContent !== '…'));
  for (const one of document.querySelectorAll('details')) one.open = true;
  return document.querySelectorAll('.turn').length;
})()";

#[test]
#[ignore = "needs Chromium: cargo xtask test --only pages"]
fn a_thousand_injections_in_every_field_do_nothing() {
    let mut browser = Browser::start();
    for payloads in payloads::all().chunks(250) {
        let report = reports::hostile(payloads);
        let rules: Vec<RuleInfo> = report
            .runs
            .iter()
            .zip(payloads)
            .map(|(run, payload)| reports::hostile_rule(run, payload))
            .collect();
        let digests = BTreeMap::new();
        let beside: Vec<_> = payloads
            .iter()
            .take(3)
            .map(|payload| ComparedRun { name: payload, report: &report, digests: &digests })
            .collect();
        let (_folder, file) = page(|text| {
            let traces = |name: &str| Some(reports::hostile_trace(name));
            let options = HtmlOptions {
                command: payloads,
                rules: &rules,
                beside: &beside,
                ..HtmlOptions::new(&traces)
            };
            write_html(text, &report, &options).unwrap();
        });
        browser.open(&file, "");
        browser.wait_for(READY);
        let seen = "[document.querySelectorAll('.matrix tbody tr').length > 200, \
                    document.querySelectorAll('.coverage tbody tr').length > 200]";
        assert_eq!(browser.eval(seen), json!([true, true]));
        let turns = browser.eval(OPEN_ALL);
        assert!(turns.as_u64() > Some(1000), "{turns} messages are shown");
        assert_eq!(browser.eval("document.querySelectorAll('details.case').length"), json!(payloads.len()));
        // Whatever could run, load or lead elsewhere is ours.
        let foreign = "[...document.querySelectorAll('img, iframe, object, embed, form, base, video, audio, template, \
                       math, marquee, link:not([rel=icon]), script:not([type]) ~ script:not([type])')].map(one => one.outerHTML)";
        assert_eq!(browser.eval(foreign), json!([]));
        let attributes = "[...document.querySelectorAll('*')].flatMap(one => [...one.attributes]).filter(attribute => \
                          /^on|^style$|^srcdoc$/i.test(attribute.name) || /^\\s*javascript:/i.test(attribute.value) && \
                          /^(href|src|action)$/.test(attribute.name)).map(one => one.name)";
        assert_eq!(browser.eval(attributes), json!([]));
        // What one types is text too.
        browser
            .eval("search.value = '<img src=x onerror=alert(1)>'; search.dispatchEvent(new Event('input'))");
        for id in payloads.iter().step_by(25) {
            let hash = serde_json::to_string(id).unwrap();
            browser.eval(&format!("location.hash = encodeURIComponent({hash})"));
        }
        assert_eq!(browser.misdeeds(), Misdeeds::default());
    }
}

/// The tests of this file can fail: a page without a policy does all of it, and one with the policy is stopped by that.
#[test]
#[ignore = "needs Chromium: cargo xtask test --only pages"]
fn the_browser_notices_what_the_page_prevents() {
    let markup: String =
        payloads::all().iter().filter(|payload| payload.starts_with('<')).take(24).cloned().collect();
    let mut browser = Browser::start();
    let (_folder, file) = page(|text| text.extend(format!("<!DOCTYPE html><body>{markup}").into_bytes()));
    browser.open(&file, "");
    browser.wait_for("window.__pwned !== undefined");
    let misdeeds = browser.misdeeds();
    assert!(
        misdeeds.dialogs > 0 && !misdeeds.requests.is_empty() && misdeeds.pwned.is_some(),
        "{misdeeds:?}"
    );

    let traces = |_: &str| None;
    let (_folder, file) = page(|text| {
        write_html(text, &Report::new([]), &HtmlOptions::new(&traces)).unwrap();
        let whole =
            String::from_utf8(std::mem::take(text)).unwrap().replace("<main>", &format!("<main>{markup}"));
        text.extend(whole.into_bytes());
    });
    browser.open(&file, "");
    let misdeeds = browser.misdeeds();
    assert!(!misdeeds.violations.is_empty(), "{misdeeds:?}");
    assert_eq!((misdeeds.dialogs, misdeeds.pwned), (0, None));
    assert_eq!(misdeeds.requests, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --only pages"]
fn a_finding_shows_what_was_said_what_was_done_and_how_to_do_it_again() {
    let mut browser = Browser::start();
    let (_folder, file) = written(&reports::compared(), &reports::trace);
    browser.open(&file, "#SRT-003");
    browser.wait_for(READY);
    browser.wait_for("document.querySelector('details[data-id=\"SRT-003\"]').dataset.filled === 'yes'");
    let headings = browser.eval(
        "[...document.querySelectorAll('details[data-id=\"SRT-003\"] h4')].map(one => one.textContent)",
    );
    for wanted in [
        "What the agent was told",
        "What shows it",
        "Facts behind the verdict",
        "Rate",
        "Baseline",
        "Attempts",
        "The whole story",
        "Reproduce",
    ] {
        assert!(headings.as_array().unwrap().contains(&json!(wanted)), "{wanted}: {headings}");
    }
    let marked =
        browser.eval("document.querySelector('details[data-id=\"SRT-003\"] .body mark').textContent");
    assert!(!marked.as_str().unwrap().is_empty());
    let open =
        browser.eval("[...document.querySelectorAll('details.case[open]')].map(one => one.dataset.id)");
    assert_eq!(open, json!(["SRT-003"]));
    browser.eval(OPEN_ALL);
    let marks = |place: &str| {
        format!(
            "[...document.querySelectorAll('details[data-id=\"SRT-003\"] {place} mark')].map(one => one.textContent)"
        )
    };
    let (quoted, in_story) =
        (browser.eval(&marks(".body > div > pre")), browser.eval(&marks(".turn.marked")));
    assert!(!in_story.as_array().unwrap().is_empty());
    for mark in in_story.as_array().unwrap() {
        assert!(quoted.as_array().unwrap().contains(mark), "{mark} of {quoted}");
    }
    let text = browser.eval("document.querySelector('details[data-id=\"SRT-003\"]').textContent");
    let text = text.as_str().unwrap();
    assert!(text.contains("sortie run --agent 'clerk --mcp {mcp_url}' --repeat 20 --run-dir run"), "{text}");
    assert!(text.contains("sortie eval --trace run/cases/SRT-003/attempts/"), "{text}");
    assert_eq!(browser.misdeeds(), Misdeeds::default());
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --only pages"]
fn cases_are_filtered_searched_and_walked_by_keyboard() {
    let mut browser = Browser::start();
    let (_folder, file) = written(&reports::compared(), &reports::trace);
    browser.open(&file, "");
    browser.wait_for(READY);
    let seen = "[...document.querySelectorAll('details.case:not([hidden])')].map(one => one.dataset.id)";
    assert_eq!(browser.eval(&format!("{seen}.length")), json!(6));
    browser.eval("{ const one = document.querySelector('select[data-key=baseline]'); one.value = 'regressed'; one.dispatchEvent(new Event('change')); }");
    assert_eq!(browser.eval(seen), json!(["SRT-003"]));
    browser.press("Escape");
    assert_eq!(browser.eval(&format!("{seen}.length")), json!(6));
    browser.press("/");
    assert_eq!(browser.eval("document.activeElement.id"), json!("search"));
    for letter in "forwards".chars() {
        browser.press(&letter.to_string());
    }
    browser.wait_for("document.getElementById('count').textContent === '1 of 6 cases'");
    assert_eq!(browser.eval(seen), json!(["SRT-003"]));
    browser.press("Escape");
    let focused = "document.activeElement.closest('details.case')?.dataset.id ?? null";
    for (key, expected) in [("j", 0), ("j", 1), ("j", 2), ("k", 1)] {
        browser.press(key);
        let ids = browser.eval(seen);
        assert_eq!(browser.eval(focused), ids[expected], "{key}");
    }
    browser.eval("document.querySelector('button.tile.exploited').click()");
    assert_eq!(browser.eval("document.getElementById('count').textContent"), json!("4 of 6 cases"));
    // Words of the details are found too.
    browser.eval("search.value = 'ticket 812'; search.dispatchEvent(new Event('input'))");
    browser.wait_for("document.getElementById('count').textContent === '1 of 6 cases'");
    assert_eq!(browser.eval(seen), json!(["SRT-005"]));
    let before = browser.eval("getComputedStyle(document.body).backgroundColor");
    browser.eval("document.getElementById('theme').click()");
    assert_ne!(browser.eval("getComputedStyle(document.body).backgroundColor"), before);
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --only pages"]
fn a_matrix_leads_to_its_cases_and_entries_of_frameworks_are_counted() {
    let mut browser = Browser::start();
    let (report, earlier) = (reports::compared(), reports::earlier());
    let (_folder, file) = page(|text| write_beside(&report, &earlier, &reports::rules(), text));
    browser.open(&file, "");
    browser.wait_for(READY);
    let row = |at: usize| {
        format!(
            "[...document.querySelectorAll('.matrix tbody tr')[{at}].cells].map(one => one.innerText.replace(/\\s+/g, ' ').trim())"
        )
    };
    assert_eq!(browser.eval("document.querySelectorAll('.matrix tbody tr').length"), json!(6));
    assert_eq!(browser.eval(&row(0)), json!(["SRT-001", "exploited 9/20", "resisted 0/20", "new"]));
    let titles = browser.eval("[...document.querySelectorAll('.matrix th')].map(one => one.innerText)");
    assert!(titles[2].as_str().unwrap().contains("--model small"), "{titles}");
    let entry = |entry: &str| {
        format!(
            "[...document.querySelector('.coverage tr[data-entry=\"{entry}\"]').cells].map(one => one.innerText.trim())"
        )
    };
    let prompt_injection = json!(["LLM01 Prompt Injection", "2", "2", "23 of 40", "0", "0", "0"]);
    assert_eq!(browser.eval(&entry("LLM01")), prompt_injection);
    assert_eq!(browser.eval(&entry("LLM10"))[1], json!("0"), "what was not tried is shown");
    browser.eval("document.querySelector('.matrix a.to').click()");
    browser.wait_for("document.querySelector('details[data-id=\"SRT-001\"]').dataset.filled === 'yes'");
    assert_eq!(browser.eval("document.querySelector('details[data-id=\"SRT-001\"]').open"), json!(true));
    assert_eq!(browser.misdeeds(), Misdeeds::default());
    let mobile = json!({"width": 375, "height": 700, "deviceScaleFactor": 1, "mobile": true});
    browser.ask("Emulation.setDeviceMetricsOverride", &mobile);
    assert_eq!(browser.eval("document.documentElement.scrollWidth"), json!(375));
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --only pages"]
fn stories_are_printed_message_by_message_without_being_opened() {
    let mut browser = Browser::start();
    let (_folder, file) = written(&reports::finding(), &reports::trace);
    browser.open(&file, "");
    browser.wait_for(PRINTABLE);
    browser.eval(
        "addEventListener('beforeprint', () => { const turns = [...document.querySelectorAll('.case[open] .whole details.turn')]; \
         window.__printed = [turns.length, turns.every(one => one.open), document.querySelectorAll('.unprinted').length]; })",
    );
    browser.ask("Page.printToPDF", &json!({}));
    let printed = browser.eval("window.__printed");
    assert!(printed[0].as_u64() > Some(6 * 10), "all messages of six stories: {printed}");
    assert_eq!((&printed[1], &printed[2]), (&json!(true), &json!(0)));
    let open = "document.querySelectorAll('details.case[open], details.turn[open]:not(.marked)').length";
    assert_eq!(browser.eval(open), json!(0), "the page is as it was");
    assert_eq!(browser.misdeeds(), Misdeeds::default());
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --only pages"]
fn everything_is_open_on_paper_and_nothing_is_wider_than_a_phone() {
    let mut browser = Browser::start();
    let (_folder, file) = written(&reports::compared(), &reports::trace);
    browser.open(&file, "");
    browser.wait_for(READY);
    browser.eval("window.__printed = 0; addEventListener('beforeprint', () => { window.__printed = document.querySelectorAll('details.case[open] .body').length; })");
    let paper = browser.ask("Page.printToPDF", &json!({}));
    assert!(paper["data"].as_str().unwrap().len() > 20_000);
    assert_eq!(browser.eval("window.__printed"), json!(6));
    assert_eq!(browser.eval("document.querySelectorAll('details.case[open]').length"), json!(0));

    browser.ask(
        "Emulation.setDeviceMetricsOverride",
        &json!({"width": 375, "height": 700, "deviceScaleFactor": 1, "mobile": true}),
    );
    browser.eval(OPEN_ALL);
    assert_eq!(browser.eval("document.documentElement.scrollWidth"), json!(375));
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --only pages"]
fn a_thousand_cases_of_twenty_attempts_open_and_filter() {
    let mut browser = Browser::start();
    let (_folder, file) = written(&reports::large(1000, 20), &reports::noisy_trace);
    let size = std::fs::metadata(&file).unwrap().len();
    browser.open(&file, "");
    let opened = browser.seconds("TaskDuration");
    browser.wait_for(READY);
    let (ready, process) = (browser.seconds("TaskDuration"), browser.seconds("ProcessTime"));
    assert_eq!(browser.eval("document.querySelectorAll('details.case').length"), json!(1000));
    let filtered = browser.eval(
        "(() => { const start = performance.now(); search.value = 'case-0999'; search.dispatchEvent(new Event('input'));
          return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => { document.body.offsetHeight; done(performance.now() - start); }))); })()",
    );
    assert_eq!(browser.eval("document.getElementById('count').textContent"), json!("1 of 1000 cases"));
    let all = browser.eval(
        "(() => { const start = performance.now(); search.value = ''; search.dispatchEvent(new Event('input'));
          return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => { document.body.offsetHeight; done(performance.now() - start); }))); })()",
    );
    println!(
        "{size} bytes; to open {opened:.2} s of the main thread, {ready:.2} s with all details, {process:.2} s of CPU in all"
    );
    println!("to filter {filtered} ms, to show all again {all} ms");
    assert_eq!(browser.misdeeds(), Misdeeds::default());
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --only pages"]
fn ten_thousand_cases_open_and_filter() {
    let mut browser = Browser::start();
    let report = reports::large(10_000, 20);
    let (_folder, file) = page(|text| write_beside(&report, &report, &[], text));
    let text = std::fs::read_to_string(&file).unwrap();
    let stories: usize = text.split("class=\"story\">\"").skip(1).map(|rest| rest.find('"').unwrap()).sum();
    let size = text.len() - stories;
    assert!(size < 2_000_000, "{size} bytes besides traces");
    browser.open(&file, "");
    browser.wait_for(READY);
    let process = browser.seconds("ProcessTime");
    assert_eq!(browser.eval("document.querySelectorAll('details.case').length"), json!(1500));
    assert_eq!(browser.eval("document.querySelectorAll('.matrix tbody tr').length"), json!(500));
    let note = browser.eval("document.getElementById('not-listed').innerText");
    assert!(note.as_str().unwrap().starts_with("8500 more cases are not listed"), "{note}");
    let filtered = browser.eval(
        "(() => { const start = performance.now(); search.value = 'case-0999'; search.dispatchEvent(new Event('input'));
          return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => { document.body.offsetHeight; done(performance.now() - start); }))); })()",
    );
    println!(
        "10000 cases: {size} bytes besides traces, {process:.2} s of CPU in all, {filtered} ms to filter"
    );
    assert_eq!(browser.misdeeds(), Misdeeds::default());
}

/// Writes the pages that the pictures in `docs/images` are of.
#[test]
#[ignore = "writes pages to SORTIE_PAGES: cargo xtask test --only pages"]
fn pages_to_look_at() {
    let folder = std::env::var_os("SORTIE_PAGES").map_or_else(std::env::temp_dir, PathBuf::from);
    let pages = [
        ("finding", reports::finding()),
        ("clean", reports::clean()),
        ("undecided", reports::undecided()),
        ("compared", reports::compared()),
        ("mixed", mixed::report()),
    ];
    for (name, report) in pages {
        let (_folder, file) = written(&report, &reports::trace);
        std::fs::copy(file, folder.join(format!("sortie-{name}.html"))).unwrap();
    }
    let (_folder, file) =
        page(|text| write_beside(&reports::compared(), &reports::earlier(), &reports::rules(), text));
    std::fs::copy(file, folder.join("sortie-matrix.html")).unwrap();
}
