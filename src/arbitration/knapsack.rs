//! The multiple-choice knapsack problem, solved exactly.
//!
//! Every class (a job) takes exactly one of its items (a number of I/O nodes, and the bandwidth with it); the weights
//! may not exceed the capacity, and the values' sum is to be the largest possible (GekkoFWD, section 3.1).
//!
//! # Method
//!
//! 1. **Dominance.** An item that is no better than a lighter one of its class goes, and so does one that does not
//!    fit beside the lightest items of the others.
//! 2. **A price.** Put a price on a unit of weight and let every class buy what leaves it most after paying. The
//!    price is the lowest whole number at which what they buy fits (found on the convex hulls, as the linear
//!    relaxation is; Zemel 1980). What they are left with, plus the price of the whole capacity, is a bound that no
//!    selection exceeds. A selection falls short of it by the sum of its *losses*: what each class forgoes by taking
//!    another item than its best at that price, and the price of every unit of capacity that stays unused.
//! 3. **A core.** The classes whose second-best item loses least are solved by dynamic programming over the capacity,
//!    the others keep their best item. The result falls short of the bound by its *gap*. An item that loses more
//!    than the gap is in no optimal selection, so a class with a single item left is settled. If all that are open
//!    were in the core, the result is proven optimal; otherwise a larger core is solved. In the worst case (classes
//!    all alike) the core ends up with every class, and this is the plain dynamic programme.
//!
//! Losses are small where values are large, so that the dynamic programme runs on 16 or 32 bits nearly always, and its
//! inner loop is a minimum of two rows that the compiler turns into vector instructions. The rows are kept, and the
//! choices read back from them, because noting a choice in the inner loop costs more.
//!
//! Time is O(items log items + core classes x their items x capacity), memory O(items + core classes x capacity): with
//! 4096 classes all in the core and a capacity of 2048, 32 MiB of 32-bit numbers.
//!
//! # Ties
//!
//! The result is a function of the arguments alone; all arithmetic is on integers. Of selections with the largest
//! value it is one with the least weight; of those, the one whose first class has the heaviest item, then whose second
//! class has, and so on. Of equal items of a class the first is taken.

use std::cmp::Reverse;
use std::ops::Add;

/// One item of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it takes of the capacity.
    pub weight: u32,
    /// What it is worth.
    pub value: u64,
}

/// The largest value an item may have: 45 bits, so that it times any capacity of 16 bits fits 64 with room to add.
pub const VALUE_MAX: u64 = (1 << 45) - 1;

/// The most capacity that can be put to use, and the most classes.
pub const SIZE_MAX: usize = (1 << 16) - 1;

/// How many classes the first core has, and by how much the next is larger.
const CORE_FIRST: usize = 16;
const CORE_GROWTH: usize = 8;

/// The item that each class takes, by its position in the class; `None` when not even the lightest items fit, or a
/// class has none.
///
/// Panics when there are more than [`SIZE_MAX`] classes, when more capacity than that could be used, or when a
/// value exceeds [`VALUE_MAX`].
pub fn solve(classes: &[Vec<Item>], capacity: u32) -> Option<Vec<usize>> {
    solve_from(classes, capacity, CORE_FIRST)
}

/// The same, with another size of the first core: tests let it grow in small cases, too.
fn solve_from(classes: &[Vec<Item>], capacity: u32, core_first: usize) -> Option<Vec<usize>> {
    assert!(classes.len() <= SIZE_MAX, "{} classes, at most {SIZE_MAX} are supported", classes.len());
    let pruned = Pruned::new(classes, capacity)?;
    let chosen = Priced::new(&pruned).search(core_first);
    Some(chosen.into_iter().map(|item| pruned.items[item].position as usize).collect())
}

#[derive(Clone, Copy)]
struct Entry {
    /// Above that of the class's lightest item, in units that divide all of them.
    weight: u32,
    /// In the class as it was given.
    position: u32,
    value: i64,
}

