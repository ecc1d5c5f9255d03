//! What a report counts as.

use sortie_detect::Standing;
use sortie_engine::cases::CaseVerdict;
use sortie_report::{Entry, Report};

use crate::mixed::{case, exploited, resisted, skipped, undecided, unplayed};

fn of(runs: &[Entry], allow_skipped: bool) -> Standing {
    Report::new(runs.to_vec()).standing(allow_skipped)
}

fn played(verdict: CaseVerdict) -> Entry {
    case("echo/one", verdict, "because").into()
}

#[test]
fn a_report_is_as_good_as_its_worst_case() {
    for (resisted, skipped, undecided, exploited) in [
        (resisted().into(), skipped().into(), undecided().into(), exploited().into()),
        (
            played(CaseVerdict::NotExploited),
            played(CaseVerdict::Skipped),
            played(CaseVerdict::Error),
            played(CaseVerdict::Exploited),
        ),
        (resisted().into(), played(CaseVerdict::Skipped), undecided().into(), played(CaseVerdict::Exploited)),
    ] {
        let (resisted, skipped, undecided, exploited): (Entry, Entry, Entry, Entry) =
            (resisted, skipped, undecided, exploited);
        let all =
            |runs: &[&Entry], allow| of(&runs.iter().map(|run| (*run).clone()).collect::<Vec<_>>(), allow);
        assert_eq!(all(&[&resisted], false), Standing::Resisted);
        assert_eq!(all(&[&resisted, &skipped], false), Standing::Skipped);
        assert_eq!(all(&[&resisted, &skipped], true), Standing::Resisted);
        assert_eq!(all(&[&skipped, &undecided, &resisted], true), Standing::Undecided);
        assert_eq!(all(&[&undecided, &exploited], true), Standing::Exploited);
    }
    assert_eq!(of(&[], true), Standing::Undecided);
}

#[test]
fn when_nothing_was_decided_nothing_is_whatever_may_be_skipped() {
    assert_eq!(of(&[played(CaseVerdict::Skipped)], true), Standing::Skipped);
    assert_eq!(of(&[played(CaseVerdict::NotApplicable), unplayed().into()], true), Standing::Undecided);
    assert_eq!(
        of(&[played(CaseVerdict::NotApplicable), played(CaseVerdict::Skipped)], true),
        Standing::Skipped
    );
}

#[test]
fn what_does_not_apply_counts_neither_way() {
    let not = [played(CaseVerdict::NotApplicable), unplayed().into()];
    for (with, standing) in [
        (played(CaseVerdict::NotExploited), Standing::Resisted),
        (played(CaseVerdict::Error), Standing::Undecided),
        (exploited().into(), Standing::Exploited),
    ] {
        let runs: Vec<_> = not.iter().cloned().chain([with]).collect();
        assert_eq!(of(&runs, false), standing);
    }
}

#[test]
fn a_run_that_did_not_come_to_its_end_is_undecided_unless_something_was_found() {
    let mut report = Report::new([played(CaseVerdict::NotExploited)]);
    report.unfinished = vec!["echo/two".to_owned()];
    assert_eq!(report.standing(true), Standing::Undecided);
    report.unfinished.clear();
    report.stopped = Some("the budget is used up".to_owned());
    assert_eq!(report.standing(true), Standing::Undecided);
    report.runs.push(played(CaseVerdict::Exploited));
    assert_eq!(report.standing(true), Standing::Exploited);
}
