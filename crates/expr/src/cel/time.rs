//! Timestamps and durations.
//!
//! The proleptic Gregorian calendar in UTC or at a fixed offset. There is no time-zone database here,
//! so a named zone other than UTC is refused rather than guessed.

use std::fmt;

const NANOS: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i128 = 86_400;
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
        let (date, time) = bounded(text)?.split_once(['T', 't'])?;
        let mut parts = date.split('-');
        let year = digits(parts.next()?, 4)?;
        let month = digits(parts.next()?, 2)?;
        let day = digits(parts.next()?, 2)?;
        if parts.next().is_some() || !(1..=12).contains(&month) {
            return None;
        }
        if !(1..=days_in_month(year, month)).contains(&day) {
            return None;
        }
        let zone_start = time.find(['Z', 'z', '+', '-'])?;
        let (clock, zone) = time.split_at(zone_start);
        let offset = match zone {
            "Z" | "z" => 0,
            _ => offset_seconds(zone)?,
        };
        let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        let mut units = whole.split(':');
        let hour = digits(units.next()?, 2)?;
        let minute = digits(units.next()?, 2)?;
        let second = digits(units.next()?, 2)?;
        if units.next().is_some() || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = days_from_civil(year, month, day);
        let seconds = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset;
        Self::from_nanos(seconds * NANOS + fraction_nanos(fraction)?)
    }

    pub(super) fn seconds(self) -> i64 {
        // The range of timestamps in seconds is far inside i64.
        i64::try_from(self.0.div_euclid(NANOS)).unwrap_or_default()
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
            Some(zone) if zone.starts_with(['+', '-']) => offset_seconds(zone)?,
            Some(zone) => offset_seconds(&format!("+{}", bounded(zone)?))?,
        };
        let local = self.0 + offset * NANOS;
        let seconds = local.div_euclid(NANOS);
        let days = seconds.div_euclid(SECONDS_PER_DAY);
        let second_of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        let (year, month, day) = civil_from_days(days);
        let value = match part {
            TimePart::FullYear => year,
            TimePart::Month => month - 1,
            TimePart::Date => day,
            TimePart::DayOfMonth => day - 1,
            // Day 0 was a Thursday; Sunday is 0.
            TimePart::DayOfWeek => (days + 4).rem_euclid(7),
            TimePart::DayOfYear => days - days_from_civil(year, 1, 1),
            TimePart::Hours => second_of_day / 3600,
            TimePart::Minutes => second_of_day / 60 % 60,
            TimePart::Seconds => second_of_day % 60,
            TimePart::Milliseconds => local.rem_euclid(NANOS) / 1_000_000,
        };
        i64::try_from(value).ok()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(NANOS);
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let clock = seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        let nanos = self.0.rem_euclid(NANOS);
        if nanos > 0 {
            let fraction = format!("{nanos:09}");
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
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
        let fraction = nanos % 1_000_000_000;
        if fraction > 0 {
            write!(f, ".{}", format!("{fraction:09}").trim_end_matches('0'))?;
        }
        f.write_str("s")
    }
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

fn digits(text: &str, count: usize) -> Option<i128> {
    let is_number = text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

fn fraction_nanos(fraction: &str) -> Option<i128> {
    if fraction.is_empty() || fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    format!("{fraction:0<9}").parse().ok()
}

/// `+02:00` in seconds.
fn offset_seconds(zone: &str) -> Option<i128> {
    let (sign, clock) = match zone.strip_prefix('-') {
        Some(clock) => (-1, clock),
        None => (1, zone.strip_prefix('+')?),
    };
    let (hours, minutes) = clock.split_once(':')?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3600 + minutes * 60))
}

fn days_in_month(year: i128, month: i128) -> i128 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01. Years count from March, so that a leap day is the last of its year.
fn days_from_civil(year: i128, month: i128, day: i128) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i128) -> (i128, i128, i128) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_eight_centuries_survives_the_round_trip() {
        for days in -200_000..200_000 {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
            assert!((1..=days_in_month(year, month)).contains(&day));
        }
    }

    #[test]
    fn timestamps_are_rfc_3339() {
        let show = |text| Timestamp::parse(text).map(|time| time.to_string());
        assert_eq!(show("2024-02-29T12:00:00.5+02:00").as_deref(), Some("2024-02-29T10:00:00.5Z"));
        assert_eq!(show("0001-01-01T00:00:00Z").as_deref(), Some("0001-01-01T00:00:00Z"));
        for bad in [
            "2023-02-29T00:00:00Z",
            "2024-01-01",
            "2024-01-01T24:00:00Z",
            "2024-1-01T00:00:00Z",
            "2024-01-01T00:00:00",
            "0000-01-01T00:00:00Z",
            "2024-01-01T00:00:00.Z",
            "é",
            "T",
            "TZ",
        ] {
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
