//! Writes a status as lines, by a template, or as JSON.

use std::collections::BTreeMap;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

use vigil_engine::hg_status::kinds::{ByKind, FileKind, Lists};
use vigil_hg::abort::Abort;
use vigil_hg::bytes::bytes;
use vigil_hg::config::Config;

use super::arguments::Arguments;
use super::color::{Colors, paint_pieces};
use super::json::{self, Letters};
use super::paths::PathDisplay;
use super::template::{Context, Item, Template, TemplateAliases};
use super::unfinished::Unfinished;

/// How the files are printed, unless a format of Vigil's own is asked for.
pub(super) enum Format {
    /// As lines, without a template.
    Lines,
    Json,
    Template(Template),
}

impl Format {
    /// Returns the format that is asked for.
    ///
    /// # Errors
    /// The template is one that only Mercurial can show.
    pub(super) fn of(arguments: &Arguments, config: &Config, cwd: &Path) -> Result<Self, Abort> {
        match arguments.template.as_ref().map(|text| text.as_bstr()) {
            None => Ok(Self::Lines),
            Some(text) if text.is_empty() => Ok(Self::Lines),
            Some(text) if text == "json" => Ok(Self::Json),
            Some(text) => {
                let is_configured = |name: &BStr| {
                    let mut templates = config.section("templates");
                    templates.any(|item| item.name == *name)
                };
                let has_expressions = text.contains(&b'{');
                let items = config.section("templatealias");
                let items = items.filter(|_| has_expressions);
                let items = items.map(|item| (item.name.as_bstr(), item.value.as_bstr()));
                let aliases = TemplateAliases::read(items).map_err(|declaration| {
                    Abort::unsupported(bytes!("templatealias.", declaration))
                })?;
                Template::read(text, cwd, is_configured, &aliases).map(Self::Template)
            }
        }
    }
}

/// What is shown, and how.
pub(super) struct Output<'o> {
    pub(super) lists: &'o Lists,
    /// Which kinds are shown.
    pub(super) shown: &'o ByKind<bool>,
    pub(super) copies: &'o BTreeMap<BString, BString>,
    pub(super) paths: &'o PathDisplay,
    pub(super) colors: &'o Colors<'o>,
    pub(super) has_letters: bool,
    pub(super) ends_with_nul: bool,
    /// Whether the encoding is UTF-8, and other bytes are an error in it.
    pub(super) is_strict_utf8: bool,
}

impl<'o> Output<'o> {
    /// Returns the kinds that are shown, each with its files.
    fn kinds(&self) -> impl Iterator<Item = (FileKind, &'o [BString])> {
        let lists = self.lists.iter();
        let shown = lists.filter(|(kind, _)| *self.shown.get(*kind));
        shown.map(|(kind, list)| (kind, list.as_slice()))
    }

    fn files(&self) -> impl Iterator<Item = (FileKind, &'o BStr)> {
        self.kinds()
            .flat_map(|(kind, list)| list.iter().map(move |path| (kind, path.as_bstr())))
    }

    /// Writes the files in `format`, and what is `unfinished` after lines.
    ///
    /// # Errors
    /// A path cannot be shown by the template.
    pub(super) fn write(&self, format: &Format, unfinished: &Unfinished) -> Result<Vec<u8>, Abort> {
        match format {
            Format::Template(template) => self.templated(template),
            Format::Json => Ok(self.json()),
            Format::Lines => {
                let mut lines = self.lines();
                unfinished.say(&mut lines, self.paths, self.colors);
                Ok(lines)
            }
        }
    }

    /// Writes a line for each file.
    fn lines(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let end: &[u8] = if self.ends_with_nul { b"\0" } else { b"\n" };
        let of_copied = self.colors.effects("status.copied");
        for (kind, files) in self.kinds() {
            let effects = self.colors.effects(&format!("status.{}", kind.name()));
            let effects = effects.as_deref();
            let start = format!("{} ", kind.letter());
            for path in files {
                if self.has_letters {
                    paint_pieces(&mut out, &[start.as_bytes()], effects);
                }
                let shown = self.paths.path(path.as_bstr());
                paint_pieces(&mut out, &[&shown, end], effects);
                if let Some(source) = self.copies.get(path) {
                    let shown = self.paths.path(source.as_bstr());
                    paint_pieces(&mut out, &[b"  ", &shown, end], of_copied.as_deref());
                }
            }
        }
        out
    }

    /// Writes the template for each file.
    ///
    /// # Errors
    /// A path cannot be shown by the template.
    fn templated(&self, template: &Template) -> Result<Vec<u8>, Abort> {
        let mut out = Vec::new();
        let context = Context {
            paths: self.paths,
            colors: self.colors,
            is_strict_utf8: self.is_strict_utf8,
        };
        for (index, (kind, path)) in self.files().enumerate() {
            let source = self.copies.get(path.as_bytes().as_bstr());
            let item = Item {
                path,
                letter: kind.letter(),
                source: source.map(|source| source.as_bstr()),
                index,
            };
            template.show(&mut out, &item, context)?;
        }
        Ok(out)
    }

    /// Writes a JSON list with an object for each file.
    fn json(&self) -> Vec<u8> {
        let mut out = b"[".to_vec();
        for (at, (kind, path)) in self.files().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(b"\n {\n  \"itemtype\": \"file\",\n  \"path\": ");
            out.extend(json::string(path, Letters::AsTheyAre));
            if let Some(source) = self.copies.get(path.as_bytes().as_bstr()) {
                out.extend_from_slice(b",\n  \"source\": ");
                out.extend(json::string(source.as_bstr(), Letters::AsTheyAre));
            }
            out.extend_from_slice(format!(",\n  \"status\": \"{}\"", kind.letter()).as_bytes());
            out.extend_from_slice(b"\n }");
        }
        out.extend_from_slice(b"\n]\n");
        out
    }
}
