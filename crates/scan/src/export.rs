//! Recordings as one Parquet file.

use std::collections::HashSet;
use std::io::{self, BufReader, Write};
use std::path::PathBuf;

use sortie_import::{
    DeclaredServer, Format, Formats, ImportError, Input, InputLimits, PendingSession, RecordingFile,
};
use sortie_recording::parquet::{MAGIC, TraceRowError, TraceRows, TraceWriter, WrittenTraces};
use sortie_trace::Record;

use crate::part::{Lines, TRACE_START};
use crate::scan::is_header;
use crate::session::session_name;

/// Why recordings cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A recording cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A line of a trace cannot be a row.
    #[error("`{file}`, the line at byte {at}: {source}")]
    Row {
        /// The trace.
        file: String,
        /// Where the line begins.
        at: u64,
        /// Why.
        source: TraceRowError,
    },
    /// The file cannot be written.
    #[error("cannot write the file: {0}")]
    Write(#[source] io::Error),
}

/// Recordings, to be written as one Parquet file whose rows [`Scan`](crate::Scan) finds the same in.
#[derive(Clone, Debug)]
pub struct Export {
    files: Vec<RecordingFile>,
    format: Option<&'static Format>,
    servers: Vec<DeclaredServer>,
}

/// What was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// What was written.
    pub written: WrittenTraces,
    /// Files in folders that are not recordings, and why.
    pub passed_over: Vec<(String, String)>,
}

impl Export {
    /// Exports these files. The format of each is recognized.
    pub fn new(files: Vec<RecordingFile>) -> Self {
        Self { files, format: None, servers: Vec::new() }
    }

    /// Reads all files in this format.
    #[must_use]
    pub fn with_format(mut self, format: &'static Format) -> Self {
        self.format = Some(format);
        self
    }

    /// Names the agent's MCP servers, for formats that do not say whose a tool is.
    #[must_use]
    pub fn with_servers(mut self, servers: Vec<DeclaredServer>) -> Self {
        self.servers = servers;
        self
    }

    /// Writes every session, with the name that a scan gives it.
    pub fn write(&self, out: impl Write) -> Result<Exported, ExportError> {
        let writer = TraceWriter::new(out).map_err(ExportError::Write)?;
        let (names, companions) = (HashSet::new(), HashSet::new());
        let mut work = ExportWork { export: self, writer, names, companions, passed_over: Vec::new() };
        // What may belong to another file of a folder is read after that, unless it was read with it.
        let is_companion =
            |file: &&RecordingFile| !file.named && file.path.as_deref().is_some_and(Formats::is_companion);
        let (late, early): (Vec<_>, Vec<_>) = self.files.iter().partition(is_companion);
        for file in early.into_iter().chain(late) {
            work.file(file)?;
        }
        let written = work.writer.finish().map_err(ExportError::Write)?;
        Ok(Exported { written, passed_over: work.passed_over })
    }
}

struct ExportWork<'e, W> {
    export: &'e Export,
    writer: TraceWriter<W>,
    /// Sessions by name: rows of two with one name would become one session.
    names: HashSet<String>,
    /// Files that were read with others.
    companions: HashSet<PathBuf>,
    passed_over: Vec<(String, String)>,
}

