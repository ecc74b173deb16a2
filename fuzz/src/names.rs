//! The names that a person writes for objects, and the data that decides what they mean.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;

use bstr::{BStr, BString, ByteSlice};
use vigil_git::environment::Environment;
use vigil_git::fuzzing;
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_git::repository::{self, Repository, Search};
use vigil_history::fuzzing::{TimeZone, regex, shown_date};
use vigil_history::mailmap::Mailmap;
use vigil_history::revision::{Memory, Options, Unresolved, resolve_in_context};
use vigil_model::{HashKind, ObjectId};
use vigil_objects::Kind;
use vigil_objects::commit_graph::{CommitGraph, OptionalParts};

use crate::input::Input;
use crate::stores::Folders;

/// The clocks of a field: a time zone file if it begins like one, else a string. UTC if it is neither.
fn time_zone_of(field: &[u8]) -> TimeZone {
    let found = match field.starts_with(b"TZif") {
        true => TimeZone::of_file(field),
        false => TimeZone::of_string(field),
    };
    found.unwrap_or_else(TimeZone::utc)
}

/// A date is never before 1970, and case matters only for a T. An exact date, printed and parsed again, is the same.
pub(crate) fn date(data: &[u8]) {
    const NOW_S: [i64; 4] = [0, 1_700_000_000, 1_722_500_000, 4_000_000_000];
    let mut input = Input(data);
    let now_s = NOW_S[usize::from(input.byte()) % NOW_S.len()];
    let clocks = time_zone_of(input.field());
    let text = input.0;
    let found = clocks.date(text, now_s, now_s);
    let Some(time_s) = found else {
        let has_any = text.iter().any(|byte| byte.is_ascii_digit());
        assert!(!has_any, "a digit is something of a date");
        return;
    };
    assert!(time_s >= 0);
    if !text.contains(&b'T') && !text.contains(&b't') {
        let upper = clocks.date(&text.to_ascii_uppercase(), now_s, now_s);
        assert_eq!(upper, found);
    }
    if (100_000_000..4_000_000_000).contains(&time_s) {
        let exact = time_s.to_string();
        assert_eq!(clocks.date(exact.as_bytes(), now_s, now_s), found);
        let [_, full] = shown_date(time_s, 130);
        assert_eq!(clocks.date(full.as_bytes(), now_s, now_s), found);
    }
    let [day, full] = shown_date(time_s, 9959);
    assert!(day.len() >= 10 && full.len() >= 30);
}

/// Time zones are as far from UTC as they say, and local times convert back to UTC, except near a transition.
pub(crate) fn time_zone(data: &[u8]) {
    let mut input = Input(data);
    let times: Vec<i64> = (0..4)
        .map(|_| {
            i64::from(u16::from_be_bytes([input.byte(), input.byte()])) * 1_000_003 - (3 << 30)
        })
        .collect();
    let clocks = time_zone_of(input.0);
    for time_s in times.into_iter().chain([i64::MIN, i64::MAX, 0]) {
        let (offset_s, is_dst) = clocks.at(time_s);
        let local_s = time_s.saturating_add(offset_s);
        let [_, standard, saving] = clocks.utc_of(local_s);
        if clocks.at(local_s.saturating_sub(offset_s)).0 == offset_s
            && [local_s, local_s.saturating_sub(offset_s)]
                .iter()
                .all(|at| clocks.at(*at) == (offset_s, is_dst))
        {
            let meant = if is_dst { saving } else { standard };
            assert_eq!(meant, local_s.saturating_sub(offset_s));
        }
    }
}

/// A match remains one in parentheses, and as an alternative of itself; plain text matches wherever it occurs.
pub(crate) fn regular_expression(data: &[u8]) {
    let mut input = Input(data);
    let (pattern, text) = (input.field(), &input.0[..input.0.len().min(256)]);
    for utf8 in [false, true] {
        judge_expression(pattern, text, utf8);
    }
}

fn judge_expression(pattern: &[u8], text: &[u8], utf8: bool) {
    let found = regex(pattern, text, utf8);
    let is_plain = pattern
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-' | b'_' | 128..));
    if is_plain && !pattern.is_empty() {
        assert_eq!(found, Some(text.contains_str(pattern)));
    }
    let Some(is_match) = found else {
        return;
    };
    // An unopened parenthesis is literal, and longer expressions may exceed the limits.
    let mut depth = 0_i32;
    let is_balanced = pattern.iter().all(|byte| {
        depth += i32::from(*byte == b'(') - i32::from(*byte == b')');
        depth >= 0
    });
    if is_balanced && pattern.len() < 64 && pattern.find_byteset(b"{[\\").is_none() {
        let group = [b"(", pattern.as_bytes(), b")"].concat();
        let twice = [&group, b"|".as_slice(), &group].concat();
        for other in [group, twice] {
            if let Some(other) = regex(&other, text, utf8) {
                assert_eq!(other, is_match);
            }
        }
    }
}

/// A repository with one of everything that names can refer to.
struct NamedRepository {
    _folder: tempfile::TempDir,
    repository: Repository,
    refs: Refs,
    objects: Objects,
}

