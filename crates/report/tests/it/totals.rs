//! One counting: whatever a run comes to, every format tells the same numbers.

use proptest::collection::vec;
use proptest::prelude::*;
use sortie_detect::{
    CaseInfo, CaseResult, DocumentInfo, EvaluatorCase, Failure, FailureKind, Fault, Outcome, Standing,
    Verdict,
};
use sortie_report::{CaseCounts, Report, RunTotals, View, write_human, write_junit};

/// A case that came to anything, with or without indicators that nobody could evaluate, and a failure.
fn outcome() -> impl Strategy<Value = Outcome> {
    let result = (0..CaseResult::ALL.len()).prop_map(|at| CaseResult::ALL[at]);
    (result, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(result, is_document, skipped, failed, has_reason)| {
            let case = if is_document {
                CaseInfo::Document {
                    document: DocumentInfo { name: "An attack".into(), ..DocumentInfo::default() },
                }
            } else {
                CaseInfo::Evaluator { evaluator: EvaluatorCase::default() }
            };
            let mut verdict = Verdict::new(result, "because");
            verdict.evaluation_summary.skipped = u64::from(skipped);
            verdict.reason = verdict.reason.filter(|_| has_reason);
            let failure = Failure::new(FailureKind::NothingObserved, Fault::None, "nothing was seen");
            Outcome::new("a/b", case, verdict, failed.then_some(failure))
        },
    )
}

/// The number before a word in the last line for people.
fn told(line: &str, word: &str) -> usize {
    let (_, sorts) = line.split_once(": ").unwrap_or_default();
    let sorts = sorts.split(';').next().unwrap_or_default().split(", ");
    let count = sorts.filter_map(|sort| sort.split_once(' ')).find(|(_, own)| *own == word);
    count.map_or(0, |(count, _)| count.parse().unwrap())
}

proptest! {
    #[test]
    fn every_format_tells_the_same_numbers(
        runs in vec(outcome(), 0..9), unfinished in 0_usize..3, allow_skipped: bool,
    ) {
        let mut report = Report::new(runs);
        report.unfinished = vec!["c/d".to_owned(); unfinished];
        let totals = RunTotals::of(&report);
        let RunTotals { cases, exploited, partial, not_exploited, error, skipped, not_applicable, .. } = totals;
        let sum = exploited + partial + not_exploited + error + skipped + not_applicable + unfinished;
        prop_assert_eq!(cases, sum);

        // Tables of suites.
        let mut counts = CaseCounts::default();
        report.runs.iter().for_each(|run| counts.add(run.standing));
        report.unfinished.iter().for_each(|_| counts.add(Some(Standing::Undecided)));
        prop_assert_eq!(totals.counts(), counts);
        prop_assert_eq!(counts.decided(), exploited + partial + not_exploited);

        // People.
        let view = View { allow_skipped, ..View::default() };
        let mut text = Vec::new();
        write_human(&mut text, &report, view).unwrap();
        let text = String::from_utf8(text).unwrap();
        let last = text.lines().last().unwrap();
        for (word, count) in [
            ("exploited", exploited), ("partial", partial), ("not_exploited", not_exploited), ("error", error),
            ("skipped", skipped), ("not_applicable", not_applicable), ("not run", unfinished),
        ] {
            prop_assert_eq!(told(last, word), count, "{}: {}", word, last);
        }

        // Programs, and whoever compares.
        let json = serde_json::to_value(&report).unwrap();
        prop_assert_eq!(&json["totals"], &serde_json::to_value(totals).unwrap());
        prop_assert_eq!(&report.canonical()["totals"], &json["totals"]);
        let read: Report = serde_json::from_value(json).unwrap();
        prop_assert_eq!(RunTotals::of(&read), totals);

        // CI, which knows passed, failed, broken and skipped; and maybe one case more, for the run as a whole.
        let mut xml = Vec::new();
        write_junit(&mut xml, &report, view).unwrap();
        let xml = String::from_utf8(xml).unwrap();
        let xml = roxmltree::Document::parse(&xml).unwrap();
        let whole = xml.descendants().filter(|node| node.attribute("name") == Some("the run as a whole")).count();
        let said = |name: &str| xml.root_element().attribute(name).unwrap().parse::<usize>().unwrap();
        let (accepted, refused) = if allow_skipped { (skipped, 0) } else { (0, skipped) };
        prop_assert_eq!(said("tests"), cases + whole);
        prop_assert_eq!(said("failures"), exploited + partial);
        prop_assert_eq!(said("errors"), error + unfinished + refused + whole);
        prop_assert_eq!(said("skipped"), not_applicable + accepted);
        prop_assert_eq!(said("tests") - said("failures") - said("errors") - said("skipped"), not_exploited);
    }
}
