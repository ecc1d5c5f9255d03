//! From arguments to what was asked for.

use sortie_engine::run::RunOptions;
use tokio_util::sync::CancellationToken;

use super::Run;
use crate::documents::Document;
use crate::failure::Failure;
use crate::run::{Asked, AskedBearer, AskedHeader, AskedTarget, Config, Resolved};

impl Run {
    pub(super) fn resolve(
        &self,
        config: &Config,
        named: Vec<Document>,
        of_suites: Vec<Document>,
        evaluators: bool,
        interrupt: &CancellationToken,
    ) -> Result<Resolved, Failure> {
        let targets = all::<AskedTarget>("--target", &self.targets.target)?;
        let headers = all::<AskedHeader>("--target-header", &self.targets.target_header)?;
        let bearers = all::<AskedBearer>("--target-bearer", &self.targets.target_bearer)?;
        let asked = Asked {
            config,
            agent: self.agent.agent.as_deref(),
            env: &self.agent.env,
            listen: &self.servers.listen,
            targets: &targets,
            headers: &headers,
            bearers: &bearers,
            target_env: &self.targets.target_env,
            common: self.options(interrupt),
            jobs: self.jobs.get(),
            evaluators,
            live: self.models.replay().is_none(),
            talk: &self.cases.talk,
        };
        asked.resolve(named, of_suites)
    }

    fn options(&self, interrupt: &CancellationToken) -> RunOptions {
        let (servers, end, limits) = (&self.servers, &self.end, &self.limits);
        RunOptions {
            prompt: self.agent.prompt.clone(),
            stdio: servers.stdio,
            wire: servers.wire.clone(),
            isolate: servers.isolate.is_some(),
            public: servers.public,
            hosts: servers.accept_host.clone(),
            allow_hosts: servers.allow_host.clone(),
            verbatim_card: servers.verbatim_card,
            idle: end.idle,
            max_duration: end.max_duration,
            grace: end.grace,
            connect_timeout: self.targets.connect_timeout,
            stop_on_match: end.stop_on_match,
            lenient: self.output.lenient,
            max_trace_bytes: limits.trace_bytes,
            max_output_bytes: limits.output_bytes,
            limits: limits.of_peers(),
            interrupt: interrupt.clone(),
            ..RunOptions::default()
        }
    }
}

/// Reads values that may hold secrets. Left to the reader of arguments, they would be repeated when they are wrong.
pub(super) fn all<T: std::str::FromStr<Err: std::fmt::Display>>(
    option: &str,
    texts: &[String],
) -> Result<Vec<T>, Failure> {
    let one = |text: &String| text.parse().map_err(|error| Failure::new(format!("`{option}`: {error}")));
    texts.iter().map(one).collect()
}
