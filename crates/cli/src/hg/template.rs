//! Templates (`-T`): text with expressions in braces that are filled in for each file. Supports the part of Mercurial's
//! language that a status needs.

mod alias;
mod filters;
mod parse;

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::abort::Abort;

use super::color::Colors;
use super::paths::PathDisplay;
use crate::reply::bytes;
pub(super) use alias::TemplateAliases;
use filters::Filter;

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<TemplateExpr>);

/// A property of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keyword {
    Path,
    Status,
    Source,
    ItemType,
    Index,
}

/// The length in bytes of the longest text that is filtered: filters may make a text longer, and a chain of them much longer.
const FILTERED_LEN_MAX: usize = 1 << 20;

/// A part of a template, which yields a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplateExpr {
    Text(BString),
    /// No value, which is shown as an empty text.
    Missing,
    Keyword(Keyword),
    All(Vec<Self>),
    Filtered(Box<Self>, Filter),
    If(Box<Self>, Box<Self>, Box<Self>),
    IfEqual(Box<Self>, Box<Self>, Box<Self>, Box<Self>),
    Separate(Box<Self>, Vec<Self>),
    Label(Box<Self>, Box<Self>),
    RelativePath(Box<Self>),
}

/// What a part of a template stands for.
enum Value {
    /// No value, rather than an empty text.
    Missing,
    Number(usize),
    Text(BString),
}

/// A file to be shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'i> {
    pub(super) path: &'i BStr,
    pub(super) letter: char,
    pub(super) source: Option<&'i BStr>,
    /// The number of files before this one.
    pub(super) index: usize,
}

/// What a template needs apart from the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub(super) paths: &'a PathDisplay,
    pub(super) colors: &'a Colors<'a>,
    /// Whether text is UTF-8, and other bytes are an error in it.
    pub(super) is_strict_utf8: bool,
}

/// Names of Mercurial's own styles, and names that it treats specially.
const STYLES: [&str; 12] = [
    "bisect",
    "cbor",
    "changelog",
    "compact",
    "debug",
    "default",
    "list",
    "phases",
    "pickle",
    "show",
    "status",
    "xml",
];

impl Template {
    /// Parses the value of the option. `is_configured` tells whether the configuration has a template of that name.
    ///
    /// # Errors
    /// The template is one that only Mercurial can show.
    pub(super) fn read(
        text: &BStr,
        cwd: &std::path::Path,
        is_configured: impl Fn(&BStr) -> bool,
        aliases: &TemplateAliases,
    ) -> Result<Self, Abort> {
        let refused = || Abort::unsupported(bytes!("the template '", text, "'"));
        if text.find_byte(b'{').is_none() {
            let is_style = STYLES.iter().any(|style| text == style)
                || text.starts_with(b"map-cmdline.")
                || text.starts_with(b"json(")
                || text.starts_with(b"cbor(");
            let may_be_path = text.find_byteset(b"/\\").is_some()
                && cwd.join(vigil_stamp::paths::path_of(text)).is_file();
            if is_style || may_be_path || is_configured(text) {
                return Err(refused());
            }
        }
        // A file without a source may be shown by a template of that name.
        if is_configured("source".into()) {
            return Err(refused());
        }
        let parts = parse::template(text, aliases);
        parts.map(Self).ok_or_else(refused)
    }

    /// Appends the text of the template for one file.
    ///
    /// # Errors
    /// A filter cannot be applied to its text.
    pub(super) fn show(
        &self,
        out: &mut Vec<u8>,
        item: &Item<'_>,
        context: Context<'_>,
    ) -> Result<(), Abort> {
        for part in &self.0 {
            out.extend_from_slice(&part.text(item, context)?);
        }
        Ok(())
    }
}

impl Value {
    fn into_text(self) -> BString {
        match self {
            Self::Missing => BString::default(),
            Self::Number(number) => number.to_string().into(),
            Self::Text(text) => text,
        }
    }
}

