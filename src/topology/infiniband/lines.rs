//! One line of `ibnetdiscover`'s default output, or one of its subsets that `ibsim` reads as a network.

use crate::units::Rate;

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Nothing that matters here.
    Other,
    /// The ports that follow are this node's.
    Node { kind: Kind, id: &'a str, description: &'a str },
    /// A cable from a port of the last node.
    Port(Port<'a>),
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Switch,
    ChannelAdapter,
    Router,
}

/// A port and what it is cabled to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Port<'a> {
    pub(super) number: u8,
    /// Of the port itself: those of switches have none.
    pub(super) guid: Option<u64>,
    /// Of the port itself: those of switches have none, and 0 is none.
    pub(super) lid: u16,
    pub(super) peer: &'a str,
    pub(super) peer_port: u8,
    /// None when the line does not say, or in words that are not known.
    pub(super) rate: Option<Rate>,
}

pub(super) const NODE: &str =
    "a node, like: Switch 36 \"S-0002c90300a1b2c0\" # \"name\", or: Ca 2 \"H-..\" # \"host HCA-1\"";
pub(super) const PORT: &str =
    "a cable, like: [1](2c903000e0b73) \"S-0002c90300a1b2c0\"[7] # lid 4 lmc 0 \"name\" lid 6 4xEDR";
pub(super) const LINE: &str = "what ibnetdiscover prints when it is given no options";
const CLOSED: &str = "a closing quote: the line is cut";

/// How lines begin that say nothing of nodes and cables: identifiers, headings of groups, and what goes to standard
/// error.
const NOISE: [&str; 15] = [
    "#",
    "vendid=",
    "devid=",
    "sysimgguid=",
    "switchguid=",
    "caguid=",
    "rtguid=",
    "Chassis ",
    "Non-Chassis Nodes",
    "DR path ",
    "ibwarn: ",
    "ibnetdiscover: ",
    "src/",
    "./lib",
    "*** WARNING ***",
];

/// What a line says, or what was expected.
pub(super) fn line(text: &str) -> Result<Line<'_>, &'static str> {
    let text = text.trim();
    if text.is_empty() || NOISE.iter().any(|noise| text.starts_with(noise)) {
        return Ok(Line::Other);
    }
    if text.starts_with('[') {
        return port(text).map(Line::Port);
    }
    let kind = match text.split_whitespace().next() {
        Some("Switch") => Kind::Switch,
        Some("Ca" | "Hca") => Kind::ChannelAdapter,
        Some("Rt") => Kind::Router,
        _ => return Err(LINE),
    };
    node(kind, text)
}

/// `Switch 24 "S-0002c9020048a7b8" # "leaf1" enhanced port 0 lid 6 lmc 0`.
fn node(kind: Kind, text: &str) -> Result<Line<'_>, &'static str> {
    let (_, rest) = text.split_once(char::is_whitespace).ok_or(NODE)?;
    let (ports, rest) = rest.split_once('"').ok_or(NODE)?;
    ports.trim().parse::<u8>().map_err(|_| NODE)?;
    let (id, rest) = rest.split_once('"').ok_or(NODE)?;
    let rest = rest.trim_start();
    if id.is_empty() || !(rest.is_empty() || rest.starts_with('#')) {
        return Err(NODE);
    }
    let (description, _) = quoted(rest)?;
    Ok(Line::Node { kind, id, description })
}

/// `[1](2c903000e0b73) "S-0002c9020048a7b8"[7] # lid 4 lmc 0 "leaf1" lid 6 4xQDR`: from a channel adapter; switches
/// have their guids on the peer's side.
fn port(text: &str) -> Result<Port<'_>, &'static str> {
    let (own, rest) = text.split_once('"').ok_or(PORT)?;
    let (number, guid, rest_of_own) = port_number(own).ok_or(PORT)?;
    let (peer, rest) = rest.split_once('"').ok_or(PORT)?;
    let (peer_side, comment) = rest.split_once('#').unwrap_or((rest, ""));
    // What comes after the peer's port is ibsim's: w=12.
    let (peer_port, _, more) = port_number(peer_side).ok_or(PORT)?;
    if peer.is_empty() || !rest_of_own.trim().is_empty() || !more.starts_with([' ', '\t']) && !more.is_empty()
    {
        return Err(PORT);
    }
    let (_, after) = quoted(comment)?;
    let before = comment.split('"').next().unwrap_or_default();
    Ok(Port {
        number,
        guid,
        lid: number_after(before, "lid").unwrap_or(0),
        peer,
        peer_port,
        rate: after.split_whitespace().find_map(rate),
    })
}

/// What is between the first quote and the last, and what is after it. Both are empty where there is no quote.
fn quoted(text: &str) -> Result<(&str, &str), &'static str> {
    let Some((_, rest)) = text.split_once('"') else { return Ok(("", "")) };
    rest.rsplit_once('"').ok_or(CLOSED)
}

