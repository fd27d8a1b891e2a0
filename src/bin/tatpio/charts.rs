//! Line charts, grouped bars and Gantt charts, as [`Drawing`]s that can be put beside each other.

use crate::picture::{Anchor, COLOURS, Drawing, FAINT, INK, PLAIN, Text, text_width};

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By factors; values that are not positive are left out.
    Log,
}

/// One axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What is measured, and in which unit.
    pub label: String,
    /// How it is divided.
    pub scale: Scale,
    /// Whether it shows 0 (on a linear one).
    pub from_zero: bool,
}

impl Axis {
    /// An even one from 0.
    pub fn linear(label: &str) -> Axis {
        Axis { label: label.into(), scale: Scale::Linear, from_zero: true }
    }

    /// A logarithmic one.
    pub fn log(label: &str) -> Axis {
        Axis { label: label.into(), scale: Scale::Log, from_zero: false }
    }
}

/// A value with the range it was drawn from: the median of several runs, their least and their most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// What is drawn.
    pub value: f64,
    /// The lower end of the range.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Spread {
    /// One value.
    #[allow(dead_code)] // for charts of single runs
    pub fn exact(value: f64) -> Spread {
        Spread { value, low: value, high: value }
    }

    /// The median (the lower of two) and the extremes; `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Spread {
            value: *sorted.get((sorted.len().max(1) - 1) / 2)?,
            low: *sorted.first()?,
            high: *sorted.last()?,
        })
    }
}

/// One line: its name, and values by x, ascending.
#[derive(Clone, Debug)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// (x, y).
    pub points: Vec<(f64, Spread)>,
}

/// Lines over a common axis.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// Above it.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
    /// Whether values hold until the next one (as rates over time do).
    pub steps: bool,
    /// Width and height of the whole.
    pub size: (f64, f64),
}

/// Bars in groups.
#[derive(Clone, Debug)]
pub struct BarChart {
    /// Above it.
    pub title: String,
    /// Upwards.
    pub y: Axis,
    /// The groups' names.
    pub groups: Vec<String>,
    /// The name of each series, and its value in each group.
    pub series: Vec<(String, Vec<Option<Spread>>)>,
    /// What stands over a bar.
    pub label: fn(f64) -> String,
    /// Width and height of the whole.
    pub size: (f64, f64),
}

/// What happens when, row by row.
#[derive(Clone, Debug)]
pub struct Gantt {
    /// Above it.
    pub title: String,
    /// Time, to the right.
    pub x: Axis,
    /// What the colours mean, by class.
    pub classes: Vec<String>,
    /// The rows' names, and what happens in each.
    pub rows: Vec<(String, Vec<Span>)>,
    /// The width of the whole; its height follows from the rows.
    pub width: f64,
}

/// One bar of a Gantt chart.
#[derive(Clone, Debug)]
pub struct Span {
    /// Where it begins.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
    /// Its colour's number.
    pub class: usize,
    /// What stands in it when there is room.
    pub label: String,
}

/// The colour of a series or class.
pub fn colour(number: usize) -> &'static str {
    COLOURS[number % COLOURS.len()]
}

