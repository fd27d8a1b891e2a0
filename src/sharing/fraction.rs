//! Exact fractions, so that shares can be compared with `==`.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Mul};

/// A fraction of non-negative integers in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    numerator: u128,
    denominator: u128,
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Fraction {
    /// Nothing.
    pub const ZERO: Fraction = Fraction { numerator: 0, denominator: 1 };
    /// All.
    pub const ONE: Fraction = Fraction { numerator: 1, denominator: 1 };

    /// `numerator / denominator`. Panics for a denominator of 0.
    pub fn new(numerator: u128, denominator: u128) -> Fraction {
        assert!(denominator > 0, "{numerator} / 0");
        let divisor = gcd(numerator, denominator);
        Fraction { numerator: numerator / divisor, denominator: denominator / divisor }
    }

    /// The numerator in lowest terms.
    pub fn numerator(self) -> u128 {
        self.numerator
    }

    /// The denominator in lowest terms.
    pub fn denominator(self) -> u128 {
        self.denominator
    }

    /// The nearest float, for people and metrics.
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl Mul for Fraction {
    type Output = Fraction;

    /// The product. Panics when it needs more than 128 bits.
    fn mul(self, other: Fraction) -> Fraction {
        let (left, right) = (gcd(self.numerator, other.denominator), gcd(other.numerator, self.denominator));
        let product = |a: u128, b: u128| a.checked_mul(b).expect("a fraction fits 128 bits");
        Fraction {
            numerator: product(self.numerator / left, other.numerator / right),
            denominator: product(self.denominator / right, other.denominator / left),
        }
    }
}

impl Add for Fraction {
    type Output = Fraction;

    /// The sum. Panics when it needs more than 128 bits.
    fn add(self, other: Fraction) -> Fraction {
        let common = gcd(self.denominator, other.denominator);
        let sum = || {
            let left = self.numerator.checked_mul(other.denominator / common)?;
            let right = other.numerator.checked_mul(self.denominator / common)?;
            let denominator = self.denominator.checked_mul(other.denominator / common)?;
            Some(Fraction::new(left.checked_add(right)?, denominator))
        };
        sum().expect("a fraction fits 128 bits")
    }
}

impl Sum for Fraction {
    fn sum<I: Iterator<Item = Fraction>>(iter: I) -> Fraction {
        iter.fold(Fraction::ZERO, Add::add)
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic() {
        let half = Fraction::new(7, 14);
        assert_eq!(half.to_string(), "1/2");
        assert_eq!(half * Fraction::new(2, 3), Fraction::new(1, 3));
        assert_eq!(half + Fraction::new(1, 6), Fraction::new(2, 3));
        assert_eq!(half + half, Fraction::ONE);
        assert_eq!(half * Fraction::ZERO, Fraction::ZERO);
        assert_eq!([half, half].into_iter().sum::<Fraction>().as_f64(), 1.0);
        let tiny = Fraction::new(1, u128::MAX);
        assert_eq!(tiny * Fraction::new(u128::MAX, 2), half);
    }
}
