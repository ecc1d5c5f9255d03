//! Models that answer, complain, point elsewhere, repeat the key, or say nothing.

use std::time::Duration;

use serde_json::json;
use sortie_detect::{Cost, Prices};
use sortie_judge::{
    Allowance, Budget, BudgetError, EndpointError, EndpointKind, Exchanges, Model, ModelEndpoint, ModelError,
    ModelOptions, Parameter, Secret, Usage,
};

use crate::stage::{Does, KEY, Scripted, chat, model, prompt, quick, within};

#[tokio::test]
async fn a_chat_endpoint_is_asked_as_it_expects() {
    let scripted = Scripted::start(|_, _| Does::says("yes")).await;
    let said = within(scripted.model().ask(&prompt("Well?"), "a test", 2)).await.unwrap();
    assert_eq!((said.text.as_str(), said.model.as_str(), said.attempts), ("yes", "scripted-1", 1));
    assert_eq!(said.usage, Some(Usage { input_tokens: 20, output_tokens: 5 }));
    assert!(said.live && !said.cut);
    let asked = &scripted.asked()[0];
    assert_eq!(asked.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(
        asked.body,
        json!({
            "model": "scripted",
            "messages": [
                {"role": "system", "content": "You are a test."},
                {"role": "user", "content": "Well?"},
            ],
            "max_tokens": 100,
            "seed": 2,
            "temperature": 0,
        })
    );
}

#[tokio::test]
async fn an_anthropic_endpoint_is_asked_as_it_expects() {
    let body = json!({
        "model": "scripted-2",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}],
        "stop_reason": "max_tokens",
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5},
    });
    let scripted = Scripted::start(move |_, _| Does::status(200, &body)).await;
    let base = scripted.url.trim_end_matches("/v1");
    let mut endpoint = ModelEndpoint::new(EndpointKind::Anthropic, base, "scripted");
    endpoint.without = vec![Parameter::Temperature];
    endpoint.extra.insert("thinking".to_owned(), json!({"type": "disabled"}));
    let model = model(endpoint, Budget::default(), Exchanges::transient());
    let said = within(model.ask(&prompt("Well?"), "a test", 2)).await.unwrap();
    assert_eq!((said.text.as_str(), said.model.as_str(), said.cut), ("yes", "scripted-2", true));
    assert_eq!(said.usage, Some(Usage { input_tokens: 7, output_tokens: 5 }));
    let asked = &scripted.asked()[0];
    assert_eq!(asked.headers["x-api-key"], KEY);
    assert_eq!(asked.headers["anthropic-version"], "2023-06-01");
    assert!(!asked.headers.contains_key("authorization"));
    assert_eq!(
        asked.body,
        json!({
            "model": "scripted",
            "system": "You are a test.",
            "messages": [{"role": "user", "content": "Well?"}],
            "max_tokens": 100,
            "thinking": {"type": "disabled"},
        })
    );
}

#[tokio::test]
async fn an_endpoint_in_trouble_is_asked_again() {
    let scripted = Scripted::start(|_, count| match count {
        0 => Does::status(500, "oops"),
        1 => Does::Answers { status: 429, headers: vec![("retry-after", "0".to_owned())], body: vec![] },
        _ => Does::says("at last"),
    })
    .await;
    let budget = Budget::default();
    let model = scripted.model_with(budget.clone(), Exchanges::transient());
    let said = within(model.ask(&prompt("Well?"), "a test", 0)).await.unwrap();
    assert_eq!((said.text.as_str(), said.attempts), ("at last", 3));
    assert_eq!((budget.spent().calls, budget.spent().tokens()), (3, 25));
}

#[tokio::test]
async fn an_endpoint_that_wants_to_be_left_alone_for_long_is() {
    let scripted = Scripted::start(|_, _| Does::Answers {
        status: 429,
        headers: vec![("retry-after", "3600".to_owned())],
        body: vec![],
    })
    .await;
    let error = within(scripted.model().ask(&prompt("Well?"), "a test", 0)).await.unwrap_err();
    assert!(matches!(error, ModelError::RateLimited { attempts: 1, retry_after: Some(3600) }), "{error}");
    assert_eq!(scripted.asked().len(), 1);
}

