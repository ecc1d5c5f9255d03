//! What an agent acts with, and on.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::callable::Callable;
use crate::reading::Source;

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, Default)]
pub(crate) struct Task {
    pub(crate) words: String,
    /// What came with them: messages of a history, a state, a context.
    pub(crate) background: Vec<(String, String)>,
}

/// What an agent finds when it looks around.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offers {
    pub(crate) callables: Vec<Callable>,
    pub(crate) resources: Vec<Offered>,
    pub(crate) prompts: Vec<Offered>,
    /// What all of these, and their servers, say of themselves.
    pub(crate) texts: Vec<(Source, String)>,
}

/// A resource or a prompt of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) server: usize,
    /// Its URI or its name.
    pub(crate) name: String,
    /// Its title and what it says of itself.
    pub(crate) description: String,
    /// What a prompt takes.
    pub(crate) arguments: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Everything in it that is text.
    pub(crate) text: String,
    /// Whether it says that it failed.
    pub(crate) failed: bool,
}

pub(crate) trait Hands: Send {
    fn look(&mut self) -> impl Future<Output = Offers> + Send;

    fn call(
        &mut self,
        callable: &Callable,
        arguments: &Map<String, Value>,
    ) -> impl Future<Output = Answer> + Send;

    /// Asks a server for what is not a call: `resources/read`, `prompts/get`.
    fn ask(
        &mut self,
        server: usize,
        method: &'static str,
        params: Value,
    ) -> impl Future<Output = Answer> + Send;
}
