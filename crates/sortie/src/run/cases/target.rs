//! `--target KIND=SPEC`, where evaluators attack it.

use sortie_engine::modes::{self, Place, Wire};
use sortie_engine::targets::{Chat, Cmd, CmdProtocol, Http, Target};

use super::CaseArgs;
use crate::failure::Failure;
use crate::run::environment::environment;
use crate::run::target::{command_words, url};
use crate::run::{AskedBearer, AskedEnv, AskedHeader};

const KINDS: &str = "`mcp`, `a2a`, `ag_ui`, `chat`, `http` or `cmd`";

/// The target, and the secrets that it is given.
pub(crate) fn asked_target(
    asked: &[String],
    (headers, bearers, env): (&[AskedHeader], &[AskedBearer], &[AskedEnv]),
    wire: &Wire,
    arguments: &CaseArgs,
) -> Result<(Target, Vec<String>), Failure> {
    let fail = |error: String| Failure::new(format!("`--target`: {error}"));
    let text = match asked {
        [one] => one,
        [] => {
            return Err(Failure::new("evaluators need a target")
                .help(format!("name it with `--target KIND=SPEC`: KIND is {KINDS}")));
        }
        _ => return Err(Failure::new("evaluators attack one target: `--target` is given more than once")),
    };
    let (kind, spec) =
        text.split_once('=').ok_or_else(|| fail(format!("write `KIND=SPEC`: KIND is {KINDS}")))?;
    let mut secrets = Vec::new();
    let mut sent = Vec::new();
    for header in headers {
        let value = header.value.value()?;
        secrets.push(value.clone());
        sent.push((header.name.clone(), value));
    }
    for bearer in bearers {
        let value = bearer.value.value()?;
        sent.push(("authorization".to_owned(), format!("Bearer {value}")));
        secrets.push(value);
    }
    let env = environment(env.iter().map(|env| env.name.as_str()))?;
    let at = |place| modes::Target { place, headers: sent.clone(), env: env.clone() };
    let at_url = || url(spec).map(|url| at(Place::Url(url))).map_err(fail);
    let target = match kind {
        "mcp" => {
            let place = match spec.strip_prefix("stdio:") {
                Some(command) => Place::Stdio(command_words(command).map_err(fail)?),
                None => Place::Url(url(spec).map_err(fail)?),
            };
            Target::Mcp { at: at(place), wire: wire.clone() }
        }
        "a2a" => Target::A2a(at_url()?),
        "ag_ui" => Target::AgUi(at_url()?),
        "chat" => {
            let (model, system) = (arguments.chat_model.clone(), arguments.chat_system.clone());
            Target::Chat(Chat { at: at_url()?, model, system, tools: Vec::new() })
        }
        "http" => {
            let body = serde_json::from_str(&arguments.http_body)
                .map_err(|error| Failure::new(format!("`--http-body` is no JSON: {error}")))?;
            let answer = arguments.http_answer.clone();
            Target::Http(Http { at: at_url()?, method: "POST".to_owned(), body, answer })
        }
        "cmd" => {
            let protocol = match arguments.cmd_protocol {
                super::CmdProtocol::Plain => CmdProtocol::Plain,
                super::CmdProtocol::Json => CmdProtocol::Json,
            };
            Target::Cmd(Cmd { command: command_words(spec).map_err(fail)?, env, protocol })
        }
        other => return Err(fail(format!("`{other}` is no kind of target: KIND is {KINDS}"))),
    };
    Ok((target, secrets))
}