#[tokio::test]
async fn a_wrong_key_is_not_tried_twice_and_not_repeated() {
    // Some endpoints say which key it was.
    let complaint = json!({"error": {"message": format!("no such key: {KEY}")}});
    let scripted = Scripted::start(move |_, _| Does::status(401, &complaint)).await;
    let error = within(scripted.model().ask(&prompt("Well?"), "a test", 0)).await.unwrap_err();
    assert_eq!(error.to_string(), "the endpoint refuses the key (status 401): no such key: [redacted]");
    assert!(!format!("{error:?} {:?}", scripted.model()).contains(KEY));
    assert_eq!(scripted.asked().len(), 1);
}

#[tokio::test]
async fn a_key_does_not_follow_a_redirect() {
    let elsewhere = Scripted::start(|_, _| Does::says("got it")).await;
    let location = format!("{}/chat/completions", elsewhere.url);
    let scripted = Scripted::start(move |_, _| Does::Answers {
        status: 307,
        headers: vec![("location", location.clone())],
        body: vec![],
    })
    .await;
    let error = within(scripted.model().ask(&prompt("Well?"), "a test", 0)).await.unwrap_err();
    assert!(matches!(error, ModelError::Redirected(307)), "{error}");
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn answers_that_are_none_are_told_apart() {
    let long = "x".repeat(5000);
    let refusal = json!({"choices": [{"message": {"refusal": "I would rather not."}}]});
    let filtered = json!({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]});
    let cases = [
        (
            Does::status(200, "not JSON at all"),
            "the endpoint answers something else: no JSON, but `not JSON at all`",
        ),
        (Does::status(200, "{}"), "the endpoint answers something else: it has no `choices`"),
        (
            Does::status(200, json!({"choices": [{"message": {}}]})),
            "the endpoint answers something else: its message has no text in `content`",
        ),
        (Does::status(200, long), "the endpoint's answer is longer than 4096 bytes"),
        (Does::status(200, refusal), "the model declines: I would rather not."),
        (Does::status(200, filtered), "the model declines: finish_reason is content_filter"),
        (
            Does::status(404, json!({"error": {"message": "no such\nmodel"}})),
            "the endpoint refuses the request (status 404): no such model",
        ),
        (Does::status(503, ""), "the endpoint fails with status 503, asked 4 times: an empty body"),
        (
            Does::Answers {
                status: 200,
                headers: vec![("content-type", "text/event-stream".to_owned())],
                body: b"data: {}\n\n".to_vec(),
            },
            "the endpoint answers something else: a stream, which was not asked for",
        ),
    ];
    for (does, expected) in cases {
        let scripted = Scripted::start(move |_, _| does.clone()).await;
        let options = ModelOptions { answer_bytes: 4096, ..quick() };
        let model = Model::new(scripted.endpoint(), None, options, Budget::default(), Exchanges::transient())
            .unwrap();
        let error = within(model.ask(&prompt("Well?"), "a test", 0)).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn silence_ends_with_the_timeout_and_absence_at_once() {
    let scripted = Scripted::start(|_, _| Does::Waits).await;
    let mut options = ModelOptions { answer_timeout: Duration::from_millis(50), ..quick() };
    options.retry.attempts = 2;
    let make =
        |endpoint| Model::new(endpoint, None, options, Budget::default(), Exchanges::transient()).unwrap();
    let error = within(make(scripted.endpoint()).ask(&prompt("Well?"), "a test", 0)).await.unwrap_err();
    assert!(matches!(error, ModelError::TimedOut { attempts: 2 }), "{error}");
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = ModelEndpoint::new(EndpointKind::OpenAi, format!("http://{free}/v1"), "m");
    let error = within(make(nobody).ask(&prompt("Well?"), "a test", 0)).await.unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_tasks_share_a_budget_of_ten_calls() {
    let scripted = Scripted::start(|_, _| Does::says("yes")).await;
    let budget = Budget::new(Allowance { calls: Some(10), ..Allowance::default() });
    let model = scripted.model_with(budget.clone(), Exchanges::transient());
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let model = model.clone();
            tokio::spawn(async move { model.ask(&prompt(&format!("{number}?")), "a test", 0).await })
        })
        .collect();
    let mut refused = 0;
    for task in tasks {
        match within(task).await.unwrap() {
            Ok(_) => {}
            Err(ModelError::Budget(BudgetError::Calls(10))) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((refused, scripted.asked().len(), budget.spent().calls), (40, 10, 10));
    assert_eq!(budget.exhausted(), Some(BudgetError::Calls(10)));
}

#[tokio::test]
async fn cost_is_counted_in_whole_numbers_and_limited() {
    let scripted = Scripted::start(|_, _| Does::says("yes")).await;
    let mut endpoint = scripted.endpoint();
    let cost = Cost::new(0.003);
    let limited = || Budget::new(Allowance { cost, ..Allowance::default() });
    let unpriced = Model::new(endpoint.clone(), None, quick(), limited(), Exchanges::transient());
    assert!(matches!(unpriced, Err(ModelError::Budget(BudgetError::NoPrices))));
    endpoint.prices = Some(Prices { input_per_million: 3.0, output_per_million: 15.0 });
    let budget = limited();
    let model = model(endpoint, budget.clone(), Exchanges::transient());
    within(model.ask(&prompt("Well?"), "a test", 0)).await.unwrap();
    // 20 tokens at 3 and 5 at 15 millionths.
    assert_eq!(Some(budget.spent().cost), Cost::new(0.000_135));
    // One more may cost 0.0021 at worst; after eight, that does not fit.
    let mut asked = 1;
    let error = loop {
        match within(model.ask(&prompt("Well?"), "a test", asked)).await {
            Ok(_) => asked += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, ModelError::Budget(BudgetError::Cost { .. })), "{error}");
    assert!(asked > 3 && Some(budget.spent().cost) <= cost, "{asked} {:?}", budget.spent());
}

#[tokio::test]
async fn an_endpoint_that_does_not_count_is_charged_for_the_most_it_may_have_taken() {
    let mut body = chat("yes");
    body.as_object_mut().unwrap().remove("usage");
    let scripted = Scripted::start(move |_, _| Does::status(200, &body)).await;
    let budget = Budget::default();
    let model = scripted.model_with(budget.clone(), Exchanges::transient());
    within(model.ask(&prompt("Well?"), "a test", 0)).await.unwrap();
    let request = scripted.asked()[0].body.to_string();
    assert_eq!((budget.spent().input_tokens, budget.spent().output_tokens), (request.len() as u64, 100));
}

#[test]
fn endpoints_that_would_give_a_key_away_are_refused() {
    let url = |base: &str, key| ModelEndpoint::new(EndpointKind::OpenAi, base, "m").url(key);
    assert_eq!(url("http://127.0.0.1:1/v1/", true).unwrap(), "http://127.0.0.1:1/v1/chat/completions");
    assert!(url("http://localhost/v1", true).is_ok());
    assert!(url("http://[::1]:8/v1", true).is_ok());
    assert!(url("https://models.example/v1", true).is_ok());
    assert!(url("http://models.example/v1", false).is_ok());
    assert!(matches!(url("http://models.example/v1", true), Err(EndpointError::KeyInTheClear(_))));
    assert_eq!(url("https://me:pw@models.example/v1", true), Err(EndpointError::MoreThanAPlace));
    assert_eq!(url("https://models.example/v1?key=abc", true), Err(EndpointError::MoreThanAPlace));
    assert_eq!(
        url("ftp://u:pw@models.example", true),
        Err(EndpointError::NotHttp("ftp://models.example".into()))
    );
    let mut endpoint = ModelEndpoint::new(EndpointKind::OpenAi, "https://models.example", "m");
    endpoint.extra.insert("messages".into(), json!([]));
    assert_eq!(endpoint.url(true), Err(EndpointError::Taken("messages".into())));
    assert!(Secret::new("ab").is_err() && Secret::new("with space").is_err());
}