/// The items that no other dominates, class by class; in a class both weights and values ascend.
struct Pruned {
    items: Vec<Entry>,
    /// Where each class begins, and the end.
    starts: Vec<usize>,
    /// The capacity beyond the lightest items in these units, as far as it can be used.
    room: u32,
}

impl Pruned {
    fn new(classes: &[Vec<Item>], capacity: u32) -> Option<Pruned> {
        let mut least = 0u32;
        for class in classes {
            least = least.checked_add(class.iter().map(|item| item.weight).min()?)?;
        }
        let room = capacity.checked_sub(least)?;
        let mut items = Vec::with_capacity(classes.iter().map(Vec::len).sum());
        let mut starts = Vec::with_capacity(classes.len() + 1);
        let mut usable = 0u64;
        for class in classes {
            starts.push(items.len());
            push_undominated(&mut items, class, room);
            usable += u64::from(items.last().map_or(0, |item: &Entry| item.weight));
        }
        starts.push(items.len());
        // Room that no sum of weights fills would hide how good a selection is.
        let unit = items.iter().fold(0, |unit, item| gcd(unit, item.weight)).max(1);
        items.iter_mut().for_each(|item| item.weight /= unit);
        let (room, usable) = (room / unit, usable / u64::from(unit));
        let room = u32::try_from(usable).unwrap_or(u32::MAX).min(room);
        assert!(
            room as usize <= SIZE_MAX,
            "{room} units of capacity in use, at most {SIZE_MAX} are supported"
        );
        Some(Pruned { items, starts, room })
    }

