//! `sortie trace`

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write as _};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sortie_detect::Detector;
use sortie_import::RecordingFile;
use sortie_library::{DocumentInput, NamedDocument};
use sortie_report::{ShowError, TraceFilter, TraceLook, TraceView, counted};
use sortie_run::recordings::{DeclaredServer, RecordingFormat, Recordings};
use sortie_run::trace_files::traces_of;
use sortie_scan::WrittenTraces;
use sortie_trace::{Direction, Sender};

use crate::console::Output;
use crate::options::{from_format, words};
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Show all messages:
    $ sortie trace show run.jsonl

  Show the agent's tool calls in full:
    $ sortie trace show run.jsonl --sender agent --surface tools/call --full

  Mark what a document's indicators match:
    $ sortie trace show run.jsonl --document attack.yaml

  Show all cases of a run:
    $ sortie run SRT-001 --agent builtin:refuser --run-dir my-run
    $ sortie trace show my-run

  Convert session files of Claude Code to traces:
    $ sortie trace import --from claude-code ~/.claude/projects --out traces

  Show records 12 to 16:
    $ sortie trace show run.jsonl --seq 12..16

  Write traces as one Parquet file, for SQL engines:
    $ sortie trace export --parquet traces.parquet run.jsonl

Exit codes:
  0  the whole trace was read; an incomplete last line is ignored
  2  the trace, or a part of it, cannot be read";

/// Show traces, convert recordings of other programs to traces, and export both to Parquet.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Trace {
    #[command(subcommand)]
    command: TraceCommand,
}

subcommands! {
    enum TraceCommand {
        Show(Show),
        Import(Import),
        Export(Export),
    }
}

impl Trace {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.command.run(console)
    }
}

/// Convert recordings of other programs to traces, one per session, and report what they lack.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
struct Import {
    /// Recordings: files, folders, or `-` for standard input; compressed or not
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Format of the recordings
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = from_format())]
    from: RecordingFormat,

    /// An MCP server of the agent and its tools, for formats that do not record which server a tool belongs to. `local=TOOL` is
    /// a function of the agent itself. Repeatable
    #[arg(long = "server", value_name = "NAME[=TOOL,…]")]
    servers: Vec<DeclaredServer>,

    /// The folder for the traces
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Print what was read and what was lost as JSON; the schema is docs/schema/import-v1.json
    #[arg(long)]
    json: bool,
}

impl Import {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let imports =
            Recordings::find(&self.paths, self.from)?.with_servers(self.servers).write(&self.out)?;
        let text = if self.json { imports.to_json() } else { imports.to_human() };
        console.out.write_all(text.as_bytes())?;
        Ok(Exit::Clean)
    }
}

/// Write traces and recordings to one Parquet file: a row for each record.
///
/// `sortie scan` and SQL engines can read the file. The columns are `session`, `seq`, `time`, `kind`, `protocol`, `surface`, `surfaces`, `direction`,
/// `sender`, `actor`, and `record` (the line of the trace). Rows are sorted, so that a query for one protocol, surface or time reads only a part of the file.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
struct Export {
    /// Traces, recordings of other programs, folders of them, or `-` for standard input; compressed or not
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// The file to write
    #[arg(long, value_name = "FILE")]
    parquet: PathBuf,

    /// Format of the recordings; `auto` detects the format of each file
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = from_format())]
    from: RecordingFormat,

    /// An MCP server of the agent and its tools, for formats that do not record which server a tool belongs to. Repeatable
    #[arg(long = "server", value_name = "NAME[=TOOL,…]")]
    servers: Vec<DeclaredServer>,
}

