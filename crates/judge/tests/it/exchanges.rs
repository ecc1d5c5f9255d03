//! What was said is kept, whole, and told again.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use sortie_judge::exchanges::{
    Bounds, ExchangeError, ExchangeMode, ExchangeOutcome, Exchanged, Key, Miss, Near,
};
use sortie_judge::{Budget, Exchanges, ModelError};

use crate::stage::{Does, KEY, Scripted, model, prompt, within};

const LIVE: ExchangeMode = ExchangeMode::Live { reuse: false };
const REUSE: ExchangeMode = ExchangeMode::Live { reuse: true };

fn open(path: &Path, mode: ExchangeMode) -> Exchanges {
    Exchanges::open(path, mode, Bounds::default()).unwrap()
}

fn refused(path: &Path, mode: ExchangeMode) -> String {
    let error = Exchanges::open(path, mode, Bounds::default()).unwrap_err().to_string();
    error.replace(path.to_str().unwrap(), "FILE")
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exchanges.jsonl");
    (folder, path)
}

fn key(request: &str, ordinal: u32) -> Key {
    Key::new("somewhere", &json!({"ask": request}), ordinal)
}

fn answer(text: &str) -> ExchangeOutcome {
    ExchangeOutcome::Answer(json!(text))
}

#[tokio::test]
async fn a_run_is_repeated_without_the_model() {
    let (_folder, path) = file();
    let scripted = Scripted::start(|_, count| match count {
        // Not whole, so it may have cost something: that is counted in a replay too.
        0 => Does::Answers {
            status: 200,
            headers: vec![("content-type", "text/event-stream".to_owned())],
            body: vec![],
        },
        1 | 2 => Does::says(format!("vote {count}")),
        _ => Does::status(400, format!("not with {KEY}")),
    })
    .await;
    let endpoint = scripted.endpoint();
    let ask = async |exchanges, budget: &Budget| {
        let model = model(endpoint.clone(), budget.clone(), exchanges);
        let mut said = Vec::new();
        for (question, ordinal) in [("A?", 0), ("A?", 1), ("B?", 0), ("A?", 0)] {
            let answer = within(model.ask(&prompt(question), "a test", ordinal)).await;
            said.push(answer.map_or_else(|error| error.to_string(), |answer| answer.text));
        }
        said
    };
    let (lived, replayed) = (Budget::default(), Budget::default());
    let first = ask(open(&path, LIVE), &lived).await;
    let refusal = "the endpoint refuses the request (status 400): not with [redacted]";
    assert_eq!(first, ["vote 1", "vote 2", refusal, "vote 1"]);
    assert_eq!(scripted.asked().len(), 4);
    drop(scripted);
    assert_eq!(ask(open(&path, ExchangeMode::Replay), &replayed).await, first);
    assert!(lived.spent().calls == 4 && lived.spent().tokens() > 200, "{:?}", lived.spent());
    assert_eq!(replayed.spent(), lived.spent());
    let written = fs::read_to_string(&path).unwrap();
    assert_eq!(written.lines().count(), 4);
    assert!(!written.contains(KEY));
}

#[tokio::test]
async fn a_live_run_uses_earlier_answers_only_when_asked_and_failures_never() {
    let (_folder, path) = file();
    let scripted = Scripted::start(|asked, count| match asked.question() {
        "broken?" => Does::status(400, "no"),
        _ => Does::says(count),
    })
    .await;
    let ask = async |mode| {
        let budget = Budget::default();
        let model = scripted.model_with(budget.clone(), open(&path, mode));
        let said = within(model.ask(&prompt("count?"), "a test", 0)).await.unwrap().text;
        assert!(within(model.ask(&prompt("broken?"), "a test", 0)).await.is_err());
        (said, budget.spent().calls, budget.reused())
    };
    assert_eq!(ask(LIVE).await, ("0".to_owned(), 2, 0));
    assert_eq!(ask(LIVE).await, ("2".to_owned(), 2, 0));
    assert_eq!(ask(REUSE).await, ("2".to_owned(), 1, 1));
    // What was said last is what is replayed.
    assert_eq!(ask(ExchangeMode::Replay).await.0, "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_questions_at_the_same_time_are_one() {
    let (_folder, path) = file();
    let scripted = Scripted::start(|_, count| Does::says(count)).await;
    let model = scripted.model_with(Budget::default(), open(&path, LIVE));
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let model = model.clone();
            tokio::spawn(async move { model.ask(&prompt("A?"), "a test", number % 2).await.unwrap().text })
        })
        .collect();
    let mut said = Vec::new();
    for task in tasks {
        said.push(within(task).await.unwrap());
    }
    assert_eq!(scripted.asked().len(), 2);
    assert_eq!(said.iter().filter(|text| *text == "0").count(), 10);
}

