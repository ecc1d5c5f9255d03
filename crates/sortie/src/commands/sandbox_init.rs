//! `sortie sandbox-init`, which `--sandbox` starts

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::{Console, Exit, Failure};

/// Be the first process of a sandbox: set it up, start a server in it, and report what the server does.
#[derive(Args, Debug)]
#[command(hide = true)]
pub(crate) struct SandboxInit {
    /// Where the program that starts the sandbox listens
    socket: PathBuf,

    /// The server; without one, the sandbox is set up and that is all
    #[arg(last = true)]
    command: Vec<OsString>,
}

impl SandboxInit {
    pub(crate) fn run(self, _: &mut Console) -> Result<Exit, Failure> {
        let code = sortie_sandbox::init::run(&self.socket, &self.command)
            .map_err(|error| Failure::new(format!("the sandbox: {error}")))?;
        // It is the code of the server, and none of ours.
        std::process::exit(code.into())
    }
}
