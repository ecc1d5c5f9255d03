//! `--listen [ACTOR=]ADDR`

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use super::named::split;

/// Where an actor is to listen; without its name, whichever there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedListen {
    pub(super) actor: Option<String>,
    pub(super) address: SocketAddr,
}

impl FromStr for AskedListen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (actor, address) = split(text);
        let address = match address.parse::<u16>() {
            Ok(port) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
            Err(_) => address
                .parse()
                .map_err(|_| format!("`{address}` is no address; write `127.0.0.1:8080` or `8080`"))?,
        };
        Ok(Self { actor: actor.map(ToOwned::to_owned), address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_have_an_actor_and_may_be_a_port() {
        let read = |text: &str| {
            text.parse::<AskedListen>()
                .map(|asked| (asked.actor.unwrap_or_default(), asked.address.to_string()))
        };
        assert_eq!(read("8080"), Ok((String::new(), "127.0.0.1:8080".into())));
        assert_eq!(read("shop=[::1]:80"), Ok(("shop".into(), "[::1]:80".into())));
        assert_eq!(read("127.0.0.1:0"), Ok((String::new(), "127.0.0.1:0".into())));
        for wrong in ["", "shop=", "localhost:80", "127.0.0.1", "99999", "Shop=80"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
