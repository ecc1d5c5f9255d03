//! Takes out of a trace what differs from one run to the next.

use std::fmt::Write as _;
use std::io::BufRead;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sortie_trace::time::format_time;
use sortie_trace::{Record, Redactor, Trace, TraceError, WriteError, Writer};

/// The time at which every steady trace begins: that of 2026-01-01, 20454 days after the first of 1970.
const BEGIN: Duration = Duration::from_hours(20_454 * 24);

/// How far its records are apart.
const STEP: Duration = Duration::from_millis(1);

/// The ports that addresses get, one after the other.
const FIRST_PORT: usize = 40_001;

/// A trace that cannot be made steady.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SteadyError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] TraceError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// A trace that is the same whenever the same is said: records are a millisecond apart, and the addresses at which actors and
/// `targets` (`127.0.0.1:4711`) are reached become ports of the loopback address, in the order in which they are named.
///
/// Nothing else changes. What was said is evidence, also where it looks like an address.
pub fn steady(trace: impl BufRead, targets: &[String]) -> Result<String, SteadyError> {
    let (mut header, records) = Trace::open(trace)?;
    let begin: SystemTime = UNIX_EPOCH + BEGIN;
    header.time = format_time(begin);
    let mut writer = Writer::begin(Vec::new(), header, Redactor::default())?;
    let mut addresses = targets.to_vec();
    let mut time = begin;
    for record in records {
        let mut record = record?;
        if let Record::Listening(listening) = &record {
            addresses.extend(address(&listening.url).map(ToOwned::to_owned));
        }
        time += STEP;
        writer.append(time, &mut record)?;
    }
    // A writer writes JSON, which is UTF-8.
    let text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    Ok(renamed(&text, &addresses))
}

/// `127.0.0.1:4711` of `http://127.0.0.1:4711/mcp`.
fn address(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let address = rest.split('/').next()?;
    address.contains(':').then_some(address)
}

fn renamed(text: &str, addresses: &[String]) -> String {
    let mut met: Vec<&str> = Vec::new();
    let mut new = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in text.match_indices("127.") {
        let rest = &text[at..];
        let ends = |address: &&String| !rest[address.len()..].starts_with(|next: char| next.is_ascii_digit());
        let is =
            |address: &&String| !address.is_empty() && rest.starts_with(address.as_str()) && ends(address);
        let begins = !text[..at].ends_with(|before: char| before.is_ascii_digit() || before == '.');
        let Some(address) = addresses.iter().find(is).filter(|_| begins && at >= done) else { continue };
        let index = met.iter().position(|known| known == address).unwrap_or_else(|| {
            met.push(address);
            met.len() - 1
        });
        new.push_str(&text[done..at]);
        // Writing to a string cannot fail.
        let _ = write!(new, "127.0.0.1:{}", FIRST_PORT + index);
        done = at + address.len();
    }
    new + &text[done..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_renamed_wherever_it_is_named_and_others_are_left_alone() {
        let addresses = ["127.0.0.1:80".to_owned(), "127.64.2.1:8001".to_owned()];
        let text =
            "http://127.64.2.1:8001/ 127.0.0.1:80 127.0.0.1:8080 1127.0.0.1:80 127.64.2.1:8001. 127.0.0.2:80";
        assert_eq!(
            renamed(text, &addresses),
            "http://127.0.0.1:40001/ 127.0.0.1:40002 127.0.0.1:8080 1127.0.0.1:80 127.0.0.1:40001. 127.0.0.2:80"
        );
    }

    #[test]
    fn two_runs_in_which_the_same_is_said_are_the_same() {
        let run = |second: u32, port: u16, said: &str| {
            format!(
                r#"{{"record":"header","version":1,"origin":"run","written_by":"test","time":"2026-05-05T10:00:{second}.000000Z"}}
{{"record":"listening","seq":1,"time":"2026-05-05T10:00:{second}.100000Z","actor":"default","url":"http://127.0.0.1:{port}/mcp"}}
{{"record":"stopped","seq":2,"time":"2026-05-05T10:00:{second}.200000Z","because":"{said}"}}
"#
            )
        };
        let made = |text: String| steady(text.as_bytes(), &[]).unwrap();
        let one = made(run(10, 4711, "idle"));
        assert_eq!(one, made(run(20, 4999, "idle")));
        assert_ne!(one, made(run(20, 4999, "match")));
        assert!(
            one.contains(
                r#""time":"2026-01-01T00:00:00.001000Z","actor":"default","url":"http://127.0.0.1:40001/mcp""#
            ),
            "{one}"
        );
        assert_eq!(made(one.clone()), one, "steady twice is steady once");
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        assert!(matches!(steady(&b"no trace\n"[..], &[]), Err(SteadyError::Read(_))));
    }
}
