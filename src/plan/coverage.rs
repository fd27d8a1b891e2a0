//! Is a window written completely? A fingerprint that answers without anybody seeing all the pieces.
//!
//! An aggregator may write a window in one piece only when the ranks together fill every byte of it; otherwise it must
//! read the window first (read-modify-write), or bytes that nobody wrote would change. ROMIO finds out by sending every
//! offset-length pair to the aggregator and merging them there. Here each rank sends three numbers a window: how many
//! bytes it writes, and the sum over its runs `[s, e)` of `g^e - g^s` in two finite fields.
//!
//! Runs that tile the window telescope: the sum is `g^len - g^0`, whoever wrote which part. Bytes fewer than the window
//! mean a hole for sure. When no byte is written twice, equal bytes mean no hole for sure. Only a program whose ranks
//! overlap (which MPI leaves undefined outside atomic mode, MPI-4.1 section 14.6.1) can have holes and still the right
//! number of bytes; there the fingerprint decides, a polynomial identity test (Schwartz 1980, Zippel 1979) with two
//! bases over 2^61 - 1: a wrong "covered" has probability below (2^30 / 2^61)^2 for windows up to a gigabyte.
//!
//! The powers make nested strides cheap: `n` repetitions at distance `d` multiply the inner sum by
//! `1 + g^d + ... + g^(d (n - 1))`, which takes a logarithmic number of multiplications. Ten million pieces of a
//! subarray are checked in microseconds.

use std::ops::{Add, AddAssign};
use std::sync::OnceLock;

/// The Mersenne prime 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;

/// Primitive roots of [`PRIME`], so that `g^d` is 1 for no distance that occurs; a test proves it.
const BASES: [u64; 2] = [37, 43];

/// What one rank, or all of them together, put into a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Bytes, counting one that is written twice twice.
    pub bytes: u64,
    sums: [u64; 2],
}

impl Coverage {
    /// How many numbers a coverage takes in an exchange.
    pub const WORDS: usize = 5;

    /// So many bytes, nobody knows where: what is said when holes do not matter.
    pub fn of_bytes(bytes: u64) -> Coverage {
        Coverage { bytes, ..Coverage::default() }
    }

    /// `bytes` in one run from `start` on, a position in the window.
    pub(crate) fn run(start: u64, bytes: u64) -> Coverage {
        let (low, high) = (power(start), power(start + bytes));
        Coverage { bytes, sums: [subtract(high[0], low[0]), subtract(high[1], low[1])] }
    }

    /// Moved up by the distance whose [`power`] is given.
    pub(crate) fn shifted(self, by: [u64; 2]) -> Coverage {
        Coverage { bytes: self.bytes, sums: [multiply(self.sums[0], by[0]), multiply(self.sums[1], by[1])] }
    }

    /// Whether these are exactly the bytes of a window of `len` bytes, each once.
    pub fn fills(self, len: u64) -> bool {
        self == Coverage::run(0, len)
    }

    /// The numbers to add up over the ranks. A sum below 2^61 is sent in two halves, so that 2^32 ranks cannot
    /// overflow 64 bits.
    pub fn to_words(self) -> [u64; Coverage::WORDS] {
        let [a, b] = self.sums;
        [self.bytes, a & 0x7fff_ffff, a >> 31, b & 0x7fff_ffff, b >> 31]
    }

    /// From the ranks' words, added up; of words that were left out only the bytes are known.
    pub fn from_words(words: &[u64]) -> Coverage {
        if words.len() < Coverage::WORDS {
            return Coverage::of_bytes(words[0]);
        }
        let join = |low: u64, high: u64| add(low % PRIME, multiply(high % PRIME, 1 << 31));
        Coverage { bytes: words[0], sums: [join(words[1], words[2]), join(words[3], words[4])] }
    }
}

impl Add for Coverage {
    type Output = Coverage;

    fn add(self, other: Coverage) -> Coverage {
        Coverage {
            bytes: self.bytes + other.bytes,
            sums: [add(self.sums[0], other.sums[0]), add(self.sums[1], other.sums[1])],
        }
    }
}

impl AddAssign for Coverage {
    fn add_assign(&mut self, other: Coverage) {
        *self = *self + other;
    }
}

/// `one` repeated `count` times (not 0), `distance` apart.
pub(crate) fn repeat(one: Coverage, count: u64, distance: u64) -> Coverage {
    let step = power(distance);
    let factor = [geometric(step[0], count), geometric(step[1], count)];
    Coverage { bytes: one.bytes * count, ..one.shifted(factor) }
}

