//! What a report counts as.

use sortie_detect::{CaseResult, Outcome, Standing};
use sortie_report::Report;

use crate::mixed::{case, exploited, resisted, skipped, undecided, unplayed};

fn of(runs: &[Outcome], allow_skipped: bool) -> Standing {
    Report::new(runs.to_vec()).standing(allow_skipped)
}

fn played(verdict: CaseResult) -> Outcome {
    case("echo/one", verdict, "because")
}

fn is_as_good_as_its_worst_case(
    resisted: &Outcome,
    skipped: &Outcome,
    undecided: &Outcome,
    exploited: &Outcome,
) {
    let all = |runs: &[&Outcome], allow| of(&runs.iter().copied().cloned().collect::<Vec<_>>(), allow);
    assert_eq!(all(&[resisted], false), Standing::Resisted);
    assert_eq!(all(&[resisted, skipped], false), Standing::Skipped);
    assert_eq!(all(&[resisted, skipped], true), Standing::Resisted);
    assert_eq!(all(&[skipped, undecided, resisted], true), Standing::Undecided);
    assert_eq!(all(&[undecided, exploited], true), Standing::Exploited);
}

#[test]
fn a_report_is_as_good_as_its_worst_case() {
    let case_skipped = played(CaseResult::Skipped);
    let case_exploited = played(CaseResult::Exploited);
    is_as_good_as_its_worst_case(&resisted(), &skipped(), &undecided(), &exploited());
    is_as_good_as_its_worst_case(
        &played(CaseResult::NotExploited),
        &case_skipped,
        &played(CaseResult::Error),
        &case_exploited,
    );
    is_as_good_as_its_worst_case(&resisted(), &case_skipped, &undecided(), &case_exploited);
    assert_eq!(of(&[], true), Standing::Undecided);
}

#[test]
fn when_nothing_was_decided_nothing_is_whatever_may_be_skipped() {
    assert_eq!(of(&[played(CaseResult::Skipped)], true), Standing::Skipped);
    assert_eq!(of(&[played(CaseResult::NotApplicable), unplayed()], true), Standing::Undecided);
    assert_eq!(
        of(&[played(CaseResult::NotApplicable), played(CaseResult::Skipped)], true),
        Standing::Skipped
    );
}

#[test]
fn what_does_not_apply_counts_neither_way() {
    let not = [played(CaseResult::NotApplicable), unplayed()];
    for (with, standing) in [
        (played(CaseResult::NotExploited), Standing::Resisted),
        (played(CaseResult::Error), Standing::Undecided),
        (exploited(), Standing::Exploited),
    ] {
        let runs: Vec<_> = not.iter().cloned().chain([with]).collect();
        assert_eq!(of(&runs, false), standing);
    }
}

#[test]
fn a_run_that_did_not_come_to_its_end_is_undecided_unless_something_was_found() {
    let mut report = Report::new([played(CaseResult::NotExploited)]);
    report.unfinished = vec!["echo/two".to_owned()];
    assert_eq!(report.standing(true), Standing::Undecided);
    report.unfinished.clear();
    report.stopped = Some("the budget is used up".to_owned());
    assert_eq!(report.standing(true), Standing::Undecided);
    report.runs.push(played(CaseResult::Exploited));
    assert_eq!(report.standing(true), Standing::Exploited);
}
