//! The body of the target `rewrite`, without libFuzzer: `crates/rewrite/tests/it/fuzz_corpus.rs` includes this file.

use std::sync::LazyLock;

use serde_json::Value;
use sortie_oatf::{Compiled, load};
use sortie_rewrite::{Operations, RequestOutcome, ResponseOutcome, Rewritten};

/// A document with every action.
const DOCUMENT: &str = "
oatf: '0.1'
attack:
  execution:
    mode: mcp_server
    x-sortie: {wrap: real}
    state:
      x-sortie:
        operations:
          - {on: initialize, append_instructions: ' More.'}
          - {on: tools/list, append_description: ' More.'}
          - {on: tools/list, name: 'a*', hide: true}
          - {on: tools/list, name: b, rename: c}
          - {on: tools/list, add: {name: d}}
          - {on: resources/list, edit: {at: /name, remove: true}}
          - {on: tools/call, when: {text: {contains: x}}, replace_text: y}
          - {on: tools/call, prepend_text: 'a\"\\'}
          - {on: tools/call, edit_json: {at: /0/a, insert: [1]}}
          - {on: tools/call, edit_arguments: {at: /a/-, insert: 1}}
          - {on: tools/call, name: 'gone*', drop: response}
          - {on: resources/read, add_text: z}
          - {on: prompts/get, append_text: z}
          - {on: prompts/get, name: own, answer: {messages: []}}
";

static OPERATIONS: LazyLock<Operations> = LazyLock::new(|| {
    let document = load(DOCUMENT).expect("a document").document;
    Operations::by_phase(&Compiled::new(document).expect("it compiles").actors()[0]).remove(0)
});

/// The first line is a method, the second a request, the rest a response. Whatever they are: what was JSON still is, every
/// change names a place, and what cannot be changed is left alone.
pub fn rewrite(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut parts = text.splitn(3, '\n');
    let [Some(method), Some(request), Some(response)] = [parts.next(), parts.next(), parts.next()] else {
        return;
    };
    let mut plain = |template: &str, _: &Value, _: Option<&Value>| template.to_owned();
    match OPERATIONS.on_request(method, request, &mut plain) {
        Ok(RequestOutcome::Forward(rewritten)) => check(request, &rewritten),
        Ok(RequestOutcome::Answer { message, .. }) => assert!(is_json(&message), "{message}"),
        Ok(RequestOutcome::Pass | RequestOutcome::Drop { .. }) | Err(_) => {}
    }
    if let Ok(ResponseOutcome::Forward { rewritten, .. }) =
        OPERATIONS.on_response(method, request, response, &mut plain)
    {
        assert!(OPERATIONS.touches(method));
        check(response, &rewritten);
    }
}

fn check(before: &str, Rewritten { message, changes }: &Rewritten) {
    assert!(is_json(message), "{message}");
    assert!(!changes.is_empty() && changes.iter().all(|change| change.path.starts_with('/')));
    assert!(changes.iter().all(|change| change.before.is_some() || change.after.is_some()));
    let head = before.len() - before.trim_start().len();
    assert_eq!(message.get(..head), before.get(..head), "what stands before the message stays");
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}
