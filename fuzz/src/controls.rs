//! The body of the target `controls`, without libFuzzer: `crates/probe/tests/it/fuzz_corpus.rs` includes this file.

use std::collections::BTreeMap;

use serde_json::Value;
use sortie_evaluators::cases::{Offer, Tool};
use sortie_probe::{Care, ControlSearch, KnownValues, MAX_CALLS};
use sortie_trace::Turn;

/// The first line lists the tools of a server, the second its resources, and the others are its answers, one after the other and from the
/// beginning again. The calls end, no tool that destroys is called, and something comes of each tool.
pub fn controls(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.lines();
    let mut list = || -> Option<Vec<Value>> { serde_json::from_str(lines.next()?).ok() };
    let (Some(tools), Some(resources)) = (list(), list()) else { return };
    let offer = Offer { tools: tools.iter().filter_map(Tool::read).collect(), ..Offer::default() };
    let care: BTreeMap<&str, Care> =
        offer.tools.iter().map(|tool| (tool.name.as_str(), Care::of(tool))).collect();
    // Of two tools with one name, nothing says which is called.
    if care.len() < offer.tools.len() {
        return;
    }
    let mut search = ControlSearch::new(&offer, KnownValues::default());
    search.observe_resources(&resources);
    let mut answers = lines.cycle();
    let mut calls = 0;
    while let Some(call) = search.next_call() {
        calls += 1;
        assert!(calls <= MAX_CALLS, "the calls do not end");
        assert_ne!(care.get(call.tool.as_str()), Some(&Care::Destroys), "{}", call.tool);
        match answers.next() {
            Some(answer) => search.observe(&call, &Turn::target(answer)),
            None => search.failed(&call, "it was not answered"),
        }
    }
    assert!(search.preparation().iter().all(|call| care.get(call.tool.as_str()) == Some(&Care::Creates)));
    assert_eq!(search.finish().len(), offer.tools.len());
}
