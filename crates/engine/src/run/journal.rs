//! `run.log`: what the document logs, and what a person should know, with times.

use std::fs::File;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use sortie_trace::Redactor;
use sortie_trace::time::format_time;

use crate::event::{RunEvent, Watcher};

/// How long the file may become, in bytes.
const MAX_BYTES: usize = 4 << 20;

/// Writes the log, and lets another watch too.
pub(super) struct Journal {
    next: Arc<dyn Watcher>,
    redactor: Redactor,
    file: Mutex<(File, usize)>,
}

impl Journal {
    pub(super) fn new(file: File, redactor: Redactor, next: Arc<dyn Watcher>) -> Self {
        Self { next, redactor, file: Mutex::new((file, MAX_BYTES)) }
    }

    fn write(&self, level: &str, who: &str, text: &str) {
        let text = self.redactor.text(text);
        // One line each, whatever a document or a peer puts into it.
        let text: String = text
            .chars()
            .map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter })
            .collect();
        let line = format!("{} {level} {who}{text}\n", format_time(SystemTime::now()));
        let (file, room) = &mut *self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = room.checked_sub(line.len()) {
            *room = left;
            // The same is in the report, or was shown: nothing depends on this file.
            let _ = file.write_all(line.as_bytes());
        } else if *room > 0 {
            *room = 0;
            let _ = file.write_all(b"the rest was not kept: the log has reached its limit\n");
        }
    }
}

impl Watcher for Journal {
    fn event(&self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Warning(text) => self.write("warning", "", text),
            RunEvent::Logged { actor, level, text } => self.write(level, &format!("{actor}: "), text),
            RunEvent::Recorded(_) | RunEvent::Matched { .. } => {}
        }
        self.next.event(event);
    }
}
