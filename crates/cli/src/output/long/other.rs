//! Untracked and ignored files.

use bstr::BString;

use super::Writer;
use super::columns::Frame;
use crate::reply::bytes;

/// From this time on, in milliseconds, git advises on how to find untracked files faster.
const SLOW_MS: u64 = 2_000;

impl Writer<'_> {
    /// Writes both lists, or a note that untracked files are not shown.
    pub(super) fn others(&mut self) {
        let long = &self.presentation.long;
        if !long.shows_untracked {
            if self.gist.is_committable {
                let hint = if long.hints {
                    " (use -u option to show untracked files)"
                } else {
                    ""
                };
                self.plain_line(format!("Untracked files not listed{hint}"));
            }
            return;
        }
        self.list(&self.status.untracked, "Untracked files:", "add");
        self.list(&self.status.ignored, "Ignored files:", "add -f");
        if long.advises_on_untracked {
            let searched_ms = u64::try_from(self.long.searched_in.as_millis()).unwrap_or(u64::MAX);
            self.slowness(long.pretended_search_ms.unwrap_or(searched_ms));
        }
    }

    fn list(&mut self, paths: &[BString], title: &str, how: &str) {
        if paths.is_empty() {
            return;
        }
        self.header_line(title);
        self.hint(format!(
            "  (use \"git {how} <file>...\" to include in what will be committed)"
        ));
        let palette = &self.presentation.palette;
        let shown = paths.iter().map(|path| {
            let mut text = Vec::new();
            self.presentation
                .append_path(&mut text, path.as_ref(), false);
            text
        });
        match &self.presentation.long.columns {
            Some(columns) => {
                // git does not use the configured prefix here.
                let comment = self.lines.comment().map_or("", |_| "#");
                let indent = bytes![palette.header, comment, "\t", palette.untracked];
                let end: &[u8] = if self.presentation.long.is_colored {
                    b"\x1b[m\n"
                } else {
                    b"\n"
                };
                let frame = Frame {
                    indent: &indent,
                    end,
                };
                let shown: Vec<Vec<u8>> = shown.collect();
                columns.append(&mut self.lines.out, &shown, &frame);
            }
            None => {
                for text in shown {
                    self.lines.start(&palette.header, b"\t");
                    self.lines.more(&palette.untracked, &bytes![text, "\n"]);
                }
            }
        }
        self.plain_line("");
    }

    fn slowness(&mut self, searched_ms: u64) {
        if searched_ms <= SLOW_MS {
            return;
        }
        let took = searched_ms as f64 / 1000.0;
        self.plain_line("");
        self.plain_line(if self.presentation.long.has_monitor {
            format!(
                "It took {took:.2} seconds to enumerate untracked files,\n\
                 but the results were cached, and subsequent runs may be faster."
            )
        } else {
            format!("It took {took:.2} seconds to enumerate untracked files.")
        });
        self.plain_line("See 'git help status' for information on how to improve this.");
        self.plain_line("");
    }
}
