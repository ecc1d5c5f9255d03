//! What a target offers, and the exchange in which it said so.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use sortie_trace::time::parse_time;
use sortie_trace::{Header, Record, Redactor, StopReason, Stopped, Trace, TracedTarget, Transcriber, Writer};

use super::control::unkept_channel;
use super::player::PlayOptions;
use crate::run::private_file;
use crate::targets::{Offer, Target, TargetError};
use sortie_evaluators::cases::hash;

/// The trace of the look at the target of evaluators, in the folder of a run.
pub const DISCOVERY: &str = "discovery.jsonl";

/// What a target offers, and the records that say so.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// What it offers.
    pub offer: Offer,
    header: Header,
    pub(super) records: Vec<Record>,
    /// What other servers list, which the same client uses.
    pub(super) beside: Vec<Record>,
}

impl Discovery {
    /// What these records of a connection say.
    pub fn new(header: Header, records: Vec<Record>) -> Self {
        let mut told = Transcriber::new(&header);
        for record in &records {
            if let Record::Message(message) = record {
                told.observe(message);
            }
        }
        let records = records.into_iter().filter(|record| matches!(record, Record::Message(_))).collect();
        Self { offer: Offer::of(&told), header, records, beside: Vec::new() }
    }

    /// Adds what another server lists, which the same client uses. Reviews of the list of tools see it.
    pub fn add_beside(&mut self, other: Self) {
        self.beside.extend(other.records.into_iter().map(|mut record| {
            if let Record::Message(message) = &mut record {
                Transcriber::BESIDE.clone_into(&mut message.phase);
            }
            record
        }));
    }

    /// Reads what [`keep`](Self::keep) wrote.
    pub fn read(path: &Path) -> io::Result<Self> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let (header, records) = Trace::open(BufReader::new(File::open(path)?)).map_err(invalid)?;
        let records = records.collect::<Result<_, _>>().map_err(invalid)?;
        Ok(Self::new(header, records))
    }

    /// Writes the trace. What is there is of an earlier part of the run.
    pub fn keep(&self, path: &Path) -> io::Result<()> {
        let file = private_file().create(true).truncate(true).open(path)?;
        // It was redacted when it was heard.
        let writer = Writer::begin(file, self.header.clone(), Redactor::default());
        let mut writer = writer.map_err(io::Error::other)?;
        for record in &self.records {
            let time = parse_time(record.time()).unwrap_or(std::time::UNIX_EPOCH);
            writer.append(time, &mut record.clone()).map_err(io::Error::other)?;
        }
        let last = self.records.last().and_then(|record| parse_time(record.time()));
        let mut end = Record::Stopped(Stopped {
            seq: 0,
            time: String::new(),
            because: StopReason::Idle,
            message: None,
        });
        writer.append(last.unwrap_or(std::time::UNIX_EPOCH), &mut end).map_err(io::Error::other)?;
        Ok(())
    }

    /// What was looked at.
    pub fn target(&self) -> Option<&TracedTarget> {
        self.header.target.as_ref()
    }
}

/// Where a look at the server of a document is kept, in the folder of a run.
pub fn needs_file(target: &Target) -> String {
    let TracedTarget { identity, settings, .. } = target.traced();
    format!("discovery-{}.jsonl", hash(&format!("{identity} {}", serde_json::Value::Object(settings))))
}

/// Looks at what a target offers, or in a replay at what it offered: `file` is its trace, in the folder of the run that is
/// replayed.
pub async fn discover(target: &Target, file: &str, options: &PlayOptions) -> Result<Discovery, TargetError> {
    if let Some(run) = &options.replay {
        let path = run.join(file);
        let found = Discovery::read(&path).map_err(|error| not_recorded(&path, &error))?;
        check_target(found.target(), target, &options.redactor)?;
        return Ok(found);
    }
    // There is no folder yet: the records wait for one.
    let channel = unkept_channel(target, options)?;
    channel.recorder().start_copies();
    let offer = target.discover(&channel, &options.settings).await?;
    let header = redacted(target.header(), &options.redactor);
    Ok(Discovery { offer, header, records: channel.recorder().take_copies(), beside: Vec::new() })
}

fn not_recorded(path: &Path, error: &io::Error) -> TargetError {
    TargetError::NotRecorded(format!("not recorded: `{}`: {error}", path.display()))
}

/// A header as a trace has it.
pub(super) fn redacted(mut header: Header, redactor: &Redactor) -> Header {
    redactor.redact_header(&mut header);
    header
}

/// Whether a trace is of this target, asked in the same way.
pub(super) fn check_target(
    found: Option<&TracedTarget>,
    target: &Target,
    redactor: &Redactor,
) -> Result<(), TargetError> {
    let wanted = redacted(target.header(), redactor).target;
    if found == wanted.as_ref() {
        return Ok(());
    }
    let name =
        |target: Option<&TracedTarget>| target.map_or("no target", |target| &target.identity).to_owned();
    let (found_name, wanted_name) = (name(found), name(wanted.as_ref()));
    Err(TargetError::NotRecorded(if found_name == wanted_name {
        format!("not recorded: `{wanted_name}` was asked in another way")
    } else {
        format!("not recorded: `{wanted_name}`; the trace is of `{found_name}`")
    }))
}
