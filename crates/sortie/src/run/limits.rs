//! `--max-…`

use clap::Args;
use sortie_engine::run::RunOptions;
use sortie_wire::Limits;

/// How much others may ask of us.
#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Bytes of one message
    #[arg(long = "max-message-bytes", value_name = "BYTES", default_value_t = Limits::default().message_bytes)]
    message_bytes: usize,

    /// Arrays and objects inside one another in one message
    #[arg(long = "max-depth", value_name = "N", default_value_t = Limits::default().depth)]
    depth: usize,

    /// Open connections to one server actor
    #[arg(long = "max-connections", value_name = "N", default_value_t = Limits::default().connections)]
    connections: usize,

    /// Open streams of one server actor
    #[arg(long = "max-streams", value_name = "N", default_value_t = Limits::default().streams)]
    streams: usize,

    /// Messages that wait in one stream for its reader
    #[arg(long = "max-queued", value_name = "N", default_value_t = Limits::default().queued)]
    queued: usize,

    /// Bytes of a trace; when it is full, the run ends
    #[arg(long = "max-trace-bytes", value_name = "BYTES", default_value_t = RunOptions::default().max_trace_bytes)]
    pub(crate) trace_bytes: u64,

    /// Bytes that are kept of each of the agent's two outputs
    #[arg(long = "max-output-bytes", value_name = "BYTES", default_value_t = RunOptions::default().max_output_bytes)]
    pub(crate) output_bytes: u64,
}

impl LimitArgs {
    /// How much a peer may ask of an actor.
    pub(crate) fn of_peers(&self) -> Limits {
        Limits {
            message_bytes: self.message_bytes,
            depth: self.depth,
            connections: self.connections,
            streams: self.streams,
            queued: self.queued,
            ..Limits::default()
        }
    }
}
