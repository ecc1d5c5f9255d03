//! Which kinds of answers a client takes.

use http::HeaderMap;
use http::header::ACCEPT;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) json: bool,
    pub(super) events: bool,
    /// It names events before JSON. The order of these names says nothing to HTTP, but the client had to choose one.
    pub(super) events_first: bool,
}

impl Accepted {
    /// What the `Accept` headers say. Without any, HTTP means anything.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut accepted = Self { json: false, events: false, events_first: false };
        let mut any = false;
        for value in headers.get_all(ACCEPT) {
            any = true;
            // What is no text names nothing that we have.
            for range in value.to_str().unwrap_or_default().split(',') {
                accepted.take(range);
            }
        }
        if any { accepted } else { Self { json: true, events: true, events_first: false } }
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
        self.events_first |= self.events && !self.json;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_takes_is_what_it_names() {
        for (header, json, events, events_first) in [
            ("application/json, text/event-stream", true, true, false),
            ("text/event-stream, application/json", true, true, true),
            ("Application/JSON; charset=utf-8", true, false, false),
            ("text/event-stream;q=0.5", false, true, true),
            ("application/json;q=0, text/event-stream", false, true, true),
            ("*/*", true, true, false),
            ("text/html", false, false, false),
            ("", false, false, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, header.parse().unwrap());
            assert_eq!(Accepted::of(&headers), Accepted { json, events, events_first }, "{header}");
        }
        assert_eq!(
            Accepted::of(&HeaderMap::new()),
            Accepted { json: true, events: true, events_first: false }
        );
    }
}
