//! `sortie trace`

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sortie_detect::Detector;
use sortie_engine::cases::case_folder;
use sortie_library::{DocumentInput, NamedDocument};
use sortie_report::TraceView;
use sortie_run::load_info;
use sortie_trace::{Deriver, Direction, Message, Record, Sender, Trace as Reader, TraceError, TraceOrigin};

use crate::options::words;
use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Who said what:
    $ sortie trace show run.jsonl

  What the agent called, with all that it passed:
    $ sortie trace show run.jsonl --sender agent --surface tools/call --full

  What a document finds in it:
    $ sortie trace show run.jsonl --document attack.yaml

  A run, with all its cases:
    $ sortie run SRT-001 --agent builtin:refuser --run-dir my-run
    $ sortie trace show my-run

  What happened around record 14:
    $ sortie trace show run.jsonl --seq 12..16

Exit codes:
  0  it was read to its end, also when its last line is cut off
  2  it cannot be read, or not all of it";

/// Read what was said in a run.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Trace {
    #[command(subcommand)]
    command: TraceCommand,
}

subcommands! {
    enum TraceCommand {
        Show(Show),
    }
}

impl Trace {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.command.run(console)
    }
}

/// Show a trace to a person: who said what to whom, and when.
///
/// One line for each message: its number, the seconds since the start, who said it to whom and in which phase, what it is
/// on the wire, the operation it belongs to, and the beginning of what indicators see of it.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
struct Show {
    /// The trace, or `-` for standard input; or the folder of a run, for the traces of all its cases, or of one case
    file: PathBuf,

    /// Only what an actor said and heard; may be given more than once
    #[arg(long, value_name = "NAME")]
    actor: Vec<String>,

    /// Only messages of an operation, such as `tools/call`; may be given more than once
    #[arg(long, value_name = "NAME")]
    surface: Vec<String>,

    /// Only one half of each exchange; notifications are requests
    #[arg(long, value_enum)]
    direction: Option<AskedDirection>,

    /// Only what one side sent
    #[arg(long, value_parser = words([
        ("agent", "The agent under test", Sender::Agent),
        ("actor", "An actor of the document", Sender::Actor),
    ]))]
    sender: Option<Sender>,

    /// Only records with these numbers, both included; either may be left out
    #[arg(long, value_name = "FIRST..LAST", allow_hyphen_values = true, value_parser = numbers)]
    seq: Option<RangeInclusive<u64>>,

    /// Mark what the indicators of a document match: a file, or an id of the library
    #[arg(long, value_name = "DOC")]
    document: Option<PathBuf>,

    /// Show whole messages, as they were on the wire
    #[arg(long)]
    full: bool,

    /// Leave nothing out of the lines of messages: show `_meta`, which repeats who speaks which revision of a protocol
    #[arg(long, visible_alias = "verbose")]
    all: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AskedDirection {
    Request,
    Response,
}

/// The traces that a path stands for: itself, that of a case, or those of all cases of a run in the order of its report.
fn traces(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    const TRACE: &str = "trace.jsonl";
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    if path.join(TRACE).is_file() {
        return Ok(vec![path.join(TRACE)]);
    }
    let run = load_info(path).map_err(|_| {
        Failure::new(format!("`{}` is neither the folder of a run nor of a case", path.display()))
            .help("name a trace, a folder with a `trace.jsonl`, or what `--run-dir` named")
    })?;
    let cases = run.cases.iter().map(|case| path.join(case_folder(&case.id)).join(TRACE));
    let traces: Vec<_> = cases.filter(|trace| trace.is_file()).collect();
    if traces.is_empty() {
        return Err(Failure::new(format!("no case of the run `{}` was played", path.display())));
    }
    Ok(traces)
}

/// `12..16`, `12..`, `..16`, `12`.
fn numbers(text: &str) -> Result<RangeInclusive<u64>, String> {
    let number = |text: &str, open: u64| match text {
        "" => Ok(open),
        text => text.parse().map_err(|_| format!("`{text}` is not the number of a record")),
    };
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (number(first, 0)?, number(last, u64::MAX)?),
        None => text.parse().map(|only| (only, only)).map_err(|_| "write `FIRST..LAST`")?,
    };
    if first > last {
        return Err("the first number is greater than the last".into());
    }
    Ok(first..=last)
}

