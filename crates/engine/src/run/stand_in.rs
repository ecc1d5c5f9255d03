//! Temporary: stands in for modes that have not landed yet. Servers listen and answer nothing, clients connect and say
//! nothing.
#![allow(clippy::wildcard_imports, clippy::unused_async)]

use std::sync::Arc;
use std::time::Duration;

use sortie_wire::Limits;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

use crate::actor::Actor;
use crate::modes::{Place, Serving, StartError, Target};

async fn serve(actor: Arc<Actor>, listen: std::net::SocketAddr, path: &str) -> Result<Serving, StartError> {
    let bind =
        |error: std::io::Error| StartError::Bind { address: listen.to_string(), reason: error.to_string() };
    let listener = TcpListener::bind(listen).await.map_err(bind)?;
    let url = format!("http://{}{path}", listener.local_addr().map_err(bind)?);
    actor.context().recorder.listening(actor.name(), &url);
    actor.begin(|_| {});
    let done = tokio::spawn(async move {
        tokio::select! {
            () = actor.context().end.cancelled() => {}
            () = async { while listener.accept().await.is_ok() {} } => {}
        }
    });
    Ok(Serving { url, done })
}

async fn play(actor: Arc<Actor>, target: Target, timeout: Duration) {
    let Place::Url(url) = target.place else { return actor.failed("internal", "not yet") };
    let address = url.split('/').nth(2).unwrap_or_default().to_owned();
    let deadline = Instant::now() + timeout;
    let connect = async {
        while Instant::now() < deadline {
            if TcpStream::connect(&address).await.is_ok() {
                return true;
            }
            sleep(Duration::from_millis(20)).await;
        }
        false
    };
    let connected = tokio::select! {
        connected = connect => connected,
        () = actor.context().end.cancelled() => return,
    };
    if connected {
        actor.begin(|_| {});
    } else {
        actor.failed("target_refused", &format!("nobody accepts connections at {url}"));
    }
}

pub(super) mod mcp_server {
    use super::*;

    pub(crate) struct Options {
        pub(crate) listen: std::net::SocketAddr,
    }

    pub(crate) async fn start(actor: Arc<Actor>, options: Options) -> Result<Serving, StartError> {
        serve(actor, options.listen, "/mcp").await
    }

    pub(crate) async fn start_stdio(actor: Arc<Actor>, _: Options) -> Result<Serving, StartError> {
        actor.begin(|_| {});
        let done = tokio::spawn(async move {
            let read =
                tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
            tokio::select! {
                () = actor.context().end.cancelled() => {}
                _ = read => {}
            }
        });
        Ok(Serving { url: "stdio".into(), done })
    }
}

macro_rules! client {
    ($($mode:ident),*) => {$(
        pub(super) mod $mode {
            use super::*;

            pub(crate) struct Options {
                #[expect(dead_code)]
                pub(crate) limits: Limits,
                pub(crate) connect_timeout: Duration,
            }

            pub(crate) async fn play(actor: Arc<Actor>, target: Target, options: Options) {
                super::play(actor, target, options.connect_timeout).await;
            }
        }
    )*};
}

client!(a2a_client, ag_ui_client);
