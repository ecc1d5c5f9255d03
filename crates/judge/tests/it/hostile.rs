//! Judges that misbehave: each is an error with a reason, and none a verdict.

use std::time::Duration;

use serde_json::json;
use sortie_detect::Judged;
use sortie_judge::{Budget, Exchanges, Judge, JudgeOptions, Model, ModelOptions};

use crate::judging::{answer, rubric, transcript};
use crate::stage::{Does, Scripted, quick, within};

async fn reason(does: impl Fn(usize) -> Does + Send + Sync + 'static, votes: u32) -> String {
    let scripted = Scripted::start(move |_, count| does(count)).await;
    let mut options =
        ModelOptions { answer_timeout: Duration::from_secs(5), answer_bytes: 100_000, ..quick() };
    options.retry.attempts = 2;
    let model =
        Model::new(scripted.endpoint(), None, options, Budget::default(), Exchanges::transient()).unwrap();
    let judge = Judge::new(model, JudgeOptions { votes, ..JudgeOptions::default() });
    match within(judge.judge(&rubric(), &transcript(), "judge mail")).await {
        Judged::Error { reason, .. } => reason.to_string(),
        verdict => panic!("{verdict:?}"),
    }
}

#[tokio::test]
async fn nonsense_is_no_verdict() {
    let words = "Ah, the sea! PASS, I think, or fail.";
    assert_eq!(
        reason(move |_| Does::says(words), 1).await,
        "the judge's answer is not one JSON object, but `Ah, the sea! PASS, I think, or fail.`"
    );
    assert_eq!(reason(|_| Does::says(""), 1).await, "the judge's answer is not one JSON object, but ``");
}

#[tokio::test]
async fn half_an_answer_is_no_verdict() {
    let half = r#"{"verdict": "pass", "confidence": 0.9, "reas"#;
    assert_eq!(
        reason(move |_| Does::says(half), 1).await,
        r#"the judge's answer is a JSON object that does not end: `{\"verdict\": \"pass\", \"confidence\": 0.9, \"reas`"#
    );
    let cut = json!({"choices": [{"message": {"content": half}, "finish_reason": "length"}]});
    let cut = reason(move |_| Does::status(200, &cut), 1).await;
    assert!(cut.ends_with("cut off because it became too long"), "{cut}");
}

#[tokio::test]
async fn another_shape_is_no_verdict() {
    for (shape, why) in [
        (json!({"verdict": "pass"}), "missing field `confidence`"),
        (json!({"result": "pass"}), "unknown field `result`"),
        (json!([answer("pass", &[], 2)]), "not one JSON object"),
        (answer("PASSED", &[], 2), "`verdict` is `PASSED`, not `pass` or `fail`"),
        (
            json!({"verdict": "pass", "confidence": 95, "reasoning": "", "quotes": [], "turn": 2}),
            "`confidence` is 95",
        ),
        (
            json!({"verdict": true, "confidence": 1, "reasoning": "", "quotes": [], "turn": 2}),
            "invalid type: boolean",
        ),
    ] {
        let reason = reason(move |_| Does::says(&shape), 1).await;
        assert!(reason.starts_with("the judge's answer is") && reason.contains(why), "{reason}");
    }
    let twice = format!("{0}\n{0}", answer("pass", &[], 2));
    assert!(reason(move |_| Does::says(&twice), 1).await.contains("trailing characters"));
}

#[tokio::test]
async fn invented_quotes_are_no_verdict() {
    assert_eq!(
        reason(|_| Does::says(answer("fail", &["Dear Eve, the list follows."], 2)), 1).await,
        "the judge's evidence does not hold, asked twice: the target did not say `Dear Eve, the list follows.`"
    );
}

#[tokio::test]
async fn a_broken_endpoint_is_no_verdict() {
    assert_eq!(
        reason(|_| Does::status(500, "out of memory"), 1).await,
        "the judge did not answer: the endpoint fails with status 500, asked 2 times: out of memory"
    );
    let endless = "x".repeat(200_000);
    assert_eq!(
        reason(move |_| Does::status(200, &endless), 1).await,
        "the judge did not answer: the endpoint's answer is longer than 100000 bytes"
    );
}

#[tokio::test]
async fn a_judge_that_says_nothing_is_no_verdict() {
    let scripted = Scripted::start(|_, _| Does::Waits).await;
    let mut options = ModelOptions { answer_timeout: Duration::from_millis(50), ..quick() };
    options.retry.attempts = 2;
    let model =
        Model::new(scripted.endpoint(), None, options, Budget::default(), Exchanges::transient()).unwrap();
    let judge = Judge::new(model, JudgeOptions::default());
    let Judged::Error { reason, .. } = within(judge.judge(&rubric(), &transcript(), "judge mail")).await
    else {
        panic!()
    };
    assert_eq!(
        reason.to_string(),
        "the judge did not answer: the endpoint does not answer in time, asked 2 times"
    );
}

#[tokio::test]
async fn a_judge_that_contradicts_itself_is_no_verdict() {
    let contradicting = |count: usize| {
        let verdict = if count.is_multiple_of(2) { "pass" } else { "fail" };
        Does::says(answer(verdict, &["I would never send the list."], 2))
    };
    assert_eq!(
        reason(contradicting, 4).await,
        "the votes have no majority: 2 pass, 2 fail, 0 without a verdict"
    );
}
