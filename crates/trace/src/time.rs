//! Times as RFC 3339, in UTC, with microseconds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sortie_expr::calendar;

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
    let (year, month, day) = calendar::date(days);
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
    let time = calendar::parse(text)?;
    let micros = time.fraction.bytes().chain(std::iter::repeat(b'0')).take(6);
    let micros = micros.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    let micros = time.seconds * MICROS_PER_SECOND + micros;
    let distance = Duration::from_micros(micros.unsigned_abs());
    if micros < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) }
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
        let texts = "now 2026-11-15 2026-11-15T21:50:07 2026-02-30T00:00:00Z 2026-13-01T00:00:00Z \
                     2026-00-01T00:00:00Z 2026-11-15T24:00:00Z 2026-11-15T21:50:07.Z 2026-11-15T21:50:07+1:00 \
                     2026-11-15T21:50:07Zx +026-11-15T21:50:07Z 2026-11-15T21:50:0é é026-11-15T21:50:07Z \
                     2026-1-150T21:50:07Z";
        for text in texts.split(' ').chain([""]) {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn times_without_a_name_are_moved_to_one_that_has() {
        let far = UNIX_EPOCH.checked_add(Duration::from_secs(1 << 60)).expect("times of 64 bits");
        assert_eq!(format_time(far), "9999-12-31T23:59:59.999999Z");
    }
}
