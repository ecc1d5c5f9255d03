//! What servers did in their sandboxes.

use std::io::{self, Write};

use sortie_sandbox::{Activity, SandboxReport, TransportProtocol};

use crate::text::{counted, line, style};

/// So many lines are shown; the JSON has more.
const SHOWN: usize = 20;

/// So much of a request or a command line is shown, in letters.
const MAX_LETTERS: usize = 160;

pub(super) fn write(out: &mut dyn Write, sandbox: &SandboxReport, color: bool) -> io::Result<()> {
    let SandboxReport { program, servers, activity, left_out, unanswered } = sandbox;
    let servers = usize::try_from(*servers).unwrap_or(usize::MAX);
    let word = style::paint(color, style::STRONG, "sandbox");
    writeln!(out, "{word}: {} started with `{program}`", counted(servers, "server", "servers"))?;
    let mut shown: Vec<_> = activity.iter().collect();
    shown.sort_by_key(|seen| rank(&seen.activity));
    for seen in shown.iter().take(SHOWN) {
        let (kind, text) = words(&seen.activity);
        let times = if seen.count > 1 { format!(" ({} times)", seen.count) } else { String::new() };
        writeln!(out, "  {kind:<11} {}{times}", line(&text))?;
    }
    let beyond: u64 = shown.iter().skip(SHOWN).map(|seen| seen.count).sum();
    match (activity.len(), beyond + left_out) {
        (0, 0) if *unanswered == 0 => writeln!(out, "  nothing that leads out of it was seen")?,
        (_, 0) => {}
        (_, more) => writeln!(out, "  and {more} more, not shown here")?,
    }
    if *unanswered > 0 {
        let times = counted(usize::try_from(*unanswered).unwrap_or(usize::MAX), "time", "times");
        writeln!(out, "  a sandbox did not report in time {times}: something may be missing here")?;
    }
    writeln!(out)
}

/// The same as plain text.
pub(crate) fn text(sandbox: &SandboxReport) -> io::Result<String> {
    let mut text = Vec::new();
    write(&mut text, sandbox, false)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Processes come last: most are what the server is made of.
fn rank(activity: &Activity) -> u8 {
    match activity {
        Activity::Limit { .. } => 0,
        Activity::Connection { .. } => 1,
        Activity::Contact { .. } => 2,
        Activity::File { .. } => 3,
        Activity::Process { .. } => 4,
    }
}

/// The sort of an activity, and what it is about.
fn words(activity: &Activity) -> (&'static str, String) {
    let short = |text: &str| text.lines().next().unwrap_or_default().chars().take(MAX_LETTERS).collect();
    match activity {
        Activity::Contact { request } => ("request", short(request)),
        Activity::Connection { to, question: Some(name), .. } => ("name", format!("{name}, asked of {to}")),
        Activity::Connection { to, protocol: TransportProtocol::Tcp, .. } => ("connection", to.to_string()),
        Activity::Connection { to, protocol: TransportProtocol::Udp, .. } => ("datagram", to.to_string()),
        Activity::File { path, change, .. } => ("file", format!("{path} was {}", change.as_str())),
        Activity::Process { command } => ("process", short(command)),
        Activity::Limit { limit } => ("limit", limit.clone()),
    }
}
