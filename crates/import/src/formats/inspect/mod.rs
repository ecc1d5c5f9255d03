//! Logs of inspect: `.json`, and `.eval`, which is an archive with an entry, or a folder of entries, for each sample.
//!
//! A session is a sample in one epoch. Its events are the record of what happened; a log without events has the conversation
//! only. See `docs/formats/inspect.md`.

mod archive;
mod attachments;
mod sample;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sortie_trace::Direction;

use self::archive::Archive;
use self::sample::{Sample, Sequence};
use sortie_recording::fields::{Fields, list};
use sortie_recording::format::{Format, Head, ImportError, Sink};
use sortie_recording::input::{Input, InputLimits};
use sortie_recording::loss::Gap;
use sortie_recording::session::SessionBuilder;

pub(crate) static FORMAT: Format = Format {
    name: "inspect",
    about: "logs of inspect: `.eval` and `.json`",
    shows: &[
        ("local", "tools/call", Direction::Request),
        ("local", "tools/call", Direction::Response),
        ("local", "tools/list", Direction::Response),
        ("ag_ui", "run_agent_input", Direction::Request),
        ("ag_ui", "text_message_content", Direction::Response),
        ("ag_ui", "text_message_end", Direction::Response),
    ],
    gaps: &[
        Gap {
            what: "which server a tool comes from",
            means: "a tool of an MCP server that inspect itself connects to is recorded as a function, hence under `local`; \
                    bridged tools and `mcp__SERVER__TOOL` are under `mcp`",
        },
        Gap {
            what: "messages between inspect and an MCP server other than calls",
            means: "sampling, elicitation, resources and changes of tools between two calls of the model are not there",
        },
    ],
    recognizes,
    read,
};

fn recognizes(head: &Head<'_>) -> bool {
    let is_archive = head.bytes.starts_with(archive::MAGIC);
    (is_archive
        && (Path::new(head.name).extension().is_some_and(|extension| extension == "eval")
            || contains(head.bytes, b"_journal/start.json")))
        || (head.says(&["\"version\"", "\"status\"", "\"eval\"", "\"task\"", "\"plan\""])
            && head.bytes.trim_ascii_start().starts_with(b"{"))
}

fn contains(bytes: &[u8], words: &[u8]) -> bool {
    bytes.windows(words.len()).any(|window| window == words)
}

fn read(format: &Format, mut input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let is_archive = input.head()?.starts_with(archive::MAGIC);
    if !is_archive {
        return read_json(format, input, sink);
    }
    let (name, limits) = (input.name, input.limits);
    // A log may be larger than what is held: an archive on disk is read where it is.
    let on_disk = input.path.filter(|path| path.is_file()).and_then(|path| File::open(path).ok());
    let is_plain = |mut file: &File| {
        let mut magic = [0; 4];
        std::io::Read::read_exact(&mut file, &mut magic).is_ok_and(|()| magic == archive::MAGIC)
    };
    let archive = match on_disk.filter(is_plain) {
        Some(file) => Archive::open(name, BufReader::new(file), limits)?,
        None => Archive::open(name, Cursor::new(input.whole()?), limits)?,
    };
    read_archive(format, archive, name, limits, sink)
}

/// What stands over all samples.
struct LogHead<'j> {
    log: Fields<'j>,
    eval: Fields<'j>,
    about: Map<String, Value>,
}

impl<'j> LogHead<'j> {
    fn of(mut log: Fields<'j>) -> Self {
        let mut about = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value.filter(|value| !value.is_null() && value.to_string().len() <= 1000) {
                about.insert(key.to_owned(), value);
            }
        };
        let mut eval = log.object("eval").unwrap_or_default();
        put("program", Some(Value::from("inspect")));
        put("version", eval.object("packages").and_then(|mut packages| packages.get("inspect_ai")));
        put("model", eval.get("model"));
        put("task", eval.get("task"));
        put("status", log.get("status"));
        put("invalidated", log.get("invalidated").filter(|value| *value == Value::Bool(true)));
        Self { log, eval, about }
    }

    fn session(&self, format: &Format, id: String, file: &str, limits: InputLimits) -> SessionBuilder {
        let mut session = SessionBuilder::new(format, id, file, limits);
        for (key, value) in &self.about {
            session.about(key, value.clone());
        }
        session.leave("log", &self.log, LOG).leave("eval", &self.eval, EVAL);
        session
    }
}

