//! Values of a page, and how they are written as JSON.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

use sortie_trace::time::format_time;

use super::ParquetError;
use super::levels::HybridReader;
use super::metadata::Meaning;
use super::schema::{Column, Physical};

const ENDS: ParquetError = ParquetError::Damaged("a page ends before its last value");

/// The values that others point to.
#[derive(Debug)]
pub(super) struct Dictionary {
    bytes: Vec<u8>,
    /// Where each value is.
    places: Vec<Range<u32>>,
}

impl Dictionary {
    pub(super) fn new(bytes: Vec<u8>, count: u64, physical: Physical) -> Result<Self, ParquetError> {
        let mut places = Vec::new();
        let mut at = 0;
        for _ in 0..count {
            let place = plain(&bytes, &mut at, physical)?;
            let end = |end| u32::try_from(end).map_err(|_| ENDS);
            places.push(end(place.start)?..end(place.end)?);
        }
        Ok(Self { bytes, places })
    }

    /// How much it takes.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.places.len() * size_of::<Range<u32>>()
    }

    fn get(&self, place: u32) -> Result<&[u8], ParquetError> {
        let range = self
            .places
            .get(place as usize)
            .and_then(|place| self.bytes.get(place.start as usize..place.end as usize));
        range.ok_or(ParquetError::Damaged("a value that its dictionary does not have"))
    }
}

/// How the values of a page are written.
#[derive(Debug)]
pub(super) enum Encoded {
    /// One after the other, from this byte on.
    Plain(usize),
    /// Truth values, a bit each, from this bit on.
    Bits(usize),
    /// Places in the dictionary.
    Places(HybridReader),
    /// Truth values in runs.
    Runs(HybridReader),
}

impl Encoded {
    /// The next value, as the bytes of its type; a truth value is one byte.
    pub(super) fn next<'p>(
        &mut self,
        page: &'p [u8],
        dictionary: Option<&'p Dictionary>,
        physical: Physical,
    ) -> Result<&'p [u8], ParquetError> {
        let truth = |is_true: bool| -> &'static [u8] { if is_true { &[1] } else { &[0] } };
        match self {
            Self::Plain(at) => {
                let place = plain(page, at, physical)?;
                page.get(place).ok_or(ENDS)
            }
            Self::Bits(bit) => {
                let byte = page.get(*bit / 8).ok_or(ENDS)?;
                let is_true = byte >> (*bit % 8) & 1 == 1;
                *bit += 1;
                Ok(truth(is_true))
            }
            Self::Places(places) => {
                let dictionary = dictionary.ok_or(ParquetError::Damaged("a page without its dictionary"))?;
                dictionary.get(places.next(page)?)
            }
            Self::Runs(runs) => Ok(truth(runs.next(page)? == 1)),
        }
    }
}

/// Where the value is that begins at a byte, which is moved behind it.
fn plain(bytes: &[u8], at: &mut usize, physical: Physical) -> Result<Range<usize>, ParquetError> {
    let length = match physical {
        Physical::Boolean => 1,
        Physical::Int32 | Physical::Float => 4,
        Physical::Int64 | Physical::Double => 8,
        Physical::Int96 => 12,
        Physical::Fixed(width) => width,
        Physical::Bytes => {
            let head = bytes.get(*at..).and_then(|rest| rest.first_chunk::<4>()).ok_or(ENDS)?;
            *at += 4;
            u32::from_le_bytes(*head) as usize
        }
    };
    let end = at.checked_add(length).filter(|end| *end <= bytes.len()).ok_or(ENDS)?;
    Ok(std::mem::replace(at, end)..end)
}

/// Writes a value as JSON.
pub(super) fn write_json(column: Column, value: &[u8], json: &mut String) -> Result<(), ParquetError> {
    // Writing to a string cannot fail.
    match (column.physical, column.meaning) {
        (Physical::Boolean, _) => json.push_str(if value == [1] { "true" } else { "false" }),
        (Physical::Int32, meaning) => {
            write_number(i64::from(i32::from_le_bytes(bytes(value)?)), 32, meaning, json);
        }
        (Physical::Int64, meaning) => write_number(i64::from_le_bytes(bytes(value)?), 64, meaning, json),
        (Physical::Int96, _) => write_int96(bytes(value)?, json),
        (Physical::Float, _) => write_float(f64::from(f32::from_le_bytes(bytes(value)?)), json),
        (Physical::Double, _) => write_float(f64::from_le_bytes(bytes(value)?), json),
        (Physical::Bytes, _) => {
            let text =
                std::str::from_utf8(value).map_err(|_| ParquetError::Damaged("a text that is not UTF-8"))?;
            write_text(text, json);
        }
        (Physical::Fixed(_), Meaning::Decimal(scale)) if value.len() <= 16 => {
            let negative = value.first().is_some_and(|byte| byte & 0x80 != 0);
            let start = if negative { -1i128 } else { 0 };
            let number = value.iter().fold(start, |number, byte| number << 8 | i128::from(*byte));
            write_decimal(number, scale, json);
        }
        (Physical::Fixed(_), _) => {
            json.push('"');
            for byte in value {
                let _ = write!(json, "{byte:02x}");
            }
            json.push('"');
        }
    }
    Ok(())
}

