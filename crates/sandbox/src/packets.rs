//! Finds the beginning of connections in packets of the loopback interface. The packets are those of a hostile server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::{Activity, TransportProtocol};

const ETHERNET_HEADER: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const TCP: u8 = 6;
const UDP: u8 = 17;
const NAME_SERVER: u16 = 53;
/// So many extension headers of IPv6 are passed over.
const MAX_EXTENSIONS: usize = 8;
/// The longest name that there can be.
const MAX_NAME: usize = 253;

/// What a frame says that somebody tries: the first packet of a TCP connection, or a datagram to another machine or a name server.
pub fn connection_of(frame: &[u8]) -> Option<Activity> {
    let packet = frame.get(ETHERNET_HEADER..)?;
    let (address, protocol, segment) = match frame.get(12..ETHERNET_HEADER)? {
        kind if kind == IPV4 => ipv4(packet)?,
        kind if kind == IPV6 => ipv6(packet)?,
        _ => return None,
    };
    let to = SocketAddr::new(address, u16::from_be_bytes(segment.get(2..4)?.try_into().ok()?));
    match protocol {
        TCP => {
            let flags = segment.get(13)?;
            let begins = flags & 0x12 == 0x02;
            begins.then_some(Activity::Connection { to, protocol: TransportProtocol::Tcp, question: None })
        }
        UDP => {
            let question = (to.port() == NAME_SERVER).then(|| question(segment.get(8..)?)).flatten();
            let is_seen = question.is_some() || !address.is_loopback();
            is_seen.then_some(Activity::Connection { to, protocol: TransportProtocol::Udp, question })
        }
        _ => None,
    }
}

fn ipv4(packet: &[u8]) -> Option<(IpAddr, u8, &[u8])> {
    let header = usize::from(packet.first()? & 0x0f) * 4;
    // Only the first fragment has ports.
    let offset = u16::from_be_bytes(packet.get(6..8)?.try_into().ok()?) & 0x1fff;
    let octets: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
    let segment = packet.get(header.max(20)..)?;
    (offset == 0).then_some((Ipv4Addr::from(octets).into(), packet[9], segment))
}

fn ipv6(packet: &[u8]) -> Option<(IpAddr, u8, &[u8])> {
    let octets: [u8; 16] = packet.get(24..40)?.try_into().ok()?;
    let (mut next, mut rest) = (packet[6], packet.get(40..)?);
    for _ in 0..MAX_EXTENSIONS {
        match next {
            // Hop-by-hop, routing and destination options say how long they are.
            0 | 43 | 60 => {
                let length = (usize::from(*rest.get(1)?) + 1) * 8;
                (next, rest) = (*rest.first()?, rest.get(length..)?);
            }
            _ => break,
        }
    }
    Some((Ipv6Addr::from(octets).into(), next, rest))
}

/// The name that a question to a name server is about. Compression is for answers.
fn question(message: &[u8]) -> Option<String> {
    let mut rest = message.get(12..)?;
    let mut name = String::new();
    loop {
        let length = usize::from(*rest.first()?);
        if length == 0 {
            return (!name.is_empty()).then_some(name);
        }
        let label = rest.get(1..=length)?;
        rest = &rest[length + 1..];
        if !name.is_empty() {
            name.push('.');
        }
        name.extend(label.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '?' }));
        if length > 63 || name.len() > MAX_NAME {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: [u8; 2], packet: &[u8]) -> Vec<u8> {
        [&[0; 12], &kind[..], packet].concat()
    }

    fn ipv4_packet(protocol: u8, to: [u8; 4], segment: &[u8]) -> Vec<u8> {
        let header = [0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1];
        frame(IPV4, &[&header[..], &to, segment].concat())
    }

    fn tcp(port: u16, flags: u8) -> Vec<u8> {
        let mut segment = vec![0; 20];
        segment[2..4].copy_from_slice(&port.to_be_bytes());
        segment[13] = flags;
        segment
    }

    fn udp(port: u16, data: &[u8]) -> Vec<u8> {
        let mut segment = vec![0; 8];
        segment[2..4].copy_from_slice(&port.to_be_bytes());
        segment.extend_from_slice(data);
        segment
    }

    fn shown(frame: &[u8]) -> Option<String> {
        match connection_of(frame)? {
            Activity::Connection { to, protocol, question } => {
                Some(format!("{protocol:?} {to} {}", question.unwrap_or_default()).trim().to_owned())
            }
            _ => None,
        }
    }

    #[test]
    fn the_first_packet_of_a_connection_is_seen_and_no_other() {
        let to = [192, 0, 2, 7];
        assert_eq!(shown(&ipv4_packet(TCP, to, &tcp(443, 0x02))).as_deref(), Some("Tcp 192.0.2.7:443"));
        assert_eq!(shown(&ipv4_packet(TCP, to, &tcp(443, 0x12))), None);
        assert_eq!(shown(&ipv4_packet(TCP, to, &tcp(443, 0x10))), None);
        assert_eq!(shown(&ipv4_packet(1, to, &tcp(443, 0x02))), None);
    }

    #[test]
    fn ipv6_is_seen_behind_its_extensions() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, 60, 64];
        packet.extend([0; 16]);
        packet.extend("2001:db8::1".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend([TCP, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend(tcp(80, 0x02));
        assert_eq!(shown(&frame(IPV6, &packet)).as_deref(), Some("Tcp [2001:db8::1]:80"));
    }

    #[test]
    fn questions_to_name_servers_have_names() {
        let mut message = vec![0; 12];
        message.extend(b"\x08canary-1\x08attacker\x07example\x00\x00\x01\x00\x01");
        let loopback = ipv4_packet(UDP, [127, 0, 0, 53], &udp(53, &message));
        assert_eq!(shown(&loopback).as_deref(), Some("Udp 127.0.0.53:53 canary-1.attacker.example"));
        // Other datagrams are of interest where they leave.
        assert_eq!(shown(&ipv4_packet(UDP, [127, 0, 0, 1], &udp(9, b"x"))), None);
        assert_eq!(
            shown(&ipv4_packet(UDP, [192, 0, 2, 7], &udp(9, b"x"))).as_deref(),
            Some("Udp 192.0.2.7:9")
        );
    }

    #[test]
    fn what_is_cut_off_says_nothing() {
        let mut message = vec![0; 12];
        message.extend(b"\x3fabc");
        for whole in [
            ipv4_packet(TCP, [192, 0, 2, 7], &tcp(443, 0x02)[..14]),
            ipv4_packet(UDP, [127, 0, 0, 53], &udp(53, &message)),
        ] {
            for length in 0..whole.len() {
                assert_eq!(connection_of(&whole[..length]), None, "{length}");
            }
        }
    }
}
