//! What crossed the links of a fabric, from the counters of their interfaces (`ci/fabric counters`).
//!
//! The counters are read around the collective calls alone, so MPI's start-up is not in them.

use crate::probe::Counts;
use crate::report::{self, Pass};
use serde::Serialize;
use std::cmp::Ordering;

/// What calls put on the network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    /// The bytes of all directed links together: hops times bytes.
    pub hop_bytes: f64,
    /// The link that was busiest.
    pub busiest: Busy,
}

/// A directed link and what went through it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Busy {
    /// From where to where.
    pub link: String,
    /// What it carried.
    pub bytes: f64,
    /// How long that takes at the link's rate.
    pub seconds: f64,
}

impl Load {
    /// Of one pass; none where nothing was counted.
    pub fn of_pass(pass: &Pass) -> Option<Load> {
        Load::of_counts(&[&pass.counted])
    }

    /// The median pass: of each link the median, and of these the sum and the busiest.
    pub fn median<'a>(passes: impl IntoIterator<Item = &'a Pass>) -> Option<Load> {
        let counts: Vec<&Counts> = passes.into_iter().map(|pass| &pass.counted).collect();
        Load::of_counts(&counts)
    }

    fn of_counts(counts: &[&Counts]) -> Option<Load> {
        let links = counts.first()?.keys().filter_map(|name| {
            let (link, bits_per_second) = rated(name)?;
            let bytes = report::median(counts.iter().filter_map(|count| Some(*count.get(name)? as f64)))?;
            Some(Busy { link, bytes, seconds: bytes * 8.0 / bits_per_second })
        });
        let links: Vec<Busy> = links.collect();
        let hop_bytes = links.iter().map(|link| link.bytes).sum();
        // Of equally busy ones the first by name.
        let busier =
            |a: &Busy, b: &Busy| -> Ordering { a.seconds.total_cmp(&b.seconds).then(b.link.cmp(&a.link)) };
        links.into_iter().max_by(busier).map(|busiest| Load { hop_bytes, busiest })
    }
}

/// FROM TO BITS_PER_SECOND, taken apart.
fn rated(name: &str) -> Option<(String, f64)> {
    let words: Vec<&str> = name.split(' ').collect();
    let [from, to, rate] = words[..] else { return None };
    let rate: f64 = rate.parse().ok()?;
    (rate > 0.0).then(|| (format!("{from} to {to}"), rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(links: &[(&str, u64)]) -> Counts {
        links.iter().map(|&(name, bytes)| (name.to_owned(), bytes)).collect()
    }

    #[test]
    fn the_busiest_is_that_which_needs_most_time() {
        let one = counts(&[("a b 800", 100), ("b a 800", 50), ("b c 80", 20), ("c b 80", 20), ("else 7", 9)]);
        let load = Load::of_counts(&[&one]).unwrap();
        assert_eq!(load.hop_bytes, 190.0);
        assert_eq!(load.busiest, Busy { link: "b to c".to_owned(), bytes: 20.0, seconds: 2.0 });
        assert_eq!(Load::of_counts(&[]), None);
        assert_eq!(Load::of_counts(&[&Counts::new()]), None);
    }

    #[test]
    fn medians_are_of_each_link() {
        let of = |a, b| counts(&[("a b 8", a), ("b a 8", b)]);
        let load = Load::of_counts(&[&of(1, 9), &of(5, 2), &of(9, 3)]).unwrap();
        assert_eq!((load.hop_bytes, load.busiest.bytes, &load.busiest.link[..]), (8.0, 5.0, "a to b"));
    }
}