#[tokio::test]
async fn a_miss_names_what_is_missing_and_what_differs() {
    let (_folder, path) = file();
    let store = open(&path, LIVE);
    store.record(&key("Is the sky blue today?", 0), "judge sky", answer("yes")).unwrap();
    store.record(&key("What about grass?", 0), "judge grass", answer("no")).unwrap();
    drop(store);
    let store = open(&path, ExchangeMode::Replay);
    let miss = async |key: Key| {
        let asked: Result<Exchanged, ExchangeError> =
            store.exchange(key, "judge sky", || async { unreachable!("a replay contacts no model") }).await;
        asked.unwrap_err().to_string()
    };
    assert_eq!(
        miss(key("Is the sky green today?", 0)).await,
        "not recorded: judge sky, asking somewhere; the request recorded for judge sky has `…s the sky blue today?` \
         at `/ask`, this one `…s the sky green today?`"
    );
    assert_eq!(
        miss(key("Is the sky blue today?", 3)).await,
        "not recorded: judge sky, asking somewhere (ordinal 3); the same request is recorded for ordinal 0"
    );
    assert_eq!(
        miss(Key { endpoint: "elsewhere".into(), ..key("Is the sky blue today?", 0) }).await,
        "not recorded: judge sky, asking elsewhere; recorded are exchanges with somewhere"
    );
    assert_eq!(
        miss(Key::new("somewhere", &json!({"ask": "Is the sky blue today?", "n": 2}), 0)).await,
        "not recorded: judge sky, asking somewhere; the request recorded for judge sky has `nothing` at `/n`, this \
         one `2`"
    );
}

#[tokio::test]
async fn a_model_that_was_not_recorded_is_an_error_that_says_so() {
    let (_folder, path) = file();
    let scripted = Scripted::start(|_, _| Does::says("yes")).await;
    within(scripted.model_with(Budget::default(), open(&path, LIVE)).ask(&prompt("A?"), "judge a", 0))
        .await
        .unwrap();
    let model = scripted.model_with(Budget::default(), open(&path, ExchangeMode::Replay));
    let error = within(model.ask(&prompt("B?"), "judge a", 0)).await.unwrap_err();
    let ModelError::Store(ExchangeError::Missing(miss)) = error else { panic!("{error}") };
    let Miss { purpose, near: Near::Request { at, .. }, .. } = *miss else { panic!("{miss:?}") };
    assert_eq!((purpose.as_str(), at.as_str()), ("judge a", "/messages/1/content"));
    assert_eq!(scripted.asked().len(), 1);
}