fn read_json(format: &Format, input: Input<'_>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let (name, limits) = (input.name, input.limits);
    let text = input.whole_text()?;
    let invalid =
        |message: &str| ImportError::Invalid { file: name.to_owned(), line: 0, message: message.into() };
    let mut log = Fields::of(&text).ok_or_else(|| invalid("it is not a JSON object, or cut off"))?;
    if log.peek("eval").is_none() {
        return Err(invalid("it has no `eval`: it is not a log of inspect"));
    }
    let samples = match log.take("samples") {
        None => Vec::new(),
        Some(raw) if raw.get() == "null" => Vec::new(),
        Some(raw) => list(raw).ok_or_else(|| invalid("its `samples` are no list"))?,
    };
    let head = LogHead::of(log);
    for (index, raw) in samples.into_iter().enumerate() {
        let fields = Fields::of(raw.get()).ok_or_else(|| invalid("a sample is not an object"))?;
        let sample = Sample::monolith(fields, &format!("/samples/{index}"));
        let session = head.session(format, sample.id(), name, limits);
        sink(sample.read(session, limits).into())?;
    }
    Ok(())
}

/// The entries of one sample, by what they are.
#[derive(Default)]
struct SampleEntries {
    monolith: Option<usize>,
    shell: Option<usize>,
    metadata: Option<usize>,
    sequences: [Vec<(u64, usize)>; 3],
    unknown: Vec<String>,
}

const SEQUENCES: [&str; 3] = ["messages", "events", "attachments"];

fn read_archive(
    format: &Format,
    mut archive: Archive<'_>,
    name: &str,
    limits: InputLimits,
    sink: &mut Sink<'_>,
) -> Result<(), ImportError> {
    let mut samples: BTreeMap<(usize, String), SampleEntries> = BTreeMap::new();
    let mut order: BTreeMap<String, usize> = BTreeMap::new();
    let (mut header, mut start) = (None, None);
    let mut unknown = Vec::new();
    for (index, entry) in archive.entries.iter().enumerate() {
        let Some(path) = entry.name.strip_prefix("samples/") else {
            match &*entry.name {
                "header.json" => header = Some(index),
                "_journal/start.json" => start = Some(index),
                "summaries.json" | "reductions.json" => {}
                journal if journal.starts_with("_journal/") => {}
                other if unknown.len() < 20 => unknown.push(other.to_owned()),
                _ => {}
            }
            continue;
        };
        let (sample, part) = match path.split_once('/') {
            Some((sample, part)) => (sample, Some(part)),
            None => (path.strip_suffix(".json").unwrap_or(path), None),
        };
        let next = order.len();
        let at = *order.entry(sample.to_owned()).or_insert(next);
        let entries = samples.entry((at, sample.to_owned())).or_default();
        entries.add(part, index);
    }
    let head = match header.or(start) {
        Some(index) => entry_text(&mut archive, index, limits.whole)?,
        None => return Err(archive.invalid("it has neither `header.json` nor `_journal/start.json`")),
    };
    let log = Fields::of(&head).ok_or_else(|| archive.invalid("its header is not a JSON object"))?;
    let mut head = LogHead::of(log);
    if header.is_none() {
        head.about.insert("status".to_owned(), Value::from("started"));
    }
    for ((_, sample), entries) in samples {
        let parts = entries.read(&mut archive, limits)?;
        let sample = entries.sample(&archive, &sample, &parts)?;
        let mut session = head.session(format, sample.id(), name, limits);
        if header.is_none() {
            session.odd("a log that was not finished: it has no `header.json`");
        }
        for entry in unknown.iter().chain(&entries.unknown) {
            session.unknown(&format!("entry {entry}"));
        }
        sink(sample.read(session, limits).into())?;
    }
    Ok(())
}

/// The texts of the entries of a sample: its shell, its metadata, and the pieces of its sequences.
struct Parts {
    shell: String,
    has_metadata: bool,
    sequences: [Vec<(String, String)>; 3],
}