/// Both bases to the power `exponent`, by one table look-up for every eight bits of it.
pub(crate) fn power(exponent: u64) -> [u64; 2] {
    static TABLES: OnceLock<Vec<[[u64; 2]; 256]>> = OnceLock::new();
    let tables = TABLES.get_or_init(power_tables);
    let mut result = [1, 1];
    let mut rest = exponent;
    for table in tables {
        if rest == 0 {
            break;
        }
        let entry = table[(rest & 0xff) as usize];
        result = [multiply(result[0], entry[0]), multiply(result[1], entry[1])];
        rest >>= 8;
    }
    result
}

/// Table t holds `g^(i * 256^t)` at `i`.
fn power_tables() -> Vec<[[u64; 2]; 256]> {
    let mut step = BASES;
    (0..8)
        .map(|_| {
            let mut table = [[1u64; 2]; 256];
            for i in 1..256 {
                table[i] = [multiply(table[i - 1][0], step[0]), multiply(table[i - 1][1], step[1])];
            }
            step = [multiply(table[255][0], step[0]), multiply(table[255][1], step[1])];
            table
        })
        .collect()
}

/// `1 + r + ... + r^(count - 1)`, by halving: no division, so any ratio will do.
fn geometric(ratio: u64, count: u64) -> u64 {
    let (mut sum, mut top) = (0, 1); // of the bits of `count` seen so far: the sum, and r^seen
    for bit in (0..u64::BITS - count.leading_zeros()).rev() {
        sum = multiply(sum, add(1, top));
        top = multiply(top, top);
        if count >> bit & 1 == 1 {
            sum = add(multiply(sum, ratio), 1);
            top = multiply(top, ratio);
        }
    }
    sum
}

fn add(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= PRIME { sum - PRIME } else { sum }
}

fn subtract(a: u64, b: u64) -> u64 {
    if a >= b { a - b } else { a + PRIME - b }
}

fn multiply(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let low = (product & u128::from(PRIME)) as u64; // 61 bits
    let high = (product >> 61) as u64; // below 2^61, as both factors are
    add(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// g is a primitive root when g^((p-1)/q) is not 1 for any prime q of p - 1.
    #[test]
    fn bases_are_primitive_roots() {
        let primes = [2u64, 3, 5, 7, 11, 13, 31, 41, 61, 151, 331, 1321];
        let mut rest = PRIME - 1;
        for q in primes {
            assert_eq!(rest % q, 0);
            while rest.is_multiple_of(q) {
                rest /= q;
            }
        }
        assert_eq!(rest, 1, "the list of prime factors is complete");
        for q in primes {
            assert!(power((PRIME - 1) / q).iter().all(|&value| value != 1), "prime factor {q}");
        }
        assert_eq!(power(PRIME - 1), [1, 1]);
    }

    #[test]
    fn geometric_sums_match_addition() {
        for ratio in [1, 2, 37, PRIME - 1] {
            let (mut sum, mut term) = (0, 1);
            for count in 0..70 {
                assert_eq!(geometric(ratio, count), sum, "ratio {ratio}, count {count}");
                sum = add(sum, term);
                term = multiply(term, ratio);
            }
        }
    }

    #[test]
    fn tiles_fill_and_nothing_else_does() {
        let total = |runs: &[(u64, u64)]| {
            let mut words = [0; Coverage::WORDS];
            for &(start, end) in runs {
                let one = Coverage::run(start, end - start).to_words();
                words.iter_mut().zip(one).for_each(|(sum, word)| *sum += word);
            }
            Coverage::from_words(&words)
        };
        assert!(total(&[(0, 10)]).fills(10));
        assert!(total(&[(7, 10), (0, 3), (3, 7)]).fills(10));
        assert!(!total(&[(0, 9)]).fills(10), "short");
        assert!(!total(&[(0, 5), (4, 9)]).fills(10), "overlap and hole, the right number of bytes");
        assert!(!total(&[(0, 10), (3, 4)]).fills(10), "one byte twice");
        assert!(!total(&[(0, 6), (5, 7), (8, 10)]).fills(10), "overlap by one, hole by one");
    }

    #[test]
    fn repetition_is_the_sum_of_its_parts() {
        let one = Coverage::run(2, 3) + Coverage::run(9, 1);
        for count in 1..20 {
            let by_hand = (0..count)
                .map(|i| Coverage::run(2 + 16 * i, 3) + Coverage::run(9 + 16 * i, 1))
                .fold(Coverage::default(), Add::add);
            assert_eq!(repeat(one, count, 16), by_hand);
        }
    }
}
