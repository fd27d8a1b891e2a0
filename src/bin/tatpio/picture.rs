//! Pictures: a small drawing surface that is written as SVG or PNG, by the file's extension.
//!
//! Text in a PNG is set in DejaVu Sans, which comes with the program, so that it looks the same on a machine without
//! fonts. An SVG names that font first and leaves the choice to the viewer.

use crate::failure::Failure;
use crate::output;
use resvg::{tiny_skia, usvg};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// Colours that people with any colour vision can tell apart (Okabe and Ito), the strongest contrasts first.
pub const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#b8ad00"];

/// Of text and axes.
pub const INK: &str = "#222222";
/// Of grids and frames.
pub const FAINT: &str = "#d9d9d9";

const FONT: &str = "DejaVu Sans, Verdana, sans-serif";

/// A PNG has so many pixels for each unit of the drawing, so that small text is sharp.
const PNG_SCALE: f32 = 1.5;

/// Wider or higher, and no viewer shows it.
const PNG_SIDE_MAX: f32 = 12_000.0;

/// Where text stands with respect to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// How text looks.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// Height in units.
    pub size: f64,
    /// Where it stands.
    pub anchor: Anchor,
    /// Its colour.
    pub colour: &'a str,
    /// Whether it is bold.
    pub bold: bool,
    /// Degrees, clockwise.
    pub turn: f64,
    /// Whether white keeps it apart from what it stands on.
    pub halo: bool,
}

/// Ordinary text that begins at its point.
pub const PLAIN: Text<'static> =
    Text { size: 12.0, anchor: Anchor::Start, colour: INK, bold: false, turn: 0.0, halo: false };

/// A drawing in units of a screen's pixel, from the upper left corner.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
    body: String,
}

impl Drawing {
    /// Nothing on it.
    pub fn new(width: f64, height: f64) -> Drawing {
        Drawing { width, height, body: String::new() }
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        self.body.write_fmt(element).expect("writing to a string cannot fail");
        self.body.push('\n');
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.push(format_args!(
            r#"<line x1="{x1:.2}" y1="{y1:.2}" x2="{x2:.2}" y2="{y2:.2}" stroke="{colour}" stroke-width="{width:.2}" stroke-linecap="round"/>"#
        ));
    }

    /// A line through points; empty for fewer than two.
    pub fn polyline(&mut self, points: &[(f64, f64)], colour: &str, width: f64) {
        if points.len() > 1 {
            let points = coordinates(points);
            self.push(format_args!(
                r#"<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width:.2}" stroke-linejoin="round"/>"#
            ));
        }
    }

    /// A curve from a point to another, pulled towards a third.
    pub fn curve(&mut self, from: (f64, f64), pull: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
        let ((ax, ay), (px, py), (bx, by)) = (from, pull, to);
        self.push(format_args!(
            r#"<path d="M {ax:.2} {ay:.2} Q {px:.2} {py:.2} {bx:.2} {by:.2}" fill="none" stroke="{colour}" stroke-width="{width:.2}"/>"#
        ));
    }

    /// A filled area, which may let shine through what is below.
    pub fn area(&mut self, points: &[(f64, f64)], colour: &str, opacity: f64) {
        let points = coordinates(points);
        self.push(format_args!(
            r#"<polygon points="{points}" fill="{colour}" fill-opacity="{opacity:.2}"/>"#
        ));
    }

    /// A filled rectangle with rounded corners.
    pub fn rectangle(&mut self, corner: (f64, f64), size: (f64, f64), fill: &str, stroke: &str) {
        let ((x, y), (width, height)) = (corner, size);
        let round = (width.min(height) / 6.0).clamp(0.0, 4.0);
        self.push(format_args!(
            r#"<rect x="{x:.2}" y="{y:.2}" width="{width:.2}" height="{height:.2}" rx="{round:.2}" fill="{fill}" stroke="{stroke}"/>"#
        ));
    }

    /// A filled circle.
    pub fn circle(&mut self, centre: (f64, f64), radius: f64, fill: &str, stroke: &str) {
        let (x, y) = centre;
        self.push(format_args!(
            r#"<circle cx="{x:.2}" cy="{y:.2}" r="{radius:.2}" fill="{fill}" stroke="{stroke}"/>"#
        ));
    }

