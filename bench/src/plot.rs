//! Small line plots as SVG, both axes logarithmic.

use std::fmt::Write as _;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 520.0;
/// The margins around the lines. The names of the lines are in the right one.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
/// Colours that colour-blind readers can tell apart (Okabe and Ito).
const COLOURS: [&str; 7] = [
    "#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
];
/// Dashes distinguish further lines when the colours are used up.
const DASHES: [&str; 3] = ["none", "7 4", "2 3"];

/// A plot: what is on the axes, and the lines.
pub(crate) struct Plot {
    pub(crate) title: String,
    /// The label of the horizontal axis, and how its values are written.
    pub(crate) x: &'static str,
    pub(crate) x_text: fn(f64) -> String,
    /// The label of the vertical axis, and how its values are written.
    pub(crate) y: &'static str,
    pub(crate) y_text: fn(f64) -> String,
    pub(crate) lines: Vec<Line>,
}

/// A named line through points.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A logarithmic axis between two pixel positions.
struct Axis {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Axis {
    /// An axis for the positive ones of the values.
    fn new(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Option<Self> {
        let values: Vec<_> = values
            .filter(|value| *value > 0.0 && value.is_finite())
            .collect();
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        // A single value would have no extent.
        let high = high.max(low * 1.5);
        Some(Self {
            low: low.ln(),
            high: high.ln(),
            start,
            end,
        })
    }

    fn pixel_of(&self, value: f64) -> f64 {
        let share = (value.ln() - self.low) / (self.high - self.low);
        self.start + share * (self.end - self.start)
    }

    /// Round values within the axis: 1, 2 and 5 times powers of ten, or the powers alone where they suffice.
    fn ticks(&self) -> Vec<f64> {
        let within = |steps: &[f64]| -> Vec<f64> {
            let powers = (-12..=15).map(|power| 10_f64.powi(power));
            powers
                .flat_map(|power| steps.iter().map(move |step| step * power))
                .filter(|tick| (self.low - 1e-9..=self.high + 1e-9).contains(&tick.ln()))
                .collect()
        };
        let powers = within(&[1.0]);
        if powers.len() >= 4 {
            return powers;
        }
        within(&[1.0, 2.0, 5.0])
    }
}

impl Plot {
    /// The plot as SVG. `None` if no line has a point above zero.
    pub(crate) fn svg(&self) -> Option<String> {
        let points = || self.lines.iter().flat_map(|line| line.points.iter());
        let x = Axis::new(points().map(|point| point.0), LEFT, WIDTH - RIGHT)?;
        let y = Axis::new(points().map(|point| point.1), HEIGHT - BOTTOM, TOP)?;
        let mut svg = String::new();
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
        );
        text(
            &mut svg,
            LEFT,
            28.0,
            "start",
            &self.title,
            " font-size=\"17\"",
        );
        self.grid(&mut svg, &x, &y);
        self.draw_lines(&mut svg, &x, &y);
        svg.push_str("</svg>\n");
        Some(svg)
    }

    fn grid(&self, svg: &mut String, x: &Axis, y: &Axis) {
        let bottom = HEIGHT - BOTTOM;
        let right = WIDTH - RIGHT;
        // Label the measured values, not round ones.
        let mut measured: Vec<_> = self
            .lines
            .iter()
            .flat_map(|line| &line.points)
            .map(|point| point.0)
            .collect();
        measured.retain(|value| *value > 0.0);
        measured.sort_by(f64::total_cmp);
        measured.dedup();
        for tick in measured {
            let at = x.pixel_of(tick);
            segment(svg, (at, TOP), (at, bottom));
            text(svg, at, bottom + 20.0, "middle", &(self.x_text)(tick), "");
        }
        for tick in y.ticks() {
            let at = y.pixel_of(tick);
            segment(svg, (LEFT, at), (right, at));
            text(svg, LEFT - 8.0, at + 4.0, "end", &(self.y_text)(tick), "");
        }
        text(
            svg,
            (LEFT + right) / 2.0,
            HEIGHT - 15.0,
            "middle",
            self.x,
            "",
        );
        let turned = format!(" transform=\"rotate(-90 18 {})\"", (TOP + bottom) / 2.0);
        text(svg, 18.0, (TOP + bottom) / 2.0, "middle", self.y, &turned);
    }

    fn draw_lines(&self, svg: &mut String, x: &Axis, y: &Axis) {
        let mut names = Vec::new();
        let styles = DASHES
            .iter()
            .flat_map(|dash| COLOURS.iter().map(move |colour| (dash, colour)));
        for (line, (dash, colour)) in self.lines.iter().zip(styles) {
            let drawn = line
                .points
                .iter()
                .filter(|point| point.0 > 0.0 && point.1 > 0.0);
            let places: Vec<_> = drawn
                .map(|point| (x.pixel_of(point.0), y.pixel_of(point.1)))
                .collect();
            let path: Vec<_> = places
                .iter()
                .map(|(x, y)| format!("{x:.1},{y:.1}"))
                .collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" \
                 stroke-dasharray=\"{dash}\"/>",
                path.join(" ")
            );
            for (x, y) in &places {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
                );
            }
            if let Some((_, y)) = places.last() {
                names.push((*y, line.name.as_str(), *colour));
            }
        }
        spread_names(&mut names);
        for (at, name, colour) in names {
            let fill = format!(" fill=\"{colour}\"");
            text(svg, WIDTH - RIGHT + 10.0, at + 4.0, "start", name, &fill);
        }
    }
}

/// Moves overlapping names apart, and keeps them within the plot.
fn spread_names(names: &mut [(f64, &str, &str)]) {
    const DISTANCE: f64 = 17.0;
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = TOP;
    for name in names.iter_mut() {
        name.0 = name.0.max(free);
        free = name.0 + DISTANCE;
    }
    let mut free = HEIGHT - 10.0;
    for name in names.iter_mut().rev() {
        name.0 = name.0.min(free);
        free = name.0 - DISTANCE;
    }
}

fn segment(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#dddddd\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str, more: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{more}>{text}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Vec<(f64, f64)>) -> Option<String> {
        let line = |name: &str| Line {
            name: name.to_owned(),
            points: points.clone(),
        };
        let plot = Plot {
            title: "Time & space".to_owned(),
            x: "files",
            x_text: |files| files.to_string(),
            y: "time",
            y_text: |time| time.to_string(),
            lines: vec![line("one"), line("two")],
        };
        plot.svg()
    }

    #[test]
    fn lines_lie_within_the_axes() {
        let svg = plot(vec![(1_000.0, 5.0), (1e6, 5_000.0)]).unwrap();
        assert!(svg.contains("points=\"80.0,460.0 650.0,50.0\""));
        assert!(svg.contains("Time &amp; space"));
        assert!(svg.contains(">1000000</text>"));
        assert!(svg.contains(">100</text>"));
        assert_eq!(svg.matches("<polyline").count(), 2);
    }

    #[test]
    fn what_has_no_logarithm_is_not_drawn() {
        assert_eq!(plot(vec![]), None);
        assert_eq!(plot(vec![(0.0, 1.0)]), None);
        let svg = plot(vec![(0.0, 1.0), (1.0, 1.0), (2.0, 3.0)]).unwrap();
        assert_eq!(svg.matches("<circle").count(), 4);
    }

    #[test]
    fn names_do_not_lie_on_each_other() {
        let mut names = [(100.0, "a", ""), (101.0, "b", ""), (600.0, "c", "")];
        spread_names(&mut names);
        assert_eq!(names.map(|name| name.0), [100.0, 117.0, 510.0]);
    }
}
