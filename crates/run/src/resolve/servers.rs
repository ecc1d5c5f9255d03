//! Servers to practise with, by the names under which documents wrap them.

use sortie_library::servers;
use sortie_practice::servers::PracticeServer;

/// Whether `sortie practice` is a server under this name: one of ours, or the recording of a real one.
pub(super) fn is_practice_server(name: &str) -> bool {
    PracticeServer::live(name).is_some() || servers().iter().any(|server| server.name == name)
}
