//! What a replay gives to the byte.

use snapbox::assert_data_eq;
use sortie_report::write_json;

use crate::mixed;

fn canonical(report: &sortie_report::Report) -> String {
    let mut text = Vec::new();
    write_json(&mut text, &report.canonical()).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn what_no_run_can_repeat_is_left_out() {
    let once = mixed::report();
    let mut again = mixed::report();
    let id = "f00dbb1f-6b1c-4a5e-9a3e-0123456789ab";
    for run in &mut again.runs {
        let text = serde_json::to_string(run).unwrap();
        let text = text.replace("0c7dbb1f-6b1c-4a5e-9a3e-0123456789ab", id).replace(":43121", ":5");
        *run = serde_json::from_str(&text).unwrap();
        run.trace = Some("runs/8/trace.jsonl".to_owned());
        run.verdict.timestamp = Some("2031-01-01T00:00:00Z".to_owned());
        for indicator in &mut run.verdict.indicator_verdicts {
            indicator.timestamp = None;
        }
    }
    let models = again.models.as_mut().unwrap();
    models.judge.as_mut().unwrap().endpoint = "http://127.0.0.1:5/v1".to_owned();
    models.spent.calls = 0;
    models.reused = 14;
    assert_ne!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&once).unwrap());
    assert_eq!(canonical(&again), canonical(&once));
    let text = canonical(&once);
    for gone in ["43121", "0c7dbb1f", "timestamp", "\"trace\"", "spent", "reused", "runs/7"] {
        assert!(!text.contains(gone), "{gone}");
    }
}

#[test]
fn what_a_run_says_stays() {
    let mut other = mixed::report();
    let run = other.runs.iter_mut().find(|run| run.id == "echo/repeat").unwrap();
    run.verdict.reason.as_mut().unwrap().push('.');
    assert_ne!(canonical(&other), canonical(&mixed::report()));
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mixed.canonical.json");
    let mut short = mixed::report();
    // Its length would hide the rest.
    short.models.as_mut().unwrap().calibration = None;
    short.runs.retain(|run| ["SRT-001", "TEST-001", "echo/repeat", "leak/ask"].contains(&run.id.as_str()));
    assert_data_eq!(canonical(&short), snapbox::Data::read_from(&golden, None).raw());
}
