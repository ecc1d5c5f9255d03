//! Systems without namespaces: there is no sandbox, and nothing is started.

use std::collections::BTreeMap;

use crate::{Activity, Canaries, SandboxError, SandboxReport};

/// A sandbox, of which there is none on this system.
#[derive(Debug)]
pub enum Sandbox {}

impl Sandbox {
    /// Says that there is none.
    pub fn prepare(_: Option<Canaries>) -> Result<Self, SandboxError> {
        Err(SandboxError::Unsupported)
    }

    /// The command line that starts a server.
    pub fn launch(&self, _: &[String]) -> Vec<String> {
        match *self {}
    }

    /// The environment of a server.
    pub fn environment(&self, _: &[(String, String)]) -> Vec<(String, String)> {
        match *self {}
    }

    /// The canaries.
    pub fn canaries(&self) -> &Canaries {
        match *self {}
    }

    /// What placeholders stand for.
    pub fn values(&self) -> BTreeMap<String, String> {
        match *self {}
    }

    /// What happened that mentions a text.
    pub fn activity_mentioning(&self, _: &str) -> Result<Vec<Activity>, SandboxError> {
        match *self {}
    }

    /// Waits for reports.
    pub fn sync(&self) -> Result<(), SandboxError> {
        match *self {}
    }

    /// What a report says about it.
    pub fn report(&self) -> SandboxReport {
        match *self {}
    }
}

/// The first process of a sandbox.
pub mod init {
    use std::ffi::OsString;
    use std::path::Path;

    use crate::SandboxError;

    /// Says that there is none.
    pub fn run(_: &Path, _: &[OsString]) -> Result<u8, SandboxError> {
        Err(SandboxError::Unsupported)
    }
}
