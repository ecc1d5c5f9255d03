//! The durable consumer of a stream, created again where the watch is.
//!
//! A server that is killed may forget which messages it delivered, count messages that it does not have, or lose its last messages and give their
//! numbers to others; then its consumer skips messages, or delivers none. So nothing depends on the state of the consumer: for each connection it
//! is deleted and created again, behind the last message whose findings are written.

use std::time::{Duration, UNIX_EPOCH};

use async_nats::datetime::DateTime;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::{RawMessageErrorKind, RetentionPolicy, Stream};
use async_nats::jetstream::{Context, ErrorCode, Message};
use serde_json::{Value, json};
use sortie_trace::time::format_time;

use crate::nats::{NatsError, NatsInput, Note};
use crate::position::StreamPosition;

/// How many messages are delivered before the first is acknowledged.
const PENDING: i64 = 1024;
/// How long the server waits for an acknowledgement before it delivers a message again.
const ACK_WAIT: Duration = Duration::from_secs(10);
/// How much earlier a consumer begins where it begins at a time, in nanoseconds: the clock of a server may have been set back.
const CLOCK: i64 = 10_000_000_000;

/// A consumer, as one connection uses it.
pub(crate) struct Durable {
    context: Context,
    input: NatsInput,
    pub(crate) consumer: PullConsumer,
    stream: Stream,
    /// The number of the next delivery.
    next: u64,
    /// When the stream was created.
    created: i64,
    /// The last message whose findings were written when the consumer was created.
    written: Option<StreamPosition>,
}

/// A message that was delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub(crate) position: StreamPosition,
    /// Whether its findings were written before.
    pub(crate) repeated: bool,
}

/// Which message a consumer delivers first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    First,
    Sequence(u64),
    Time(i64),
}

impl Durable {
    pub(crate) async fn open(
        context: &Context,
        input: &NatsInput,
        written: Option<StreamPosition>,
        note: &Note,
    ) -> Result<Self, NatsError> {
        let stream = context.get_stream(&input.stream).await.map_err(NatsError::new)?;
        let about = stream.cached_info();
        let created = nanoseconds(about.created)?;
        let written = written.filter(|position| position.stream == created);
        let found = consumer_info(context, input).await?;
        // With its last consumer, such a stream loses what that one has not acknowledged.
        let keeps_messages = about.config.retention != RetentionPolicy::Interest;
        let is_free = match &found {
            None => true,
            // An account may not have the right; then the consumer is used as it is.
            Some(_) => keeps_messages && stream.delete_consumer(&input.consumer).await.is_ok(),
        };
        if is_free {
            let start = start(&stream, found.as_ref(), written, note).await?;
            let config = found.as_ref().map_or_else(|| new_config(input), |found| found["config"].clone());
            create(context, input, config, start).await?;
        }
        let mut consumer: PullConsumer =
            stream.get_consumer(&input.consumer).await.map_err(NatsError::new)?;
        let info = consumer.info().await.map_err(NatsError::new)?;
        let next = info.delivered.consumer_sequence + 1;
        if info.num_ack_pending > 0 {
            // What was delivered to nobody who lives comes again after a while, and must come before what is new: a session is read in order.
            tokio::time::sleep(info.config.ack_wait + Duration::from_millis(500)).await;
        }
        Ok(Self { context: context.clone(), input: input.clone(), consumer, stream, next, created, written })
    }

    /// Takes a message, if it is the next that the server delivered: one that got lost on the way would come after later ones.
    pub(crate) fn take(&mut self, message: &Message) -> Result<Delivery, NatsError> {
        let info = message.info().map_err(NatsError::new)?;
        if info.consumer_sequence != self.next {
            return Err(NatsError("a message that the server delivered did not arrive".to_owned()));
        }
        self.next += 1;
        let time = nanoseconds(info.published)?;
        let position = StreamPosition { stream: self.created, sequence: info.stream_sequence, time };
        Ok(Delivery { position, repeated: self.written.is_some_and(|written| written.covers(position)) })
    }

    /// Whether the server has messages that it should have delivered. Asked when nothing came for a while, and everything that came is acknowledged.
    pub(crate) async fn is_stuck(&self) -> Result<bool, NatsError> {
        let Some(info) = consumer_info(&self.context, &self.input).await? else { return Ok(true) };
        let stream = self.stream.get_info().await.map_err(NatsError::new)?;
        let config = &info["config"];
        let has_filter = ["filter_subject", "filter_subjects"].iter().any(|filter| !config[filter].is_null());
        // What is acknowledged is removed from such a stream.
        let is_queue = stream.config.retention == RetentionPolicy::WorkQueue && !has_filter;
        Ok(number(&info["num_pending"]) > 0
            || number(&info["num_ack_pending"]) > 0
            || number(&info["delivered"]["stream_seq"]) > stream.state.last_sequence
            || is_queue && stream.state.messages > 0 && self.has_message(stream.state.first_sequence).await?)
    }