    /// Text whose base line begins, is centred or ends at a point.
    pub fn text(&mut self, at: (f64, f64), text: &str, look: Text<'_>) {
        let (x, y) = at;
        let anchor = match look.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if look.bold { r#" font-weight="bold""# } else { "" };
        let turn = match look.turn {
            0.0 => String::new(),
            turn => format!(r#" transform="rotate({turn:.1} {x:.2} {y:.2})""#),
        };
        let halo = if look.halo { r#" stroke="white" stroke-width="3" paint-order="stroke""# } else { "" };
        let (size, colour) = (look.size, look.colour);
        self.push(format_args!(
            r#"<text x="{x:.2}" y="{y:.2}" font-size="{size:.1}" text-anchor="{anchor}" fill="{colour}"{weight}{halo}{turn}>{}</text>"#,
            escaped(text)
        ));
    }

    /// Another drawing with its upper left corner at a point.
    pub fn put(&mut self, at: (f64, f64), other: &Drawing) {
        let (x, y) = at;
        self.push(format_args!(r#"<g transform="translate({x:.2} {y:.2})">"#));
        self.body += &other.body;
        self.push(format_args!("</g>"));
    }

    /// Drawings under a common title, so many in a row.
    pub fn grid(title: &str, drawings: &[Drawing], columns: usize) -> Drawing {
        const GAP: f64 = 16.0;
        let columns = columns.clamp(1, drawings.len().max(1));
        let top = if title.is_empty() { GAP } else { 44.0 };
        let rows: Vec<&[Drawing]> = drawings.chunks(columns).collect();
        let height = |row: &[Drawing]| row.iter().map(|drawing| drawing.height).fold(0.0, f64::max);
        let widths: Vec<f64> = (0..columns)
            .map(|column| {
                rows.iter().filter_map(|row| row.get(column)).map(|drawing| drawing.width).fold(0.0, f64::max)
            })
            .collect();
        let title_width = text_width(title, 17.0) + 2.0 * GAP;
        let width = (widths.iter().map(|width| width + GAP).sum::<f64>() + GAP).max(title_width);
        let mut whole = Drawing::new(width, top + rows.iter().map(|row| height(row) + GAP).sum::<f64>());
        whole.text((GAP, 28.0), title, Text { size: 17.0, bold: true, ..PLAIN });
        let mut y = top;
        for row in rows {
            let mut x = GAP;
            for (drawing, width) in row.iter().zip(&widths) {
                whole.put((x, y), drawing);
                x += width + GAP;
            }
            y += height(row) + GAP;
        }
        whole
    }

    /// The picture as SVG.
    pub fn to_svg(&self) -> String {
        let (width, height) = (self.width.ceil(), self.height.ceil());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"{FONT}\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
            self.body
        )
    }

    /// The picture as PNG.
    pub fn to_png(&self) -> Result<Vec<u8>, Failure> {
        let mut fonts = usvg::fontdb::Database::new();
        for font in [dejavu::sans::regular(), dejavu::sans::bold()] {
            fonts.load_font_data(font.to_vec());
        }
        let options = usvg::Options {
            fontdb: Arc::new(fonts),
            font_family: "DejaVu Sans".into(),
            ..Default::default()
        };
        let tree = usvg::Tree::from_str(&self.to_svg(), &options).map_err(Failure::failed)?;
        let (width, height) = (tree.size().width(), tree.size().height());
        let scale = PNG_SCALE.min(PNG_SIDE_MAX / width.max(height));
        let size = tree.size().to_int_size().scale_by(scale);
        let mut pixels =
            size.and_then(|size| tiny_skia::Pixmap::new(size.width(), size.height())).ok_or_else(|| {
                Failure::failed(format!("a picture of {width} by {height} is too large for a PNG: take .svg"))
            })?;
        resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
        pixels.encode_png().map_err(Failure::failed)
    }

    /// Writes the picture as what the file's extension says, `.svg` or `.png`.
    pub fn save(&self, path: &Path) -> Result<(), Failure> {
        match format_of(path)? {
            Format::Svg => output::write(path, self.to_svg().as_bytes()),
            Format::Png => output::write(path, &self.to_png()?),
        }
    }
}

/// What a picture's file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Scalable.
    Svg,
    /// Pixels.
    Png,
}

/// The format that a file's extension asks for: to be checked before hours of computation.
pub fn format_of(path: &Path) -> Result<Format, Failure> {
    match path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("svg") => Ok(Format::Svg),
        Some("png") => Ok(Format::Png),
        _ => Err(Failure::usage(format!(
            "{}: expected a picture's name that ends in .svg or .png",
            path.display()
        ))),
    }
}

/// About how wide a text is (a little too wide for most).
pub fn text_width(text: &str, size: f64) -> f64 {
    let of = |letter: char| match letter {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' => 0.34,
        'f' | 't' | 'r' | ' ' | '(' | ')' | '[' | ']' | '/' | '-' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.98,
        letter if letter.is_ascii_uppercase() => 0.72,
        _ => 0.64,
    };
    text.chars().map(of).sum::<f64>() * size
}

fn coordinates(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect::<Vec<_>>().join(" ")
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            letter if letter.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_drawn_without_fonts_of_the_system() {
        let mut drawing = Drawing::new(60.0, 20.0);
        drawing.text((2.0, 15.0), "a<b & c", PLAIN);
        assert!(drawing.to_svg().contains("a&lt;b &amp; c"));
        let png = tiny_skia::Pixmap::decode_png(&drawing.to_png().unwrap()).unwrap();
        let dark = png.pixels().iter().filter(|pixel| pixel.red() < 100).count();
        assert!(dark > 50, "{dark} dark pixels");
    }

    #[test]
    fn extensions() {
        assert_eq!(format_of(Path::new("a.b/c.SVG")).unwrap(), Format::Svg);
        assert_eq!(format_of(Path::new("c.png")).unwrap(), Format::Png);
        for wrong in ["c", "c.jpg", "svg", ""] {
            assert!(matches!(format_of(Path::new(wrong)), Err(Failure::Usage(_))), "{wrong}");
        }
    }
}
