//! Prices on links: many assignments that avoid what is crowded, and a proof of how good the best can be.
//!
//! For any prices that are not negative, the most loaded link takes at least the mean of all links' times weighted by
//! them. That mean is a sum over units, so that the assignment with the least mean is one of [`cheapest`]: it bounds every
//! assignment's time from below, and is itself a candidate. Prices of links that it loads more than others rise, again and
//! again (multiplicative weights: Arora, Hazan and Kale, Theory of Computing 8, 2012; for fractional packing Plotkin,
//! Shmoys and Tardos 1995).

use super::groups::Shares;
use super::traffic::{Setting, State, cheapest};
use crate::units::Picoseconds;

/// The largest weight of a link.
const WEIGHT_MAX: u64 = 1 << 32;

/// The largest price of a byte on a link: costs of 2^63 bytes then still leave room for their sums.
const PRICE_MAX: u128 = 1 << 32;

/// What the prices found.
pub(super) struct Found {
    /// The assignment with the least time, and hop-bytes among equals, of those seen.
    pub best: Option<(Picoseconds, State)>,
    /// No assignment's most loaded link takes less.
    pub bound: Picoseconds,
}

/// Raises prices `iterations` times, or until the bound is met by `known` or by what was found. Begins with the prices that
/// a known assignment suggests, whose time is `known`.
pub(super) fn search(setting: &Setting<'_>, iterations: u32, start: &State, known: Picoseconds) -> Found {
    let ways = setting.ways;
    let mut weights = suggested(setting, start);
    let mut found = Found { best: None, bound: Picoseconds(0) };
    for iteration in 0..iterations {
        let prices = prices(setting, &weights);
        let state = State::new(setting, &least_priced(setting, &prices));
        let times: Vec<u128> =
            state.loads.iter().enumerate().map(|(link, &bytes)| ways.rate(link).time(bytes).0).collect();
        let time = Picoseconds(times.iter().copied().max().unwrap_or(0));
        found.bound = found.bound.max(bound(setting, &prices, &state));
        if found.best.as_ref().is_none_or(|(least, best)| (time, state.hop_bytes) < (*least, best.hop_bytes))
        {
            found.best = Some((time, state));
        }
        let least = found.best.as_ref().map_or(known, |&(least, _)| least.min(known));
        if found.bound >= least {
            break;
        }
        raise(&mut weights, &times, time, iteration);
    }
    found
}

/// The price of a byte on each link, so that weight by weight a second costs the same on all.
fn prices(setting: &Setting<'_>, weights: &[u64]) -> Vec<u64> {
    let rates = || (0..setting.ways.links()).map(|link| setting.ways.rate(link).0.max(1));
    let fastest = rates().max().unwrap_or(1);
    let price = |(&weight, rate): (&u64, u64)| {
        let price = u128::from(weight >> 16) * u128::from(fastest) / u128::from(rate);
        u64::try_from(price.min(PRICE_MAX)).expect("limited")
    };
    weights.iter().zip(rates()).map(price).collect()
}

fn least_priced(setting: &Setting<'_>, prices: &[u64]) -> Shares {
    let priced = setting.ways.priced(prices);
    cheapest(&setting.groups.counts, &setting.capacity, |group, costs| {
        setting.price_row(&priced, group, costs);
    })
}

/// The weighted mean of the links' times in an assignment of the least price, rounded up.
fn bound(setting: &Setting<'_>, prices: &[u64], state: &State) -> Picoseconds {
    const PER_BYTE: u128 = 8 * Picoseconds::PER_SECOND;
    let value: u128 = prices.iter().zip(&state.loads).map(|(&price, &bytes)| u128::from(price) * bytes).sum();
    let rates = (0..prices.len()).map(|link| u128::from(setting.ways.rate(link).0.max(1)));
    let weight: u128 = prices.iter().zip(rates).map(|(&price, rate)| u128::from(price) * rate).sum();
    if weight == 0 {
        return Picoseconds(0);
    }
    // Where the product is too large, the quotient is rounded down first: less, but still a bound.
    let product = value.checked_mul(PER_BYTE).map(|product| product.div_ceil(weight));
    Picoseconds(product.unwrap_or_else(|| (value / weight).saturating_mul(PER_BYTE)))
}

/// Weights in the third power of the links' times: nearly all on those that are nearly the busiest.
fn suggested(setting: &Setting<'_>, start: &State) -> Vec<u64> {
    let times = start.loads.iter().enumerate().map(|(link, &bytes)| setting.ways.rate(link).time(bytes).0);
    let most = times.clone().max().unwrap_or(0).max(1);
    times.map(|time| share(time, most).pow(3) * (WEIGHT_MAX >> 30) + (WEIGHT_MAX >> 14)).collect()
}

/// A time's part of the most, in parts of 1024.
fn share(time: u128, most: u128) -> u64 {
    u64::try_from(time.saturating_mul(1024) / most).unwrap_or(1024).min(1024)
}

/// The most loaded link's weight doubles at first, and later grows by an eighth; the others' in proportion to their times.
fn raise(weights: &mut [u64], times: &[u128], most: Picoseconds, iteration: u32) {
    let slower = 10 + (iteration / 4).min(3);
    let mut largest = 1;
    for (weight, &time) in weights.iter_mut().zip(times) {
        *weight += (*weight >> slower) * share(time, most.0.max(1));
        largest = largest.max(*weight);
    }
    if largest > WEIGHT_MAX {
        for weight in weights.iter_mut() {
            let scaled = u128::from(*weight) * u128::from(WEIGHT_MAX) / u128::from(largest);
            *weight = u64::try_from(scaled).expect("no more than it was");
        }
    }
}
