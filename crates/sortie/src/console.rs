//! Standard output and standard error, and whether they take colour.

use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use sortie_report::findings::{Human, Reporter as _};
use sortie_report::style::{self, Style};
use sortie_report::{shown_diff, unified_diff, visible};
use sortie_run::display::Notes;

use crate::Failure;

/// Where a command writes.
pub(crate) struct Console {
    /// What was asked for. See [`Output`].
    pub(crate) out: Output,
    /// Whether what was asked for may be coloured.
    pub(crate) color: bool,
    /// Whether a person reads it as it comes.
    pub(crate) terminal: bool,
    color_notes: bool,
}

impl Console {
    pub(crate) fn new(choice: ColorChoice) -> Self {
        let stdout = io::stdout();
        // `--color` decides; left at `auto`, the stream and the environment do (`NO_COLOR`, `CLICOLOR_FORCE`).
        let takes_color = |detected| match choice {
            ColorChoice::Auto => detected != ColorChoice::Never,
            asked => asked != ColorChoice::Never,
        };
        Self {
            color: takes_color(AutoStream::choice(&stdout)),
            color_notes: takes_color(AutoStream::choice(&io::stderr())),
            terminal: stdout.is_terminal(),
            out: Output { stream: BufWriter::new(stdout), closed: false },
        }
    }

    pub(crate) fn width(&self) -> Option<usize> {
        self.terminal.then(terminal_size::terminal_size)?.map(|(width, _)| usize::from(width.0))
    }

    pub(crate) fn notes(&self) -> Notes {
        let terminal = io::stderr().is_terminal();
        let width = terminal.then(|| terminal_size::terminal_size_of(io::stderr())).flatten();
        Notes { terminal, color: self.color_notes, width: width.map(|(width, _)| usize::from(width.0)) }
    }

    /// Writes to a file where one was named, else to standard output.
    pub(crate) fn put(&mut self, text: &[u8], file: Option<&Path>) -> Result<(), Failure> {
        match file {
            Some(path) => fs::write(path, text).map_err(|error| Failure::at(path, "write", &error)),
            None => Ok(self.out.write_all(text)?),
        }
    }

    /// Writes the text of a document: untouched into a file or a pipe, with control characters made
    /// visible on a terminal.
    pub(crate) fn document(&mut self, text: &str) -> io::Result<()> {
        let text = if self.terminal { visible(text) } else { text.into() };
        self.out.write_all(text.as_bytes())
    }

    /// Shows what would be changed in a text: for people on a terminal, as `patch` wants it anywhere else.
    pub(crate) fn diff(&mut self, name: &str, before: &str, after: &str) -> io::Result<()> {
        let diff = unified_diff(name, before, after);
        let diff = if self.terminal || self.color { shown_diff(&diff, self.color) } else { diff };
        self.out.write_all(diff.as_bytes())
    }

    pub(crate) fn failure(&mut self, failure: &Failure) {
        failure.causes.iter().for_each(|cause| self.failure(cause));
        self.note_all(&failure.notes);
        for checked in &failure.findings {
            // Nothing can be done for someone who has closed standard error.
            let _ = self.out.flush();
            let _ = Human::new(self.color_notes, None).file(checked, &mut io::stderr());
        }
        self.say("error", style::ERROR, &failure.message);
        if let Some(help) = &failure.help {
            self.say("  help", style::HELP, help);
        }
    }

    /// Says something that is not what was asked for, and still good to know.
    pub(crate) fn note(&mut self, text: &str) {
        self.say("note", style::NOTE, text);
    }

    pub(crate) fn note_all(&mut self, notes: &[String]) {
        for note in notes {
            self.note(note);
        }
    }

    /// Standard error comes after what was written so far. When it is closed, nobody listens.
    fn say(&mut self, word: &str, style: Style, text: &str) {
        let _ = self.out.flush();
        let word = style::paint(self.color_notes, style, word);
        let _ = writeln!(io::stderr(), "{word}: {}", visible(text));
    }
}

/// Standard output that may be closed by whoever reads it (`sortie check | head`): what nobody reads
/// is dropped, and the exit code stays what it would have been.
pub(crate) struct Output {
    stream: BufWriter<io::Stdout>,
    closed: bool,
}

impl Output {
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    fn unless_closed<T>(&mut self, result: io::Result<T>, instead: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(instead)
            }
            result => result,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let written = self.stream.write(bytes);
        self.unless_closed(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let flushed = self.stream.flush();
        self.unless_closed(flushed, ())
    }
}
