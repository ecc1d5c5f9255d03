//! What is printed in the end: one table, then what there is to say about it.

use std::fmt;

/// Rows and notes, and whether every bar was met.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<String>,
    notes: Vec<String>,
    failed: bool,
}

impl Table {
    /// How many times longer the rival takes, and how many times at least it should.
    pub(crate) fn bar(&mut self, name: &str, ratio: f64, bar: f64) {
        let verdict = if ratio >= bar { "pass" } else { "FAIL" };
        // A ratio that is no number has not met its bar either.
        self.failed |= verdict == "FAIL";
        self.rows.push(row(name, &format!("{ratio:.1} ×"), &format!("≥ {bar} ×"), verdict));
    }

    /// A bar that could not be measured is not met.
    pub(crate) fn unmeasured(&mut self, name: &str, bar: f64, reason: &str) {
        self.failed = true;
        self.rows.push(row(name, "-", &format!("≥ {bar} ×"), &format!("FAIL: {reason}")));
    }

    /// How many times longer ours takes than the least possible. For information: there is no bar.
    pub(crate) fn limit(&mut self, name: &str, ratio: f64) {
        self.rows.push(row(&format!("  {name}"), &format!("{ratio:.1} ×"), "", "of the limit"));
    }

    pub(crate) fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }

    pub(crate) fn fail(&mut self, what: &str) {
        self.failed = true;
        self.notes.push(format!("FAIL: {what}"));
    }

    pub(crate) fn all_bars_met(&self) -> bool {
        !self.failed
    }
}

fn row(name: &str, ratio: &str, bar: &str, verdict: &str) -> String {
    format!("{name:<50} {ratio:>12} {bar:>9}  {verdict}")
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", row("CPU time", "rival / ours", "bar", ""))?;
        for row in &self.rows {
            writeln!(f, "{row}")?;
        }
        if !self.notes.is_empty() {
            writeln!(f)?;
        }
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        Ok(())
    }
}
