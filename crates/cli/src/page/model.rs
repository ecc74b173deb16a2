//! The parts of a page, independent of the output format.

/// A manual page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Its name, such as `vigil-status`.
    pub name: String,
    pub(super) sections: Vec<Section>,
}

/// The content below a heading.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    Paragraph(Vec<Span>),
    /// A line of a synopsis; if wrapped, it is indented further.
    Call(Vec<Span>),
    /// A term and its explanation.
    Item(Vec<Span>, Vec<Span>),
    /// Preformatted lines.
    Literal(Vec<String>),
}

/// A part of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Span {
    Plain(String),
    /// Text to be typed literally.
    Strong(String),
    /// A placeholder.
    Variable(String),
}
