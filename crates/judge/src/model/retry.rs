//! When to ask again.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// When to ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a request is sent at most. 4.
    pub attempts: u32,
    /// The wait after the first failure; each further one is twice as long. 500 ms.
    pub first_wait: Duration,
    /// The longest wait, whoever asks for it. 30 s. An endpoint that wants a longer one is not asked again.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 4, first_wait: Duration::from_millis(500), longest_wait: Duration::from_secs(30) }
    }
}

impl RetryPolicy {
    /// The wait after a number of failures; `None` when it is time to give up.
    ///
    /// What the endpoint asks for counts if it is longer than ours. `spread` makes tasks that failed together come back
    /// apart: up to a quarter longer, the same for the same request.
    pub(super) fn wait(&self, failures: u32, asked: Option<Duration>, spread: u64) -> Option<Duration> {
        if failures >= self.attempts {
            return None;
        }
        if asked.is_some_and(|asked| asked > self.longest_wait) {
            return None;
        }
        let doubled = self.first_wait.saturating_mul(1 << failures.saturating_sub(1).min(16));
        let quarter = doubled / 4;
        let parts = u32::try_from((spread.rotate_left(failures)) % 256).unwrap_or_default();
        let ours = doubled.saturating_add(quarter * parts / 256).min(self.longest_wait);
        Some(ours.max(asked.unwrap_or_default()))
    }
}

/// How long an endpoint wants to be left alone: seconds, or a date. A date is taken against the endpoint's own clock
/// where it shows it, since ours may go wrong.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if value.bytes().all(|byte| byte.is_ascii_digit()) && !value.is_empty() {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let theirs = headers.get(DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    Some(date.duration_since(theirs.unwrap_or(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn after(headers: &[(&'static str, &str)]) -> Option<Duration> {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        retry_after(&headers.collect(), UNIX_EPOCH + Duration::from_secs(784_111_777))
    }

    #[test]
    fn an_endpoint_says_how_long_in_seconds_or_as_a_date() {
        let at = "Sun, 06 Nov 1994 08:49:47 GMT";
        assert_eq!(after(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(after(&[("retry-after", at)]), Some(Duration::from_secs(10)));
        let theirs = [("retry-after", at), ("date", "Sun, 06 Nov 1994 08:49:44 GMT")];
        assert_eq!(after(&theirs), Some(Duration::from_secs(3)));
        // Already past.
        assert_eq!(after(&[("retry-after", "Sun, 06 Nov 1983 08:49:47 GMT")]), Some(Duration::ZERO));
        assert_eq!(after(&[("retry-after", "99999999999999999999999")]), Some(Duration::from_secs(u64::MAX)));
        for nonsense in ["", "-1", "soon", "1.5", "Sun, 99 Nov 1994 08:49:47 GMT"] {
            assert_eq!(after(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
        assert_eq!(after(&[]), None);
    }

    #[test]
    fn waits_double_and_end() {
        let policy = RetryPolicy::default();
        let waits: Vec<_> = (1..5).map(|failures| policy.wait(failures, None, 0)).collect();
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(waits, [ms(500), ms(1000), ms(2000), None]);
        assert_eq!(policy.wait(1, Some(Duration::from_secs(5)), 9), Some(Duration::from_secs(5)));
        assert_eq!(policy.wait(1, Some(Duration::from_secs(31)), 0), None);
        for spread in 0..1000 {
            let wait = policy.wait(2, None, spread).unwrap();
            assert!((1000..1250).contains(&wait.as_millis()), "{wait:?}");
        }
    }
}
