//! What an agent acts with, and on.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::callable::Callable;
use crate::reading::Source;

/// How long an agent waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What an agent is asked to do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Task {
    /// The user's words.
    pub(crate) words: String,
    /// What came with them: messages of a history, a state, a context.
    pub(crate) background: Vec<(String, String)>,
}

/// What an agent finds when it looks around.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offers {
    /// What it can call.
    pub(crate) callables: Vec<Callable>,
    /// What it can read.
    pub(crate) resources: Vec<Offered>,
    /// What it can take as a prompt.
    pub(crate) prompts: Vec<Offered>,
    /// What all of these, and their servers, say of themselves.
    pub(crate) texts: Vec<(Source, String)>,
}

/// A resource or a prompt of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offered {
    /// The index of the server.
    pub(crate) server: usize,
    /// Its URI or its name.
    pub(crate) name: String,
    /// Its title and what it says of itself.
    pub(crate) description: String,
    /// What a prompt takes.
    pub(crate) arguments: Vec<String>,
}

/// What came of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Everything in it that is text.
    pub(crate) text: String,
    /// Whether it says that it failed.
    pub(crate) failed: bool,
}

/// What an agent acts with.
pub(crate) trait Hands: Send {
    /// Looks at what there is now.
    fn look(&mut self) -> impl Future<Output = Offers> + Send;

    /// Calls something.
    fn call(
        &mut self,
        callable: &Callable,
        arguments: &Map<String, Value>,
    ) -> impl Future<Output = Answer> + Send;

    /// Reads a resource.
    fn read(&mut self, server: usize, uri: &str) -> impl Future<Output = Answer> + Send;

    /// Takes a prompt.
    fn prompt(
        &mut self,
        server: usize,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> impl Future<Output = Answer> + Send;
}
