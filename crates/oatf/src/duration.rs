//! Durations: `30s`, `PT5M30S`.

use std::time::Duration;

/// A text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a duration", .input.chars().take(64).collect::<String>().escape_debug())]
pub struct DurationError {
    /// The text.
    pub input: String,
}

/// Parses a duration in shorthand (`30s`, `5m`, `1h`, `2d`) or ISO 8601 (`PT30S`, `P1DT12H`)
/// (specification §5.2).
///
/// Numbers are digits only: no sign, no fraction. A duration that does not fit 64 bits of seconds is none.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(sortie_oatf::parse_duration("5m"), Ok(Duration::from_secs(300)));
/// assert_eq!(sortie_oatf::parse_duration("PT1H30M"), Ok(Duration::from_secs(5400)));
/// assert!(sortie_oatf::parse_duration("+5s").is_err());
/// ```
pub fn parse_duration(input: &str) -> Result<Duration, DurationError> {
    let seconds = match input.strip_prefix('P') {
        Some(rest) => iso_8601(rest),
        None => shorthand(input),
    };
    seconds.map(Duration::from_secs).ok_or_else(|| DurationError { input: input.to_owned() })
}

fn shorthand(input: &str) -> Option<u64> {
    let unit = match input.bytes().next_back()? {
        b's' => 1,
        b'm' => 60,
        b'h' => 3_600,
        b'd' => 86_400,
        _ => return None,
    };
    digits(&input[..input.len() - 1])?.checked_mul(unit)
}

fn iso_8601(rest: &str) -> Option<u64> {
    let (date, time) = match rest.split_once('T') {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None if rest.is_empty() => return None,
        None => (rest, ""),
    };
    let days = components(date, &[('D', 86_400)])?;
    let time = components(time, &[('H', 3_600), ('M', 60), ('S', 1)])?;
    days.checked_add(time)
}

/// Sums components such as `1H30M`, each unit at most once and in the order given.
fn components(mut text: &str, units: &[(char, u64)]) -> Option<u64> {
    let mut total = 0_u64;
    for (unit, seconds) in units {
        if let Some((number, rest)) = text.split_once(*unit) {
            total = total.checked_add(digits(number)?.checked_mul(*seconds)?)?;
            text = rest;
        }
    }
    text.is_empty().then_some(total)
}

fn digits(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse_duration;

    #[test]
    fn iso_components_come_in_order_and_once() {
        let words = "P PT P1DT PT1S1M PT1M1M P1H PT1D pt1s 1 s +5s -5s PT+5S 1.5h ٣s 99999999999999999999s P213503982334602D";
        for wrong in words.split(' ').chain(["", "1 s"]) {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_duration("P1DT12H30M15S").unwrap().as_secs(), 131_415);
        assert_eq!(parse_duration("P0D").unwrap().as_secs(), 0);
        assert_eq!(parse_duration("007s").unwrap().as_secs(), 7);
    }
}
