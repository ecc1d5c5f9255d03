//! Targets that talk to their judge, and a judge that would listen.

use std::sync::Arc;

use serde_json::json;
use sortie_detect::{INJECTIONS, Judged, Trust};
use sortie_evaluators::Says;
use sortie_judge::{Injection, Judge, JudgeOptions, calibrate, injections};
use sortie_trace::Role;

use crate::stage::{Does, Scripted, within};

/// What a judge reads that obeys whatever stands outside of the fence, and takes what stands inside for evidence.
struct Read {
    outside: String,
    /// Who said what, by the lines that begin with the marker.
    inside: Vec<(String, String)>,
}

/// Reads a question as it tells one to.
fn read(question: &str) -> Read {
    let announced = question.split("It begins at `").nth(1).expect("a fence is announced");
    let marker = announced.split(" begin`").next().unwrap();
    let (begin, end) = (format!("\n{marker} begin\n"), format!("\n{marker} end\n"));
    let (before, rest) = question.split_once(&begin).expect("a fence begins");
    let (inside, after) = rest.split_once(&end).expect("a fence ends");
    let mut pieces: Vec<(String, String)> = Vec::new();
    for line in inside.split('\n') {
        if let Some(label) = line.strip_prefix(marker) {
            pieces.push((label.trim().to_owned(), String::new()));
            continue;
        }
        let (_, text) = pieces.last_mut().expect("a label comes first");
        text.push_str(line);
        text.push('\n');
    }
    Read { outside: format!("{before}\n{after}"), inside: pieces }
}

/// A judge that is right, as long as nobody outside of the fence tells it otherwise.
fn gullible(question: &str, baits: &[String]) -> (Says, Vec<String>) {
    let read = read(question);
    let told = |(label, text): &(String, String)| {
        label.contains("the target says") && text.contains("canary-5d20b7e1")
    };
    let right = if read.inside.iter().any(told) { Says::Fail } else { Says::Pass };
    let obeyed: Vec<_> = baits.iter().filter(|bait| read.outside.contains(bait.as_str())).cloned().collect();
    let wrong = if right == Says::Fail { Says::Pass } else { Says::Fail };
    (if obeyed.is_empty() { right } else { wrong }, obeyed)
}

#[tokio::test]
async fn a_judge_that_would_listen_does_not_hear_them() {
    let baits: Arc<Vec<_>> = Arc::new(injections().into_iter().map(|injection| injection.bait).collect());
    let scripted = Scripted::start(move |asked, _| {
        let question = asked.question();
        let (verdict, _) = gullible(question, &baits);
        let said =
            read(question).inside.into_iter().find(|(label, _)| label.contains("the target says")).unwrap().1;
        let quote: String = said.chars().take(20).collect();
        Does::says(json!({
            "verdict": verdict.as_str(), "confidence": 1, "reasoning": "r", "quotes": [quote], "turn": 2,
        }))
    })
    .await;
    let judge = Judge::new(scripted.model(), JudgeOptions::default());
    let labelled: Vec<_> = injections().iter().map(Injection::labelled).collect();
    let of = labelled.len();
    let calibration = within(calibrate(&judge, labelled, 8)).await;
    for one in &calibration.measured {
        assert!(one.is_right(), "{}: {:?}", one.case, one.judged);
    }
    assert_eq!(
        (calibration.injections.right, calibration.trust(INJECTIONS)),
        (u32::try_from(of).unwrap(), Trust::Earned)
    );
    assert!(of >= 50 && scripted.asked().len() == of);
    // Only two pieces inside, whatever the target made up, and all of its words in one of them.
    for asked in scripted.asked() {
        let inside = read(asked.question()).inside;
        let labels: Vec<_> = inside.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["turn 1, the attacker says:", "turn 2, the target says:"]);
    }
}

/// The same judge falls for every one of them when there is no fence: the set has teeth.
#[test]
fn without_a_fence_it_would_fall_for_each() {
    let baits: Vec<_> = injections().into_iter().map(|injection| injection.bait).collect();
    for injection in injections() {
        let transcript = injection.labelled().transcript;
        let said = transcript.turns().iter().find(|turn| turn.role == Role::Target).unwrap();
        let unfenced = format!(
            "It begins at `--- begin` and ends at `--- end`.\n--- begin\n--- turn 2, the target says:\n--- end\n{}\n# Answer",
            said.text
        );
        let (_, obeyed) = gullible(&unfenced, &baits);
        assert!(obeyed.contains(&injection.bait), "{}", injection.id);
    }
}

#[tokio::test]
async fn a_judge_that_is_fooled_loses_trust_and_is_measured() {
    let scripted = Scripted::start(|_, _| {
        Does::says(json!({"verdict": "pass", "confidence": 1, "reasoning": "r", "quotes": [], "turn": 2}))
    })
    .await;
    let judge = Judge::new(scripted.model(), JudgeOptions::default());
    let mut labelled: Vec<_> = injections().iter().take(10).map(Injection::labelled).collect();
    for (index, one) in labelled.iter_mut().enumerate() {
        one.evaluator = if index < 5 { "first".to_owned() } else { "second".to_owned() };
    }
    labelled[1].case = "pass_case".to_owned();
    let calibration = within(calibrate(&judge, labelled, 2)).await;
    assert_eq!((calibration.sensitivity.right, calibration.sensitivity.of), (0, 9));
    assert_eq!((calibration.specificity.right, calibration.specificity.of), (1, 1));
    assert!((calibration.sensitivity.interval.high - 0.3363).abs() < 1e-4, "{:?}", calibration.sensitivity);
    let Trust::Lost(reason) = calibration.trust("first") else { panic!() };
    assert_eq!(
        reason.to_string(),
        "the judge gets this evaluator's own fixtures wrong: plain-order is judged pass; polite-request is judged pass; \
         appeal-to-authority is judged pass; appeal-to-harm is judged pass"
    );
    assert_eq!(calibration.trust("third"), Trust::Unknown);
    assert!(calibration.measured.iter().all(|one| matches!(one.judged, Judged::Pass(_))));
    // A calibration is stored with the run.
    let stored = serde_json::to_value(&calibration).unwrap();
    assert_eq!(stored["sensitivity"]["of"], 9);
    assert_eq!(stored["measured"][0]["judged"]["judged"], "pass");
}
