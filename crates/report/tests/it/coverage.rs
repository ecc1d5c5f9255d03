//! Suites, by the entries of frameworks.

use sortie_detect::{CaseResult, Outcome};
use sortie_report::{CaseCounts, SuiteTable};

use crate::mixed::{case, documents, exploited, loaded, unplayed};

fn table(name: &str, runs: &[Outcome], unfinished: &[String]) -> SuiteTable {
    let loaded = loaded();
    SuiteTable::of(loaded.suites.resolve(name).unwrap(), &loaded.catalogue, &documents(), runs, unfinished)
}

fn row(table: &SuiteTable, entry: &str) -> CaseCounts {
    let rows = table.frameworks.iter().flat_map(|framework| &framework.entries);
    rows.filter(|row| row.entry == entry).map(|row| row.counts).next().expect("it has a row")
}

#[test]
fn every_entry_of_a_closed_list_has_a_row_and_only_what_was_decided_covers_one() {
    let runs = [
        exploited(),
        unplayed(),
        case("echo/one", CaseResult::NotExploited, ""),
        case("needs-name/one", CaseResult::Skipped, ""),
        case("escape/one", CaseResult::NotApplicable, ""),
    ];
    let table = table("owasp-llm-top10", &runs, &["leak/one".to_owned()]);
    let framework = &table.frameworks[0];
    assert_eq!((table.frameworks.len(), framework.entries.len(), framework.closed), (1, 10, true));
    assert_eq!((framework.covered, framework.not_covered.len()), (2, 8), "{:?}", framework.not_covered);
    assert_eq!(
        row(&table, "LLM01"),
        CaseCounts { cases: 2, exploited: 1, not_applicable: 1, ..CaseCounts::default() }
    );
    assert_eq!(
        row(&table, "LLM07"),
        CaseCounts { cases: 2, resisted: 1, undecided: 1, ..CaseCounts::default() }
    );
    assert_eq!(row(&table, "LLM02"), CaseCounts { cases: 1, undecided: 1, ..CaseCounts::default() });
    assert_eq!(row(&table, "LLM05"), CaseCounts { cases: 1, not_applicable: 1, ..CaseCounts::default() });
    assert_eq!(row(&table, "LLM10"), CaseCounts::default());
    assert_eq!((table.totals.cases, table.totals.decided()), (6, 2));
    assert_eq!(framework.entries[6].name.as_deref(), Some("System Prompt Leakage"));
}

#[test]
fn what_is_in_another_suite_is_not_counted() {
    let runs = [case("echo/one", CaseResult::Exploited, "")];
    assert_eq!(table("house", &runs, &["echo/two".to_owned()]).totals, CaseCounts::default());
    assert_eq!(table("owasp-mcp-top10", &runs, &[]).totals, CaseCounts::default());
    assert_eq!(table("mitre-atlas", &runs, &[]).totals.exploited, 1);
}

#[test]
fn a_suite_that_somebody_wrote_is_counted_by_every_framework_it_touches() {
    let runs =
        [case("leak/one", CaseResult::Exploited, ""), case("escape/one", CaseResult::NotExploited, "")];
    let table = table("house", &runs, &[]);
    let names: Vec<_> = table.frameworks.iter().map(|framework| framework.framework.as_str()).collect();
    assert_eq!(names, ["owasp-llm", "owasp-mcp", "atlas"]);
    let atlas = &table.frameworks[2];
    assert_eq!((atlas.closed, atlas.covered, atlas.entries.len()), (false, 1, 1));
}
