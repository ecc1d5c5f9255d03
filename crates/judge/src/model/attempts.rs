//! Asking: budget, cache, attempts.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use sortie_trace::{RedactRule, Redactor};
use sortie_wire::Limits;
use sortie_wire::http::{Answer, Client, ClientError, ClientOptions, Response};

use super::reply::{Lost, Reply};
use super::retry::{self, RetryPolicy};
use super::{Completion, ModelError, Prompt, dialect};
use crate::exchanges::{ExchangeMode, ExchangeSource, Key};
use crate::{Budget, BudgetError, EndpointKind, Exchanges, ModelEndpoint, PROMPT_VERSION, Secret};
use sortie_detect::{Cost, Provenance, Spent};

/// The version of messages that is spoken with Anthropic.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// How a model is asked.
#[derive(Clone, Copy, Debug)]
pub struct ModelOptions {
    /// How long a connection may take. 10 s.
    pub connect_timeout: Duration,
    /// How long an answer may take, all of it. 1 min.
    pub answer_timeout: Duration,
    /// Bytes of an answer. 1 MiB.
    pub answer_bytes: usize,
    /// When to ask again.
    pub retry: RetryPolicy,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_mins(1),
            answer_bytes: 1 << 20,
            retry: RetryPolicy::default(),
        }
    }
}

/// How many equal questions one attempt may ask: votes, mostly.
const ORDINALS: u32 = 1_000;

/// A model at an endpoint, with its key, its budget and its cache. Clones share all of it.
#[derive(Clone)]
pub struct Model(Arc<Inner>, u32);

struct Inner {
    endpoint: ModelEndpoint,
    url: String,
    /// Only a live run has one: a replay cannot even try.
    client: Option<Client>,
    /// Takes the key out of what comes back: an endpoint may repeat it in its complaints.
    redactor: Redactor,
    options: ModelOptions,
    budget: Budget,
    exchanges: Exchanges,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("endpoint", &self.0.endpoint).finish_non_exhaustive()
    }
}

impl Model {
    /// Checks the endpoint, and connects to nothing yet. The key goes to this endpoint and nowhere else; it is not needed for
    /// a replay.
    pub fn new(
        endpoint: ModelEndpoint,
        key: Option<&Secret>,
        options: ModelOptions,
        budget: Budget,
        exchanges: Exchanges,
    ) -> Result<Self, ModelError> {
        let url = endpoint.url(key.is_some())?;
        if budget.limits_cost() && endpoint.prices.and_then(|prices| prices.cost(0, 0)).is_none() {
            return Err(ModelError::Budget(BudgetError::NoPrices));
        }
        let client = match exchanges.mode() {
            ExchangeMode::Replay => None,
            ExchangeMode::Live { .. } => Some(client(endpoint.kind, key, &options)?),
        };
        let rules = key.map(|key| RedactRule::Literal(key.expose().to_owned()));
        // A `Secret` is long enough for a rule.
        let redactor = Redactor::new(rules).unwrap_or_default();
        Ok(Self(Arc::new(Inner { endpoint, url, client, redactor, options, budget, exchanges }), 0))
    }

    /// Where it is.
    pub fn endpoint(&self) -> &ModelEndpoint {
        &self.0.endpoint
    }

    /// Who answers, under the name that it gives itself, where it did.
    pub(crate) fn provenance(&self, named: Option<String>) -> Provenance {
        let endpoint = self.endpoint();
        let model = named.unwrap_or_else(|| endpoint.model.clone());
        Provenance {
            engine: "model".to_owned(),
            endpoint: endpoint.identity(),
            model,
            version: PROMPT_VERSION,
        }
    }

    /// The same model for an attempt at cases, from one. Equal questions of two attempts have answers of their own: what was said in
    /// one attempt must not decide another.
    #[must_use]
    pub fn for_attempt(&self, attempt: u32) -> Self {
        Self(self.0.clone(), attempt.saturating_sub(1).saturating_mul(ORDINALS))
    }

