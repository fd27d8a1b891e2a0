//! Numbers for people.

/// `1.50 GB`: three digits and a decimal unit; whole below a thousand.
pub fn bytes(value: u128) -> String {
    scaled(value as f64, &["B", "kB", "MB", "GB", "TB", "PB", "EB"])
}

/// `12.3 ms`.
pub fn seconds(seconds: f64) -> String {
    if seconds >= 1.0 {
        return format!("{} s", digits(seconds));
    }
    scaled(seconds * 1e12, &["ps", "ns", "us", "ms", "s"])
}

/// `0.770`; a dash when there is nothing to compare with.
pub fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.3}"))
}

fn scaled(mut value: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        (value, unit) = (value / 1000.0, unit + 1);
    }
    if unit == 0 { format!("{value:.0} {}", units[0]) } else { format!("{} {}", digits(value), units[unit]) }
}

/// Three digits that count.
fn digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// The first number of a run as text, the last one, and the digits of one padded with zeros (else 0).
type Run = (String, u64, usize);

/// Neighbouring numbers of one name put together: `node[0-19],login`.
pub fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut runs: Vec<(String, Option<Run>)> = Vec::new();
    for name in names {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, number) = name.split_at(name.len() - digits.min(18));
        let value = number.parse::<u64>().ok();
        match (runs.last_mut(), value) {
            (Some((last, Some((_, end, width)))), Some(value))
                if last == stem && *end + 1 == value && number.len() == (*width).max(decimals(value)) =>
            {
                *end = value;
            }
            (_, Some(value)) => {
                let width = if number.starts_with('0') { number.len() } else { 0 };
                runs.push((stem.to_string(), Some((number.to_string(), value, width))));
            }
            (_, None) => runs.push((name.to_string(), None)),
        }
    }
    let texts = runs.into_iter().map(|(stem, run)| match run {
        None => stem,
        Some((first, last, width)) if first.parse() != Ok(last) => format!("{stem}[{first}-{last:0width$}]"),
        Some((first, ..)) => stem + &first,
    });
    texts.collect::<Vec<_>>().join(",")
}

fn decimals(value: u64) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        for (value, text) in
            [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (999_999, "1.00 MB"), (12_345_678, "12.3 MB")]
        {
            assert_eq!(bytes(value), text);
        }
        assert_eq!(seconds(1.234e-3), "1.23 ms");
        assert_eq!(seconds(12.34), "12.3 s");
    }

    #[test]
    fn runs_of_names() {
        for (list, text) in [
            ("node0 node1 node2", "node[0-2]"),
            ("a b", "a,b"),
            ("n1 n3 n4", "n1,n[3-4]"),
            ("n08 n09 n10", "n[08-10]"),
            ("n9 n10 n11", "n[9-11]"),
            ("n1", "n1"),
            ("leaf", "leaf"),
        ] {
            assert_eq!(names(list.split(' ')), text);
        }
    }
}
