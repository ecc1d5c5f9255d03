//! How soon, and how often, a stream that ended is taken up again.

use std::time::Duration;

/// What a server that says nothing of it gets.
const DEFAULT_RETRY: u64 = 1_000;
/// A server may ask for patience, but not for more than this.
const MAX_RETRY: u64 = 60_000;
/// How often in a row a stream may bring nothing.
const MAX_IN_VAIN: u32 = 5;

/// The pace at which one stream is taken up again.
#[derive(Debug, Default)]
pub(super) struct Pace {
    in_vain: u32,
    retry: Option<u64>,
}

impl Pace {
    /// Waits for as long as the server asked for. False when it is time to give up: too many attempts brought nothing.
    pub(super) async fn wait(&mut self, brought_something: bool, retry: Option<u64>) -> bool {
        let Some(pause) = self.next(brought_something, retry) else { return false };
        tokio::time::sleep(pause).await;
        true
    }

    fn next(&mut self, brought_something: bool, retry: Option<u64>) -> Option<Duration> {
        self.retry = retry.or(self.retry);
        self.in_vain = if brought_something { 0 } else { self.in_vain + 1 };
        let pause = self.retry.unwrap_or(DEFAULT_RETRY).min(MAX_RETRY);
        (self.in_vain < MAX_IN_VAIN).then(|| Duration::from_millis(pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_taken_up_when_the_server_wants_and_not_for_ever() {
        let mut pace = Pace::default();
        assert_eq!(pace.next(true, Some(500)), Some(Duration::from_millis(500)));
        assert_eq!(pace.next(false, None), Some(Duration::from_millis(500)));
        assert_eq!(pace.next(true, Some(u64::MAX)), Some(Duration::from_mins(1)));
        let tries = (0..100).take_while(|_| pace.next(false, None).is_some()).count();
        assert_eq!(tries, 4);
    }
}
