//! The body of the target `server_files`, without libFuzzer: `crates/agents/tests/it/fuzz_corpus.rs` includes this file.

use std::path::Path;

use sortie_agents::{ConfigFormat, MAX_SERVERS, Preset, Server, parse_servers};

/// Reads any bytes as the file of a client, in each format. What is read is bounded, is shown without its values, and is the same after
/// a client's configuration was written with it and read again.
pub fn server_files(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for format in [ConfigFormat::Json, ConfigFormat::Toml, ConfigFormat::Yaml] {
        let Ok(file) = parse_servers(text, format, Some(Path::new("/project"))) else { continue };
        assert!(file.servers.len() + file.skipped.len() <= MAX_SERVERS);
        for server in &file.servers {
            // It fails where a variable is not known, and never otherwise.
            let _ = server.expand(&|_| None);
            assert!(server.expand(&|_| Some(String::new())).is_ok() || is_of_client(server));
        }
        for name in ["codex", "gemini-cli", "goose"] {
            // They are builtin.
            let Some(preset) = Preset::builtin(name) else { continue };
            let Ok(files) = preset.configuration(&file.servers, None) else { continue };
            for (path, text) in files {
                let again = parse_servers(&text, ConfigFormat::of_path(&path), None);
                let again = again.unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
                assert_eq!(names(&again.servers), names(&file.servers), "{name}: {text}");
            }
        }
    }
}

fn names(servers: &[Server]) -> Vec<&str> {
    servers.iter().map(|server| server.name.as_str()).collect()
}

fn is_of_client(server: &Server) -> bool {
    matches!(server.expand(&|_| Some(String::new())), Err(sortie_agents::ExpandError::Unsupported { .. }))
}