/// A value with as many digits as tell ticks apart.
pub fn number(value: f64) -> String {
    let text = match value.abs() {
        size if size == 0.0 || (1e-3..1e6).contains(&size) => format!("{value:.4}"),
        _ => return format!("{value:.1e}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The part of a chart in which values are drawn, and what they mean there.
struct Field {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// A range of values along a side of the field.
struct Range {
    scale: Scale,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Range {
    /// Of all values that can be shown.
    fn new(axis: &Axis, values: impl Iterator<Item = f64>) -> Range {
        let shown = |value: &f64| value.is_finite() && (axis.scale == Scale::Linear || *value > 0.0);
        let (low, high) = values
            .filter(shown)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low > high { (1.0, 1.0) } else { (low, high) };
        match axis.scale {
            Scale::Linear => Range::linear(if axis.from_zero { low.min(0.0) } else { low }, high),
            Scale::Log => Range::log(low, high),
        }
    }

    fn linear(low: f64, high: f64) -> Range {
        let high = if high > low { high } else { low + low.abs().max(1.0) };
        let rough = (high - low) / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|step| step * power)
            .find(|&step| step >= rough)
            .unwrap_or(rough);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let ticks = (0..=64)
            .map(|tick| first + f64::from(tick))
            .take_while(|&tick| tick <= last)
            .map(|tick| tick * step);
        Range { scale: Scale::Linear, low: first * step, high: last * step, ticks: ticks.collect() }
    }

    /// Over less than three powers of ten the ticks are powers of two.
    fn log(low: f64, high: f64) -> Range {
        let base: f64 = if high / low < 1e3 { 2.0 } else { 10.0 };
        let power = |value: f64| value.ln() / base.ln();
        let first = (power(low) + 1e-9).floor();
        let last = (power(high) - 1e-9).ceil().max(first + 1.0);
        let ticks = (0..=64)
            .map(|tick| first + f64::from(tick))
            .take_while(|&tick| tick <= last)
            .map(|tick| base.powf(tick));
        Range { scale: Scale::Log, low: base.powf(first), high: base.powf(last), ticks: ticks.collect() }
    }

    /// The same without the room beyond the values, of which there are two or more.
    fn tight(mut self, values: impl Iterator<Item = f64>) -> Range {
        let within = |value: &f64| (self.low..=self.high).contains(value);
        let (low, high) = values
            .filter(within)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low < high {
            (self.low, self.high) = (low, high);
            self.ticks.retain(|tick| (low..=high).contains(tick));
        }
        self
    }

    /// From 0 at the low end to 1 at the high one.
    fn at(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        }
    }
}

impl Field {
    fn x(&self, range: &Range, value: f64) -> f64 {
        self.left + self.width * range.at(value)
    }

    fn y(&self, range: &Range, value: f64) -> f64 {
        self.top + self.height * (1.0 - range.at(value))
    }

    fn right(&self) -> f64 {
        self.left + self.width
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// Ticks, grid lines and label of the axis to the right.
    fn draw_x(&self, drawing: &mut Drawing, axis: &Axis, range: &Range) {
        let mut free = f64::NEG_INFINITY;
        for &tick in &range.ticks {
            let x = self.x(range, tick);
            drawing.line((x, self.top), (x, self.bottom()), FAINT, 0.8);
            let text = number(tick);
            let half = text_width(&text, 11.0) / 2.0;
            if x - half > free {
                let look = Text { size: 11.0, anchor: Anchor::Middle, ..PLAIN };
                drawing.text((x, self.bottom() + 16.0), &text, look);
                free = x + half + 6.0;
            }
        }
        let look = Text { anchor: Anchor::Middle, ..PLAIN };
        drawing.text((self.left + self.width / 2.0, self.bottom() + 36.0), &axis.label, look);
    }

    /// Those of the axis upwards.
    fn draw_y(&self, drawing: &mut Drawing, axis: &Axis, range: &Range) {
        for &tick in &range.ticks {
            let y = self.y(range, tick);
            drawing.line((self.left, y), (self.right(), y), FAINT, 0.8);
            let look = Text { size: 11.0, anchor: Anchor::End, ..PLAIN };
            drawing.text((self.left - 7.0, y + 4.0), &number(tick), look);
        }
        let at = (16.0, self.top + self.height / 2.0);
        drawing.text(at, &axis.label, Text { anchor: Anchor::Middle, turn: -90.0, ..PLAIN });
    }

    fn frame(&self, drawing: &mut Drawing) {
        drawing.line((self.left, self.top), (self.left, self.bottom()), INK, 1.0);
        drawing.line((self.left, self.bottom()), (self.right(), self.bottom()), INK, 1.0);
    }
}

/// Names and colours in rows below the title; the height that they take.
fn legend(drawing: &mut Drawing, names: &[&str], left: f64, top: f64) -> f64 {
    let (mut x, mut y) = (left, top);
    for (index, name) in names.iter().enumerate() {
        let width = text_width(name, 12.0) + 34.0;
        if x + width > drawing.width && x > left {
            (x, y) = (left, y + 18.0);
        }
        drawing.rectangle((x, y - 9.0), (12.0, 10.0), colour(index), "none");
        drawing.text((x + 18.0, y), name, PLAIN);
        x += width;
    }
    y + 18.0 - top
}

fn titled(title: &str, size: (f64, f64), names: &[&str]) -> (Drawing, f64) {
    let mut drawing = Drawing::new(size.0, size.1);
    drawing.text((12.0, 18.0), title, Text { size: 14.0, bold: true, ..PLAIN });
    let used = if names.is_empty() { 0.0 } else { legend(&mut drawing, names, 12.0, 40.0) };
    (drawing, 34.0 + used)
}

fn label_width(range: &Range) -> f64 {
    range.ticks.iter().map(|&tick| text_width(&number(tick), 11.0)).fold(0.0, f64::max)
}

impl LineChart {
    /// Lines with a mark at each value and a pale band over its range.
    pub fn draw(&self) -> Drawing {
        let names: Vec<&str> = self.series.iter().map(|series| series.name.as_str()).collect();
        let (mut drawing, top) = titled(&self.title, self.size, &names);
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Range::new(&self.x, points().map(|(x, _)| *x)).tight(points().map(|(x, _)| *x));
        let y = Range::new(&self.y, points().flat_map(|(_, y)| [y.low, y.value, y.high]));
        let left = 36.0 + label_width(&y);
        let field = Field { left, top, width: self.size.0 - left - 20.0, height: self.size.1 - top - 50.0 };
        field.draw_x(&mut drawing, &self.x, &x);
        field.draw_y(&mut drawing, &self.y, &y);
        field.frame(&mut drawing);
        let shown =
            |axis: &Axis, value: f64| value.is_finite() && (axis.scale == Scale::Linear || value > 0.0);
        for (index, series) in self.series.iter().enumerate() {
            let points =
                || series.points.iter().filter(|(at, y)| shown(&self.x, *at) && shown(&self.y, y.value));
            let low = points().map(|(at, spread)| (field.x(&x, *at), field.y(&y, spread.low)));
            let high = points().rev().map(|(at, spread)| (field.x(&x, *at), field.y(&y, spread.high)));
            if points().any(|(_, spread)| spread.low < spread.high) {
                drawing.area(&low.chain(high).collect::<Vec<_>>(), colour(index), 0.15);
            }
            let line: Vec<(f64, f64)> =
                points().map(|(at, y_of)| (field.x(&x, *at), field.y(&y, y_of.value))).collect();
            drawing.polyline(&if self.steps { stairs(&line) } else { line.clone() }, colour(index), 2.0);
            if !self.steps && line.len() <= 64 {
                line.iter().for_each(|&at| drawing.circle(at, 3.2, colour(index), "white"));
            }
        }
        drawing
    }
}

/// Each value holds until the next.
fn stairs(line: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let corners = line.windows(2).flat_map(|pair| [pair[0], (pair[1].0, pair[0].1)]);
    corners.chain(line.last().copied()).collect()
}

impl BarChart {
    /// Bars with a whisker over their range and their value above.
    pub fn draw(&self) -> Drawing {
        let names: Vec<&str> = self.series.iter().map(|(name, _)| name.as_str()).collect();
        let (mut drawing, top) = titled(&self.title, self.size, &names);
        let values = || self.series.iter().flat_map(|(_, values)| values.iter().flatten());
        // With room for the numbers above.
        let y = Range::new(&self.y, values().flat_map(|value| [value.low, value.value, value.high * 1.12]));
        let left = 36.0 + label_width(&y);
        let field = Field {
            left,
            top: top + 8.0,
            width: self.size.0 - left - 12.0,
            height: self.size.1 - top - 48.0,
        };
        field.draw_y(&mut drawing, &self.y, &y);
        let group_width = field.width / self.groups.len().max(1) as f64;
        let bar_width = (group_width * 0.86 / self.series.len().max(1) as f64).min(46.0);
        for (group, name) in self.groups.iter().enumerate() {
            let middle = field.left + group_width * (group as f64 + 0.5);
            let look = Text { anchor: Anchor::Middle, ..PLAIN };
            for (line, part) in name.lines().enumerate() {
                drawing.text((middle, field.bottom() + 18.0 + 15.0 * line as f64), part, look);
            }
            let first = middle - bar_width * self.series.len() as f64 / 2.0;
            for (index, (_, values)) in self.series.iter().enumerate() {
                if let Some(value) = values.get(group).copied().flatten() {
                    let corner = first + bar_width * index as f64;
                    self.bar(&mut drawing, &field, &y, (corner, bar_width), index, value);
                }
            }
        }
        field.frame(&mut drawing);
        drawing
    }

    fn bar(
        &self,
        drawing: &mut Drawing,
        field: &Field,
        y: &Range,
        (left, width): (f64, f64),
        index: usize,
        value: Spread,
    ) {
        let (top, bottom) = (field.y(y, value.value), field.bottom());
        drawing.rectangle((left + 1.0, top), (width - 2.0, (bottom - top).max(0.5)), colour(index), "none");
        let middle = left + width / 2.0;
        let mut above = top;
        if value.low < value.high {
            let (low, high) = (field.y(y, value.low), field.y(y, value.high));
            drawing.line((middle, low), (middle, high), INK, 1.2);
            [low, high]
                .into_iter()
                .for_each(|end| drawing.line((middle - 4.0, end), (middle + 4.0, end), INK, 1.2));
            above = high;
        }
        let text = (self.label)(value.value);
        if text_width(&text, 11.0) <= width * 1.1 {
            drawing.text((middle, above - 4.0), &text, Text { size: 11.0, anchor: Anchor::Middle, ..PLAIN });
        } else if width > 9.0 {
            // Upright where bars are narrow.
            let size = width.min(10.0);
            drawing.text((middle + size * 0.36, above - 4.0), &text, Text { size, turn: -90.0, ..PLAIN });
        }
    }
}

#[allow(dead_code)] // for commands that draw schedules
impl Gantt {
    /// A row of bars for each name.
    pub fn draw(&self) -> Drawing {
        const ROW: f64 = 26.0;
        let names: Vec<&str> = self.classes.iter().map(String::as_str).collect();
        let rows = self.rows.len().max(1) as f64;
        let (_, top) = titled(&self.title, (self.width, 0.0), &names);
        let size = (self.width, top + rows * ROW + 50.0);
        let (mut drawing, top) = titled(&self.title, size, &names);
        let spans = || self.rows.iter().flat_map(|(_, spans)| spans);
        let x = Range::new(&self.x, spans().flat_map(|span| [span.start, span.end]));
        let left = 24.0 + self.rows.iter().map(|(name, _)| text_width(name, 12.0)).fold(0.0, f64::max);
        let field = Field { left, top, width: self.width - left - 20.0, height: rows * ROW };
        field.draw_x(&mut drawing, &self.x, &x);
        for (row, (name, spans)) in self.rows.iter().enumerate() {
            let y = top + ROW * row as f64;
            drawing.text((left - 8.0, y + ROW / 2.0 + 4.0), name, Text { anchor: Anchor::End, ..PLAIN });
            for span in spans {
                let (from, to) = (field.x(&x, span.start), field.x(&x, span.end));
                drawing.rectangle(
                    (from, y + 4.0),
                    ((to - from).max(0.8), ROW - 8.0),
                    colour(span.class),
                    "none",
                );
                if text_width(&span.label, 10.0) < to - from - 4.0 {
                    let look = Text { size: 10.0, anchor: Anchor::Middle, colour: "white", ..PLAIN };
                    drawing.text(((from + to) / 2.0, y + ROW / 2.0 + 3.5), &span.label, look);
                }
            }
        }
        field.frame(&mut drawing);
        drawing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_the_values() {
        for (low, high, expected) in [
            (0.0, 1.0, vec![0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
            (0.0, 137.0, vec![0.0, 50.0, 100.0, 150.0]),
            (-3.0, 4.0, vec![-4.0, -2.0, 0.0, 2.0, 4.0]),
            (5.0, 5.0, vec![5.0, 6.0, 7.0, 8.0, 9.0, 10.0]),
        ] {
            let range = Range::linear(low, high);
            let close = range.ticks.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(close && range.ticks.len() == expected.len(), "{low} {high}: {:?}", range.ticks);
        }
        assert_eq!(Range::log(8.0, 512.0).ticks, [8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0]);
        assert_eq!(Range::log(1.0, 1e4).ticks.len(), 5);
        assert_eq!(Range::log(7.0, 7.0).ticks.len(), 2);
    }

    #[test]
    fn spreads() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Some(Spread { value: 2.0, low: 1.0, high: 3.0 }));
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn charts_of_nothing_and_of_odd_values_are_drawn() {
        let series = |points| vec![Series { name: "a".into(), points }];
        let (x, y, size) = (Axis::log("x"), Axis::linear("y"), (300.0, 200.0));
        for points in [vec![], vec![(0.0, Spread::exact(1.0))], vec![(1.0, Spread::exact(f64::NAN))]] {
            let chart = LineChart {
                title: String::new(),
                x: x.clone(),
                y: y.clone(),
                series: series(points),
                steps: true,
                size,
            };
            let svg = chart.draw().to_svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        let rows =
            vec![("job".to_string(), vec![Span { start: 0.0, end: 2.0, class: 1, label: "w".into() }])];
        let gantt =
            Gantt { title: "t".into(), x: Axis::linear("s"), classes: vec!["a".into()], rows, width: 300.0 };
        assert!(gantt.draw().height > 60.0);
    }
}
