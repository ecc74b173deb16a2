//! Settings of how Mercurial stores and upgrades. None of them matters to a status, but Mercurial reads them whenever it opens a
//! repository, and ends if one is wrong.

use bstr::{BStr, ByteSlice};
use vigil_hg::abort::Abort;
use vigil_hg::config::Config;
use vigil_hg::repository::Requirements;

use crate::reply::bytes;

/// Checks the settings that Mercurial reads when it opens a repository with these `requirements`, in its order.
///
/// # Errors
/// One of them is wrong.
pub(super) fn check(config: &Config, requirements: &Requirements) -> Result<(), Abort> {
    config.integer("format", "manifestcachesize")?;
    // An older format of history has no options.
    if requirements.has("revlogv1") || requirements.has("exp-revlogv2.2") {
        check_revlogs(config, requirements)?;
    }
    if requirements.has("fileindex-v1") {
        check_file_index(config)?;
    }
    if !config.boolean("devel", "all-warnings", false)? {
        config.boolean("devel", "check-locks", false)?;
    }
    // Mercurial reads it only if it locks the repository.
    check_or_refuse(config, "ui", "signal-safe-lock")
}

/// Checks a setting that Mercurial does not read each time, or by another name.
///
/// # Errors
/// It is no boolean.
fn check_or_refuse(config: &Config, section: &str, name: &str) -> Result<(), Abort> {
    let checked = config.boolean(section, name, false);
    checked
        .map(drop)
        .map_err(|_| Abort::unsupported(bytes!("the setting ", section, ".", name)))
}

/// Checks the settings of a store with an index of its files. Of some of them Mercurial only says that they are wrong.
fn check_file_index(config: &Config) -> Result<(), Abort> {
    let refused = |name: &str| Err(Abort::unsupported(bytes!("the setting ", name)));
    if config.has("devel", "fileindex.vacuum-mode") {
        return refused("devel.fileindex.vacuum-mode");
    }
    let unused = config.integer("storage", "fileindex.max-unused-percentage")?;
    if unused.is_some_and(|unused| !(0..=100).contains(&unused)) {
        return refused("storage.fileindex.max-unused-percentage");
    }
    check_slow_path(config, "fileindex.slow-path")?;
    config.integer("storage", "fileindex.gc-retention-seconds")?;
    config.integer("devel", "fileindex.garbage-timestamp")?;
    Ok(())
}

/// Checks what is to be done if a Mercurial without compiled extensions is slow: whether there are some is not known here, but
/// Mercurial always says that it does not know an answer.
fn check_slow_path(config: &Config, name: &str) -> Result<(), Abort> {
    let said = |name| config.get("storage", name).unwrap_or("default".into());
    let (name, value) = match said(name) {
        value if value == "default" => ("all-slow-path", said("all-slow-path")),
        value => (name, value),
    };
    match value.as_bytes() {
        b"allow" | b"warn" | b"abort" => Ok(()),
        b"default" if !config.has("storage", name) => Ok(()),
        _ => Err(Abort::unsupported(bytes!("the setting storage.", name))),
    }
}

/// Checks the settings of revlogs.
fn check_revlogs(config: &Config, requirements: &Requirements) -> Result<(), Abort> {
    let flag = |name, default| config.boolean("storage", name, default);
    if requirements.has("exp-changelog-v2") {
        let rank = "changelog-v2.compute-rank";
        check_or_refuse(config, "experimental", rank)?;
    }
    config.integer("format", "chunkcachesize")?;
    flag("revlog.optimize-delta-parent-choice", false)?;
    check_or_refuse(config, "format", "aggressivemergedeltas")?;
    let chunk = "revlog.delta-parent-search.candidate-group-chunk-size";
    config.integer("storage", chunk)?;
    config.boolean("debug", "revlog.debug-delta", false)?;
    flag("revlog.issue6528.fix-incoming", false)?;
    if flag("revlog.reuse-external-delta", true)? {
        let parent = "revlog.reuse-external-delta-parent";
        flag(parent, false)?;
        if !config.has("storage", parent) {
            config.boolean("format", "generaldelta", false)?;
        }
    }
    flag("revlog.reuse-external-suspicious-delta-parent", false)?;
    flag("revlog.reuse-external-delta-compression", false)?;
    flag("revlog.record-delta-quality", false)?;
    config.check_byte_count("experimental", "maxdeltachainspan")?;
    if flag("revlog.mmap.index", true)? {
        config.check_byte_count("storage", "revlog.mmap.index:size-threshold")?;
    }
    config.boolean("experimental", "sparse-read", false)?;
    check_density(config)?;
    config.check_byte_count("experimental", "sparse-read.min-gap-size")?;
    config.integer("format", "maxchainlen")?;
    config.integer("storage", "filelog.expected-max-compression-ratio")?;
    config.integer("storage", "delta-fold-tolerance-percentage")?;
    check_level(config, "revlog.zlib.level", 9)?;
    check_level(config, "revlog.zstd.level", 22)?;
    config.boolean("experimental", "rust.index", false)?;
    if requirements.has("persistent-nodemap") {
        check_slow_path(config, "revlog.persistent-nodemap.slow-path")?;
    }
    if requirements.has("dirstate-v2") {
        check_slow_path(config, "dirstate-v2.slow-path")?;
    }
    flag("revlog.persistent-nodemap.mmap", false)?;
    config.boolean("devel", "persistent-nodemap", false)?;
    flag("revlog.validate-delta-base", false)?;
    Ok(())
}

/// Checks the density of a chunk of a revlog. If it is no number, Mercurial fails with a Python traceback.
fn check_density(config: &Config) -> Result<(), Abort> {
    let name = "sparse-read.density-threshold";
    let said = config.get("experimental", name);
    match said.is_none_or(is_python_float) {
        true => Ok(()),
        false => Err(Abort::unsupported(bytes!(
            "the setting experimental.",
            name
        ))),
    }
}

/// Whether Python surely takes a text for a floating-point number.
pub(super) fn is_python_float(text: &BStr) -> bool {
    text.to_str().is_ok_and(|text| text.parse::<f64>().is_ok())
}

/// Checks a level of compression, in the section `storage`.
fn check_level(config: &Config, name: &str, max: i64) -> Result<(), Abort> {
    match config.integer("storage", name)? {
        Some(level) if !(0..=max).contains(&level) => {
            let level = level.to_string();
            let setting = bytes!("`storage.", name, "` config: ", level.as_str());
            Err(Abort::plain(bytes!("invalid value for ", setting)))
        }
        _ => Ok(()),
    }
}
