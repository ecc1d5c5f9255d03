//! Values of options that several commands take.

use std::time::Duration;

use crate::Failure;

/// A duration as documents write it (`30s`, `5m`, `PT1H`), and `500ms`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if let Some(digits) = text.strip_suffix("ms")
        && !digits.is_empty()
        && digits.bytes().all(|digit| digit.is_ascii_digit())
        && let Ok(milliseconds) = digits.parse()
    {
        return Ok(Duration::from_millis(milliseconds));
    }
    sortie_oatf::parse_duration(text).map_err(|error| format!("{error}; write `30s`, `5m`, `500ms`"))
}

/// What `--var NAME=VALUE` says.
pub(crate) fn variable(text: &str) -> Result<(String, String), Failure> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::new(format!("`--var`: `{text}` is no `NAME=VALUE`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_in_documents_or_in_milliseconds() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2m"), Ok(Duration::from_mins(2)));
        for wrong in ["ms", "-1ms", "1.5ms", "5", "s", ""] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
