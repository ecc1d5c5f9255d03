//! The proleptic Gregorian calendar, and times as RFC 3339 writes them.

/// A time of RFC 3339, and what its readers disagree about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateTime<'t> {
    /// Seconds since 1970 in UTC. A leap second is the first of the next minute to every clock we have.
    pub seconds: i64,
    /// Whether it is in a leap second.
    pub in_leap_second: bool,
    /// The digits of its fraction; empty where it has none.
    pub fraction: &'t str,
    /// What stands between date and time: `T`, `t` or a space.
    pub separator: char,
}

/// Reads a time, with any offset and any number of decimals.
///
/// ```
/// let time = sortie_expr::calendar::parse("2024-02-29T12:00:00.5+02:00").unwrap();
/// assert_eq!((time.seconds, time.fraction), (1_709_200_800, "5"));
/// ```
pub fn parse(text: &str) -> Option<DateTime<'_>> {
    let (date, rest) = text.split_at_checked(10)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let separator = rest.chars().next().filter(|separator| matches!(separator, 'T' | 't' | ' '))?;
    let (clock, rest) = rest[1..].split_at_checked(8)?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let is_time = hour < 24 && minute < 60 && second <= 60;
    if !(1..=days_in_month(year, month)?).contains(&day) || !is_time {
        return None;
    }
    let (fraction, zone) = match rest.strip_prefix('.') {
        None => ("", rest),
        Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
    };
    let has_digits = fraction.is_empty() != rest.starts_with('.');
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset(zone)?;
    has_digits.then_some(DateTime { seconds, in_leap_second: second == 60, fraction, separator })
}

/// Numbers with a separator between them, each of exactly so many digits.
pub fn numbers<const N: usize>(text: &str, separator: char, widths: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, width) in numbers.iter_mut().zip(widths) {
        let part = parts.next().filter(|part| part.len() == width)?;
        *number = part.parse().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()))?;
    }
    parts.next().is_none().then_some(numbers)
}

/// Seconds east of Greenwich: `Z`, or `+02:00`.
pub fn offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let [hours, minutes] = numbers(zone.strip_prefix(['+', '-'])?, ':', [2, 2])?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// How many days a month has; `None` where there is no such month.
pub fn days_in_month(year: i64, month: i64) -> Option<i64> {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => Some(29),
        2 => Some(28),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

/// Days from 1970 to a date.
///
/// Years are counted from March, so that the leap day is the last of its year, and in eras of 400 years, which all
/// have the same length.
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let from_march = year - i64::from(month <= 2);
    let (era, year_of_era) = (from_march.div_euclid(400), from_march.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The date (year, month, day) that many days after 1970.
pub fn date(days: i64) -> (i64, i64, i64) {
    let from_march = days + 719_468;
    let (era, day_of_era) = (from_march.div_euclid(146_097), from_march.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_eight_centuries_has_one_date() {
        let mut last = date(-200_001);
        for day in -200_000..200_000 {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), day);
            assert!((1..=days_in_month(year, month).unwrap()).contains(&of_month));
            assert!((year, month, of_month) > last);
            last = (year, month, of_month);
        }
        assert_eq!(date(146_096), (2369, 12, 31));
    }
}
