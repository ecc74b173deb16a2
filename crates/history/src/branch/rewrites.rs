//! Rewrites of URLs (`url.<base>.insteadOf` and `url.<base>.pushInsteadOf` in git-config(1)).

use std::collections::HashMap;

use bstr::{BStr, BString};
use vigil_git::config::Config;

/// The rewrites that one key asks for.
pub(super) struct Rewrites<'a> {
    /// Each base with the prefixes that it replaces, in the order in which git tries them.
    bases: Vec<(&'a BStr, Vec<&'a BStr>)>,
}

impl<'a> Rewrites<'a> {
    /// Reads all `url.<base>.<key>`; `key` is in lower case.
    pub(super) fn read(config: &'a Config, key: &str) -> Self {
        let mut bases: Vec<(&BStr, Vec<&BStr>)> = Vec::new();
        let mut numbers = HashMap::new();
        for (base, name, prefix) in config.subsection_entries("url") {
            let Some(prefix) = prefix.filter(|_| name == key) else {
                continue;
            };
            let number = *numbers.entry(base).or_insert(bases.len());
            match bases.get_mut(number) {
                Some((_, prefixes)) => prefixes.push(prefix),
                None => bases.push((base, vec![prefix])),
            }
        }
        Self { bases }
    }

    /// Rewrites `url` by the longest prefix that matches, and the first of equally long ones.
    pub(super) fn apply(&self, url: &BStr) -> Option<BString> {
        let mut best: Option<(&BStr, usize)> = None;
        for (base, prefixes) in &self.bases {
            for prefix in prefixes {
                let is_better = best.is_none_or(|(_, length)| length < prefix.len());
                if is_better && url.starts_with(prefix) {
                    best = Some((base, prefix.len()));
                }
            }
        }
        let (base, length) = best?;
        let rest = url.get(length..).unwrap_or_default();
        Some([base, rest].concat().into())
    }
}