impl Export {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let files = RecordingFile::find(&self.paths).map_err(|error| Failure::new(error.to_string()))?;
        if files.is_empty() {
            return Err(Failure::new("the given paths contain no files"));
        }
        let mut export = sortie_scan::Export::new(files).with_servers(self.servers);
        if let RecordingFormat::Named(format) = self.from {
            export = export.with_format(format);
        }
        // A file that is not complete would be taken for one that is damaged.
        let part = self.parquet.with_added_extension("part");
        let write = |error: &io::Error| Failure::at(&self.parquet, "write", error);
        let file = File::create(&part).map_err(|error| write(&error))?;
        let exported = export.write(BufWriter::new(file)).map_err(|error| Failure::new(error.to_string()));
        let exported = exported.and_then(|exported| {
            if exported.written.rows == 0 {
                return Err(Failure::new("the given paths contain no traces or recordings"));
            }
            std::fs::rename(&part, &self.parquet).map_err(|error| write(&error))?;
            Ok(exported)
        });
        if exported.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        let exported = exported?;
        for (file, why) in &exported.passed_over {
            console.note(&format!("`{file}` is left out: {why}"));
        }
        let WrittenTraces { sessions, rows, lines, bytes, .. } = exported.written;
        let sessions = counted(usize::try_from(sessions).unwrap_or(usize::MAX), "session", "sessions");
        let records = counted(usize::try_from(rows).unwrap_or(usize::MAX), "record", "records");
        writeln!(
            console.out,
            "wrote {sessions} with {records}: {lines} bytes of JSON Lines, {bytes} bytes as Parquet"
        )?;
        Ok(Exit::Clean)
    }
}

/// Show a trace: one line for each message.
///
/// Each line has the message's number, the time in seconds, sender and receiver, phase, kind, operation, and the start of the
/// content that indicators see.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
struct Show {
    /// A trace, `-` for standard input, or the folder of a run or of a case
    file: PathBuf,

    /// Only messages to and from this actor. Repeatable
    #[arg(long, value_name = "ACTOR")]
    actor: Vec<String>,

    /// Only messages of this operation, such as `tools/call`. Repeatable
    #[arg(long, value_name = "OPERATION")]
    surface: Vec<String>,

    /// Only requests (with notifications) or only responses
    #[arg(long, value_enum)]
    direction: Option<AskedDirection>,

    /// Only messages from one side
    #[arg(long, value_parser = words([
        ("agent", "The agent under test", Sender::Agent),
        ("actor", "An actor of the document", Sender::Actor),
    ]))]
    sender: Option<Sender>,

    /// Only records in this range, inclusive. Either end may be omitted
    #[arg(long, value_name = "FIRST..LAST", allow_hyphen_values = true, value_parser = TraceFilter::parse_numbers)]
    seq: Option<RangeInclusive<u64>>,

    /// Mark what the indicators of a document match: a file or a library id
    #[arg(long, value_name = "DOC")]
    document: Option<PathBuf>,

    /// Show whole messages, as on the wire
    #[arg(long)]
    full: bool,

    /// Also show `_meta`, which repeats the protocol revision in every message
    #[arg(long, visible_alias = "verbose")]
    all: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AskedDirection {
    Request,
    Response,
}

impl Show {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let document = match &self.document {
            Some(path) => Some(NamedDocument::load(&DocumentInput::file_or_named(path)?)?.compiled),
            None => None,
        };
        let direction = self.direction.map(|asked| match asked {
            AskedDirection::Request => Direction::Request,
            AskedDirection::Response => Direction::Response,
        });
        let (actors, surfaces, sender, numbers) = (self.actor, self.surface, self.sender, self.seq);
        let filter = TraceFilter { actors, surfaces, direction, sender, numbers };
        let (color, width) = (console.color, console.width());
        let look = TraceLook { color, width, full: self.full, meta: self.all, filter: &filter };
        let show = |name: &str, input: &mut dyn BufRead, console: &mut Console| {
            let detector = document.clone().map(Detector::new);
            let shown = TraceView::show(input, look, detector, &mut console.out, Output::is_closed);
            let shown = shown.map_err(|error| match error {
                ShowError::Trace(error) => {
                    let failure = Failure::new(format!("`{name}`: {error}"));
                    error.help().into_iter().fold(failure, Failure::help)
                }
                ShowError::Io(error) => error.into(),
            })?;
            if shown == 0 {
                console.note("no record matches the filters");
            }
            Ok::<_, Failure>(())
        };
        if self.file.as_os_str() == "-" {
            show("<stdin>", &mut io::stdin().lock(), console)?;
            return Ok(Exit::Clean);
        }
        for (index, path) in traces_of(&self.file)?.iter().enumerate() {
            if index > 0 {
                writeln!(console.out)?;
            }
            let file = File::open(path).map_err(|error| Failure::at(path, "read", &error))?;
            show(&path.to_string_lossy(), &mut BufReader::new(file), console)?;
        }
        Ok(Exit::Clean)
    }
}
