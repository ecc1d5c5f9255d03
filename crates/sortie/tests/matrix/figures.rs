//! Figures that the docs show are those that were measured.

use std::fmt::Write as _;
use std::sync::Mutex;

use crate::documents::root;
use crate::play::{AGENTS, LIBRARY};

/// Tests that write a page take turns.
static PAGE: Mutex<()> = Mutex::new(());

/// Compares what stands between `<!-- NAME -->` and `<!-- end NAME -->` on a page; `SNAPSHOTS=overwrite` writes it.
pub(crate) fn shown(page: &str, name: &str, text: &str) {
    let _turn = PAGE.lock().unwrap();
    let path = root().join(page);
    let whole = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end {name} -->\n"));
    let (before, rest) = whole.split_once(&begin).unwrap_or_else(|| panic!("{page} has no `{begin}`"));
    let (there, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{page} has no `{end}`"));
    if there == text {
        return;
    }
    if std::env::var("SNAPSHOTS").is_ok_and(|action| action == "overwrite") {
        return std::fs::write(&path, format!("{before}{begin}{text}{end}{after}")).unwrap();
    }
    panic!("{page} shows\n{there}\nand this was measured\n{text}\n`SNAPSHOTS=overwrite` puts it there");
}

#[test]
fn the_docs_show_the_matrix() {
    let mut table = String::from(
        "| agent | obeyed, by its log | `exploited` or `partial` | `not_exploited` | `error` |\n|---|---|---|---|---|\n",
    );
    for agent in AGENTS {
        let played = &LIBRARY[agent];
        let obeyed = played.iter().filter(|played| !played.obeyed().is_empty()).count();
        let count =
            |verdicts: &[&str]| played.iter().filter(|played| verdicts.contains(&played.verdict())).count();
        let (exploited, not) = (count(&["exploited", "partial"]), count(&["not_exploited"]));
        let _ = writeln!(table, "| `{agent}` | {obeyed} | {exploited} | {not} | {} |", count(&["error"]));
    }
    shown("docs/practice.md", "matrix", &table);
}