#[test]
fn half_a_line_is_what_a_crash_leaves_and_is_cut_off() {
    let (_folder, path) = file();
    let store = open(&path, LIVE);
    store.record(&key("one", 0), "a test", answer("1")).unwrap();
    store.record(&key("two", 0), "a test", answer("2")).unwrap();
    drop(store);
    let whole = fs::read(&path).unwrap();
    for cut in (whole.len() - 30)..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        assert_eq!(open(&path, ExchangeMode::Replay).len(), 1, "a replay leaves the file alone");
        assert_eq!(fs::read(&path).unwrap().len(), cut);
        let store = open(&path, LIVE);
        assert_eq!(
            (store.find(&key("one", 0)).unwrap(), store.find(&key("two", 0)).unwrap()),
            (Some(answer("1")), None)
        );
        store.record(&key("two", 0), "a test", answer("2")).unwrap();
        drop(store);
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn a_file_that_is_not_ours_is_left_alone() {
    let (_folder, path) = file();
    assert!(refused(&path, ExchangeMode::Replay).starts_with("FILE: No such file"));
    let header = "{\"format\":\"sortie-exchanges\",\"version\":1}\n";
    for (content, expected) in [
        ("a diary\n", "FILE is not a file of exchanges"),
        ("", "FILE is not a file of exchanges"),
        (
            "{\"format\":\"sortie-exchanges\",\"version\":2}\n",
            "FILE has version 2, and this is version 1; record it again",
        ),
        (&format!("{header}{{}}\n"), "FILE:2 is not an exchange"),
        (
            &format!(
                "{header}{{\"endpoint\":\"e\",\"purpose\":\"p\",\"ordinal\":0,\"request\":{{\"json\":1}}}}\n"
            ),
            "FILE:2 is not an exchange",
        ),
    ] {
        fs::write(&path, content).unwrap();
        assert_eq!(refused(&path, ExchangeMode::Replay), expected);
        if !content.is_empty() {
            assert_eq!(refused(&path, LIVE), expected);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}

#[test]
fn a_store_has_one_writer_and_an_end() {
    let (_folder, path) = file();
    let bounds = Bounds { exchange_bytes: 200, file_bytes: 300 };
    let store = Exchanges::open(&path, LIVE, bounds).unwrap();
    assert_eq!(refused(&path, LIVE), "FILE is in use by another run");
    assert_eq!(refused(&path, ExchangeMode::Replay), "FILE is in use by another run");
    let large = store.record(&key(&"x".repeat(300), 0), "a test", answer("1")).unwrap_err();
    assert!(matches!(large, ExchangeError::TooLarge { bound: 200, .. }));
    store.record(&key("1", 0), "a test", answer("1")).unwrap();
    store.record(&key("2", 0), "a test", answer("2")).unwrap();
    let full = store.record(&key("3", 0), "a test", answer("3")).unwrap_err();
    assert!(matches!(full, ExchangeError::Full { bound: 300, .. }), "{full}");
    drop(store);
    assert_eq!(open(&path, ExchangeMode::Replay).len(), 2);
}

#[test]
fn failures_are_kept_and_keys_do_not_depend_on_order() {
    let (_folder, path) = file();
    let store = open(&path, LIVE);
    let failure = ExchangeOutcome::Failure(json!("no\u{0} answer\n"));
    store.record(&key("A?", 0), "case 1", failure.clone()).unwrap();
    drop(store);
    assert_eq!(open(&path, ExchangeMode::Replay).find(&key("A?", 0)).unwrap(), Some(failure));
    let one = Key::new("e", &json!({"a": {"x": 1, "y": 2}, "b": 3}), 0);
    let two = Key::new("e", &json!({"b": 3, "a": {"y": 2, "x": 1}}), 0);
    assert_eq!(one.digest(), two.digest());
    // No part can be moved into its neighbour.
    let number = |endpoint: &str, request: u32| Key::new(endpoint, &json!(request), 0).digest();
    assert_ne!(number("e1", 2), number("e", 12));
}

#[tokio::test]
async fn a_cache_is_shared_by_runs_that_can_each_be_replayed_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let scripted = Scripted::start(|_, count| match count {
        0 => Does::says("the first"),
        _ => Does::status(400, "no more"),
    })
    .await;
    let endpoint = scripted.endpoint();
    let ask = async |exchanges: Exchanges| {
        let model = model(endpoint.clone(), Budget::default(), exchanges);
        let mut said = Vec::new();
        for question in ["A?", "B?"] {
            let answer = within(model.ask(&prompt(question), "a test", 0)).await;
            said.push(answer.is_ok_and(|answer| answer.text == "the first"));
        }
        said
    };
    let run = |name: &str| {
        let cache = open(&at("cache.jsonl"), REUSE);
        Exchanges::open_with(at(name), REUSE, Bounds::default(), Some(cache)).unwrap()
    };
    assert_eq!(ask(run("one.jsonl")).await, [true, false]);
    assert_eq!(scripted.asked().len(), 2);
    // The answer is used again; the failure is not.
    assert_eq!(ask(run("two.jsonl")).await, [true, false]);
    assert_eq!(scripted.asked().len(), 3);
    fs::remove_file(at("cache.jsonl")).unwrap();
    for name in ["one.jsonl", "two.jsonl"] {
        assert_eq!(ask(open(&at(name), ExchangeMode::Replay)).await, [true, false], "{name}");
    }
    assert_eq!(scripted.asked().len(), 3);
}
