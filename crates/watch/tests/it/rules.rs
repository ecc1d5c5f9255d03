//! Rules that are loaded again.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use sortie_scan::Rules;
use sortie_watch::{RulesError, RulesLoader};

use crate::traffic::{Running, answer, call, document, header, options, rows, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_loaded_again_and_broken_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, out) = options(folder.path());
    let file = folder.path().join("run.jsonl");
    options.follow = vec![file.clone()];
    let flow = "indicators: [{surface: tools/call, direction: request, target: arguments, pattern: {condition: {exists: true}}, x-sortie: {flow: {from: {protocol: mcp, surface: tools/call, direction: response}, to: {}, min_length: 12}}}]";
    let path = "indicators: [{surface: tools/call, direction: request, target: arguments.path, pattern: {contains: id_rsa}}]";
    let current: Arc<Mutex<Option<Vec<&str>>>> = Arc::new(Mutex::new(Some(vec![path])));
    let shared = Arc::clone(&current);
    let loader: RulesLoader = Box::new(move || {
        let texts = shared.lock().unwrap().clone();
        let texts = texts.ok_or_else(|| RulesError("line 3 is wrong".to_owned()))?;
        Ok(Rules::new(texts.iter().zip(1..).map(|(text, number)| document(number, text))))
    });
    let mut writer = OpenOptions::new().create(true).append(true).open(&file).unwrap();
    writeln!(writer, "{}\n{}\n{}", header(), answer(1, "a-value-that-leaves"), call(2, "id_rsa")).unwrap();
    let running = Running::start(options, loader).await;
    wait_until("a finding of the first rules", || rows(&out).len() == 1).await;
    // The flow began before the rules that ask for it.
    *current.lock().unwrap() = Some(vec![path, flow]);
    running.control.reload();
    running.wait_for_note("2 documents").await;
    writeln!(writer, "{}", call(3, "/tmp/a-value-that-leaves")).unwrap();
    wait_until("a finding of the new rules", || rows(&out).len() == 2).await;
    assert_eq!(
        (rows(&out)[1]["document"].as_str(), rows(&out)[1]["seq"].as_u64()),
        (Some("RULE-002"), Some(3))
    );
    *current.lock().unwrap() = None;
    running.control.reload();
    running.wait_for_note("line 3 is wrong").await;
    writeln!(writer, "{}", call(4, "id_rsa")).unwrap();
    wait_until("a finding of the rules that stayed", || rows(&out).len() == 3).await;
    assert_eq!(running.stop().await.reloads, 1);
}