    fn classes(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self.starts.windows(2).map(|ends| ends[0]..ends[1])
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn push_undominated(items: &mut Vec<Entry>, class: &[Item], room: u32) {
    let start = items.len();
    let lightest = class.iter().map(|item| item.weight).min().unwrap_or(0);
    for (position, item) in class.iter().enumerate().filter(|(_, item)| item.weight - lightest <= room) {
        assert!(item.value <= VALUE_MAX, "value {}, at most {VALUE_MAX} is supported", item.value);
        items.push(Entry {
            weight: item.weight - lightest,
            position: position as u32,
            value: item.value as i64,
        });
    }
    items[start..].sort_unstable_by_key(|item| (item.weight, Reverse(item.value), item.position));
    let mut kept = start;
    for index in start..items.len() {
        if kept == start || items[index].value > items[kept - 1].value {
            items[kept] = items[index];
            kept += 1;
        }
    }
    items.truncate(kept);
}

/// The lowest whole price of a unit of weight at which what every class buys fits the room.
fn price(pruned: &Pruned) -> i64 {
    // Each step up a hull is one number: value per unit of weight above, units below. All fit: values have 45
    // bits and weights 16.
    let mut steps: Vec<u64> = Vec::with_capacity(pruned.items.len());
    let mut hull: Vec<Entry> = Vec::new();
    for class in pruned.classes() {
        hull.clear();
        for &item in &pruned.items[class] {
            while let [.., before, last] = hull[..]
                && rise(last, item).0 * rise(before, last).1 >= rise(before, last).0 * rise(last, item).1
            {
                hull.pop();
            }
            hull.push(item);
        }
        for pair in hull.windows(2) {
            let (value, weight) = rise(pair[0], pair[1]);
            steps.push((value / weight) << 16 | weight);
        }
    }
    steps.sort_unstable_by_key(|&step| Reverse(step));
    let mut left = u64::from(pruned.room);
    for step in steps {
        let (gradient, weight) = (step >> 16, step & 0xffff);
        match left.checked_sub(weight) {
            Some(rest) => left = rest,
            // Nobody buys this step, nor any that is no better, at a price above it.
            None => return gradient as i64 + 1,
        }
    }
    0
}

/// What `to` has above `from`, in value and weight.
fn rise(from: Entry, to: Entry) -> (u64, u64) {
    ((to.value - from.value) as u64, u64::from(to.weight - from.weight))
}

/// The problem seen at its price.
struct Priced<'a> {
    pruned: &'a Pruned,
    price: i64,
    /// What each item forgoes against the best of its class.
    loss: Vec<i64>,
    /// The lightest item without loss of each class, by its index among all items.
    best: Vec<usize>,
    /// What the best items leave of the room.
    slack: i64,
}

/// A class of the core, and what is left of it.
struct Core {
    /// The number of each class, ascending.
    classes: Vec<u32>,
    /// By index among all items; those of a class ascend in weight.
    items: Vec<u32>,
    /// Weight above the class's first item here, and loss.
    extra: Vec<u32>,
    loss: Vec<i64>,
    /// Where each class begins, and the end.
    starts: Vec<usize>,
    /// What the first items here, and the best items of the classes that are not here, leave of the room.
    room: usize,
}

impl<'a> Priced<'a> {
    fn new(pruned: &'a Pruned) -> Priced<'a> {
        let price = price(pruned);
        let net = |item: &Entry| item.value - price * i64::from(item.weight);
        let mut loss = Vec::with_capacity(pruned.items.len());
        let mut best = Vec::with_capacity(pruned.starts.len());
        let mut slack = i64::from(pruned.room);
        for class in pruned.classes() {
            let most = pruned.items[class.clone()].iter().map(net).max().expect("a class keeps an item");
            loss.extend(pruned.items[class.clone()].iter().map(|item| most - net(item)));
            let first =
                class.start + loss[class].iter().position(|&loss| loss == 0).expect("one is the best");
            slack -= i64::from(pruned.items[first].weight);
            best.push(first);
        }
        assert!(slack >= 0, "what classes buy at the price fits");
        Priced { pruned, price, loss, best, slack }
    }

    /// The index of each class's item.
    fn search(&self, core_first: usize) -> Vec<usize> {
        let unfilled = self.price * self.slack;
        // Each class by the least loss of another item than its best.
        let mut open: Vec<(i64, u32)> = Vec::new();
        for (number, class) in self.pruned.classes().enumerate() {
            let second = class.filter(|&item| item != self.best[number]).map(|item| self.loss[item]).min();
            open.extend(second.filter(|&loss| loss <= unfilled).map(|loss| (loss, number as u32)));
        }
        open.sort_unstable();
        let mut gap = self.filled(&open);
        let mut size = core_first;
        let mut rows = Rows::default();
        loop {
            open.truncate(open.partition_point(|&(loss, _)| loss <= gap));
            let core = self.core(&open[..size.min(open.len())], gap);
            let (found, items) = rows.least_loss(&core, self.price, gap);
            let better = found < gap;
            gap = gap.min(found);
            if open.partition_point(|&(loss, _)| loss <= gap) <= size {
                let mut chosen = self.best.clone();
                for (&class, item) in core.classes.iter().zip(items) {
                    chosen[class as usize] = item as usize;
                }
                return chosen;
            }
            // A core that does not help is a sign that no other will.
            size = if better { size * CORE_GROWTH } else { open.len() };
        }
    }

    /// How far a selection falls short of the bound that fills the slack class by class, in this order.
    fn filled(&self, open: &[(i64, u32)]) -> i64 {
        let (mut slack, mut lost) = (self.slack, 0);
        for &(_, class) in open {
            let class = class as usize;
            let before = i64::from(self.pruned.items[self.best[class]].weight);
            let items = self.best[class]..self.pruned.starts[class + 1];
            let more = |item: usize| i64::from(self.pruned.items[item].weight) - before;
            let fitting = items.filter(|&item| more(item) <= slack);
            let most = fitting.max_by_key(|&item| self.price * more(item) - self.loss[item]);
            let most = most.expect("the best item fits");
            slack -= more(most);
            lost += self.loss[most];
        }
        lost + self.price * slack
    }

    /// The core of these classes, with the items that lose no more than the gap.
    fn core(&self, open: &[(i64, u32)], gap: i64) -> Core {
        let mut classes: Vec<u32> = open.iter().map(|&(_, class)| class).collect();
        classes.sort_unstable();
        let mut core = Core {
            items: Vec::new(),
            extra: Vec::new(),
            loss: Vec::new(),
            starts: Vec::with_capacity(classes.len() + 1),
            room: 0,
            classes,
        };
        let mut room = self.slack;
        for &class in &core.classes {
            let class = class as usize;
            core.starts.push(core.items.len());
            let all = self.pruned.starts[class]..self.pruned.starts[class + 1];
            let mut first = None;
            for item in all.filter(|&item| self.loss[item] <= gap) {
                let weight = self.pruned.items[item].weight;
                let first = *first.get_or_insert(weight);
                core.items.push(item as u32);
                core.extra.push(weight - first);
                core.loss.push(self.loss[item]);
            }
            let best = self.pruned.items[self.best[class]].weight;
            room += i64::from(best) - i64::from(first.expect("the best item loses nothing"));
        }
        core.starts.push(core.items.len());
        core.room = usize::try_from(room).expect("lighter items leave more room");
        core
    }
}

/// A number that losses are added up in.
trait Loss: Copy + Ord + Add<Output = Self> + TryFrom<i64> + Into<i64> {
    /// Nothing.
    const ZERO: Self;
    /// Above every sum of interest; it fits together with a loss below it.
    const FAR: Self;
}

impl Loss for i16 {
    const ZERO: i16 = 0;
    const FAR: i16 = 1 << 14;
}

impl Loss for i32 {
    const ZERO: i32 = 0;
    const FAR: i32 = 1 << 30;
}

impl Loss for i64 {
    const ZERO: i64 = 0;
    const FAR: i64 = 1 << 62;
}

/// The memory of the dynamic programme, kept from one core to the next.
#[derive(Default)]
struct Rows {
    narrow: Vec<i16>,
    middle: Vec<i32>,
    wide: Vec<i64>,
}

impl Rows {
    /// As the function of this name, on the narrowest numbers that hold the gap: more of them fit a vector.
    fn least_loss(&mut self, core: &Core, price: i64, gap: i64) -> (i64, Vec<u32>) {
        if gap < i64::from(i16::FAR) {
            least_loss(core, price, &mut self.narrow)
        } else if gap < i64::from(i32::FAR) {
            least_loss(core, price, &mut self.middle)
        } else {
            least_loss(core, price, &mut self.wide)
        }
    }
}

/// The least sum of losses, the price of unused room included, and the item of each class that makes it up.
///
/// Row k has the least loss of the classes from the k-th on for every weight that they can have together: the last
/// class enters first, so that reading the choices back begins with the first.
fn least_loss<T: Loss>(core: &Core, price: i64, rows: &mut Vec<T>) -> (i64, Vec<u32>) {
    rows.clear();
    rows.push(T::ZERO);
    // Where each row begins, the last class's first.
    let mut begins = vec![0];
    for class in (0..core.classes.len()).rev() {
        let items = core.starts[class]..core.starts[class + 1];
        let begin = rows.len();
        let before = *begins.last().expect("there is a row");
        let widest = core.extra[items.end - 1] as usize;
        let width = (begin - before + widest).min(core.room + 1);
        begins.push(begin);
        rows.resize(begin + width, T::FAR);
        let (old, new) = rows.split_at_mut(begin);
        let old = &old[before..];
        for item in items {
            let loss = narrow::<T>(core.loss[item]);
            // Zipping ends with the shorter: the weights that both the old row and the room have.
            for (new, &old) in new.iter_mut().skip(core.extra[item] as usize).zip(old) {
                *new = (*new).min(old + loss);
            }
        }
    }
    let unused = |weight: usize| price * (core.room - weight) as i64;
    let last = *begins.last().expect("there is a row");
    let (gap, mut weight) = (rows[last..].iter().enumerate())
        .filter(|&(_, &loss)| loss < T::FAR)
        .map(|(weight, &loss)| (loss.into() + unused(weight), weight))
        .min()
        .expect("the lightest items fit");
    let mut chosen = Vec::with_capacity(core.classes.len());
    for class in 0..core.classes.len() {
        let rank = core.classes.len() - class;
        let sum = rows[begins[rank] + weight];
        let rest = &rows[begins[rank - 1]..begins[rank]];
        let item = (core.starts[class]..core.starts[class + 1]).rev().find(|&item| {
            let left = weight.checked_sub(core.extra[item] as usize).and_then(|left| rest.get(left));
            left.is_some_and(|&left| left + narrow(core.loss[item]) == sum)
        });
        let item = item.expect("an item made the sum");
        weight -= core.extra[item] as usize;
        chosen.push(core.items[item]);
    }
    (gap, chosen)
}

fn narrow<T: Loss>(loss: i64) -> T {
    T::try_from(loss).ok().expect("losses above the gap were left out")
}

#[cfg(test)]
mod tests {
    use super::super::testing::Random;
    use super::*;

