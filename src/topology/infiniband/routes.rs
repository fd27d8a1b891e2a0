//! Forwarding tables, as three commands print them: for each switch, the port through which it sends what goes to a
//! LID.
//!
//! - `dump_lfts`, `dump_fts` and `dump_lfts.sh` (infiniband-diags): `Unicast lids [..] of switch .. guid 0x..:`, then
//!   lines `0x0002 001 : (Channel Adapter portguid 0x..: 'node1 HCA-1')`;
//! - `opensm-lfts.dump` of opensm (`-D 0x43`): the same with `#` for the colon;
//! - `opensm.fdbs`: `dump_ucast_routes: Switch 0x..`, then lines `0x0002 : 001  : 01   : yes`.

/// The table of one switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table<'a> {
    pub(super) guid: u64,
    pub(super) line: usize,
    pub(super) text: &'a str,
    pub(super) entries: Vec<Entry<'a>>,
}

/// One line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) lid: u16,
    /// 0 leads to the switch itself.
    pub(super) port: u8,
    /// The port that has this LID, where the table says it.
    pub(super) port_guid: Option<u64>,
    pub(super) line: usize,
    pub(super) text: &'a str,
}

/// The port of what cannot be reached.
const NOWHERE: u8 = 255;

const TABLE: &str = "forwarding tables as dump_lfts or opensm (opensm-lfts.dump, opensm.fdbs) writes them: Unicast lids \
                     [..] of switch ..";
const ENTRY: &str = "a LID and a port, like: 0x0002 001";

/// All tables; or the line (from 1) that cannot be read, its text, and what was expected.
pub(super) fn tables(text: &str) -> Result<Vec<Table<'_>>, (usize, &str, String)> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    // The line where a table began whose last line says how many LIDs it has.
    let mut open: Option<usize> = None;
    for (index, text) in text.lines().enumerate() {
        let (line, text) = (index + 1, text.trim());
        let fail = |expected: &str| Err((line, text, expected.to_string()));
        if let Some((guid, counted)) = heading(text) {
            if let Some(began) = open {
                return fail(&format!("the end (\"6 lids dumped\") of the table in line {began}: it is cut"));
            }
            let Some(guid) = guid else { return fail(TABLE) };
            tables.push(Table { guid, line, text, entries: Vec::new() });
            open = counted.then_some(line);
        } else if text.starts_with("0x") {
            let Some(table) = tables.last_mut() else { return fail(TABLE) };
            match entry(line, text) {
                Some(entry) if entry.port != NOWHERE => table.entries.push(entry),
                Some(_) => {}
                None => return fail(ENTRY),
            }
        } else if text.ends_with("lids dumped") && !tables.is_empty() {
            open = None;
        } else if !is_noise(text) {
            return fail(if tables.is_empty() { TABLE } else { ENTRY });
        }
    }
    let (last, end) = text.lines().enumerate().last().map_or((1, ""), |(index, text)| (index + 1, text));
    if let Some(began) = open {
        return Err((
            last,
            end,
            format!("the end (\"6 lids dumped\") of the table in line {began}: it is cut"),
        ));
    }
    if tables.is_empty() || !text.ends_with('\n') {
        return Err((last, end, if tables.is_empty() { TABLE } else { super::WHOLE_LINE }.to_string()));
    }
    Ok(tables)
}

/// Whether a table begins: its switch, if that can be read, and whether it ends with a count of its LIDs.
fn heading(text: &str) -> Option<(Option<u64>, bool)> {
    if text.starts_with("Unicast lids ") {
        let guid = text.split_once(" guid 0x").map(|(_, rest)| rest);
        return Some((guid.and_then(hexadecimal), true));
    }
    let (before, rest) = text.split_once("dump_ucast_routes: Switch 0x")?;
    (before.is_empty() || before == "osm_ucast_mgr_").then(|| (hexadecimal(rest), false))
}

/// The hexadecimal digits at the beginning.
fn hexadecimal(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len());
    u64::from_str_radix(&text[..end], 16).ok()
}

/// `0x0002 001 : (..)`, `0x0002 001 # ..`, `0x0002 : 001  : 01   : yes` or `0x0002 : UNREACHABLE`.
fn entry(line: usize, text: &str) -> Option<Entry<'_>> {
    let mut words = text.split_whitespace().filter(|&word| word != ":");
    let lid = u16::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    let port = match words.next()? {
        "UNREACHABLE" => NOWHERE,
        word => word.parse().ok()?,
    };
    let port_guid = text.split_once("portguid 0x").and_then(|(_, rest)| hexadecimal(rest));
    Some(Entry { lid, port, port_guid, line, text })
}

