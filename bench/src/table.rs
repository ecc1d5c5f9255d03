//! What is printed in the end: two tables, then what there is to say about them.

use std::fmt;

/// Rows and notes, and whether every bar was met.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<String>,
    costs: Vec<String>,
    notes: Vec<String>,
    failed: bool,
}

impl Table {
    /// How many times longer the rival takes, and how many times at least it should.
    pub(crate) fn bar(&mut self, name: &str, ratio: f64, bar: f64) {
        let verdict = if ratio >= bar { "pass" } else { "FAIL" };
        // A ratio that is not a number has not met its bar either.
        self.failed |= verdict == "FAIL";
        self.rows.push(row(name, &format!("{ratio:.1} ×"), &format!("≥ {bar} ×"), verdict));
    }

    /// How many times longer something of ours takes than without it, and how many times at most it may.
    pub(crate) fn at_most(&mut self, name: &str, ratio: f64, bar: f64) {
        let verdict = if ratio <= bar { "pass" } else { "FAIL" };
        self.failed |= verdict == "FAIL";
        self.rows.push(row(name, &format!("{ratio:.2} ×"), &format!("≤ {bar} ×"), verdict));
    }

    /// A ratio on other inputs than the bar was set on. For information.
    pub(crate) fn without_bar(&mut self, name: &str, ratio: f64) {
        self.rows.push(row(name, &format!("{ratio:.1} ×"), "", "no bar for these documents"));
    }

    /// A bar that could not be measured is not met.
    pub(crate) fn unmeasured(&mut self, name: &str, bar: f64, reason: &str) {
        self.failed = true;
        self.rows.push(row(name, "-", &format!("≥ {bar} ×"), &format!("FAIL: {reason}")));
    }

    /// What a hostile input took, as parts of what it may take.
    pub(crate) fn cost(&mut self, name: &str, time: f64, memory: f64, answer: &str) {
        let verdict = if time < 1.0 && memory < 1.0 { "pass" } else { "FAIL" };
        self.failed |= verdict == "FAIL";
        self.costs.push(row(name, &percent(time), &percent(memory), &format!("{verdict}  {answer}")));
    }

    /// A hostile input that is known to take more than it may; that it does not is news.
    pub(crate) fn known_cost(&mut self, name: &str, time: f64, memory: f64, why: &str) {
        if time < 1.0 && memory < 1.0 {
            self.fail(&format!("{name}: listed as over the limits, and is not"));
        }
        self.costs.push(row(name, &percent(time), &percent(memory), &format!("known gap: {why}")));
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

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
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
        if !self.costs.is_empty() {
            writeln!(f, "\n{}", row("hostile input, of 100 ms and 64 MB", "CPU time", "memory", ""))?;
        }
        for row in &self.costs {
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
