//! Benign twins: documents that play the world of an attack without it (`x-sortie.twin`).

use std::path::Path;

use sortie_oatf::extension::Extension;
use sortie_oatf::model::Document;
use sortie_syntax::{Diagnostic, DiagnosticSeverity, NodePath};

use crate::{DocumentInput, LoadError, NamedDocument, NotFound, find};

/// Why the twin that a document names cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TwinError {
    /// It is neither a file nor a document of the library.
    #[error("the twin `{twin}` of `{document}` is not a file beside it, and {source}")]
    NotFound {
        /// The document.
        document: String,
        /// What it names.
        twin: String,
        /// What the library says.
        source: NotFound,
    },
    /// It is the document itself.
    #[error("`{0}` is its own twin: a twin is the same world without the attack")]
    Itself(String),
    /// It cannot be loaded.
    #[error("the twin `{twin}` of `{document}` cannot be used: {source}")]
    Invalid {
        /// The document.
        document: String,
        /// What it names.
        twin: String,
        /// Why.
        source: Box<LoadError>,
    },
    /// It does not say what the agent's task is.
    #[error(
        "the twin `{twin}` of `{document}` names no task, so Sortie cannot tell whether the agent did it"
    )]
    NoTask {
        /// The document.
        document: String,
        /// What it names.
        twin: String,
    },
}

impl TwinError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NotFound { source, .. } => source.help(),
            Self::Itself(_) => "name another document, or leave `twin` out".to_owned(),
            Self::Invalid { twin, .. } => format!("`sortie check {twin}` says what is wrong with it"),
            Self::NoTask { .. } => {
                "add `x-sortie: {task: {actor: …, surface: …}}` to the twin: what the agent does when it does its task".to_owned()
            }
        }
    }
}

impl NamedDocument {
    /// Loads the benign twin that the document names; `None` where it names none.
    pub fn twin(&self) -> Result<Option<Self>, TwinError> {
        let document = self.compiled.document();
        document.extension().twin.as_deref().map(|twin| load_twin(&self.name, document, twin)).transpose()
    }
}

/// What is wrong with the twin that a document names (S-010). `file` is what the document is called.
pub fn check_twin(file: &str, document: &Document) -> Option<Diagnostic> {
    let twin = Extension::read(&document.attack).0.twin?;
    let error = load_twin(file, document, &twin).err()?;
    let place = NodePath::root().key("attack").key("x-sortie").key("twin");
    let finding = Diagnostic::new(DiagnosticSeverity::Error, "S-010", error.to_string());
    let finding = document.span_of(&place).into_iter().fold(finding, Diagnostic::at);
    Some(finding.path(place).help(error.help()))
}

/// A file, as seen from the document; else a document of the library.
fn load_twin(file: &str, document: &Document, twin: &str) -> Result<NamedDocument, TwinError> {
    let (name, named) = (file.to_owned(), twin.to_owned());
    let path = Path::new(file).parent().unwrap_or(Path::new("")).join(twin);
    let input = if path.is_file() {
        DocumentInput::File(path)
    } else {
        let known = find(twin).map(DocumentInput::Library);
        known.map_err(|source| TwinError::NotFound { document: name.clone(), twin: named.clone(), source })?
    };
    let found = NamedDocument::load(&input).map_err(|source| {
        let source = Box::new(source);
        TwinError::Invalid { document: name.clone(), twin: named.clone(), source }
    })?;
    if found.name == file || found.compiled.document().attack == document.attack {
        return Err(TwinError::Itself(name));
    }
    if found.compiled.document().extension().task.is_none() {
        return Err(TwinError::NoTask { document: name, twin: named });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATTACK: &str = "oatf: \"0.1\"\nattack:\n  id: ACME-001\n  x-sortie: {twin: TWIN}\n  execution: {mode: mcp_server, state: {tools: []}}\n";
    const BENIGN: &str = "oatf: \"0.1\"\nattack:\n  id: ACME-002\n  x-sortie: {task: {actor: default, surface: tools/call}}\n  execution: {mode: mcp_server, state: {tools: []}}\n";

    /// What is said about a document that names a twin, in a folder with some documents.
    fn told(twin: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("attack.yaml");
        std::fs::write(&path, ATTACK.replace("TWIN", twin)).unwrap();
        std::fs::write(folder.path().join("benign.yaml"), BENIGN).unwrap();
        std::fs::write(
            folder.path().join("idle.yaml"),
            BENIGN.replace("task: {actor: default, surface: tools/call}", "prompt: Hi"),
        )
        .unwrap();
        std::fs::write(folder.path().join("broken.yaml"), "oatf: \"0.1\"\n").unwrap();
        let document = NamedDocument::load(&DocumentInput::File(path)).unwrap();
        let found = check_twin(&document.name, document.compiled.document());
        let loaded = document.twin().map(|twin| twin.unwrap().compiled.document().attack.id.clone());
        // What is checked is what is played.
        assert_eq!(
            loaded.as_ref().err().map(ToString::to_string),
            found.as_ref().map(|found| found.message.clone())
        );
        match found {
            Some(found) => {
                assert!(found.is_error() && found.code == "S-010" && found.span.is_some(), "{found:?}");
                found.message.replace(&*folder.path().to_string_lossy(), "F")
            }
            None => loaded.unwrap().unwrap(),
        }
    }

    #[test]
    fn a_twin_is_a_file_beside_the_document_or_comes_along() {
        assert_eq!(told("benign.yaml"), "ACME-002");
        assert_eq!(told("SRT-001"), "SRT-001");
    }

    #[test]
    fn a_twin_that_cannot_be_played_is_refused() {
        for (twin, message) in [
            ("SRT-9999", "the twin `SRT-9999` of `F/attack.yaml` is not a file beside it, and"),
            ("gone.yaml", "is not a file beside it"),
            ("attack.yaml", "`F/attack.yaml` is its own twin"),
            ("idle.yaml", "the twin `idle.yaml` of `F/attack.yaml` names no task"),
            ("broken.yaml", "the twin `broken.yaml` of `F/attack.yaml` cannot be used"),
        ] {
            let told = told(twin);
            assert!(told.contains(message), "{twin}: {told}");
        }
    }
}
