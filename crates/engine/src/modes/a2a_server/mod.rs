//! An agent that others talk to over A2A 0.3 and 1.0: its card, its tasks, and what it streams.

mod answers;
mod card;
mod server;

pub use server::start;

use serde_json::Value;
use serde_json::value::RawValue;

/// The items of a JSON array, each as the text it is; `None` when it is none.
fn items(json: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

fn array(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

fn text(text: &str) -> String {
    Value::from(text).to_string()
}
