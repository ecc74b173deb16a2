//! Checks the settings of branches and remotes. git reads all of them when it first needs a branch (`branch.<name>.*`,
//! `remote.<name>.*` and `url.<base>.*` in git-config(1)).

use std::collections::HashSet;

use bstr::{BStr, BString, ByteSlice};
use vigil_git::config::{self, Config, ConfigEntry};
use vigil_model::raw_text::{raw, text_bytes};

use super::compared::remote_for_pushing;
use super::credentials::redacted;
use super::refspec::{Refspec, is_valid_for_push};
use super::urls::RemoteUrls;
use super::{BranchRemotes, Error};

/// Checks the settings of all branches and remotes in the order of the configuration, and those for the remote of
/// `branch`, a short name. git's messages are appended to `messages`, line by line.
///
/// # Errors
/// The first setting that makes git exit.
pub fn check_settings(
    config: &Config,
    branch: &BStr,
    messages: &mut Vec<BString>,
) -> Result<(), Error> {
    check_all_settings(config, messages)?;
    check_remote_of(config, branch, messages)
}

/// Checks the settings of all branches and remotes, which git does once in a run.
///
/// # Errors
/// The first setting that makes git exit.
pub(crate) fn check_all_settings(
    config: &Config,
    messages: &mut Vec<BString>,
) -> Result<(), Error> {
    // The settings of programs on the remote side that were seen.
    let mut programs: HashSet<&BStr> = HashSet::new();
    for entry in config.entries() {
        let Some((section, subsection, name)) = entry.parts() else {
            continue;
        };
        let subsection = subsection.map(|subsection| subsection.as_bytes());
        match (section.as_bytes(), subsection, name.as_bytes()) {
            (b"branch", Some(b""), _) => {
                return Err(config::Error::Bad(entry.refusal()).into());
            }
            (b"branch", Some(_), b"remote" | b"pushremote" | b"merge")
            | (b"url", Some(_), b"insteadof" | b"pushinsteadof")
            | (b"remote", None, b"pushdefault") => {
                entry.required()?;
            }
            (b"remote", Some(remote), name) if remote.starts_with(b"/") => {
                messages.push(text_bytes(&format!(
                    "warning: config remote shorthand cannot begin with '/': {}.{}",
                    raw(remote),
                    raw(name)
                )))
            }
            (b"remote", Some(_), name) => {
                check_remote(&entry, name, messages)?;
                let is_program = matches!(name, b"receivepack" | b"uploadpack");
                if is_program && !programs.insert(entry.key) {
                    let name = name.as_bstr();
                    let text = format!(
                        "error: more than one {name} given, using the first",
                        name = raw(name)
                    );
                    messages.push(text_bytes(&text));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks the settings for the remote of `branch`, a short name. git's messages are appended to `messages`.
///
/// # Errors
/// A setting makes git exit.
pub(crate) fn check_remote_of(
    config: &Config,
    branch: &BStr,
    messages: &mut Vec<BString>,
) -> Result<(), Error> {
    match BranchRemotes::read(config, branch)? {
        Some(remotes) => check_urls_of(config, remotes.remote.as_bstr(), messages),
        None => Ok(()),
    }
}

/// Checks the settings for the remote that `branch`, a short name, is pushed to. git's messages are appended to `messages`.
///
/// # Errors
/// A setting makes git exit.
pub fn check_push_remote_of(
    config: &Config,
    branch: &BStr,
    messages: &mut Vec<BString>,
) -> Result<(), Error> {
    let remote = remote_for_pushing(config, branch);
    check_urls_of(config, remote.as_bstr(), messages)
}

/// Looks for passwords in the URLs of `remote` if `transfer.credentialsInUrl` asks for that, as git does whenever it looks up a
/// remote.
fn check_urls_of(config: &Config, remote: &BStr, messages: &mut Vec<BString>) -> Result<(), Error> {
    let Some(entry) = config.entry("transfer.credentialsInUrl") else {
        return Ok(());
    };
    let value = entry.required()?;
    let is_fatal = match value.as_bytes() {
        b"allow" => return Ok(()),
        b"warn" => false,
        b"die" => true,
        _ => {
            let value = raw(value);
            let text = format!("unrecognized value transfer.credentialsInUrl: '{value}'");
            return Err(config::Error::Bad(text).into());
        }
    };
    let urls = RemoteUrls::read(config).fetched(remote);
    for url in urls.iter().filter_map(|url| redacted(url.as_bstr())) {
        // What is shown of the URL is ASCII.
        let text = format!("URL '{url}' uses plaintext credentials");
        if is_fatal {
            return Err(config::Error::Bad(text).into());
        }
        messages.push(format!("warning: {text}").into());
    }
    Ok(())
}

fn check_remote(
    entry: &ConfigEntry<'_>,
    name: &[u8],
    messages: &mut Vec<BString>,
) -> Result<(), Error> {
    match name {
        b"mirror" | b"skipdefaultupdate" | b"skipfetchall" | b"prune" | b"prunetags" => {
            entry.boolean()?;
        }
        b"url"
        | b"pushurl"
        | b"receivepack"
        | b"uploadpack"
        | b"proxy"
        | b"proxyauthmethod"
        | b"vcs"
        | b"serveroption"
        | b"negotiationrestrict"
        | b"negotiationinclude" => {
            entry.required()?;
        }
        b"fetch" | b"push" => {
            let text = entry.required()?;
            let is_valid = match name {
                b"fetch" => Refspec::parse(text).is_some(),
                _ => is_valid_for_push(text),
            };
            if !is_valid {
                return Err(Error::InvalidRefspec(text.into()));
            }
        }
        b"followremotehead" => {
            let value = entry.value.unwrap_or_default();
            let known: [&[u8]; 4] = [b"never", b"create", b"warn", b"always"];
            // git mishandles one without a value.
            let is_known = entry.value.is_none()
                || known.contains(&value.as_bytes())
                || value.starts_with(b"warn-if-not-");
            if !is_known {
                let text = format!(
                    "warning: unrecognized followRemoteHEAD value '{value}' ignored",
                    value = raw(value)
                );
                messages.push(text_bytes(&text));
            }
        }
        _ => {}
    }
    Ok(())
}
