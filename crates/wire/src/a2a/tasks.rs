//! The tasks that were handed out, for those who ask for them later.

use std::collections::VecDeque;

use serde_json::Value;
use sortie_protocol::Members;

/// How many tasks are remembered; the oldest is forgotten.
const MAX_TASKS: usize = 1024;
/// What they and their push notification configurations take together, in bytes.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// How many push notification configurations one task has.
const MAX_CONFIGS: usize = 16;
/// How many of those that clients ever gave are kept for what they say about their address.
const MAX_WEBHOOKS: usize = 64;
/// How long one of them may be, in bytes.
const MAX_WEBHOOK_BYTES: usize = 64 * 1024;

/// Tasks, each as it was last sent. There are so few that they are looked through.
#[derive(Debug, Default)]
pub struct TaskStore {
    /// The oldest first.
    known: VecDeque<Remembered>,
    bytes: usize,
    /// Configurations, the latest last, whatever became of their tasks.
    webhooks: VecDeque<String>,
}

#[derive(Debug, Default)]
struct Remembered {
    id: String,
    json: String,
    /// In the order in which they came.
    configs: Vec<PushConfig>,
}

/// Where a client wants to be told about a task.
#[derive(Clone, Debug)]
pub struct PushConfig {
    /// Its id.
    pub id: String,
    /// `PushNotificationConfig` as JSON text, with its id.
    pub json: String,
}

impl PushConfig {
    /// What a client asks for; without an id of its own it has that of the task, as in the SDKs.
    pub fn new(task: &str, json: &str) -> Option<Self> {
        let mut config = Members::read(json)?;
        let id = config.string("id").filter(|id| !id.is_empty()).unwrap_or_else(|| task.to_owned());
        config.set("id", &Value::from(id.as_str()).to_string());
        Some(Self { id, json: config.to_string() })
    }

    /// `TaskPushNotificationConfig`.
    pub fn of_task(&self, task: &str) -> String {
        format!(r#"{{"taskId":{},"pushNotificationConfig":{}}}"#, Value::from(task), self.json)
    }
}

impl TaskStore {
    /// Remembers a task, or what has become of it.
    pub fn keep(&mut self, id: &str, json: String) {
        if json.len() > MAX_BYTES {
            return;
        }
        self.bytes += json.len();
        if let Some(known) = self.known.iter_mut().find(|task| task.id == id) {
            self.bytes -= std::mem::replace(&mut known.json, json).len();
        } else {
            self.known.push_back(Remembered { id: id.to_owned(), json, configs: Vec::new() });
        }
        self.shrink();
    }

    /// A task as it was last sent.
    pub fn get(&self, id: &str) -> Option<&str> {
        self.known.iter().find(|task| task.id == id).map(|task| task.json.as_str())
    }

    /// All of them, those that came last first.
    pub fn newest(&self) -> impl Iterator<Item = &str> {
        self.known.iter().rev().map(|task| task.json.as_str())
    }

    /// Remembers where a client wants to be told about a task. Whether the task is known.
    pub fn configure(&mut self, id: &str, config: PushConfig) -> bool {
        let Some(task) = self.known.iter_mut().find(|task| task.id == id) else { return false };
        let forget = match task.configs.iter().position(|known| known.id == config.id) {
            Some(at) => Some(at),
            None => (task.configs.len() == MAX_CONFIGS).then_some(0),
        };
        if let Some(at) = forget {
            self.bytes -= task.configs.remove(at).json.len();
        }
        self.bytes += config.json.len();
        task.configs.push(config);
        self.shrink();
        true
    }

    /// Where clients want to be told about a task, when it is known.
    pub fn configs(&self, id: &str) -> Option<&[PushConfig]> {
        self.known.iter().find(|task| task.id == id).map(|task| task.configs.as_slice())
    }

    /// Forgets one of them. Whether the task is known; that there is no such configuration is as good as deleting it.
    pub fn unconfigure(&mut self, id: &str, config: &str) -> bool {
        let Some(task) = self.known.iter_mut().find(|task| task.id == id) else { return false };
        if let Some(at) = task.configs.iter().position(|known| known.id == config) {
            self.bytes -= task.configs.remove(at).json.len();
        }
        true
    }

    /// Remembers what a configuration says about its address: a document may send there later, about a task or not.
    pub fn keep_webhook(&mut self, config: &str) {
        if config.len() > MAX_WEBHOOK_BYTES {
            return;
        }
        if self.webhooks.len() == MAX_WEBHOOKS {
            self.webhooks.pop_front();
        }
        self.webhooks.push_back(config.to_owned());
    }

    /// What was last said about an address, as `PushNotificationConfig`.
    pub fn webhook(&self, url: &str) -> Option<&str> {
        let is_it = |config: &&String| {
            Members::read(config).and_then(|config| config.string("url")).as_deref() == Some(url)
        };
        self.webhooks.iter().rev().find(is_it).map(String::as_str)
    }

    fn shrink(&mut self) {
        while self.known.len() > MAX_TASKS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.known.pop_front() else { return };
            let configs: usize = oldest.configs.iter().map(|config| config.json.len()).sum();
            self.bytes -= oldest.json.len() + configs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_task_is_forgotten() {
        let mut tasks = TaskStore::default();
        for at in 0..=MAX_TASKS {
            tasks.keep(&at.to_string(), "{}".into());
        }
        assert_eq!((tasks.get("0"), tasks.get("1")), (None, Some("{}")));
        tasks.keep("large", "x".repeat(MAX_BYTES - 10));
        assert!(tasks.known.len() < 10, "{}", tasks.known.len());
        tasks.keep("larger", "x".repeat(MAX_BYTES + 1));
        assert!(tasks.get("larger").is_none() && tasks.get("large").is_some());
    }

    #[test]
    fn bytes_are_counted_whatever_is_kept_replaced_and_forgotten() {
        let mut tasks = TaskStore::default();
        tasks.keep("t", "12345".into());
        tasks.keep("t", "1".into());
        for at in 0..40 {
            assert!(tasks.configure("t", PushConfig::new("t", &format!(r#"{{"id":"{at:02}"}}"#)).unwrap()));
        }
        assert_eq!((tasks.configs("t").unwrap().len(), tasks.bytes), (MAX_CONFIGS, 1 + MAX_CONFIGS * 11));
        for at in 0..40 {
            assert!(tasks.unconfigure("t", &format!("{at:02}")));
        }
        assert_eq!(tasks.bytes, 1);
        assert!(!tasks.unconfigure("u", "00") && !tasks.configure("u", PushConfig::new("u", "{}").unwrap()));
    }

    #[test]
    fn a_configuration_has_an_id_and_is_found_by_its_address() {
        let mut tasks = TaskStore::default();
        tasks.keep("t", "{}".into());
        let config = PushConfig::new("t", r#"{"url":"http://127.0.0.1:1/","token":"s","n":1.0}"#).unwrap();
        assert_eq!(
            config.of_task("t"),
            r#"{"taskId":"t","pushNotificationConfig":{"url":"http://127.0.0.1:1/","token":"s","n":1.0,"id":"t"}}"#
        );
        tasks.keep_webhook(&config.json);
        tasks.keep_webhook("no JSON");
        assert_eq!(tasks.webhook("http://127.0.0.1:1/"), Some(&*config.json));
        assert!(tasks.webhook("http://127.0.0.1:2/").is_none());
        assert!(PushConfig::new("t", "[]").is_none());
    }
}
