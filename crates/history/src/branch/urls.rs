//! The URLs of remotes (`remote.<name>.url` and `remote.<name>.pushurl` in git-config(1)).

use bstr::{BStr, BString};
use vigil_git::config::Config;

use super::rewrites::Rewrites;

/// What decides which URLs remotes have.
pub(super) struct RemoteUrls<'a> {
    config: &'a Config,
    for_pushing: Rewrites<'a>,
    for_all: Rewrites<'a>,
}

impl<'a> RemoteUrls<'a> {
    /// Reads the rewrites.
    pub(super) fn read(config: &'a Config) -> Self {
        Self {
            config,
            for_pushing: Rewrites::read(config, "pushinsteadof"),
            for_all: Rewrites::read(config, "insteadof"),
        }
    }

    /// Returns the URLs that `git fetch` uses for `remote`. If it has none, its name is one.
    pub(super) fn fetched(&self, remote: &BStr) -> Vec<BString> {
        let mut urls = self.listed(remote, "url");
        let is_foreign = self.config.subsection_entry("remote", remote, "vcs");
        if urls.is_empty() && is_foreign.is_none() {
            urls.push(remote.to_owned());
        }
        urls.into_iter().map(|url| self.rewritten(url)).collect()
    }

    /// Returns the URLs that `git push` uses for the configured `remote`.
    pub(super) fn pushed(&self, remote: &BStr) -> Vec<BString> {
        let rewritten = |url| self.rewritten(url);
        let push: Vec<BString> = self
            .listed(remote, "pushurl")
            .into_iter()
            .map(rewritten)
            .collect();
        if !push.is_empty() {
            return push;
        }
        let urls = self.listed(remote, "url");
        let for_pushing = |url: &BString| self.for_pushing.apply(url.as_ref());
        let push: Vec<BString> = urls.iter().filter_map(for_pushing).collect();
        if !push.is_empty() {
            return push;
        }
        urls.into_iter().map(rewritten).collect()
    }

    /// Returns the URL that `git push` uses for `remote` if no remote of that name is configured.
    pub(super) fn pushed_by_name(&self, remote: &BStr) -> BString {
        let url = self.for_pushing.apply(remote);
        url.unwrap_or_else(|| self.rewritten(remote.to_owned()))
    }

    /// The configured URLs of one kind. An empty one clears all before it.
    fn listed(&self, remote: &BStr, key: &str) -> Vec<BString> {
        // git does not accept a remote with such a name.
        if remote.starts_with(b"/") {
            return Vec::new();
        }
        let mut urls = self.config.subsection_strings("remote", remote, key);
        if let Some(last) = urls.iter().rposition(|url| url.is_empty()) {
            urls.drain(..=last);
        }
        urls
    }

    fn rewritten(&self, url: BString) -> BString {
        self.for_all.apply(url.as_ref()).unwrap_or(url)
    }
}
