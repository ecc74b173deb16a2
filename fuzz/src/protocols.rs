//! Data that comes through pipes.

use bstr::ByteSlice;
use vigil_convert::fuzzing;
use vigil_daemon::fuzzing::{
    RECORD_LEN_MAX, frames, image_in, is_plain, message, messages_of_git, packets_of_git, records,
    request, token,
};
use vigil_daemon::protocol::frame;

use crate::input::Input;

const FIELD_SEPARATOR: u8 = 0x1f;
const RECORD_SEPARATOR: u8 = 0x1e;
/// More than half of the part of a record that is kept.
const LONG_INPUT_LEN: usize = RECORD_LEN_MAX / 2 + 100;

/// Records are the same wherever the stream is split, and equal to those of a slow parser. Requests are parts of them.
pub(crate) fn gitstatusd(data: &[u8]) {
    let mut input = Input(data);
    let mut size = 1 + input.up_to(300);
    // Expand single bytes, so that records of any length are possible.
    let stream = input.0.replacen([0xfd], [b'x'; LONG_INPUT_LEN], 3);
    if stream.len() > input.0.len() {
        size *= 100;
    }
    let whole = records([stream.as_slice()]);
    assert_eq!(records(stream.chunks(size)), whole);
    let mut slow: Vec<Vec<u8>> = stream
        .split(|byte| *byte == RECORD_SEPARATOR)
        .map(<[u8]>::to_vec)
        .collect();
    slow.pop();
    for record in slow
        .iter_mut()
        .filter(|record| record.len() > RECORD_LEN_MAX)
    {
        record.truncate(RECORD_LEN_MAX);
        let id = record.find_byte(FIELD_SEPARATOR).map_or(0, |at| at + 1);
        record.truncate(id);
    }
    assert_eq!(whole, slow);
    for record in &whole {
        let fields: Vec<&[u8]> = record.splitn_str(4, &[FIELD_SEPARATOR]).collect();
        let flag = *fields.get(2).unwrap_or(&b"0".as_slice());
        let says_where = fields.get(3).is_none_or(|place| place.starts_with(b"/"));
        let (true, b"0" | b"1", true) = (fields.len() > 1, flag, says_where) else {
            assert_eq!(request(record), None);
            continue;
        };
        let (id, dir, from_git_dir, skip_index) = request(record).expect("a request");
        assert_eq!(id, fields[0]);
        assert_eq!(skip_index, flag == b"1");
        assert_eq!(from_git_dir, fields[1].starts_with(b":"));
        let path = fields[1].strip_prefix(b":").unwrap_or(fields[1]);
        assert_eq!(dir.is_some(), path.starts_with(b"/"));
    }
}

/// The kind of message whose body may have unknown fields.
const DESCRIPTION: u8 = 68;

/// Frames are the same wherever the stream is split, and no frame exceeds the maximum length. A message that is understood has
/// exactly the bytes that it would be encoded to, except for unknown fields: encoded without them, it is understood too.
pub(crate) fn daemon(data: &[u8]) {
    const LEN_MAX: usize = 600;
    let mut input = Input(data);
    let size = 1 + input.up_to(40);
    let stream = input.0;
    let (whole, end) = frames([stream], LEN_MAX);
    assert_eq!(frames(stream.chunks(size), LEN_MAX), (whole.clone(), end));
    let mut rest = stream;
    for (kind, body) in &whole {
        let len = body.len() + 1;
        assert!(len <= LEN_MAX);
        let (head, tail) = rest.split_at(4 + len);
        assert_eq!(head, frame(*kind, body));
        rest = tail;
        for again in message(*kind, body).into_iter().flatten() {
            if *kind != DESCRIPTION {
                assert_eq!(again, head);
                continue;
            }
            let (_, body) = again.split_at(4 + 1);
            assert_eq!(message(*kind, body), [None, Some(again.clone())]);
        }
    }
    if let Some((told, _)) = rest.split_first_chunk::<4>() {
        let told = u32::from_le_bytes(*told) as usize;
        assert_eq!(end.is_some(), told == 0 || told > LEN_MAX);
    }
}

/// Messages of git are the same wherever the stream is split, not longer than allowed, and the same when encoded again. A token
/// is understood only as it was written.
pub(crate) fn fsmonitor(data: &[u8]) {
    const LEN_MAX: usize = 64 * 1024;
    let mut input = Input(data);
    let size = 1 + input.up_to(40);
    let stream = input.0;
    let (messages, is_cut) = messages_of_git([stream]);
    assert_eq!(
        messages_of_git(stream.chunks(size)),
        (messages.clone(), is_cut)
    );
    for message in messages {
        assert!(message.len() <= LEN_MAX);
        let again = packets_of_git(&message);
        assert_eq!(
            messages_of_git([again.as_slice()]),
            (vec![message.clone()], false)
        );
        if let Some(texts) = token(&message) {
            let kept = |text: &bstr::BString| token(text) == Some(texts.clone());
            assert!(texts.iter().all(kept));
        }
    }
}

/// What proc(5) shows of another process is of its own making: its command line, and the name in its `stat`. A command line that
/// changes what is looked at does so whatever follows, and the arguments of git's command do not.
pub(crate) fn process(data: &[u8]) {
    let plain = |words: &[&[u8]]| is_plain(&words.join(&0));
    let (name, options) = data.split_once_str(&[0]).unwrap_or((data, b""));
    let options = options.strip_suffix(b"\0").unwrap_or(options);
    let is_option_plain = plain(&[b"git", options]);
    // The first of these may be the value of the last option.
    let whole = [b"git", options, b"status", b"status"];
    assert_eq!(
        plain(&whole),
        plain(&[&whole[..], &[b"--work-tree=a", b"-c", b"core.x"]].concat())
    );
    assert!(is_option_plain || !plain(&whole));
    for ignored in [&b"-p"[..], b"-C\0--bare", b"-c\0user.name=core.x"] {
        assert_eq!(plain(&[b"git", ignored, options]), is_option_plain);
    }
    for other in [&b"--work-tree=a"[..], b"-c\0Core.fileMode=no"] {
        assert!(!plain(&[b"git", other, options]));
    }
    let fields: String = (3..=52).map(|number| format!(" {number}")).collect();
    let stat = [b"1 (", name, b")", fields.as_bytes(), b"\n"].concat();
    assert_eq!(image_in(&stat), Some((22, 28)));
    let _ = image_in(data);
}

/// Whatever a filter answers, the contents come from its answers, and it is asked the same.
pub(crate) fn filter_process(data: &[u8]) {
    const FILES: [&[u8]; 3] = [b"one", b"", b"three"];
    let conversed = fuzzing::converse(data, &FILES);
    let given: usize = conversed.outcomes.iter().flatten().map(Vec::len).sum();
    assert!(given <= data.len());
    for contents in conversed.outcomes.iter().flatten() {
        // Each packet of the contents is a run of the answers.
        assert!(contents.len() > 65_516 || has_only_bytes_of(contents, data));
    }
    assert!(conversed.outcomes.len() <= FILES.len());
    let sent = conversed.sent.as_bstr();
    assert!(sent.starts_with(b"0016git-filter-client\n000eversion=2\n0000"));
    let asked = sent.find_iter("command=clean\n").count();
    assert!(asked <= FILES.len() && asked <= conversed.outcomes.len() + 1);
}

/// Whether every byte of `contents` occurs in `data`: a rough check that it is made of runs of `data`.
fn has_only_bytes_of(contents: &[u8], data: &[u8]) -> bool {
    contents.iter().all(|byte| data.contains(byte))
}