    /// Whether the stream has a message: a server that was killed may count some that it does not have.
    async fn has_message(&self, first: u64) -> Result<bool, NatsError> {
        match self.stream.get_first_raw_message_by_subject(">", first).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(false),
            Err(error) => Err(NatsError::new(error)),
        }
    }
}

/// A consumer as the server describes it, with the members of its configuration that this program does not know.
async fn consumer_info(context: &Context, input: &NatsInput) -> Result<Option<Value>, NatsError> {
    let subject = format!("CONSUMER.INFO.{}.{}", input.stream, input.consumer);
    match context.request(subject, &json!({})).await.map_err(NatsError::new)? {
        Response::Ok(info) => Ok(Some(info)),
        Response::Err { error } if error.error_code() == ErrorCode::CONSUMER_NOT_FOUND => Ok(None),
        Response::Err { error } => Err(NatsError::new(error)),
    }
}

fn new_config(input: &NatsInput) -> Value {
    json!({
        "durable_name": input.consumer,
        "ack_policy": "explicit",
        "ack_wait": u64::try_from(ACK_WAIT.as_nanos()).unwrap_or(u64::MAX),
        "max_ack_pending": PENDING,
        "max_deliver": -1,
        "replay_policy": "instant",
    })
}

async fn create(
    context: &Context,
    input: &NatsInput,
    mut config: Value,
    start: Start,
) -> Result<(), NatsError> {
    if let Some(config) = config.as_object_mut() {
        config.remove("opt_start_seq");
        config.remove("opt_start_time");
        let policy = match start {
            Start::First => "all",
            Start::Sequence(sequence) => {
                config.insert("opt_start_seq".to_owned(), sequence.into());
                "by_start_sequence"
            }
            Start::Time(time) => {
                let time = UNIX_EPOCH + Duration::from_nanos(time.try_into().unwrap_or(0));
                config.insert("opt_start_time".to_owned(), format_time(time).into());
                "by_start_time"
            }
        };
        config.insert("deliver_policy".to_owned(), policy.into());
    }
    let subject = format!("CONSUMER.DURABLE.CREATE.{}.{}", input.stream, input.consumer);
    let request = json!({"stream_name": input.stream, "config": config});
    match context.request(subject, &request).await.map_err(NatsError::new)? {
        Response::Ok::<Value>(_) => Ok(()),
        Response::Err { error } => Err(NatsError::new(error)),
    }
}

/// Where a consumer begins, so that it leaves nothing out.
async fn start(
    stream: &Stream,
    found: Option<&Value>,
    written: Option<StreamPosition>,
    note: &Note,
) -> Result<Start, NatsError> {
    let about = stream.cached_info();
    // What such a stream has is not acknowledged, and nothing else is allowed.
    if about.config.retention == RetentionPolicy::WorkQueue {
        return Ok(Start::First);
    }
    let Some(written) = written else {
        // The state is new, and the consumer is not: what it acknowledged is written somewhere.
        let floor = found.map_or(0, |info| number(&info["ack_floor"]["stream_seq"]));
        let is_there = (1..=about.state.last_sequence).contains(&floor);
        return Ok(if is_there { Start::Sequence(floor + 1) } else { Start::First });
    };
    let message = match stream.get_raw_message(written.sequence).await {
        Ok(message) => Some(message),
        Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => None,
        Err(error) => return Err(NatsError::new(error)),
    };
    if let Some(message) = &message
        && nanoseconds(message.time)? == written.time
    {
        return Ok(Start::Sequence(written.sequence + 1));
    }
    // The message may be too old for the stream. If the server lost it, others have its number, or will have it; they are later.
    if message.is_some() || written.sequence > about.state.last_sequence {
        note(&format!("NATS: the stream `{}` has lost messages that were evaluated", about.config.name));
    }
    Ok(Start::Time(written.time.saturating_sub(CLOCK)))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn nanoseconds(time: DateTime) -> Result<i64, NatsError> {
    i64::try_from(time.unix_timestamp_nanos()).map_err(|_| NatsError(format!("the server says it is {time}")))
}
