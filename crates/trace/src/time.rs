//! Times as RFC 3339, in UTC, with microseconds. Two conversions are not worth a calendar library.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// The first and the last microsecond that RFC 3339 can name: year 0 to year 9999.
const FIRST: i64 = -62_167_219_200 * MICROS_PER_SECOND;
const LAST: i64 = 253_402_300_800 * MICROS_PER_SECOND - 1;

/// A time as `2026-11-15T21:50:07.123456Z`. Times that RFC 3339 has no name for are moved to the nearest one it has.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// let time = UNIX_EPOCH + Duration::from_micros(1_795_000_000_123_456);
/// assert_eq!(sortie_trace::time::format_time(time), "2026-11-18T11:06:40.123456Z");
/// ```
pub fn format_time(time: SystemTime) -> String {
    let micros = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_micros()).unwrap_or(LAST),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(FIRST, |micros| -micros),
    };
    let micros = micros.clamp(FIRST, LAST);
    let (seconds, fraction) = (micros.div_euclid(MICROS_PER_SECOND), micros.rem_euclid(MICROS_PER_SECOND));
    let (days, second) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    // By hand, since it is written for every message: `cargo xtask bench wire`.
    let mut text = *b"0000-00-00T00:00:00.000000Z";
    digits(&mut text[0..4], year);
    digits(&mut text[5..7], month);
    digits(&mut text[8..10], day);
    digits(&mut text[11..13], hour);
    digits(&mut text[14..16], minute);
    digits(&mut text[17..19], second);
    digits(&mut text[20..26], fraction);
    text.iter().map(|&byte| char::from(byte)).collect()
}

/// Writes a number that has no more digits than there is room for.
fn digits(room: &mut [u8], mut number: i64) {
    for place in room.iter_mut().rev() {
        // The remainder is one digit.
        *place = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
}

/// Reads an RFC 3339 time, with any offset and any number of decimals (what is below a microsecond is dropped).
pub fn parse_time(text: &str) -> Option<SystemTime> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let (year, month, day) = three(date, '-', [4, 2, 2])?;
    let days = days(year, month, day)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (hour, minute, second) = three(rest.get(..8)?, ':', [2, 2, 2])?;
    // A leap second is the first of the next minute to every clock we have.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (fraction, rest) = fraction(rest.get(8..)?)?;
    let offset = offset(rest)?;
    let seconds = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset;
    let micros = seconds * MICROS_PER_SECOND + fraction;
    let distance = Duration::from_micros(micros.unsigned_abs());
    if micros < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) }
}

/// `2026-11-15` or `21:50:07`.
fn three(text: &str, between: char, widths: [usize; 3]) -> Option<(i64, i64, i64)> {
    let mut parts = text.split(between).zip(widths).map(|(part, width)| number(part, width));
    let three = (parts.next()??, parts.next()??, parts.next()??);
    (text.len() == widths.iter().sum::<usize>() + 2).then_some(three)
}

fn number(digits: &str, width: usize) -> Option<i64> {
    let all_digits = digits.len() == width && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// Microseconds, and what follows them.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(rest) = text.strip_prefix('.') else { return Some((0, text)) };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let micros = rest.bytes().take(digits).chain(std::iter::repeat(b'0')).take(6);
    let micros = micros.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    (digits > 0).then(|| (micros, &rest[digits..]))
}

/// Seconds east of Greenwich.
fn offset(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text[1..].split_once(':')?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// The date of a day since 1970, in the proleptic Gregorian calendar.
///
/// Years are counted from March, so that the leap day is the last of its year, and in eras of 400 years, which all
/// have the same length.
fn date(days: i64) -> (i64, i64, i64) {
    let from_march = days + 719_468;
    let (era, day_of_era) = (from_march.div_euclid(146_097), from_march.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// The day since 1970 of a date, if there is such a date.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) {
        return None;
    }
    let year_from_march = year - i64::from(month <= 2);
    let (era, year_of_era) = (year_from_march.div_euclid(400), year_from_march.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days =
        era * 146_097 + 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    (date(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_writing_and_reading() {
        for text in [
            "1970-01-01T00:00:00.000000Z",
            "1969-12-31T23:59:59.999999Z",
            "2000-02-29T12:00:00.000001Z",
            "2026-11-15T21:50:07.123456Z",
            "2100-03-01T00:00:00.500000Z",
            "9999-12-31T23:59:59.999999Z",
            "0000-01-01T00:00:00.000000Z",
        ] {
            assert_eq!(format_time(parse_time(text).expect(text)), text);
        }
    }

    #[test]
    fn every_day_of_four_centuries_has_one_date() {
        let mut last = date(-1);
        for day in 0..146_097 {
            let date = date(day);
            assert_eq!(days(date.0, date.1, date.2), Some(day));
            assert!(date > last);
            last = date;
        }
        assert_eq!(last, (2369, 12, 31));
    }

    #[test]
    fn other_ways_to_write_a_time_are_read() {
        for (text, same) in [
            ("2026-11-15t21:50:07z", "2026-11-15T21:50:07.000000Z"),
            ("2026-11-15 21:50:07.1Z", "2026-11-15T21:50:07.100000Z"),
            ("2026-11-15T23:20:07.123456789+01:30", "2026-11-15T21:50:07.123456Z"),
            ("2026-12-31T23:59:60-00:00", "2027-01-01T00:00:00.000000Z"),
        ] {
            assert_eq!(format_time(parse_time(text).expect(text)), same);
        }
    }

    #[test]
    fn what_is_no_time_is_not_read() {
        for text in [
            "",
            "now",
            "2026-11-15",
            "2026-11-15T21:50:07",
            "2026-02-30T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-11-15T24:00:00Z",
            "2026-11-15T21:50:07.Z",
            "2026-11-15T21:50:07+1:00",
            "2026-11-15T21:50:07Zx",
            "+026-11-15T21:50:07Z",
            "2026-11-15T21:50:0é",
            "é026-11-15T21:50:07Z",
            "2026-1-150T21:50:07Z",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn times_without_a_name_are_moved_to_one_that_has() {
        let far = UNIX_EPOCH.checked_add(Duration::from_secs(1 << 60)).expect("times of 64 bits");
        assert_eq!(format_time(far), "9999-12-31T23:59:59.999999Z");
    }
}
