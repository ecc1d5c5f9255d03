//! The published rules themselves, where they are there.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sortie_atr::{AtrReport, Disagreement, TestLabel, load};

/// The share of tests on which documents and the authors of the rules must agree.
const LEAST_AGREEMENT: f64 = 0.99;

fn package() -> PathBuf {
    PathBuf::from(std::env::var_os("SORTIE_ATR").expect("SORTIE_ATR names the folder of the package"))
}

/// What the engine of the rules finds: by rule, label and number.
fn engine(package: &Path) -> HashMap<(String, TestLabel, u64), bool> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/atr/engine.mjs");
    let output = Command::new("node").arg(script).arg(package).output().expect("node starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let entry = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let label = line["label"].as_str().unwrap().parse().unwrap();
        let key = (line["id"].as_str().unwrap().to_owned(), label, line["number"].as_u64().unwrap());
        (key, line["found"].as_bool().unwrap())
    };
    lines.lines().map(entry).collect()
}

/// Prints what was imported, and every test on which a document and the author of its rule disagree.
#[test]
#[ignore = "needs the npm package agent-threat-rules 4.0.0: `cargo xtask test --only atr` installs it, SORTIE_ATR names its folder"]
fn documents_agree_with_the_tests_of_the_published_rules() {
    let package = package();
    let (imported, left_out) = load(&package.join("rules")).unwrap();
    let report = AtrReport::new(&imported, &left_out);
    let totals = &report.totals;
    println!("{totals:#?}");
    let (mut unexplained, mut unlike_engine) = (0, 0);
    let engine = engine(&package);
    let in_traces = crate::engine::found(&imported);
    for (rule, in_traces) in imported.iter().zip(in_traces) {
        for (test, in_trace) in rule.tests.iter().zip(in_traces) {
            let key = (rule.id.clone(), test.label, test.number as u64);
            let found = rule.agrees(test) == (test.label == TestLabel::TruePositive);
            assert_eq!(in_trace, found, "{key:?}");
            let disagreement = rule.disagreement(test);
            if found != engine[&key] {
                unlike_engine += 1;
                // It differs from the engine only where it differs from the label, and for the same reason.
                assert!(disagreement.is_some(), "{key:?}: the engine finds {}", engine[&key]);
            }
            let Some(because) = disagreement else { continue };
            let skipped: Vec<String> = rule
                .skipped
                .iter()
                .map(|skipped| format!("{} {}", skipped.condition, skipped.reason))
                .collect();
            let engine = if engine[&key] { "finds it" } else { "does not find it" };
            println!(
                "{} {} {}: {because} ({}); the engine {engine}",
                rule.id,
                test.label,
                test.number,
                skipped.join(", ")
            );
            unexplained += usize::from(because == Disagreement::Unexplained);
        }
    }
    let mut by_place: BTreeMap<String, usize> = BTreeMap::new();
    for indicator in imported.iter().flat_map(|rule| rule.compiled.indicators()) {
        let (protocol, surface) = (indicator.protocol.as_deref(), indicator.surface.as_deref());
        let place = format!("{} {} {:?}", protocol.unwrap_or(""), surface.unwrap_or(""), indicator.direction);
        *by_place.entry(place).or_default() += 1;
    }
    println!("{by_place:#?}");
    for rule in &left_out {
        println!("left out: {} {} ({})", rule.id, rule.reason, rule.detail);
    }
    // The counts of version 4.0.0.
    assert_eq!((totals.rules, totals.tests + totals.tests_left_out), (785, 7_980));
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    let agreement = totals.tests_agreed as f64 / totals.tests as f64;
    println!("agreement: {} of {} tests, {:.2} %", totals.tests_agreed, totals.tests, agreement * 100.0);
    println!("unlike the engine of the rules: {unlike_engine} tests");
    assert!(agreement >= LEAST_AGREEMENT, "{agreement}");
    assert_eq!(unexplained, 0);
}
