//! The pieces of a drawing: text, lines, rectangles, in the units of a drawing 400 wide.
//!
//! Owns escaping and the sizes of text. Must never let a name from a file become markup.

use std::fmt::Write as _;

/// Width of every drawing; a phone is about as wide in its own pixels.
pub(super) const WIDTH: f64 = 400.0;
/// Height of a line of text.
pub(super) const LINE: f64 = 17.0;
/// Width of a character of the drawings' text, at most on average.
const CHARACTER: f64 = 6.9;

/// A drawing that grows.
pub(super) struct Drawing {
    body: String,
}

/// Where a text stands relative to its point.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Drawing {
    pub(super) fn new() -> Self {
        Self {
            body: String::new(),
        }
    }

    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        let _ = write!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{text}</text>"#
        );
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" class="{class}"/>"#,
            from.0, from.1, to.0, to.1
        );
    }

    pub(super) fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" class="{class}"/>"#,
            at.0, at.1, size.0, size.1
        );
    }

    pub(super) fn circle(&mut self, (x, y): (f64, f64), radius: f64, class: &str) {
        let _ = write!(
            self.body,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" class="{class}"/>"#
        );
    }

    /// A closed outline through the points.
    pub(super) fn polygon(&mut self, points: &[(f64, f64)], class: &str) {
        let list = point_list(points);
        let _ = write!(self.body, r#"<polygon points="{list}" class="{class}"/>"#);
    }

    /// An open line through the points.
    pub(super) fn polyline(&mut self, points: &[(f64, f64)], class: &str) {
        let list = point_list(points);
        let _ = write!(self.body, r#"<polyline points="{list}" class="{class}"/>"#);
    }

    /// The drawing, `height` high, with its title, as a card of the page.
    pub(super) fn figure(self, title: &str, height: f64) -> String {
        let (title, body) = (escape(title), self.body);
        format!(
            "<figure><figcaption>{title}</figcaption>\
             <svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{title}\">{body}\
             </svg></figure>\n"
        )
    }
}

fn point_list(points: &[(f64, f64)]) -> String {
    let mut list = String::new();
    for (x, y) in points {
        let _ = write!(list, "{x:.1},{y:.1} ");
    }
    list
}

/// The width that a text takes at most.
#[expect(clippy::cast_precision_loss, reason = "lengths of labels")]
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

/// The text, cut so that it is at most `width` wide.
#[expect(clippy::cast_sign_loss, reason = "widths are above zero")]
pub(super) fn fitted(text: &str, width: f64) -> String {
    // A little more, so that a text fits into its own width.
    let room = (width / CHARACTER + 0.01) as usize;
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// The text as it may stand in markup and in a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_become_markup() {
        let mut drawing = Drawing::new();
        drawing.text((0.0, 0.0), Anchor::Start, "label", "<script>&\"'");
        let figure = drawing.figure("a \"b\" <c>", 10.0);
        assert!(
            figure.contains("&lt;script&gt;&amp;&quot;&#39;"),
            "{figure}"
        );
        assert!(
            figure.contains("aria-label=\"a &quot;b&quot; &lt;c&gt;\""),
            "{figure}"
        );
    }

    #[test]
    fn long_names_are_cut_to_their_room() {
        assert_eq!(fitted("redis", 100.0), "redis");
        for name in ["dragonfly", "keydb-flash", "cellar-spdk"] {
            assert_eq!(fitted(name, text_width(name)), name);
        }
        assert_eq!(fitted("a very long name", 50.0), "a very…");
        assert!(text_width(&fitted("a very long name", 50.0)) <= 50.0);
    }
}