const GIT_COMMANDS: &[&str] = &[
    "init -q -b main .",
    "commit -q --allow-empty -m first",
    "add -A",
    "commit -q -m second",
    "tag -a -m tagged v1",
    "-c advice.nestedTag=false tag -a -m nested v2 v1",
    "branch side HEAD~1",
    "checkout -q side",
    "commit -q --allow-empty -m third",
    "checkout -q main",
    "merge -q -m merged side",
    "repack -q -a -d",
    "config branch.main.remote .",
    "config branch.main.merge refs/heads/side",
    "update-ref refs/remotes/origin/HEAD side",
    "worktree add -q --detach linked",
];

fn named_repository() -> &'static NamedRepository {
    static NAMED_REPOSITORY: OnceLock<NamedRepository> = OnceLock::new();
    NAMED_REPOSITORY.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path().canonicalize().expect("a folder");
        fs::create_dir(top.join("dir")).expect("a folder");
        fs::write(top.join("dir/file"), "text\n").expect("a file");
        std::os::unix::fs::symlink("dir/file", top.join("link")).expect("a link");
        for command in GIT_COMMANDS {
            let mut git = Command::new("git");
            git.args(command.split(' ')).current_dir(&top);
            git.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", &top);
            for who in ["AUTHOR", "COMMITTER"] {
                git.env(format!("GIT_{who}_NAME"), "a");
                git.env(format!("GIT_{who}_EMAIL"), "a");
                git.env(format!("GIT_{who}_DATE"), "1700000000 +0000");
            }
            assert!(git.status().expect("git").success(), "{command}");
        }
        let environment = Environment::new([], &top);
        let found = repository::discover_git_dir(&environment, &top, Search::Commands);
        let location = found.expect("a repository").expect("a repository");
        let repository = repository::open(&environment, &location).expect("a repository");
        let refs = Refs::open(&repository);
        let objects = Objects::open_with(&repository, &refs).expect("objects");
        NamedRepository {
            _folder: folder,
            repository,
            refs,
            objects,
        }
    })
}

/// An object that is found exists, unless it was named by its full id. Messages are whole lines.
pub(crate) fn revision(data: &[u8]) {
    let mut input = Input(data);
    let choice = input.byte();
    // git has the name as a C string, within a line.
    let name: BString = input
        .0
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, 0 | b'\n'))
        .take(1024)
        .collect::<Vec<u8>>()
        .into();
    let options = Options {
        follow_symlinks: choice & 1 != 0,
        quietly: choice & 2 != 0,
        is_fatal_on_failure: choice & 4 != 0,
        requires_path: choice & 8 != 0,
        skips_check_of_ids: choice & 16 != 0,
        ..Options::default()
    };
    let asked = named_repository();
    let answer = resolve_in_context(
        name.as_bstr(),
        &options,
        &asked.repository,
        &asked.refs,
        &asked.objects,
        &Memory::new(),
    );
    assert!(answer.messages.iter().all(|line| !line.contains(&b'\n')));
    let why = match answer.outcome {
        Err(why) => why,
        Ok(found) => {
            let has_digits = name.find(found.id.to_string().as_bytes()).is_some()
                || name.to_ascii_lowercase().contains_str(found.id.to_string());
            let kind = asked.objects.kind(&found.id).expect("sound objects");
            assert!(kind.is_some() || has_digits || found.id.is_null(), "{name}");
            return;
        }
    };
    let report = why.batch_report(name.as_bstr(), b'\n');
    match why {
        Unresolved::Fatal(text) => assert!(report.is_none() && !text.is_empty()),
        Unresolved::Failed(error) => panic!("{name}: {error}"),
        Unresolved::FatalWithoutMessage => {}
        _ => assert!(report.is_some()),
    }
}

/// Only people are replaced, only by people, and an empty mailmap replaces nobody.
pub(crate) fn mailmap(data: &[u8]) {
    let mut input = Input(data);
    let is_file = input.byte() & 1 != 0;
    let lines = input.field();
    let contents = input.0;
    let mut mailmap = Mailmap::default();
    assert_eq!(mailmap.replace_idents(contents), None);
    match is_file {
        true => mailmap.add_file_contents(lines),
        false => mailmap.add_contents(lines),
    }
    let name = BStr::new("A U Thor");
    for line in lines.lines() {
        let Some((_, rest)) = line.split_once_str("<") else {
            continue;
        };
        let email = rest.split(|byte| *byte == b'>').next().unwrap_or_default();
        let found = mailmap.map(name, email.as_bstr());
        let folded = email.to_ascii_uppercase();
        assert_eq!(
            found.is_some(),
            mailmap.map(name, folded.as_bstr()).is_some()
        );
        if let Some((name, email)) = found {
            let shown = [name.as_bytes(), email].concat();
            assert!(shown.len() <= lines.len() + "A U Thor".len());
        }
    }
    let checked = mailmap.check(contents.as_bstr());
    assert!(checked.ends_with(b">"));
    if let Some(replaced) = mailmap.replace_idents(contents) {
        let people = contents.lines().count().saturating_add(1);
        assert!(replaced.len() <= contents.len() + people * (lines.len() + 4));
        assert_eq!(replaced.first(), contents.first());
    }
}