    fn items(text: &str) -> Vec<Vec<Item>> {
        let item = |word: &str| {
            let (weight, value) = word.split_once(':').unwrap();
            Item { weight: weight.parse().unwrap(), value: value.parse().unwrap() }
        };
        text.split('|').map(|class| class.split_whitespace().map(item).collect()).collect()
    }

    /// Classes of `weight:value` items, the capacity, and the expected positions.
    fn check(classes: &str, capacity: u32, expected: Option<&[usize]>) {
        assert_eq!(solve(&items(classes), capacity).as_deref(), expected, "{classes} in {capacity}");
    }

    #[test]
    fn small_cases() {
        assert_eq!(solve(&[], 0), Some(vec![]));
        check("1:5", 0, None);
        check("", 9, None);
        check("1:5", 1, Some(&[0]));
        check("0:1 1:5 2:9 | 0:1 1:5 2:9", 3, Some(&[2, 1]));
        check("0:1 1:5 2:9 | 0:1 1:5 2:10", 3, Some(&[1, 2]));
        check("2:5 1:5 1:5 0:4", 9, Some(&[1]));
        // The fewest nodes first, then the heaviest item for the first class.
        check("0:0 4:4 | 0:0 3:4", 4, Some(&[0, 1]));
        check("0:0 2:4 | 0:0 2:4 | 0:0 2:4", 5, Some(&[1, 1, 0]));
        check("0:7 5:7 | 0:0 9:0", 20, Some(&[0, 0]));
        // The hull alone would miss this.
        check("0:0 3:10 | 0:0 2:6 | 0:0 2:6", 4, Some(&[0, 1, 1]));
        check("0:0 4294967295:1", u32::MAX - 1, Some(&[0]));
        check("4294967295:1 | 1:1", u32::MAX, None);
    }