/// `[19][ext 3](2c903000e0b73)`: the port's number, its guid if it is said, and what comes after them.
fn port_number(text: &str) -> Option<(u8, Option<u64>, &str)> {
    let (number, rest) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    let number = number.parse().ok().filter(|&number| number > 0)?;
    let rest = match rest.strip_prefix("[ext ") {
        Some(rest) => rest.split_once(']')?.1,
        None => rest,
    };
    let Some(guid) = rest.strip_prefix('(') else { return Some((number, None, rest)) };
    let (guid, rest) = guid.split_once(')')?;
    Some((number, Some(u64::from_str_radix(guid, 16).ok()?), rest))
}

fn number_after(text: &str, name: &str) -> Option<u16> {
    let mut words = text.split_whitespace().skip_while(|&word| word != name);
    words.nth(1)?.parse().ok()
}

/// What one lane of a cable carries, bits a second: what is left of its signalling rate after its code (8b/10b up to
/// QDR, 64b/66b after it; from HDR on, the forward error correction too), as the InfiniBand Trade Association's roadmap
/// counts it.
const LANE_BITS: [(&str, u64); 9] = [
    ("SDR", 2_000_000_000),
    ("DDR", 4_000_000_000),
    ("QDR", 8_000_000_000),
    ("FDR10", 10_000_000_000),
    ("FDR", 13_636_363_636),
    ("EDR", 25_000_000_000),
    ("HDR", 50_000_000_000),
    ("NDR", 100_000_000_000),
    ("XDR", 200_000_000_000),
];

/// `4xEDR`: lanes and speed.
fn rate(word: &str) -> Option<Rate> {
    let (lanes, speed) = word.split_once('x')?;
    let lanes = lanes.parse::<u8>().ok().filter(|&lanes| lanes > 0)?;
    let (_, bits) = LANE_BITS.iter().find(|(name, _)| *name == speed)?;
    Some(Rate(u64::from(lanes) * bits))
}

/// More channel adapters than this are not in one host: the word is a vendor's.
pub(super) const ADAPTERS_MAX: usize = 32;

/// The host that a channel adapter's description names: its first word, as in `node1 HCA-1`, `node1 mlx5_0` and
/// `'node1 mlx4_0'`. None for the descriptions that adapters have of themselves, before anybody told them where they
/// are: `MT25408 ConnectX Mellanox Technologies`.
pub(super) fn host_of(description: &str) -> Option<&str> {
    let description = description.trim().trim_matches('\'');
    let host = description.split_whitespace().next()?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let model = host.strip_prefix("MT").is_some_and(digits);
    let family =
        |word: &str| ["ConnectX", "InfiniHost", "InfiniPath"].iter().any(|name| word.starts_with(name));
    let device = ["mlx4_", "mlx5_", "mthca", "qib", "hfi1_", "HCA-"]
        .iter()
        .any(|prefix| host.strip_prefix(prefix).is_some_and(digits));
    let nobody = host == "localhost" || host.starts_with("localhost.") || host == "(none)";
    let vendor = description.ends_with("Technologies") || is_aggregation(description);
    (!model && !family(host) && !device && !nobody && !vendor).then_some(host)
}

