//! What a page is made of, however it is written.

/// A manual page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Its name, `vigil-status`.
    pub name: String,
    pub(super) sections: Vec<Section>,
}

/// What stands below one heading.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    Paragraph(Vec<Span>),
    /// A line of a synopsis, which goes on further to the right.
    Call(Vec<Span>),
    /// What is explained, and the explanation.
    Item(Vec<Span>, Vec<Span>),
    /// Lines that stay as they are.
    Literal(Vec<String>),
}

/// A part of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Span {
    Plain(String),
    /// What is typed as it stands.
    Strong(String),
    /// What something else is put in the place of.
    Variable(String),
}
