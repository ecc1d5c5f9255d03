//! Where a server actor listens.

use std::net::{Ipv4Addr, SocketAddr};

use sortie_wire::Limits;
use sortie_wire::http::Listener;

use super::StartError;

/// Where a server actor listens, and what a peer may ask of it.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// The address; port 0 asks for one that is free.
    pub address: SocketAddr,
    /// Whether that may be an address that other machines can reach.
    pub public: bool,
    /// Names, besides those of loopback, under which requests may come.
    pub hosts: Vec<String>,
    /// How much a peer may ask.
    pub limits: Limits,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            public: false,
            hosts: Vec::new(),
            limits: Limits::default(),
        }
    }
}

impl ListenOptions {
    pub(crate) async fn bind(&self) -> Result<Listener, StartError> {
        let bound = Listener::bind(self.address, self.public).await;
        bound.map_err(|error| StartError::Bind {
            address: self.address.to_string(),
            reason: error.to_string(),
        })
    }
}