    /// What it may spend.
    pub fn budget(&self) -> &Budget {
        &self.0.budget
    }

    /// Asks it, or takes what it answered when it was recorded.
    ///
    /// `purpose` says to people what the question is for. `ordinal` keeps equal questions apart that are to have
    /// answers of their own.
    pub async fn ask(&self, prompt: &Prompt, purpose: &str, ordinal: u32) -> Result<Completion, ModelError> {
        let inner = &*self.0;
        let ordinal = ordinal.saturating_add(self.1);
        let request = dialect::request(&inner.endpoint, prompt, ordinal);
        let key = Key::new(inner.endpoint.identity(), &request, ordinal);
        let spread = key.digest().number();
        let most = inner.most(&request, prompt)?;
        let live = || async move { Ok(inner.attempt(&request, most, spread).await?.into_outcome()) };
        let exchanged = inner.exchanges.exchange::<ModelError, _>(key, purpose, live).await?;
        let reply = Reply::from_outcome(exchanged.outcome)?;
        if exchanged.source == ExchangeSource::Recorded {
            inner.account_recorded(&reply, most).await?;
        }
        reply.completion(inner.endpoint.kind, exchanged.source == ExchangeSource::Live)
    }
}

impl Inner {
    /// The most that one attempt may take. A token is at least a byte, so a request has no more tokens than bytes.
    fn most(&self, request: &Value, prompt: &Prompt) -> Result<Spent, ModelError> {
        let input_tokens = request.to_string().len() as u64;
        let output_tokens = u64::from(prompt.max_output_tokens);
        Ok(Spent { calls: 1, input_tokens, output_tokens, cost: self.cost(input_tokens, output_tokens)? })
    }

    fn cost(&self, input: u64, output: u64) -> Result<Cost, BudgetError> {
        match self.endpoint.prices.and_then(|prices| prices.cost(input, output)) {
            Some(cost) => Ok(cost),
            None if self.budget.limits_cost() => Err(self.budget.refuse(BudgetError::NoPrices)),
            None => Ok(Cost::default()),
        }
    }

    /// What an answer took: as it says itself, or else the most that it may have.
    fn taken(&self, reply: &Reply, most: Spent) -> Spent {
        match dialect::usage(self.endpoint.kind, &reply.body) {
            Some(usage) => Spent {
                calls: 1,
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                cost: self.cost(usage.input_tokens, usage.output_tokens).unwrap_or(most.cost),
            },
            // Refusals are free. What was lost on its way may have been charged.
            None if reply.lost.is_none() && !reply.is_success() => Spent { calls: 1, ..Spent::default() },
            None if matches!(reply.lost, Some(Lost::Unreachable(_))) => {
                Spent { calls: 1, ..Spent::default() }
            }
            None => most,
        }
    }

    /// A replay spends what the run spent that it repeats, so that it ends where that one ended. What a live run finds
    /// costs nothing.
    async fn account_recorded(&self, reply: &Reply, most: Spent) -> Result<(), BudgetError> {
        match self.exchanges.mode() {
            ExchangeMode::Live { .. } => self.budget.count_reused(),
            ExchangeMode::Replay => {
                let reservation = self.budget.reserve(reply.earlier.plus(most)).await?;
                reservation.settle(reply.earlier.plus(self.taken(reply, most)));
            }
        }
        Ok(())
    }

