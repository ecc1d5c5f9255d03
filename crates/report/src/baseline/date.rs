//! A day of the calendar.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sortie_expr::calendar;

/// A day, written `YYYY-MM-DD`. Later days are greater.
///
/// ```
/// use sortie_report::baseline::Date;
///
/// let leap_day: Date = "2028-02-29".parse().unwrap();
/// assert!(leap_day > "2028-02-28".parse().unwrap());
/// assert!("2027-02-29".parse::<Date>().is_err());
/// assert_eq!(Date::of_unix_time(0).to_string(), "1970-01-01");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

/// A text that is not a day.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a day: write YYYY-MM-DD, as in 2027-01-31")]
pub struct DateError(pub String);

impl Date {
    /// The day, in UTC, of a time in seconds since 1970. Times after the year 9999 are its last day.
    pub fn of_unix_time(seconds: u64) -> Self {
        let last = calendar::days(9999, 12, 31);
        let days = i64::try_from(seconds / 86_400).unwrap_or(last).min(last);
        Self::of(calendar::date(days)).unwrap_or(Self { year: 9999, month: 12, day: 31 })
    }

    /// The day, as it is written, of a time that RFC 3339 allows: the first ten characters.
    pub fn of_timestamp(text: &str) -> Result<Self, DateError> {
        let day = calendar::parse(text).and_then(|_| text.get(..10));
        day.ok_or_else(|| DateError(text.to_owned()))?.parse()
    }

    fn of((year, month, day): (i64, i64, i64)) -> Option<Self> {
        let in_month = (1..=calendar::days_in_month(year, month)?).contains(&day);
        let year = u16::try_from(year).ok().filter(|year| *year <= 9999 && in_month)?;
        Some(Self { year, month: u8::try_from(month).ok()?, day: u8::try_from(day).ok()? })
    }
}

impl FromStr for Date {
    type Err = DateError;

    fn from_str(text: &str) -> Result<Self, DateError> {
        let date = calendar::numbers(text, '-', [4, 2, 2])
            .and_then(|[year, month, day]| Self::of((year, month, day)));
        date.ok_or_else(|| DateError(text.to_owned()))
    }
}

impl Display for Date {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