impl SampleEntries {
    fn add(&mut self, part: Option<&str>, index: usize) {
        match part {
            None => self.monolith = Some(index),
            Some("sample.json") => self.shell = Some(index),
            Some("metadata.json") => self.metadata = Some(index),
            Some("skeleton.json" | "events/stats.json" | "events/uuids.json") => {}
            Some(part) => {
                let piece = part.split_once('/').and_then(|(sequence, piece)| {
                    Some((sequence, piece.strip_suffix(".json")?.parse::<u64>().ok()?))
                });
                match piece {
                    Some(("calls", _)) => {}
                    Some((sequence, start)) if SEQUENCES.contains(&sequence) => {
                        let at = SEQUENCES.iter().position(|known| *known == sequence).unwrap_or_default();
                        self.sequences[at].push((start, index));
                    }
                    _ if self.unknown.len() < 20 => self.unknown.push(part.to_owned()),
                    _ => {}
                }
            }
        }
    }

    /// Reads the entries; together they are no larger than what is held as a whole.
    fn read(&self, archive: &mut Archive<'_>, limits: InputLimits) -> Result<Parts, ImportError> {
        let mut left = limits.whole;
        let mut take = |archive: &mut Archive<'_>, index: usize| {
            let text = entry_text(archive, index, left)?;
            left -= text.len();
            Ok::<_, ImportError>(text)
        };
        let Some(shell) = self.monolith.or(self.shell) else {
            return Err(archive.invalid("a sample has pieces, but no `sample.json`"));
        };
        let shell = take(archive, shell)?;
        let mut sequences = [const { Vec::new() }; 3];
        if self.monolith.is_none() {
            for (pieces, texts) in self.sequences.iter().zip(&mut sequences) {
                let mut pieces = pieces.clone();
                pieces.sort_unstable();
                for (_, index) in pieces {
                    let name = archive.entries[index].name.to_string();
                    texts.push((name, take(archive, index)?));
                }
            }
        }
        Ok(Parts { shell, has_metadata: self.metadata.is_some(), sequences })
    }

    fn sample<'j>(
        &self,
        archive: &Archive<'_>,
        name: &str,
        parts: &'j Parts,
    ) -> Result<Sample<'j>, ImportError> {
        let fields = Fields::of(&parts.shell)
            .ok_or_else(|| archive.invalid(&format!("sample `{name}` is not a JSON object")))?;
        if self.monolith.is_some() {
            let both = self.shell.is_some();
            let mut sample = Sample::monolith(fields, &format!("samples/{name}.json#"));
            sample.is_there_twice = both;
            return Ok(sample);
        }
        let mut sequences = [const { Sequence::new() }; 3];
        for ((texts, starts), sequence) in parts.sequences.iter().zip(&self.sequences).zip(&mut sequences) {
            let mut starts: Vec<u64> = starts.iter().map(|(start, _)| *start).collect();
            starts.sort_unstable();
            for ((entry, text), start) in texts.iter().zip(starts) {
                let raw: Option<&RawValue> = serde_json::from_str(text).ok();
                let items = raw.and_then(list);
                let items = items.ok_or_else(|| archive.invalid(&format!("`{entry}` is not a JSON list")))?;
                sequence.piece(format!("{entry}#"), start, items);
            }
        }
        Ok(Sample::chunked(fields, &format!("samples/{name}"), parts.has_metadata, sequences))
    }
}

fn entry_text(archive: &mut Archive<'_>, index: usize, limit: usize) -> Result<String, ImportError> {
    let bytes = archive.read(index, limit)?;
    String::from_utf8(bytes).map_err(|_| archive.invalid("an entry is not UTF-8"))
}

/// What of a log says nothing about what agents did.
const LOG: &[&str] = &[
    "version",
    "plan",
    "results",
    "stats",
    "error",
    "log_updates",
    "config_updates",
    "tags",
    "metadata",
    "reductions",
    "location",
    "etag",
];

/// What of the specification of an evaluation says nothing about it either.
const EVAL: &[&str] = &[
    "eval_set_id",
    "eval_id",
    "run_id",
    "created",
    "task_id",
    "task_version",
    "task_file",
    "task_display_name",
    "task_description",
    "task_registry_name",
    "task_attribs",
    "task_args",
    "task_args_passed",
    "solver",
    "solver_args",
    "solver_args_passed",
    "tags",
    "dataset",
    "sandbox",
    "model_generate_config",
    "model_base_url",
    "model_args",
    "model_roles",
    "config",
    "revision",
    "metadata",
    "viewer",
    "scorers",
    "metrics",
    "headline_metric",
    "shards",
];
