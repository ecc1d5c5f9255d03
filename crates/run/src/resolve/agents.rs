//! The agent under test: a preset, an agent of sortie.toml, a practice agent, or a command.

use std::sync::Arc;

use sortie_agents::{Preset, ProgramError};
use sortie_engine::run::{AgentCommand, AgentSetup};
use sortie_practice::{NameError, NamedAgent};
use sortie_report::origin::StartedAgent;

use super::{Resolver, command_line};
use crate::SetupError;
use crate::agent_preset::AgentPreset;
use crate::environment::environment;
use crate::target::command_words;

/// The practice agent that is meant, if one is.
pub(super) fn practice_agent(agent: &str) -> Option<Result<NamedAgent, SetupError>> {
    let name = agent.strip_prefix("builtin:")?;
    Some(name.parse().map_err(|error: NameError| SetupError::usage(format!("`--agent`: {error}"))))
}

impl Resolver<'_> {
    /// How the agent is started. One word that is the name of a builtin preset is the preset: `./codex` is the program beside it.
    pub(super) fn preset(&self, agent: &str) -> Result<Arc<AgentPreset>, SetupError> {
        let mut preset = match (agent.strip_prefix('@'), Preset::builtin(agent)) {
            (Some(name), _) => self.config.agent(name)?.clone(),
            (None, Some(preset)) => preset.clone(),
            (None, None) => {
                let command =
                    command_words(agent).map_err(|error| SetupError::usage(format!("`--agent`: {error}")))?;
                Preset { command, ..Preset::default() }
            }
        };
        let model = self.request.agent_model.clone();
        if model.is_some() && !preset.takes_model() {
            return Err(SetupError::usage(format!(
                "`--agent-model`: Sortie does not know how to pass a model to `{agent}`"
            ))
            .with_help("name the model in the command, or write `model` into its preset in sortie.toml"));
        }
        for given in &self.request.env {
            let name = given.split('=').next().unwrap_or_default();
            if preset.owns_variable(name) {
                return Err(SetupError::usage(format!(
                    "`--env {name}`: the preset `{agent}` sets this variable, so that files of yours stay as they are"
                ))
                .with_help("settings of yours belong into sortie.toml: `[agents.NAME]` with `preset` and `settings`"));
            }
            preset.variables.remove(name);
        }
        preset.prompt_stdin |= self.request.prompt_stdin;
        Ok(Arc::new(AgentPreset { preset, model }))
    }

    /// The command of the agent, with its environment.
    pub(super) fn agent_command(&self, agent: &Arc<AgentPreset>) -> Result<AgentCommand, SetupError> {
        let AgentPreset { preset, model } = &**agent;
        let command = preset.command_with_model(model.as_deref());
        let is_configured = preset.is_configured();
        let setup = is_configured.then(|| agent.clone() as Arc<dyn AgentSetup>);
        let prompt_stdin = preset.prompt_stdin;
        if !self.live {
            return Ok(AgentCommand { command, env: Vec::new(), prompt_stdin, setup });
        }
        preset.find_program().map_err(|error| not_installed(preset, &error))?;
        let names = preset.env.iter().chain(&self.request.env).map(String::as_str);
        Ok(AgentCommand { command, env: environment(names)?, prompt_stdin, setup })
    }

    /// The agent, as a report names it: as `--agent` takes it, where it is more than a command.
    pub(super) fn started_agent(
        &self,
        builtin: Option<NamedAgent>,
        agent: Option<&AgentPreset>,
    ) -> Option<StartedAgent> {
        let asked = self.request.agent.as_deref().unwrap_or_default();
        let command = match (builtin, agent) {
            (Some(agent), _) => format!("builtin:{}", agent.arguments().join(" ")),
            (None, Some(agent)) if agent.preset.is_configured() => asked.to_owned(),
            (None, Some(agent)) => command_line(&agent.preset.command),
            (None, None) => return None,
        };
        let prompt = self.request.documents.prompt.clone();
        Some(StartedAgent { command, prompt, version: None, model: self.request.agent_model.clone() })
    }
}

/// What to do about a program that is not there.
fn not_installed(preset: &Preset, error: &ProgramError) -> SetupError {
    let error = SetupError::usage(error.to_string());
    match (&preset.title, &preset.install) {
        (Some(title), Some(install)) => error.with_help(format!("install {title}: `{install}`")),
        _ => error,
    }
}
