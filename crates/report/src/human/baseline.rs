//! How cases stand against a baseline.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::baseline::{BaselineNote, BaselineState};
use crate::text::line;
use crate::text::style::{self, Style};

/// Writes the states, the bad ones first; cases that are unchanged are counted only.
pub(super) fn write(
    out: &mut dyn Write,
    notes: &BTreeMap<String, BaselineNote>,
    color: bool,
) -> io::Result<()> {
    let mut counts = Vec::new();
    for state in BaselineState::ALL {
        let of_state: Vec<_> = notes.iter().filter(|(_, note)| note.state == *state).collect();
        if of_state.is_empty() {
            continue;
        }
        counts.push(format!("{} {state}", of_state.len()));
        for (id, note) in of_state.into_iter().filter(|_| *state != BaselineState::Unchanged) {
            let word = style::paint(color, style_of(*state), &format!("{state:9}"));
            let detail = note.detail.as_ref().map(|detail| format!(": {}", line(detail)));
            writeln!(out, "{word} {}{}{}", line(id), detail.unwrap_or_default(), accepted(note))?;
        }
    }
    writeln!(out, "against the baseline: {}\n", counts.join(", "))
}

fn accepted(note: &BaselineNote) -> String {
    let until = note.expires.as_ref().map(|last| format!(" until {}", line(last))).unwrap_or_default();
    note.reason.as_ref().map(|reason| format!("; accepted{until}: {}", line(reason))).unwrap_or_default()
}

fn style_of(state: BaselineState) -> Style {
    match state {
        BaselineState::New | BaselineState::Regressed | BaselineState::Expired => style::ERROR,
        BaselineState::Stale | BaselineState::Unknown | BaselineState::Known => style::WARNING,
        BaselineState::Fixed | BaselineState::Unchanged => style::NOTE,
    }
}