impl TemplateExpr {
    /// The number of parts in this one.
    fn size(&self) -> usize {
        let all = |parts: &[&Self]| {
            let sizes = parts.iter().map(|part| part.size());
            sizes.fold(1, usize::saturating_add)
        };
        match self {
            Self::Text(_) | Self::Missing | Self::Keyword(_) => 1,
            Self::All(parts) => all(&parts.iter().collect::<Vec<_>>()),
            Self::Filtered(part, _) | Self::RelativePath(part) => all(&[part]),
            Self::If(a, b, c) => all(&[a, b, c]),
            Self::IfEqual(a, b, c, d) => all(&[a, b, c, d]),
            Self::Separate(separator, parts) => {
                let size = all(&parts.iter().collect::<Vec<_>>());
                size.saturating_add(separator.size())
            }
            Self::Label(a, b) => all(&[a, b]),
        }
    }

    fn text(&self, item: &Item<'_>, context: Context<'_>) -> Result<BString, Abort> {
        Ok(self.value(item, context)?.into_text())
    }

    fn value(&self, item: &Item<'_>, context: Context<'_>) -> Result<Value, Abort> {
        let text = |part: &Self| part.text(item, context);
        Ok(Value::Text(match self {
            Self::Text(text) => text.clone(),
            Self::Missing => return Ok(Value::Missing),
            Self::Keyword(keyword) => match keyword {
                Keyword::Path => item.path.to_owned(),
                Keyword::Status => item.letter.to_string().into(),
                Keyword::Source => item.source.unwrap_or_default().to_owned(),
                Keyword::ItemType => "file".into(),
                Keyword::Index => return Ok(Value::Number(item.index)),
            },
            Self::All(parts) => {
                let mut all = BString::default();
                for part in parts {
                    all.extend_from_slice(&text(part)?);
                }
                all
            }
            Self::Filtered(part, filter) => {
                let text = match (part.value(item, context)?, filter) {
                    (Value::Missing, Filter::Json) => return Ok(Value::Text("null".into())),
                    (number @ Value::Number(_), Filter::Json) => {
                        return Ok(Value::Text(number.into_text()));
                    }
                    (value, _) => value.into_text(),
                };
                if text.len() > FILTERED_LEN_MAX {
                    return Err(Abort::unsupported("a template with such a long text"));
                }
                if filter.depends_on_encoding() && !context.is_strict_utf8 && !text.is_ascii() {
                    let said = "letters in another encoding than UTF-8";
                    return Err(Abort::unsupported(said));
                }
                filter.apply(text.as_bstr())?
            }
            Self::If(condition, then, otherwise) => match text(condition)?.is_empty() {
                false => return then.value(item, context),
                true => return otherwise.value(item, context),
            },
            Self::IfEqual(one, other, then, otherwise) => match text(one)? == text(other)? {
                true => return then.value(item, context),
                false => return otherwise.value(item, context),
            },
            Self::Separate(separator, parts) => {
                let separator = text(separator)?;
                let mut all = BString::default();
                for part in parts {
                    let more = text(part)?;
                    if !all.is_empty() && !more.is_empty() {
                        all.extend_from_slice(&separator);
                    }
                    all.extend_from_slice(&more);
                }
                all
            }
            Self::Label(label, part) => {
                let label = text(label)?;
                let mut all = Vec::new();
                let painted = text(part)?;
                let label = label.to_str_lossy();
                if let Some(unknown) = context.colors.unknown_label(&label) {
                    let said = bytes!("the colours of the label '", unknown, "'");
                    return Err(Abort::unsupported(said));
                }
                context.colors.paint(&mut all, &painted, &label);
                all.into()
            }
            Self::RelativePath(part) => context.paths.relative(text(part)?.as_bstr()).into_owned(),
        }))
    }
}

#[cfg(test)]
mod tests;