impl Show {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let document = match &self.document {
            Some(path) => Some(NamedDocument::load(&DocumentInput::file_or_named(path)?)?.compiled),
            None => None,
        };
        let detector = || document.clone().map(Detector::new);
        if self.file.as_os_str() == "-" {
            return self.show("<stdin>", io::stdin().lock(), detector(), console);
        }
        let mut exit = Exit::Clean;
        for (index, path) in traces(&self.file)?.iter().enumerate() {
            if index > 0 {
                writeln!(console.out)?;
            }
            let file = File::open(path).map_err(|error| Failure::at(path, "read", &error))?;
            let shown = self.show(&path.to_string_lossy(), BufReader::new(file), detector(), console)?;
            exit = exit.max(shown);
        }
        Ok(exit)
    }

    fn show(
        &self,
        name: &str,
        input: impl BufRead,
        mut detector: Option<Detector>,
        console: &mut Console,
    ) -> Result<Exit, Failure> {
        let unreadable = |error: TraceError| {
            let failure = Failure::new(format!("`{name}`: {error}"));
            error.help().into_iter().fold(failure, Failure::help)
        };
        let (header, mut records) = Reader::open(input).map_err(unreadable)?;
        let view = TraceView::new(console.color, console.width(), self.full, &header).with_meta(self.all);
        view.header(&header, &mut console.out)?;
        // It has to see every message, since later ones refer to earlier ones.
        let mut deriver = Deriver::new();
        let (mut shown, mut stopped) = (0u64, false);
        for record in &mut records {
            let record = record.map_err(unreadable)?;
            if self.seq.as_ref().is_some_and(|numbers| record.seq() > *numbers.end())
                || console.out.is_closed()
            {
                return Ok(Exit::Clean);
            }
            stopped |= matches!(record, Record::Stopped(_));
            let observed = match &record {
                Record::Message(message) => Some(deriver.observe(message)),
                _ => None,
            };
            let matched = match (&mut detector, &observed) {
                (Some(detector), Some(observed)) => detector.observe(observed),
                _ => Vec::new(),
            };
            if self.wants(&record) {
                shown += 1;
                view.record(&record, observed, &mut console.out)?;
                for id in matched.iter().filter_map(|index| detector.as_ref()?.indicator_id(*index)) {
                    view.matched(id, &mut console.out)?;
                }
            }
        }
        let unfinished = header.origin == TraceOrigin::Run && !stopped;
        view.end(unfinished, records.was_cut(), &mut console.out)?;
        if shown == 0 {
            console.note("no record is what was asked for");
        }
        Ok(Exit::Clean)
    }

    fn wants(&self, record: &Record) -> bool {
        let of_actor = |actor: &str| self.actor.is_empty() || self.actor.iter().any(|asked| asked == actor);
        self.seq.as_ref().is_none_or(|numbers| numbers.contains(&record.seq()))
            && record.actor().is_none_or(of_actor)
            && match record {
                Record::Message(message) => self.wants_message(message),
                // What happened around the messages is never asked for, and always good to know.
                _ => true,
            }
    }

    fn wants_message(&self, message: &Message) -> bool {
        let request = message.direction == Direction::Request;
        self.direction.is_none_or(|asked| matches!(asked, AskedDirection::Request) == request)
            && self.sender.is_none_or(|asked| asked == message.sender)
            && (self.surface.is_empty() || message.surfaces.iter().any(|name| self.surface.contains(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_ranges() {
        assert_eq!(numbers("12..16"), Ok(12..=16));
        assert_eq!(numbers("12.."), Ok(12..=u64::MAX));
        assert_eq!(numbers("..16"), Ok(0..=16));
        assert_eq!(numbers("12"), Ok(12..=12));
        for wrong in ["", "a..b", "1...2", "-1..2", "5..4", "1-2"] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
    }
}
