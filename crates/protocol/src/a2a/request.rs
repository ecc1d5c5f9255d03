//! A request of ours, in the words of the version that its peer speaks.

use super::{A2aVersion, Operation};

/// What is asked of an agent.
#[derive(Clone, Debug)]
pub struct A2aRequest {
    /// The method on the wire.
    pub method: String,
    /// The params on the wire, as JSON text.
    pub params: Option<String>,
    /// What is asked for, when it is asked for in the words of 1.0.
    operation: Option<&'static Operation>,
}

impl A2aRequest {
    /// A request of a document. A method of 0.3 is put into the words of the version; any other method, those of 1.0
    /// included, goes out as it is.
    ///
    /// ```
    /// use sortie_protocol::a2a::{A2aRequest, A2aVersion};
    ///
    /// let request = A2aRequest::new("tasks/get", Some(r#"{"id":"t"}"#.to_owned()), A2aVersion::V1_0);
    /// assert_eq!(request.surfaces(), ["tasks/get", "GetTask"]);
    /// ```
    pub fn new(method: &str, params: Option<String>, version: A2aVersion) -> Self {
        let known = Operation::of_surface(method).filter(|_| version == A2aVersion::V1_0);
        match known {
            Some(operation) => Self {
                method: operation.method.to_owned(),
                params: params.map(|params| operation.params(version, &params)),
                operation: Some(operation),
            },
            None => Self { method: method.to_owned(), params, operation: Operation::of_method(method) },
        }
    }

    /// What it is called: by documents, and on the wire where that has another name for it.
    pub fn surfaces(&self) -> Vec<&str> {
        let surface = self.operation.map(|operation| operation.surface);
        surface.into_iter().chain([self.method.as_str()]).collect()
    }

    /// Whether it is answered with a stream.
    pub fn streams(&self) -> bool {
        matches!(self.surfaces()[0], "message/stream" | "tasks/resubscribe")
    }

    /// A result of it, or an item of the stream that answers it, in the words of 0.3.
    pub fn result(&self, json: &str) -> String {
        self.operation.map_or_else(|| json.to_owned(), |operation| operation.result(A2aVersion::V0_3, json))
    }
}