    /// How good a selection is: its value, then how light, then how heavy the first classes' items.
    type Merit = (u64, Reverse<u32>, Vec<u32>);

    fn merit(classes: &[Vec<Item>], chosen: &[usize]) -> Merit {
        let taken: Vec<Item> = classes.iter().zip(chosen).map(|(class, &item)| class[item]).collect();
        let weights: Vec<u32> = taken.iter().map(|item| item.weight).collect();
        (taken.iter().map(|item| item.value).sum(), Reverse(weights.iter().sum()), weights)
    }

    /// Every selection, tried.
    fn brute_force(classes: &[Vec<Item>], capacity: u32) -> Option<Merit> {
        let mut best = None;
        let mut chosen = vec![0; classes.len()];
        if classes.iter().any(Vec::is_empty) {
            return None;
        }
        loop {
            let merit = merit(classes, &chosen);
            if merit.1.0 <= capacity {
                best = best.max(Some(merit));
            }
            let Some(class) = (0..classes.len()).find(|&class| chosen[class] + 1 < classes[class].len())
            else {
                return best;
            };
            chosen[class] += 1;
            chosen[..class].fill(0);
        }
    }

    /// The textbook's dynamic programme: the best value of all classes so far at each capacity. With the least
    /// weight that has it: value and weight of the best selection, ties in weight resolved.
    fn textbook(classes: &[Vec<Item>], capacity: u32) -> Option<(u64, u32)> {
        let mut best: Vec<Option<u64>> = vec![Some(0); capacity as usize + 1];
        for class in classes {
            let at = |weight: usize| {
                let value = |item: &Item| Some(best[weight.checked_sub(item.weight as usize)?]? + item.value);
                class.iter().filter_map(value).max()
            };
            best = (0..best.len()).map(at).collect();
        }
        let value = best[capacity as usize]?;
        let weight = best.iter().position(|&at| at == Some(value))?;
        Some((value, weight as u32))
    }

