//! Which kinds of answers a client takes.

use http::HeaderMap;
use http::header::ACCEPT;

/// Which kinds of answers a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Accepted {
    /// What the `Accept` headers say. Without any, HTTP means anything.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut accepted = Self { json: false, events: false };
        let mut any = false;
        for value in headers.get_all(ACCEPT) {
            any = true;
            // What is no text names nothing that we have.
            for range in value.to_str().unwrap_or_default().split(',') {
                accepted.take(range);
            }
        }
        if any { accepted } else { Self { json: true, events: true } }
    }

    fn take(&mut self, range: &str) {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let refused = |part: &str| {
            part.strip_prefix("q=").is_some_and(|q| q.parse::<f32>().is_ok_and(|quality| quality <= 0.0))
        };
        if parts.any(refused) {
            return;
        }
        let is = |name: &str| kind.eq_ignore_ascii_case(name);
        self.json |= is("application/json") || is("application/*") || is("*/*");
        self.events |= is("text/event-stream") || is("text/*") || is("*/*");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_takes_is_what_it_names() {
        for (header, json, events) in [
            ("application/json, text/event-stream", true, true),
            ("text/event-stream, application/json", true, true),
            ("Application/JSON; charset=utf-8", true, false),
            ("text/event-stream;q=0.5", false, true),
            ("application/json;q=0, text/event-stream", false, true),
            ("*/*", true, true),
            ("text/html", false, false),
            ("", false, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, header.parse().unwrap());
            assert_eq!(Accepted::of(&headers), Accepted { json, events }, "{header}");
        }
        assert_eq!(Accepted::of(&HeaderMap::new()), Accepted { json: true, events: true });
    }
}
