//! Lists of hosts as users write them.

use crate::failure::Failure;
use crate::output;

/// A host and how many ranks it holds, when the list says so.
pub type Host = (String, Option<u32>);

/// More hosts than any machine has: a typing error in a range.
const HOSTS_MAX: usize = 1 << 20;

/// The hosts of `a:2,b:2`, of `node[1-8]:4`, or of a file with one host (and `:COUNT`) a line, in rank order.
pub fn parse(text: &str) -> Result<Vec<Host>, Failure> {
    let is_file = text.contains('/') || std::path::Path::new(text).is_file();
    let hosts = if is_file { of_file(text)? } else { of_list(text).map_err(|error| usage(text, &error))? };
    if hosts.is_empty() { Err(usage(text, "at least one host")) } else { Ok(hosts) }
}

fn usage(text: &str, expected: &str) -> Failure {
    Failure::usage(format!("--hosts \"{text}\": expected {expected}"))
}

fn of_file(path: &str) -> Result<Vec<Host>, Failure> {
    let mut hosts = Vec::new();
    for (index, line) in output::read("list of hosts", path)?.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            let wrong =
                |what| format!("list of hosts {path}, line {}: expected {what}, found \"{line}\"", index + 1);
            hosts.extend(of_list(line).map_err(|what| Failure::failed(wrong(what)))?);
        }
    }
    Ok(hosts)
}

fn of_list(list: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for item in outside_brackets(list) {
        let (name, count) = match item.rsplit_once(':') {
            Some((name, count)) => {
                let count = count.trim().parse().ok().filter(|&count: &u32| count > 0);
                (
                    name.trim(),
                    Some(count.ok_or_else(|| format!("a number of ranks after the colon of \"{item}\""))?),
                )
            }
            None => (item.trim(), None),
        };
        hosts.extend(expand(name)?.into_iter().map(|name| (name, count)));
        if hosts.len() > HOSTS_MAX {
            return Err(format!("at most {HOSTS_MAX} hosts"));
        }
    }
    Ok(hosts)
}

/// The parts between commas that stand in no brackets.
pub fn outside_brackets(list: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0i32);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

/// `n[1-3,7]` is n1, n2, n3, n7; a name without brackets is itself. Several brackets give every combination.
pub fn expand(name: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("a host, HOST:COUNT or a range like node[1-8], found \"{name}\"");
    let Some((stem, rest)) = name.split_once('[') else {
        let fine = !name.is_empty() && !name.contains([']', ' ', '\t', '=']);
        return if fine { Ok(vec![name.to_string()]) } else { Err(wrong()) };
    };
    let (ranges, tail) = rest.split_once(']').ok_or_else(wrong)?;
    let tails = if tail.is_empty() { vec![String::new()] } else { expand(tail)? };
    let mut names = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        let (from, to, width) = (number(first)?, number(last)?, first.trim().len());
        let count =
            to.checked_sub(from).ok_or_else(wrong)?.saturating_add(1).saturating_mul(tails.len() as u64);
        if count > HOSTS_MAX as u64 || stem.contains([']', ' ']) {
            return Err(wrong());
        }
        for number in from..=to {
            names.extend(tails.iter().map(|tail| format!("{stem}{number:0width$}{tail}")));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let show = |list| {
            let hosts = of_list(list)?;
            let texts = hosts.into_iter().map(|(name, count)| format!("{name}/{}", count.unwrap_or(0)));
            Ok::<_, String>(texts.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(show("a:2,b").unwrap(), "a/2 b/0");
        assert_eq!(show("n[1-2,08]:4,x").unwrap(), "n1/4 n2/4 n08/4 x/0");
        assert_eq!(show("r[1-2]-ib").unwrap(), "r1-ib/0 r2-ib/0");
        assert_eq!(show("r[1-2]n[09-10]:3").unwrap(), "r1n09/3 r1n10/3 r2n09/3 r2n10/3");
        for wrong in ["a:0", "a:x", "a,,b", "n[1-", "n[3-1]", "n[x]", "a b"] {
            assert!(show(wrong).is_err(), "{wrong}");
        }
    }
}
