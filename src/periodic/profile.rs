//! How much of the file storage is free at each instant of a period that repeats.
//!
//! The period is cut into segments of one free bandwidth each, chained in the order of time. Segments are only ever
//! split: a segment keeps its beginning, so that whoever remembers one can walk on from it. That is what makes the
//! insertions of a pattern cheap: each application walks the circle once (Theorem 1).

use super::pattern::Window;
use super::quantities::Bandwidth;

#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u64,
    end: u64,
    free: Bandwidth,
    /// 0 after the last.
    next: u32,
}

/// The free bandwidth over one period.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    period: u64,
    segments: Vec<Segment>,
}

/// A point in time, which may lie in a later period, and the segment around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub at: u64,
    segment: u32,
    /// Where the period around it begins.
    base: u64,
}

/// A piece of one segment for one application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    /// Counted on past the end of the period, in the order of time.
    pub start: u64,
    pub end: u64,
    pub bandwidth: Bandwidth,
    segment: u32,
    base: u64,
}

impl Profile {
    /// Everything is free.
    pub fn new(period: u64, total: Bandwidth) -> Profile {
        let whole = Segment { start: 0, end: period, free: total, next: 0 };
        Profile { period, segments: vec![whole] }
    }

    /// The beginning of the period.
    pub fn origin(&self) -> Place {
        Place { at: 0, segment: 0, base: 0 }
    }

    pub fn period(&self) -> u64 {
        self.period
    }

    /// The end of the segment around a place, and what is free until then.
    fn around(&self, place: &Place) -> (u64, Bandwidth) {
        let segment = &self.segments[place.segment as usize];
        (place.base + segment.end, segment.free)
    }

    /// The beginning of the next segment.
    pub fn next(&self, place: &Place) -> Place {
        let segment = &self.segments[place.segment as usize];
        let base = if segment.next == 0 { place.base + self.period } else { place.base };
        Place { at: place.base + segment.end, segment: segment.next, base }
    }

    /// Goes on to a time that is not before the place's.
    pub fn walk(&self, mut place: Place, to: u64) -> Place {
        while self.around(&place).0 <= to {
            place = self.next(&place);
        }
        Place { at: to, ..place }
    }

    /// Takes what is free from `place` on, at most `fastest`, until `grains` have gone through; leaves the pieces in
    /// `grants`. Returns where the transfer ends, or nothing when it would not by `until`.
    pub fn fill(
        &self,
        mut place: Place,
        until: u64,
        fastest: Bandwidth,
        mut grains: u64,
        grants: &mut Vec<Grant>,
    ) -> Option<Place> {
        grants.clear();
        while place.at < until {
            let (segment_end, free) = self.around(&place);
            let bandwidth = free.min(fastest);
            if bandwidth.0 > 0 {
                let end = segment_end.min(until);
                let Place { at: start, segment, base } = place;
                // A division only where the transfer ends: this loop takes most of the time of a search.
                let carried = u128::from(bandwidth.0) * u128::from(end - start);
                if carried >= u128::from(grains) {
                    let end = start + bandwidth.time_of(grains);
                    grants.push(Grant { start, end, bandwidth, segment, base });
                    return Some(Place { at: end, ..place });
                }
                grants.push(Grant { start, end, bandwidth, segment, base });
                grains -= bandwidth.carries(end - start);
            }
            place = self.next(&place);
        }
        None
    }

    /// The pieces of a window that begins at `place` or after it, of which the caller knows that it is free; leaves
    /// them in `grants`. Returns where it ends.
    pub fn cover(&self, place: Place, window: &Window, grants: &mut Vec<Grant>) -> Place {
        grants.clear();
        let (until, bandwidth) = (window.end.0, window.bandwidth);
        let mut place = self.walk(place, window.start.0);
        loop {
            let (segment_end, free) = self.around(&place);
            debug_assert!(bandwidth <= free, "the window is free");
            let end = segment_end.min(until);
            let Place { at: start, segment, base } = place;
            grants.push(Grant { start, end, bandwidth, segment, base });
            if end == until {
                return Place { at: end, ..place };
            }
            place = self.next(&place);
        }
    }

    /// Makes the granted pieces taken. They come from one [`fill`](Profile::fill) or
    /// [`cover`](Profile::cover), with nothing taken since, so that no two of them lie side by side in a segment.
    pub fn take(&mut self, grants: &[Grant]) {
        for grant in grants {
            let (start, end) = (grant.start - grant.base, grant.end - grant.base);
            let mut number = grant.segment;
            if self.segments[number as usize].start < start {
                number = self.split(number, start);
            }
            if end < self.segments[number as usize].end {
                self.split(number, end);
            }
            self.segments[number as usize].free.0 -= grant.bandwidth.0;
        }
    }

    /// Cuts a segment at a time inside it; returns the second part.
    fn split(&mut self, number: u32, at: u64) -> u32 {
        let added = u32::try_from(self.segments.len()).expect("segments fit 32 bits");
        let segment = &mut self.segments[number as usize];
        debug_assert!(segment.start < at && at < segment.end);
        let second = Segment { start: at, ..*segment };
        (segment.end, segment.next) = (at, added);
        self.segments.push(second);
        added
    }
}