    /// Sends a request until it is answered or there is no point in asking again.
    async fn attempt(&self, request: &Value, most: Spent, spread: u64) -> Result<Reply, ModelError> {
        let body = Bytes::from(request.to_string());
        let mut attempts = 0;
        let mut earlier = Spent::default();
        loop {
            attempts += 1;
            let reservation = self.budget.reserve(most).await?;
            let (reply, asked) = self.once(body.clone(), attempts).await;
            let taken = self.taken(&reply, most);
            reservation.settle(taken);
            let reply = Reply { earlier, ..reply };
            earlier = earlier.plus(taken);
            if !may_be_asked_again(&reply) {
                return Ok(reply);
            }
            match self.options.retry.wait(attempts, asked, spread) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Ok(reply),
            }
        }
    }

    /// Sends a request once.
    async fn once(&self, body: Bytes, attempts: u32) -> (Reply, Option<Duration>) {
        let lost = |lost| (Reply { lost: Some(lost), ..Reply::new(attempts) }, None);
        let Some(client) = &self.client else {
            return lost(Lost::Unreachable("a replay contacts no model".to_owned()));
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        match client.post(&self.url, headers, body).await {
            Ok(response) => self.read(response, attempts),
            Err(ClientError::TimedOut) => lost(Lost::TimedOut),
            Err(ClientError::TooLong(bound)) => lost(Lost::TooLarge(bound)),
            Err(ClientError::Refused(why) | ClientError::Invalid(why)) => {
                lost(Lost::Unreachable(self.redactor.text(&why).into_owned()))
            }
            Err(ClientError::Broken(why)) => lost(Lost::Broken(self.redactor.text(&why).into_owned())),
        }
    }

    fn read(&self, response: Response, attempts: u32) -> (Reply, Option<Duration>) {
        let asked = retry::retry_after(&response.headers, SystemTime::now());
        let status = response.status.as_u16();
        let retry_after = asked.map(|asked| asked.as_secs());
        let mut reply = Reply { status: Some(status), retry_after, ..Reply::new(attempts) };
        match response.body {
            Answer::Bytes(bytes) => reply.body = self.body(&bytes),
            Answer::Events(_) => {
                reply.lost = Some(Lost::Broken("a stream, which was not asked for".to_owned()));
            }
        }
        (reply, asked)
    }

    /// A body without the key: JSON as JSON, anything else as text.
    fn body(&self, bytes: &[u8]) -> Value {
        let text = String::from_utf8_lossy(bytes);
        let redacted = self.redactor.json(&text);
        serde_json::from_str(&redacted)
            .unwrap_or_else(|_| Value::String(self.redactor.text(&text).into_owned()))
    }
}

/// Whether the same request may have better luck later.
fn may_be_asked_again(reply: &Reply) -> bool {
    match (&reply.lost, reply.status) {
        (Some(Lost::TooLarge(_)), _) => false,
        // Who says nothing twice is not there, and each time costs a minute.
        (Some(Lost::TimedOut), _) => reply.attempts < 2,
        (Some(_), _) => true,
        (None, status) => matches!(status, Some(408 | 425 | 429 | 500..=599)),
    }
}

fn client(kind: EndpointKind, key: Option<&Secret>, options: &ModelOptions) -> Result<Client, ModelError> {
    let mut headers = Vec::new();
    match kind {
        EndpointKind::OpenAi => {
            headers.extend(key.map(|key| (AUTHORIZATION, format!("Bearer {}", key.expose()))));
        }
        EndpointKind::Anthropic => {
            headers.push((HeaderName::from_static("anthropic-version"), ANTHROPIC_VERSION.to_owned()));
            headers.extend(key.map(|key| (HeaderName::from_static("x-api-key"), key.expose().to_owned())));
        }
    }
    let headers = headers
        .into_iter()
        // Visible letters of ASCII, as a `Secret` is.
        .filter_map(|(name, value)| Some((name, HeaderValue::from_str(&value).ok()?)))
        .collect();
    let limits = Limits { message_bytes: options.answer_bytes, ..Limits::default() };
    let (connect_timeout, answer_timeout) = (options.connect_timeout, options.answer_timeout);
    Client::new(ClientOptions { headers, connect_timeout, answer_timeout, limits })
        .map_err(|error| ModelError::Unreachable(error.to_string()))
}
