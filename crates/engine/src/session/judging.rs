//! Which settings decide how git judges files: a git with others must be told otherwise by its file system monitor.

/// The sections of the configuration that affect how git judges files, and the keys in them that do not. Conversion counts:
/// without a monitor, git compares the contents of a file that is as young as the index each time, and they depend on it.
const SECTIONS: [&[u8]; 4] = [b"attr.", b"core.", b"filter.", b"sparse."];
const OTHER_KEYS: [&[u8]; 34] = [
    b"core.abbrev",
    b"core.alternaterefscommand",
    b"core.alternaterefsprefixes",
    b"core.askpass",
    b"core.commentchar",
    b"core.commentstring",
    b"core.commitgraph",
    b"core.compression",
    b"core.deltabasecachelimit",
    b"core.editor",
    b"core.filesreflocktimeout",
    b"core.fsmonitor",
    b"core.fsmonitorhookversion",
    b"core.fsync",
    b"core.fsyncmethod",
    b"core.fsyncobjectfiles",
    b"core.gitproxy",
    b"core.hookspath",
    b"core.logallrefupdates",
    b"core.loosecompression",
    b"core.multipackindex",
    b"core.notesref",
    b"core.packedgitlimit",
    b"core.packedgitwindowsize",
    b"core.packedrefstimeout",
    b"core.pager",
    b"core.preloadindex",
    b"core.quotepath",
    b"core.safecrlf",
    b"core.sharedrepository",
    b"core.sshcommand",
    b"core.untrackedcache",
    b"core.warnambiguousrefs",
    b"core.whitespace",
];

/// Whether the variable `key` of the configuration, in lower case, can affect how git judges files, and so what it must be told.
pub fn affects_judging(key: &[u8]) -> bool {
    SECTIONS.iter().any(|section| key.starts_with(section)) && !OTHER_KEYS.contains(&key)
}