/// Each grafted commit has the parents of its first line, and each commit of the boundary has none.
pub(crate) fn history(data: &[u8]) {
    let mut input = Input(data);
    let hash = input.hash();
    let (grafts, shallow) = (input.field(), input.0);
    let (changed, is_bad) = fuzzing::history(grafts, shallow, hash);
    let id = |hex: &[u8]| {
        let hex = hex.get(..hash.len_in_hex())?;
        ObjectId::from_hex(hex).ok()
    };
    // git reads a line in pieces of this size.
    let lines = shallow.lines_with_terminator();
    let boundary: Vec<_> = lines.flat_map(|line| line.chunks(1023)).map(id).collect();
    assert_eq!(is_bad, boundary.iter().any(Option::is_none));
    let boundary: Vec<_> = boundary.into_iter().map_while(|id| id).collect();
    let changed: BTreeMap<ObjectId, Vec<ObjectId>> = changed.into_iter().collect();
    for id in &boundary {
        assert_eq!(changed.get(id), Some(&Vec::new()));
    }
    for (commit, parents) in &changed {
        if boundary.contains(commit) {
            continue;
        }
        let line = grafts.lines().find(|line| {
            let ids = line.split(|byte| !byte.is_ascii_hexdigit());
            let ids = ids.filter(|id| !id.is_empty());
            let ids: Vec<_> = ids.map(id).collect();
            let (first, rest) = ids.split_first().unwrap_or((&None, &[]));
            *first == Some(*commit) && rest.iter().flatten().eq(parents)
        });
        assert!(line.is_some(), "{commit}");
    }
}

/// The other id leads back to an object. Blobs are not changed, and converted objects do not grow out of bounds.
pub(crate) fn other_ids(data: &[u8]) {
    let mut input = Input(data);
    let own = input.hash();
    let other = match own {
        HashKind::Sha1 => HashKind::Sha256,
        _ => HashKind::Sha1,
    };
    let lines = input.field();
    let file = [b"# loose-object-idx\n".as_slice(), lines].concat();
    let compat = fuzzing::compat(&file, own, other);
    let contents = input.0;
    for line in lines.split(|byte| *byte == b'\n') {
        let ids = line.split_once_str(" ").and_then(|(first, second)| {
            Some((
                ObjectId::from_hex(first).ok()?,
                ObjectId::from_hex(second).ok()?,
            ))
        });
        let Some((first, second)) = ids.filter(|ids| (ids.0.kind(), ids.1.kind()) == (own, other))
        else {
            // Nothing counts after a wrong line.
            break;
        };
        assert_eq!(compat.compat_id(&first).map(|id| id.kind()), Some(other));
        let name = format!("{second}^{{tree}}");
        let named = compat.with_native_id(name.as_str().into()).expect("an id");
        assert_eq!(named.len(), own.len_in_hex() + "^{tree}".len());
        let longer = format!("{second}0");
        assert_eq!(compat.with_native_id(longer.as_str().into()), None);
    }
    let blob = compat.convert(Kind::Blob, contents.to_vec());
    assert_eq!(blob.as_deref(), Some(contents));
    for kind in [Kind::Tree, Kind::Commit, Kind::Tag] {
        if let Some(converted) = compat.convert(kind, contents.to_vec()) {
            assert!(converted.len() <= contents.len() * 2 + other.len_in_hex());
        }
    }
}

/// A commit-graph, alone or as a chain of two, is accepted or ignored, and the parents that it lists are within it.
pub(crate) fn commit_graph(data: &[u8]) {
    let mut input = Input(data);
    let choice = input.byte();
    let hash = match choice & 1 {
        0 => HashKind::Sha1,
        _ => HashKind::Sha256,
    };
    let folders = Folders::new(hash);
    if choice & 2 == 0 {
        folders.write("info/commit-graph", input.0);
    } else {
        let first = input.part();
        let mut chain = String::new();
        for (digit, file) in [("1", first), ("2", input.0)] {
            let id = digit.repeat(hash.len_in_hex());
            folders.write(&format!("info/commit-graphs/graph-{id}.graph"), file);
            chain.push_str(&format!("{id}\n"));
        }
        folders.write("info/commit-graphs/commit-graph-chain", chain.as_bytes());
    }
    let parts = OptionalParts {
        generations: true,
        changed_paths: true,
    };
    let own = [folders.path("")];
    let Some(graph) = CommitGraph::open(&own, hash, parts, &mut Vec::new()) else {
        return;
    };
    assert!(graph.count() as usize * hash.len_in_bytes() <= data.len());
    let mut parents = Vec::new();
    for position in 0..graph.count() {
        if let Some(id) = graph.id_at(position) {
            // If the ids are not sorted, it may not be found.
            let _ = graph.position_of(&id);
        }
        let _ = graph.tree_at(position);
        parents.clear();
        if graph.read(position, &mut parents).is_some() {
            assert!(parents.iter().all(|parent| *parent < graph.count()));
        }
    }
}