/// A text as JSON.
pub(super) fn write_text(text: &str, json: &mut String) {
    json.push_str(&serde_json::Value::from(text).to_string());
}

fn bytes<const N: usize>(value: &[u8]) -> Result<[u8; N], ParquetError> {
    value.try_into().map_err(|_| ENDS)
}

fn write_number(number: i64, width: u32, meaning: Meaning, json: &mut String) {
    let _ = match meaning {
        Meaning::Unsigned if width == 32 => write!(json, "{}", number & 0xffff_ffff),
        Meaning::Unsigned => write!(json, "{}", number.cast_unsigned()),
        Meaning::Timestamp(per_second) => {
            let per_second = i64::from(per_second);
            let (seconds, rest) = (number.div_euclid(per_second), number.rem_euclid(per_second));
            write_time(seconds, rest * (1_000_000_000 / per_second), json);
            Ok(())
        }
        Meaning::Decimal(scale) => {
            write_decimal(i128::from(number), scale, json);
            Ok(())
        }
        _ => write!(json, "{number}"),
    };
}

/// Nanoseconds of a day, and the day, from the Julian calendar's first on.
fn write_int96(value: [u8; 12], json: &mut String) {
    let nanos =
        u64::from_le_bytes([value[0], value[1], value[2], value[3], value[4], value[5], value[6], value[7]]);
    let day = i64::from(u32::from_le_bytes([value[8], value[9], value[10], value[11]]));
    let seconds = (day - 2_440_588) * 86_400 + i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX / 2);
    write_time(seconds, i64::try_from(nanos % 1_000_000_000).unwrap_or_default(), json);
}

fn write_time(seconds: i64, nanos: i64, json: &mut String) {
    let since = Duration::new(seconds.unsigned_abs(), 0);
    let time = if seconds < 0 { UNIX_EPOCH.checked_sub(since) } else { UNIX_EPOCH.checked_add(since) };
    let time = time.and_then(|time| time.checked_add(Duration::from_nanos(nanos.unsigned_abs())));
    match time {
        // Years that RFC 3339 has no room for are no times.
        Some(time) if (0..253_402_300_800).contains(&seconds) => write_text(&format_time(time), json),
        _ => json.push_str("null"),
    }
}

fn write_decimal(number: i128, scale: i64, json: &mut String) {
    let scale = usize::try_from(scale.clamp(0, 38)).unwrap_or_default();
    let digits = number.unsigned_abs().to_string();
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, rest) = digits.split_at(digits.len() - scale);
    let sign = if number < 0 { "-" } else { "" };
    let point = if rest.is_empty() { "" } else { "." };
    let _ = write!(json, "{sign}{whole}{point}{rest}");
}

fn write_float(number: f64, json: &mut String) {
    match serde_json::Number::from_f64(number) {
        Some(number) => _ = write!(json, "{number}"),
        // JSON has no infinities.
        None => json.push_str("null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(physical: Physical, meaning: Meaning, value: &[u8]) -> String {
        let mut json = String::new();
        write_json(Column { physical, meaning, definition: 0, repetition: 0 }, value, &mut json).unwrap();
        json
    }

    #[test]
    fn values_are_what_they_mean() {
        assert_eq!(json(Physical::Int32, Meaning::Plain, &(-5i32).to_le_bytes()), "-5");
        assert_eq!(json(Physical::Int32, Meaning::Unsigned, &(-1i32).to_le_bytes()), "4294967295");
        assert_eq!(json(Physical::Int64, Meaning::Unsigned, &(-1i64).to_le_bytes()), "18446744073709551615");
        assert_eq!(json(Physical::Int64, Meaning::Decimal(3), &(-12i64).to_le_bytes()), "-0.012");
        assert_eq!(json(Physical::Fixed(3), Meaning::Decimal(2), &[0xff, 0xff, 0x38]), "-2.00");
        assert_eq!(json(Physical::Fixed(2), Meaning::Plain, &[0x0a, 0xff]), "\"0aff\"");
        assert_eq!(json(Physical::Double, Meaning::Plain, &1.5f64.to_le_bytes()), "1.5");
        assert_eq!(json(Physical::Double, Meaning::Plain, &f64::NAN.to_le_bytes()), "null");
        assert_eq!(json(Physical::Bytes, Meaning::Text, "a\"\n".as_bytes()), "\"a\\\"\\n\"");
        let time = json(Physical::Int64, Meaning::Timestamp(1_000), &1_794_939_671_526i64.to_le_bytes());
        assert_eq!(time, "\"2026-11-17T18:21:11.526000Z\"");
        assert_eq!(json(Physical::Int64, Meaning::Timestamp(1_000_000), &i64::MIN.to_le_bytes()), "null");
        let mut julian = [0u8; 12];
        julian[8..].copy_from_slice(&2_440_589u32.to_le_bytes());
        assert_eq!(json(Physical::Int96, Meaning::Plain, &julian), "\"1970-01-02T00:00:00.000000Z\"");
    }
}