impl<W: Write> ExportWork<'_, W> {
    fn file(&mut self, file: &RecordingFile) -> Result<(), ExportError> {
        if file.path.as_ref().is_some_and(|path| self.companions.contains(path)) {
            let why = "it was read with the session that started it".to_owned();
            self.passed_over.push((file.name.clone(), why));
            return Ok(());
        }
        match self.read(file) {
            Err(ExportError::Import(error @ (ImportError::Nothing { .. } | ImportError::Unknown { .. })))
                if !file.named =>
            {
                self.passed_over.push((file.name.clone(), error.to_string()));
                Ok(())
            }
            read => read,
        }
    }

    fn read(&mut self, file: &RecordingFile) -> Result<(), ExportError> {
        let limits = InputLimits::default();
        let mut input = match &file.path {
            Some(path) => Input::file(path, &file.name, limits)?,
            None => Input::stream(BufReader::new(io::stdin()), &file.name, limits)?,
        }
        .with_servers(&self.export.servers);
        let head = input.head()?;
        if head.starts_with(TRACE_START) {
            return self.trace(file, Lines::new(input.into_reader()));
        }
        if head.starts_with(MAGIC) && self.export.format.is_none() {
            let rows = input.trace_rows()?;
            return self.rows(file, rows.ok_or(ImportError::Unknown { file: file.name.clone() })?);
        }
        let recognized = Formats::recognize(&input.as_head(&head));
        let format = match self.export.format {
            Some(format) if file.named => Some(format),
            Some(format) => recognized.filter(|found| found.name == format.name),
            None => recognized,
        };
        let Some(format) = format else {
            return Err(ImportError::Unknown { file: file.name.clone() }.into());
        };
        self.import(file, format, input)
    }

    fn trace(&mut self, file: &RecordingFile, mut lines: Lines<impl io::BufRead>) -> Result<(), ExportError> {
        loop {
            let next = lines.next_line();
            let next = next.map_err(|source| ImportError::Io { file: file.name.clone(), source })?;
            let Some((at, line, is_whole)) = next else { return Ok(()) };
            let is_complete = line.ends_with(b"\n");
            let line = line.trim_ascii_end();
            if line.is_empty() {
                continue;
            }
            if !is_whole {
                let (file, what) = (file.name.clone(), format!("the line at byte {at} is too long"));
                return Err(ImportError::TooLarge { file, what, limit: crate::MAX_LINE_BYTES as u64 }.into());
            }
            let text = std::str::from_utf8(line).map_err(|_| ImportError::Invalid {
                file: file.name.clone(),
                line: 0,
                message: format!("the line at byte {at} is not UTF-8"),
            })?;
            if is_header(line) {
                self.begin(&session_name(&file.name, at))?;
            }
            match self.writer.line(text) {
                // Whoever wrote the last line was at it.
                Err(TraceRowError::Line(_)) if !is_complete => {}
                written => written.map_err(|source| row_error(file, at, source))?,
            }
        }
    }

    fn rows<S: io::Read + io::Seek>(
        &mut self,
        file: &RecordingFile,
        mut rows: TraceRows<S>,
    ) -> Result<(), ExportError> {
        let (mut session, mut at) = (None, 0);
        loop {
            let row = rows.next_row().map_err(|error| error.of(&file.name))?;
            let Some((name, line)) = row else { return Ok(()) };
            if session.as_deref() != Some(name) {
                session = Some(name.to_owned());
                self.begin(name)?;
            }
            at += 1;
            self.writer.line(line).map_err(|source| row_error(file, at, source))?;
        }
    }

    fn import(
        &mut self,
        file: &RecordingFile,
        format: &'static Format,
        input: Input<'_>,
    ) -> Result<(), ExportError> {
        let mut failed = None;
        let read = format.read_pending(input, &mut |session: PendingSession| {
            let session = session.finish();
            self.companions.extend(session.companions.iter().cloned());
            let name = session.id.clone();
            let header = Record::Header(Box::new(session.header(sortie_detect::SOURCE)));
            let records = std::iter::once(header).chain(session.into_records());
            let written = self.begin(&name).and_then(|()| {
                records.enumerate().try_for_each(|(at, record)| {
                    let line = serde_json::to_string(&record).map_err(io::Error::from);
                    let line = line.map_err(ExportError::Write)?.replace(['\n', '\r'], " ");
                    self.writer.line(&line).map_err(|source| row_error(file, at as u64, source))
                })
            });
            written.map_err(|error| {
                failed = Some(error);
                ImportError::Stopped("stopped".to_owned())
            })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(read?),
        }
    }

    /// Begins a session. One whose name is taken gets a number.
    fn begin(&mut self, name: &str) -> Result<(), ExportError> {
        let mut own = name.to_owned();
        let mut number = 1;
        while !self.names.insert(own.clone()) {
            number += 1;
            own = format!("{name}#{number}");
        }
        self.writer.begin(&own).map_err(ExportError::Write)
    }
}

fn row_error(file: &RecordingFile, at: u64, source: TraceRowError) -> ExportError {
    match source {
        TraceRowError::Io(error) => ExportError::Write(error),
        source => ExportError::Row { file: file.name.clone(), at, source },
    }
}
