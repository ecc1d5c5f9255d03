//! Dates.

use sortie_expr::calendar::{days_in_month, numbers, offset};

use crate::rules::Rule;
use crate::rules::walk::ATTACK;

/// `created` and `modified` are ISO 8601: a date, or a date and time with a time zone.
pub(super) const S_006: Rule = Rule::error("S-006", "", include_str!("s006.md"))
    .titled("dates are valid")
    .check(Some(|document, report| {
        let attack = &document.attack;
        for (key, value) in [("created", &attack.created), ("modified", &attack.modified)] {
            if let Some(Err(problem)) = value.as_deref().map(date_or_time) {
                report.add(ATTACK.key(key), format!("`{key}` is not a date: {problem}")).help(
                    "write a date (`2026-02-15`), or a date and time with its zone (`2026-02-15T10:30:00Z`)",
                );
            }
        }
    }));

/// Checks a date (`2026-02-15`), or a date and time with a time zone (`2026-02-15T10:30:00+01:00`).
fn date_or_time(text: &str) -> Result<(), &'static str> {
    let (day, time) = text.split_once('T').map_or((text, None), |(day, time)| (day, Some(time)));
    date(day)?;
    time.map_or(Ok(()), time_and_zone)
}

fn date(text: &str) -> Result<(), &'static str> {
    const FORM: &str = "it does not have the form YYYY-MM-DD";
    let [year, month, day] = numbers(text, '-', [4, 2, 2]).ok_or(FORM)?;
    let days = days_in_month(year, month).ok_or("there is no such month")?;
    if (1..=days).contains(&day) { Ok(()) } else { Err("the month has no such day") }
}

fn time_and_zone(text: &str) -> Result<(), &'static str> {
    let zone = text.find(['Z', '+', '-']).ok_or("the time has no time zone")?;
    let (time, zone) = text.split_at(zone);
    let whole = match time.split_once('.') {
        Some((_, "")) => return Err("the time ends in a dot"),
        Some((whole, fraction)) if fraction.bytes().all(|byte| byte.is_ascii_digit()) => whole,
        Some(_) => return Err("the fraction of a second is not a number"),
        None => time,
    };
    let [hour, minute, second] =
        numbers(whole, ':', [2, 2, 2]).ok_or("the time does not have the form HH:MM:SS")?;
    // The sixtieth second is a leap second.
    if hour > 23 || minute > 59 || second > 60 {
        return Err("there is no such time of day");
    }
    match offset(zone) {
        Some(_) => Ok(()),
        None if zone.starts_with('Z') => Err("nothing can follow `Z`"),
        None => Err("the time zone is neither `Z` nor an offset such as `+01:00`"),
    }
}

#[cfg(test)]
mod tests {
    use super::date_or_time;

    #[test]
    fn the_calendar_is_known() {
        for right in [
            "2026-02-15",
            "2024-02-29",
            "2000-02-29",
            "2026-02-15T10:30:00Z",
            "2026-02-15T23:59:60Z",
            "2026-02-15T10:30:00.125+05:30",
            "2026-02-15T10:30:00-00:00",
        ] {
            assert_eq!(date_or_time(right), Ok(()), "{right}");
        }
        let dates = "yesterday 2026-2-15 2026-02-30 2025-02-29 1900-02-29 2026-13-01 2026-00-01 2026-01-00 2026-04-31 \
                     20260215 15.02.2026 ２０２６-02-15";
        let times = "2026-02-15T 2026-02-15T10:30:00 2026-02-15T24:00:00Z 2026-02-15T10:60:00Z 2026-02-15T10:30:00.Z \
                     2026-02-15T10:30:00ZZ 2026-02-15T10:30:00+1 2026-02-15T10:30:00+25:00 2026-02-15T+1:30:00Z";
        for wrong in dates.split(' ').chain(times.split(' ')).chain(["", "2026-02-15 10:30:00Z"]) {
            assert!(date_or_time(wrong).is_err(), "{wrong}");
        }
    }
}
