//! The published rules themselves, where they are there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sortie_atr::{AtrReport, Disagreement, load};

/// The share of tests on which documents and the authors of the rules must agree.
const LEAST_AGREEMENT: f64 = 0.99;

/// Prints what was imported, and every test on which a document and the author of its rule disagree.
#[test]
#[ignore = "needs the npm package agent-threat-rules 4.0.0: `cargo xtask test --only atr` installs it, SORTIE_ATR names its folder"]
fn documents_agree_with_the_tests_of_the_published_rules() {
    let package =
        PathBuf::from(std::env::var_os("SORTIE_ATR").expect("SORTIE_ATR names the folder of the package"));
    let (imported, left_out) = load(&package.join("rules")).unwrap();
    let report = AtrReport::new(&imported, &left_out);
    let totals = &report.totals;
    println!("{totals:#?}");
    let mut unexplained = 0;
    for rule in &imported {
        for test in &rule.tests {
            let Some(because) = rule.disagreement(test) else { continue };
            let skipped: Vec<String> = rule
                .skipped
                .iter()
                .map(|skipped| format!("{} {}", skipped.condition, skipped.reason))
                .collect();
            println!("{} {} {}: {because} ({})", rule.id, test.label, test.number, skipped.join(", "));
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
    assert!(agreement >= LEAST_AGREEMENT, "{agreement}");
    assert_eq!(unexplained, 0);
}