/// Headings of columns, and what goes to standard error.
fn is_noise(text: &str) -> bool {
    let columns = ["Lid  Out   Destination", "Port     Info", "LID    : Port : Hops : Optimal"];
    let noise = ["#", "ibwarn: ", "*** WARNING ***", "DR path ", "src/"];
    text.is_empty() || columns.contains(&text) || noise.iter().any(|noise| text.starts_with(noise))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `guid: lid>port/portguid ..; guid: ..`, or `line: expected`.
    fn show(text: &str) -> String {
        let one = |entry: &Entry| {
            let guid = entry.port_guid.map_or(String::new(), |guid| format!("/{guid:x}"));
            format!(" {}>{}{guid}", entry.lid, entry.port)
        };
        match tables(text) {
            Ok(tables) => tables
                .iter()
                .map(|table| {
                    format!("{:x}:{}", table.guid, table.entries.iter().map(one).collect::<String>())
                })
                .collect::<Vec<_>>()
                .join("; "),
            Err((line, _, expected)) => format!("{line}: {expected}"),
        }
    }

    #[test]
    fn three_forms_of_a_table() {
        let dump_lfts = "Unicast lids [0x0-0x6] of switch DR path slid 0; dlid 0; 0,3 guid 0x0000000000200001 \
             (leaf guid 0x7):\n\
             \x20 Lid  Out   Destination\n       Port     Info \n\
             0x0001 003 : (Switch portguid 0x0000000000200000: 'Switch1')\n\
             0x000a 255 : (Channel Adapter portguid 0x000000000010000a: 'Hca2')\n2 valid lids dumped \n";
        assert_eq!(show(dump_lfts), "200001: 1>3/200000");
        let opensm = "Unicast lids [0-6] of switch Lid 1 guid 0x0000000000200000 ('Switch1'):\n\
             0x0001 000 # Switch portguid 0x0000000000200000: 'Switch1'\n\
             0x000B 013 # Channel Adapter portguid 0x0000000000100001: 'Hca1'\n2 lids dumped\n";
        assert_eq!(show(opensm), "200000: 1>0/200000 11>13/100001");
        let fdbs = "dump_ucast_routes: Switch 0x0000000000200000\nLID    : Port : Hops : Optimal\n\
             0x0001 : 000  : 00   : yes\n0x0002 : UNREACHABLE\n\
             osm_ucast_mgr_dump_ucast_routes: Switch 0x0000000000200001\n0x0001 : 003  : 01   : yes\n";
        assert_eq!(show(fdbs), "200000: 1>0; 200001: 1>3");
    }

    #[test]
    fn damaged_tables() {
        let head = "Unicast lids [0-6] of switch Lid 1 guid 0x20 ('s'):\n";
        let cut = "the end (\"6 lids dumped\") of the table in line 1: it is cut";
        for (text, expected) in [
            (String::new(), format!("1: {TABLE}")),
            ("<html>\n".to_string(), format!("1: {TABLE}")),
            ("0x0001 003\n".to_string(), format!("1: {TABLE}")),
            ("6 lids dumped\n".to_string(), format!("1: {TABLE}")),
            ("Unicast lids [0-6] of switch Lid 1 gu\n".to_string(), format!("1: {TABLE}")),
            (format!("{head}0x0001 003\n"), format!("2: {cut}")),
            (format!("{head}0x0001 003\n{head}"), format!("3: {cut}")),
            (format!("{head}0x0001\n"), format!("2: {ENTRY}")),
            (format!("{head}0x0001 256\n"), format!("2: {ENTRY}")),
            (format!("{head}0x10001 1\n"), format!("2: {ENTRY}")),
            (format!("{head}garbage\n"), format!("2: {ENTRY}")),
            (format!("{head}Multicast mlids [0xc000-0xc3ff]\n"), format!("2: {ENTRY}")),
            (
                "dump_ucast_routes: Switch 0x20\n0x0001 : 00".to_string(),
                format!("2: {}", super::super::WHOLE_LINE),
            ),
        ] {
            assert_eq!(show(&text), expected, "{text}");
        }
    }
}