    /// Random classes: curves of several shapes, so that hulls, ties and wide gaps all occur.
    fn classes(random: &mut Random, count: usize, items_max: usize, weight_max: usize) -> Vec<Vec<Item>> {
        let shape = random.below(6);
        let scale = [3, 10, 1000, 1 << 33, VALUE_MAX][random.below(5)];
        let unit = [1, 1, 1, 2, 3][random.below(5)];
        let class = |random: &mut Random| {
            let count = 1 + random.below(items_max);
            let item = |random: &mut Random| {
                let weight = (random.below(weight_max + 1) / unit * unit) as u64;
                let noise = random.next() % (scale + 1);
                let value = match shape {
                    0 | 1 => noise,
                    2 => weight,
                    3 => weight * weight,
                    4 => (scale / 70 * weight + noise / 1000).min(VALUE_MAX),
                    _ => (scale / 70 * weight).min(VALUE_MAX) / (1 + random.next() % 2),
                };
                Item { weight: weight as u32, value }
            };
            (0..count).map(|_| item(random)).collect()
        };
        (0..count).map(|_| class(random)).collect()
    }

    #[test]
    fn every_selection_tried_finds_none_better() {
        for seed in 0..20_000 {
            let mut random = Random(seed);
            let count = random.below(7);
            let weight_max = 1 + random.below(9);
            let classes = classes(&mut random, count, 4, weight_max);
            let capacity = random.below(4 + count * weight_max) as u32;
            let core_first = [1, 2, CORE_FIRST][random.below(3)];
            let found = solve_from(&classes, capacity, core_first).map(|chosen| merit(&classes, &chosen));
            assert_eq!(found, brute_force(&classes, capacity), "seed {seed}");
        }
    }

    #[test]
    fn the_textbook_finds_none_better_in_large_cases() {
        for seed in 0..300 {
            let mut random = Random(seed ^ 0x6b6e_6170);
            let count = 1 + random.below(250);
            let weight_max = 1 + random.below(64);
            let classes = classes(&mut random, count, 9, weight_max);
            let capacity = random.below(1 + count * weight_max / 2) as u32;
            let found = solve(&classes, capacity).map(|chosen| merit(&classes, &chosen));
            let found = found.map(|(value, Reverse(weight), _)| (value, weight));
            assert_eq!(found, textbook(&classes, capacity), "seed {seed}");
        }
    }

    /// Ties among hundreds of classes alike: the first ones get the most.
    #[test]
    fn classes_all_alike_are_served_in_order() {
        for (count, capacity, each) in [(300, 300, 2), (300, 77, 4), (50, 1000, 8), (2000, 333, 1)] {
            let line: Vec<Item> =
                (0..=each).map(|weight| Item { weight, value: 10 * u64::from(weight) }).collect();
            let chosen = solve(&vec![line; count], capacity).unwrap();
            let mut left = capacity;
            let expected: Vec<usize> = (0..count)
                .map(|_| {
                    let taken = left.min(each);
                    left -= taken;
                    taken as usize
                })
                .collect();
            assert_eq!(chosen, expected);
        }
    }

    #[test]
    #[should_panic(expected = "at most 35184372088831 is supported")]
    fn values_past_the_limit_are_refused() {
        solve(&[vec![Item { weight: 0, value: VALUE_MAX + 1 }]], 1);
    }
}