/// Whether this is the part of a switch that computes reductions, and shows itself as a channel adapter.
pub(super) fn is_aggregation(description: &str) -> bool {
    description.contains("Aggregation Node")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_descriptions() {
        for (description, host) in [
            ("node1 HCA-1", Some("node1")),
            ("node1 mlx5_0", Some("node1")),
            ("'node1 mlx4_0'", Some("node1")),
            (" node1.cluster  hfi1_0 ", Some("node1.cluster")),
            ("node1", Some("node1")),
            ("connect1 ConnectX-6", Some("connect1")),
            ("MTX1 mlx5_0", Some("MTX1")),
            ("MT25408 ConnectX Mellanox Technologies", None),
            ("MT4123 ConnectX6   Mellanox Technologies", None),
            ("MT23108 InfiniHost Mellanox Technologies", None),
            ("InfiniPath_QLE7340", None),
            ("Mellanox Technologies Aggregation Node", None),
            ("localhost mlx5_0", None),
            ("localhost.localdomain mlx5_0", None),
            ("(none) mlx5_0", None),
            ("mlx5_0", None),
            ("HCA-1", None),
            ("", None),
            ("''", None),
        ] {
            assert_eq!(host_of(description), host, "{description}");
        }
    }

    #[test]
    fn rates_are_what_is_left_for_data() {
        for (word, mega_bits) in [
            ("1xSDR", Some(2_000)),
            ("4xSDR", Some(8_000)),
            ("4xDDR", Some(16_000)),
            ("12xQDR", Some(96_000)),
            ("4xQDR", Some(32_000)),
            ("4xFDR10", Some(40_000)),
            ("4xFDR", Some(54_545)),
            ("4xEDR", Some(100_000)),
            ("2xHDR", Some(100_000)),
            ("4xHDR", Some(200_000)),
            ("4xNDR", Some(400_000)),
            ("4x???", None),
            ("0xSDR", None),
            ("xSDR", None),
            ("s=1", None),
        ] {
            assert_eq!(rate(word).map(|rate| rate.0 / 1_000_000), mega_bits, "{word}");
        }
    }

    #[test]
    fn port_lines() {
        let port = |number, guid, lid, peer, peer_port, rate: Option<u64>| {
            Ok(Line::Port(Port { number, guid, lid, peer, peer_port, rate: rate.map(Rate) }))
        };
        for (text, expected) in [
            (
                "[1](2c903000e0b73) \t\"S-0002c9020048a7b8\"[7]\t\t# lid 4 lmc 0 \"MF0;switch\" lid 6 4xEDR",
                port(1, Some(0x0002_c903_000e_0b73), 4, "S-0002c9020048a7b8", 7, Some(100_000_000_000)),
            ),
            (
                "[7]\t\"H-0002c903000e0b72\"[1](2c903000e0b73) \t\t# \"node1 HCA-1\" lid 4 4xQDR",
                port(7, None, 0, "H-0002c903000e0b72", 1, Some(32_000_000_000)),
            ),
            (
                "[19][ext 3]\t\"S-1\"[2][ext 17]\t\t# \"a \"quoted\" # name\" lid 9 4xSDR s=1 w=2 v=4",
                port(19, None, 0, "S-1", 2, Some(8_000_000_000)),
            ),
            ("[3]\t\"S-1\"[3]\t\t# \"lid 5 4xQDR\" lid 9 4x???", port(3, None, 0, "S-1", 3, None)),
            ("[3] \"Switch2\" [4] w=12", port(3, None, 0, "Switch2", 4, None)),
            ("[3] \"Switch2\"[4", Err(PORT)),
            ("[3] \"Switch2", Err(PORT)),
            ("[256] \"S-1\"[1]", Err(PORT)),
            ("[0] \"S-1\"[1]", Err(PORT)),
            ("[1](xyz) \"S-1\"[1]", Err(PORT)),
            ("[1] \"\"[1]", Err(PORT)),
            ("[1] rest \"S-1\"[1]", Err(PORT)),
            ("[1] \"S-1\"[1]rest", Err(PORT)),
            ("[1] \"S-1\"[1] # \"nod", Err(CLOSED)),
        ] {
            assert_eq!(line(text), expected, "{text}");
        }
    }

    #[test]
    fn node_lines() {
        let node = |kind, id, description| Ok(Line::Node { kind, id, description });
        for (text, expected) in [
            (
                "Switch\t36 \"S-1\"\t\t# \"MF0;leaf \"1\":MSX6036/U1\" enhanced port 0 lid 6 lmc 0",
                node(Kind::Switch, "S-1", "MF0;leaf \"1\":MSX6036/U1"),
            ),
            ("Ca\t2 \"H-1\"\t\t# \"node1 HCA-1\"", node(Kind::ChannelAdapter, "H-1", "node1 HCA-1")),
            ("Ca\t2 \"H-1\"\t\t# \"node1 HCA-1\" (scp)", node(Kind::ChannelAdapter, "H-1", "node1 HCA-1")),
            ("Hca 2 \"Hca1\"", node(Kind::ChannelAdapter, "Hca1", "")),
            ("Rt\t2 \"R-1\"\t\t# \"router\"", node(Kind::Router, "R-1", "router")),
            ("Ca\t2 \"H-1\"\t\t# \"node1", Err(CLOSED)),
            ("Ca\t2 \"H-1", Err(NODE)),
            ("Ca\t: 0x0002c903000e0b72 ports 2 devid 0x673c vendid 0x2c9 \"node1 HCA-1\"", Err(NODE)),
            ("Switch", Err(NODE)),
            ("CA     4  1 0x0002c903000e0b73 4x QDR - SW     6  7", Err(LINE)),
            ("<!DOCTYPE html>", Err(LINE)),
            ("DR path slid 65535; dlid 65535; 0,1,2", Ok(Line::Other)),
            ("switchguid=0x2c9020048a7b8(2c9020048a7b8)\t# ", Ok(Line::Other)),
            ("Chassis 1 (guid 0x8f10400411a08)", Ok(Line::Other)),
            (" ", Ok(Line::Other)),
        ] {
            assert_eq!(line(text), expected, "{text}");
        }
    }
}
