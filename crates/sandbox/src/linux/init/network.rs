//! The network of a sandbox: a loopback interface that every address leads to.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recv, send, socket_with};

use super::InitError;
use crate::packets::connection_of;
use crate::{Activity, LISTENER_PORT};

/// Where connections are seen and requests answered.
pub(super) struct Network {
    pub(super) packets: Vec<OwnedFd>,
    pub(super) listeners: Vec<TcpListener>,
}

/// The interface is the first one of its namespace.
const LOOPBACK: u32 = 1;

/// So much of a packet is looked at.
const MAX_PACKET: usize = 2_048;

/// So many packets are looked at before anything else is.
const MAX_PACKETS: usize = 4_096;

/// Ports that our listener answers on, for any address.
const PORTS: [u16; 2] = [LISTENER_PORT, 80];

/// Protocols of packets (`ETH_P_IP`, `ETH_P_IPV6`). A socket for one of them sees each packet once; one for all sees it leave and arrive.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// Brings the interface up, leads every address to it, and listens.
pub(super) fn open() -> Result<Network, InitError> {
    let step = || InitError::step::<io::Error>("the loopback interface");
    let control = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)
        .map_err(|error| step()(error.into()))?;
    request(&control, NEW_LINK, 0, &link_up()).map_err(step())?;
    request(&control, NEW_ROUTE, CREATE, &route_to_loopback(AddressFamily::INET)).map_err(step())?;
    // A system without IPv6 has no route for it either.
    let has_ipv6 = request(&control, NEW_ROUTE, CREATE, &route_to_loopback(AddressFamily::INET6)).is_ok();
    let mut packets = vec![packets_of(IPV4)?];
    if has_ipv6 {
        packets.push(packets_of(IPV6)?);
    }
    let listeners = PORTS.map(|port| {
        let bound = if has_ipv6 {
            TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
        } else {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))
        };
        bound.and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
    });
    let listeners = listeners.into_iter().collect::<io::Result<_>>();
    Ok(Network { packets, listeners: listeners.map_err(InitError::step("the listener of the sandbox"))? })
}

fn packets_of(protocol: u16) -> Result<OwnedFd, InitError> {
    let protocol = NonZeroU32::new(u32::from(protocol.to_be())).map(Protocol::from_raw);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::PACKET, SocketType::RAW, flags, protocol)
        .map_err(InitError::step("packets cannot be seen"))
}

/// Tells of the connections whose packets have come.
pub(super) fn take_connections(packets: &OwnedFd, mut tell: impl FnMut(Activity)) {
    let mut packet = [0; MAX_PACKET];
    for _ in 0..MAX_PACKETS {
        let Ok((length, _)) = recv(packets, &mut packet, RecvFlags::empty()) else { return };
        if let Some(activity) = connection_of(&packet[..length]) {
            tell(activity);
        }
    }
}

// Messages to the kernel about interfaces and routes: rtnetlink(7).
const NEW_LINK: u16 = 16;
const NEW_ROUTE: u16 = 24;
const REQUEST: u16 = 0x1;
const ACKNOWLEDGE: u16 = 0x4;
const CREATE: u16 = 0x400;
const HEADER: usize = 16;

/// `ifinfomsg`: the interface is up.
fn link_up() -> Vec<u8> {
    const UP: u32 = 1;
    let mut body = vec![0; 4];
    for number in [LOOPBACK, UP, UP] {
        body.extend(number.to_ne_bytes());
    }
    body
}

/// `rtmsg`: any address is local, and of the loopback interface.
fn route_to_loopback(family: AddressFamily) -> Vec<u8> {
    const TABLE_LOCAL: u8 = 255;
    const BY_ADMINISTRATOR: u8 = 4;
    const ON_THIS_HOST: u8 = 254;
    const LOCAL: u8 = 2;
    const OUTGOING_INTERFACE: u16 = 4;
    let family = u8::try_from(family.as_raw()).unwrap_or_default();
    let mut body = vec![family, 0, 0, 0, TABLE_LOCAL, BY_ADMINISTRATOR, ON_THIS_HOST, LOCAL, 0, 0, 0, 0];
    body.extend(8_u16.to_ne_bytes());
    body.extend(OUTGOING_INTERFACE.to_ne_bytes());
    body.extend(LOOPBACK.to_ne_bytes());
    body
}

/// Asks the kernel for something, and takes its answer.
fn request(control: &OwnedFd, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(length.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((flags | REQUEST | ACKNOWLEDGE).to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    send(control, &message, SendFlags::empty())?;
    let mut answer = [0; 512];
    let (length, _) = recv(control, &mut answer, RecvFlags::empty())?;
    let code = answer[..length].get(HEADER..HEADER + 4).and_then(|code| code.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
