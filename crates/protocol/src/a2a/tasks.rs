//! Lists of tasks, a page at a time.

use serde_json::{Value, json};

use crate::Members;

/// How many tasks a page has unless a client asks for another number, and at most.
const PAGE: (u64, u64) = (50, 100);

/// The answer to `tasks/list`: of these tasks, the newest first and each as JSON text, those that the params ask for, in the
/// words of 0.3. `None` when the params make no sense.
///
/// A page is continued after the task that its token names.
pub fn list_tasks<'t>(tasks: impl Iterator<Item = &'t str>, params: &Value) -> Option<String> {
    let asked = |name: &str| params.get(name).filter(|value| !value.is_null() && **value != json!(""));
    let (usual, most) = PAGE;
    let size = match asked("pageSize") {
        Some(size) => size.as_u64().filter(|size| (1..=most).contains(size))?,
        None => usual,
    };
    let history = match asked("historyLength") {
        Some(length) => Some(length.as_u64()?),
        None => None,
    };
    let with_artifacts = asked("includeArtifacts").is_some_and(|wanted| *wanted == true);
    let is_asked = |task: &Members| {
        let status = task.object("status").unwrap_or_default();
        let is = |said: Option<String>, name: &str| {
            asked(name).is_none_or(|wanted| said.is_some_and(|said| *wanted == said))
        };
        let is_late = asked("statusTimestampAfter").and_then(Value::as_str).is_none_or(|after| {
            // Times of the same form sort as texts do.
            status.string("timestamp").is_some_and(|time| time.as_str() >= after)
        });
        is(task.string("contextId"), "contextId") && is(status.string("state"), "status") && is_late
    };
    let all: Vec<Members> = tasks.filter_map(Members::read).filter(is_asked).collect();
    let begin = match asked("pageToken") {
        Some(token) => 1 + all.iter().position(|task| task.string("id").is_some_and(|id| *token == id))?,
        None => 0,
    };
    let page = all.iter().skip(begin).take(usize::try_from(size).ok()?);
    let page: Vec<&Members> = page.collect();
    let more = begin + page.len() < all.len();
    let next = page.last().filter(|_| more).and_then(|task| task.string("id")).unwrap_or_default();
    let page: Vec<String> = page.into_iter().map(|task| shown(task, history, with_artifacts)).collect();
    Some(format!(
        r#"{{"tasks":[{}],"nextPageToken":{},"pageSize":{},"totalSize":{}}}"#,
        page.join(","),
        Value::from(next),
        page.len(),
        all.len()
    ))
}

/// A task with as much of its history as is wanted.
fn shown(task: &Members, history: Option<u64>, with_artifacts: bool) -> String {
    let mut shown = Members::default();
    for (name, json) in task.iter().filter(|(name, _)| with_artifacts || *name != "artifacts") {
        match history {
            Some(length) if name == "history" => {
                if let Some(history) = last(json, length) {
                    shown.push(name, &history);
                }
            }
            _ => shown.push(name, json),
        }
    }
    shown.to_string()
}

/// A task with at most so many messages of its history, the last ones.
pub fn with_history(task: &str, length: u64) -> String {
    Members::read(task).map_or_else(|| task.to_owned(), |task| shown(&task, Some(length), true))
}

/// The last items of a list; `None` when none is wanted.
fn last(json: &str, length: u64) -> Option<String> {
    let Some(items) = super::rewrite::items(json) else { return Some(json.to_owned()) };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    (length > 0).then(|| format!("[{}]", items[items.len().saturating_sub(length)..].join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASKS: [&str; 3] = [
        r#"{"id":"c","contextId":"x","status":{"state":"completed","timestamp":"2026-11-03T00:00:00Z"},"artifacts":[],"history":[1,2,3]}"#,
        r#"{"id":"b","contextId":"y","status":{"state":"working","timestamp":"2026-11-02T00:00:00Z"}}"#,
        r#"{"id":"a","contextId":"x","status":{"state":"completed","timestamp":"2026-11-01T00:00:00Z"}}"#,
    ];

    fn list(params: &Value) -> Option<Value> {
        list_tasks(TASKS.into_iter(), params).map(|listed| serde_json::from_str(&listed).unwrap())
    }

    fn ids(listed: &Value) -> Vec<&str> {
        listed["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect()
    }

    #[test]
    fn tasks_are_chosen_by_context_state_and_time() {
        let all = list(&json!({})).unwrap();
        assert_eq!(
            (ids(&all), &all["totalSize"], &all["nextPageToken"]),
            (vec!["c", "b", "a"], &json!(3), &json!(""))
        );
        assert!(all["tasks"][0].get("artifacts").is_none());
        assert_eq!(list(&json!({"includeArtifacts": true})).unwrap()["tasks"][0]["artifacts"], json!([]));
        assert_eq!(ids(&list(&json!({"contextId": "x", "status": "completed"})).unwrap()), ["c", "a"]);
        assert_eq!(ids(&list(&json!({"statusTimestampAfter": "2026-11-02T00:00:00Z"})).unwrap()), ["c", "b"]);
        assert_eq!(list(&json!({"historyLength": 2})).unwrap()["tasks"][0]["history"], json!([2, 3]));
        assert!(list(&json!({"historyLength": 0})).unwrap()["tasks"][0].get("history").is_none());
    }

    #[test]
    fn a_page_goes_on_after_the_task_that_its_token_names() {
        let first = list(&json!({"pageSize": 2})).unwrap();
        assert_eq!(
            (ids(&first), &first["nextPageToken"], &first["pageSize"]),
            (vec!["c", "b"], &json!("b"), &json!(2))
        );
        let second = list(&json!({"pageSize": 2, "pageToken": "b"})).unwrap();
        assert_eq!((ids(&second), &second["nextPageToken"]), (vec!["a"], &json!("")));
        for odd in [
            json!({"pageSize": 0}),
            json!({"pageSize": 101}),
            json!({"pageSize": "two"}),
            json!({"pageToken": "z"}),
            json!({"historyLength": -1}),
        ] {
            assert_eq!(list(&odd), None, "{odd}");
        }
    }
}
