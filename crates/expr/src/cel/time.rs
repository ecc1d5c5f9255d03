//! Timestamps and durations.
//!
//! They are in UTC or at a fixed offset. There is no time-zone database here, so a named zone other than UTC is refused
//! rather than guessed.

use std::fmt;

use crate::calendar;

const NANOS: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// `0001-01-01T00:00:00Z` and the last nanosecond of year 9999, the range of CEL's timestamps.
const EARLIEST: i128 = -62_135_596_800 * NANOS;
const LATEST: i128 = 253_402_300_800 * NANOS - 1;

/// Nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timestamp(i128);

/// A signed span of nanoseconds, about 292 years either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Duration(i64);

/// Which part of a timestamp or duration an accessor gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimePart {
    FullYear,
    Month,
    Date,
    DayOfMonth,
    DayOfWeek,
    DayOfYear,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

impl Timestamp {
    fn from_nanos(nanos: i128) -> Option<Self> {
        (EARLIEST..=LATEST).contains(&nanos).then_some(Self(nanos))
    }

    /// From seconds since 1970.
    pub(super) fn from_seconds(seconds: i64) -> Option<Self> {
        Self::from_nanos(i128::from(seconds) * NANOS)
    }

    /// From RFC 3339 text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let time = calendar::parse(bounded(text)?)?;
        let is_cel = time.separator != ' ' && !time.in_leap_second && time.fraction.len() <= 9;
        let nanos: i128 = format!("{:0<9}", time.fraction).parse().ok().filter(|_| is_cel)?;
        Self::from_nanos(i128::from(time.seconds) * NANOS + nanos)
    }

    pub(super) fn seconds(self) -> i64 {
        // The range of timestamps in seconds is far inside i64.
        i64::try_from(self.0.div_euclid(NANOS)).unwrap_or_default()
    }

    /// Of the last second.
    fn nanos(self) -> u32 {
        u32::try_from(self.0.rem_euclid(NANOS)).unwrap_or_default()
    }

    pub(super) fn plus(self, span: Duration) -> Option<Self> {
        Self::from_nanos(self.0 + i128::from(span.0))
    }

    pub(super) fn since(self, earlier: Self) -> Option<Duration> {
        i64::try_from(self.0 - earlier.0).ok().map(Duration)
    }

    /// The part in the given zone: `UTC`, or an offset such as `+02:00`.
    pub(super) fn part(self, part: TimePart, zone: Option<&str>) -> Option<i64> {
        let offset = match zone {
            None | Some("UTC" | "Z" | "") => 0,
            Some(zone) if zone.starts_with(['+', '-']) => calendar::offset(zone)?,
            Some(zone) => calendar::offset(&format!("+{}", bounded(zone)?))?,
        };
        let seconds = self.seconds() + offset;
        let days = seconds.div_euclid(SECONDS_PER_DAY);
        let second_of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        let (year, month, day) = calendar::date(days);
        Some(match part {
            TimePart::FullYear => year,
            TimePart::Month => month - 1,
            TimePart::Date => day,
            TimePart::DayOfMonth => day - 1,
            // Day 0 was a Thursday; Sunday is 0.
            TimePart::DayOfWeek => (days + 4).rem_euclid(7),
            TimePart::DayOfYear => days - calendar::days(year, 1, 1),
            TimePart::Hours => second_of_day / 3600,
            TimePart::Minutes => second_of_day / 60 % 60,
            TimePart::Seconds => second_of_day % 60,
            TimePart::Milliseconds => i64::from(self.nanos() / 1_000_000),
        })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds();
        let (year, month, day) = calendar::date(seconds.div_euclid(SECONDS_PER_DAY));
        let clock = seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        write_fraction(f, self.nanos())?;
        f.write_str("Z")
    }
}

impl Duration {
    /// From text such as `1h30m`, `-1.5s`, `10ms`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = bounded(text)?;
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        if unsigned == "0" {
            return Some(Self(0));
        }
        let mut rest = unsigned;
        let mut total = 0_i128;
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let (number, tail) = rest.split_at(number_end);
            let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit_end);
            total = total.checked_add(scaled(number, unit_nanos(unit)?)?)?;
            rest = tail;
        }
        let signed = if text.starts_with('-') { -total } else { total };
        i64::try_from(signed).ok().map(Self)
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    pub(super) fn negated(self) -> Option<Self> {
        self.0.checked_neg().map(Self)
    }

    /// The whole duration in the unit of `part`; milliseconds are those beyond the last second.
    pub(super) fn part(self, part: TimePart) -> Option<i64> {
        Some(match part {
            TimePart::Hours => self.0 / 3_600_000_000_000,
            TimePart::Minutes => self.0 / 60_000_000_000,
            TimePart::Seconds => self.0 / 1_000_000_000,
            TimePart::Milliseconds => self.0 / 1_000_000 % 1000,
            _ => return None,
        })
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        write!(f, "{sign}{}", nanos / 1_000_000_000)?;
        write_fraction(f, nanos % 1_000_000_000)?;
        f.write_str("s")
    }
}

/// The nanoseconds of a second as a decimal fraction; nothing where there are none.
fn write_fraction(f: &mut fmt::Formatter<'_>, nanos: impl fmt::Display) -> fmt::Result {
    let digits = format!("{nanos:0>9}");
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() { Ok(()) } else { write!(f, ".{digits}") }
}

/// Text that may be a date, a duration or a zone. What is longer is none of them, and is not read.
fn bounded(text: &str) -> Option<&str> {
    const LONGEST: usize = 64;
    (text.len() <= LONGEST).then_some(text)
}

fn unit_nanos(unit: &str) -> Option<i128> {
    Some(match unit {
        "h" => 3600 * NANOS,
        "m" => 60 * NANOS,
        "s" => NANOS,
        "ms" => 1_000_000,
        "us" | "µs" | "μs" => 1_000,
        "ns" => 1,
        _ => return None,
    })
}

/// A decimal such as `1.5` times `unit`, without a detour through a double.
fn scaled(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(unit)?;
    let mut place = unit;
    for digit in fraction.bytes() {
        if !digit.is_ascii_digit() {
            return None;
        }
        place /= 10;
        total = total.checked_add(i128::from(digit - b'0') * place)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_rfc_3339() {
        let show = |text| Timestamp::parse(text).map(|time| time.to_string());
        assert_eq!(show("2024-02-29T12:00:00.5+02:00").as_deref(), Some("2024-02-29T10:00:00.5Z"));
        assert_eq!(show("0001-01-01T00:00:00Z").as_deref(), Some("0001-01-01T00:00:00Z"));
        let bad = "2023-02-29T00:00:00Z 2024-01-01 2024-01-01T24:00:00Z 2024-1-01T00:00:00Z \
                   2024-01-01T00:00:00 0000-01-01T00:00:00Z 2024-01-01T00:00:00.Z é T TZ";
        for bad in bad.split(' ') {
            assert_eq!(show(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_add_their_units() {
        let show = |text| Duration::parse(text).map(|span| span.to_string());
        assert_eq!(show("1h30m").as_deref(), Some("5400s"));
        assert_eq!(show("-1.5s").as_deref(), Some("-1.5s"));
        assert_eq!(show("0").as_deref(), Some("0s"));
        for bad in ["", "-", "1", "1x", "s", ".s", "1.2.3s", "9999999h", "é"] {
            assert_eq!(show(bad), None, "{bad}");
        }
    }
}
