//! A scan for a system that is just a list of paths and facts: a scan needs nothing else that git has.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::Errno;
use vigil_linux::dir::EntryKind;
use vigil_linux::stat::{Stat, lstat_path, stat_at};
use vigil_model::conversion::Conversion;
use vigil_model::facts::RecordedStat;
use vigil_model::index::{Entry, EntryFlags};
use vigil_model::mode::FileMode;
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_model::tracked::{
    Beside, Blocks, Builder, Damaged, DirNumber, InMemory, Tracked, TrackedFile,
};
use vigil_model::{HashKind, ObjectId};
use vigil_stamp::Stamp;
use vigil_testkit::clock::wait_for_tick;

use super::*;

/// Files as they were when the list was written: the size, and the first letter of the contents, which is the ID; and
/// directories that are declared to hold nothing else, except what is ignored.
struct RecordedFiles(
    BTreeMap<&'static str, &'static str>,
    &'static [&'static str],
);

/// Names with these endings are ignored; the file `ignored` in a directory names another ending for everything below.
#[derive(Debug)]
struct IgnoredEndings(Vec<BString>);

impl IgnoreScope for IgnoredEndings {
    fn digest(&self) -> u128 {
        let ends = self.0.iter().flat_map(|end| end.iter());
        ends.fold(self.0.len() as u128, |sum, byte| {
            sum << 8 ^ u128::from(*byte)
        })
    }

    fn is_ignored(&self, path: &BStr, _: bool) -> bool {
        self.0.iter().any(|end| path.ends_with(end))
    }
}

fn ignored_endings(scope: &Arc<dyn IgnoreScope>) -> Vec<BString> {
    let scope: Arc<dyn std::any::Any + Send + Sync> = scope.clone();
    scope.downcast::<IgnoredEndings>().unwrap().0.clone()
}

fn id_of(contents: &str) -> ObjectId {
    let letter = contents.bytes().next().unwrap_or_default();
    ObjectId::from_bytes_or_panic(&[letter; 20])
}

impl System for RecordedFiles {
    fn compare_stat(
        &self,
        file: &TrackedFile<'_>,
        stat: &Stat,
        _: &dyn Fn() -> BString,
    ) -> Result<(), Difference> {
        if stat.is_dir() {
            return Err(Difference::Certain(Observed::Missing));
        }
        let mode = match stat.is_symlink() {
            true => FileMode::SYMLINK,
            false => FileMode::FILE,
        };
        match stat.size == u64::from(file.stat().size) && mode == file.mode() {
            true => Err(Difference::InContents(mode)),
            false => Err(Difference::Certain(Observed::Present(mode))),
        }
    }

    fn is_unchanged(
        &self,
        _: &BStr,
        mut file: File,
        _: u64,
        recorded: &ObjectId,
    ) -> Result<bool, ContentError> {
        let mut contents = String::new();
        file.read_to_string(&mut contents).unwrap();
        Ok(id_of(&contents) == *recorded)
    }

    fn conversion(&self, _: &BStr) -> Option<Conversion> {
        Some(Conversion::known(0))
    }

    fn warnings_len(&self) -> usize {
        0
    }

    fn is_unchanged_link(&self, _: &BStr, target: &[u8], recorded: &ObjectId) -> bool {
        id_of(target.to_str().unwrap()) == *recorded
    }

    fn is_repository(&self, path: &BStr) -> Result<bool, Errno> {
        Ok(path.ends_with(b"nested"))
    }

    fn is_metadata(&self, path: &BStr, _: EntryKind) -> bool {
        vigil_model::path::file_name(path) == b".list"
    }

    fn holds_only_recorded(&self, _: BorrowedFd<'_>, path: &BStr, _: &Stat) -> bool {
        self.1.iter().any(|known| *known == path)
    }

    fn rules_at_top(&self) -> Arc<dyn IgnoreScope> {
        Arc::new(IgnoredEndings(vec![".o".into()]))
    }

    fn rules_in(
        &self,
        directory: &ListedDirectory<'_>,
        above: &Arc<dyn IgnoreScope>,
        _: &mut Vec<RulesWarning>,
    ) -> (Arc<dyn IgnoreScope>, RulesFile) {
        if directory.listing.find(b"ignored").is_none() {
            return (above.clone(), RulesFile::Absent);
        }
        let mut all = ignored_endings(above);
        all.push(".tmp".into());
        let seen = stat_at(directory.dir, self.rules_file_name()).unwrap();
        let stamp = Stamp::trusted(&seen, directory.scan_started_at);
        let file = stamp.map_or(RulesFile::Unproven, RulesFile::Seen);
        (Arc::new(IgnoredEndings(all)), file)
    }

    fn rules_of_digest(
        &self,
        above: &Arc<dyn IgnoreScope>,
        _: &BStr,
        _: u128,
    ) -> Arc<dyn IgnoreScope> {
        above.clone()
    }

    fn rules_file_name(&self) -> &'static CStr {
        c"ignored"
    }
}

impl RecordedFiles {
    fn tracked(&self, top: &Path) -> Tracked {
        let records = self.records(top);
        let records = records.iter().map(|(path, entry)| (*path, entry));
        Tracked::of_records(HashKind::Sha1, records)
    }

    fn records(&self, top: &Path) -> Vec<(&BStr, Entry)> {
        self.0
            .iter()
            .map(|(path, contents)| {
                let is_link = lstat_path(&top.join(path)).is_ok_and(|stat| stat.is_symlink());
                let mode = match is_link {
                    true => FileMode::SYMLINK,
                    false => FileMode::FILE,
                };
                let stat = RecordedStat {
                    size: u32::try_from(contents.len()).unwrap(),
                    ..RecordedStat::default()
                };
                let entry = Entry::new(stat, mode, id_of(contents), EntryFlags::default());
                (BStr::new(*path), entry)
            })
            .collect()
    }

    /// Returns what a scan finds.
    fn find(
        &self,
        top: &Path,
        tracked: &Tracked,
        memory: Option<&ScanMemory>,
        focus: Option<&Focus>,
    ) -> Findings {
        self.find_with(top, tracked, memory, focus, IgnoredMode::Traditional)
    }

    fn find_with(
        &self,
        top: &Path,
        tracked: &Tracked,
        memory: Option<&ScanMemory>,
        focus: Option<&Focus>,
        ignored: IgnoredMode,
    ) -> Findings {
        let findings = Scan {
            work_tree: top,
            tracked_files: tracked,
            ignore_case: false,
            looks_at_present_skipped_files: false,
            lacks_sparse_directories: false,
            system: self,
            filter: None,
            focus,
            tracked: true,
            untracked: UntrackedMode::Normal,
            ignored,
            stop_after_tracked: usize::MAX,
            stop_after_untracked: usize::MAX,
            threads_max: Some(2),
            memory,
            watch: None,
            progress: None,
            timing: None,
        }
        .run()
        .unwrap();
        assert_eq!(
            (&findings.unlisted, &findings.unknown),
            (&Vec::new(), &Vec::new())
        );
        findings
    }

    /// Returns the paths that differ, and what else is there.
    fn scan(
        &self,
        top: &Path,
        memory: Option<&ScanMemory>,
    ) -> (Vec<String>, Vec<BString>, Vec<BString>) {
        let tracked = self.tracked(top);
        let findings = self.find(top, &tracked, memory, None);
        (
            differing(&tracked, &findings),
            findings.untracked,
            findings.ignored,
        )
    }
}

/// Returns the tracked paths that were found to differ.
fn differing(tracked: &Tracked, findings: &Findings) -> Vec<String> {
    let differ = findings.tracked.iter().map(|(number, observed)| {
        let entry = tracked.entry(*number).unwrap();
        format!("{} {observed:?}", entry.path)
    });
    differ.collect()
}

/// Rules whose file could not be read.
#[derive(Debug)]
struct Unreadable;

impl IgnoreScope for Unreadable {
    fn digest(&self) -> u128 {
        1
    }

    fn is_true_to_digest(&self) -> bool {
        false
    }

    fn is_ignored(&self, _: &BStr, _: bool) -> bool {
        false
    }
}

#[test]
fn rules_that_could_not_be_read_are_read_again_for_the_next_question() {
    let folder = tempfile::tempdir().unwrap();
    let stamp = Stamp::of(folder.path()).unwrap().unwrap();
    let list = RecordedFiles(BTreeMap::new(), &[]);
    let above = list.rules_at_top();
    let rules: Arc<dyn IgnoreScope> = Arc::new(Unreadable);
    let mut listed = cache::Listed::new(stamp, &above, false, &rules, Default::default());
    let rules = listed.rules(&above, &list, "dir".into());
    assert!(rules.is_true_to_digest());
}

#[test]
fn a_scan_needs_only_a_list_of_paths_and_facts() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let write = |path: &str, contents: &str| {
        std::fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
        std::fs::write(top.join(path), contents).unwrap();
    };
    let list = RecordedFiles(
        BTreeMap::from([
            ("a/same", "text"),
            ("a/other", "text"),
            ("a/longer", "text"),
            ("b/gone", "text"),
            ("b/link", "a/same"),
        ]),
        &[],
    );
    write("a/same", "text");
    write("a/other", "Text");
    write("a/longer", "texts");
    write("b/new", "");
    write("b/made.o", "");
    symlink_in(top, "a/same", "b/link");
    write("c/ignored", "");
    write("c/x.tmp", "");
    write("d/x.tmp", "");
    write("b/nested/.list/whatever", "");
    write("b/nested/file", "");
    write(".list/own", "");
    let expected = (
        vec![
            format!("a/longer {:?}", Observed::Present(FileMode::FILE)),
            format!("a/other {:?}", Observed::Present(FileMode::FILE)),
            format!("b/gone {:?}", Observed::Missing),
        ],
        ["b/nested/", "b/new", "c/", "d/"]
            .map(BString::from)
            .to_vec(),
        ["b/made.o", "c/x.tmp"].map(BString::from).to_vec(),
    );
    assert_eq!(list.scan(top, None), expected);
    // What was seen may be used again, and any change must be seen.
    wait_for_tick();
    let memory = ScanMemory::new(list.tracked(top).directory_number_end() as usize);
    for _ in 0..2 {
        assert_eq!(list.scan(top, Some(&memory)), expected);
    }
    assert!(memory.has_listing(0));
    write("b/gone", "text");
    write("newer", "");
    let (differ, untracked, _) = list.scan(top, Some(&memory));
    assert_eq!(differ, expected.0[..2]);
    assert_eq!(untracked, ["b/nested/", "b/new", "c/", "d/", "newer"]);
}

#[test]
fn nothing_is_remembered_where_stamps_prove_nothing() {
    // A flat directory on a file system that is not known to change stamps when it should.
    let top = Path::new("/sys/class/tty");
    // As long as it is open, its times stay.
    let _opened = File::open(top).unwrap();
    wait_for_tick();
    let list = RecordedFiles(BTreeMap::new(), &[]);
    let memory = ScanMemory::new(list.tracked(top).directory_number_end() as usize);
    let (_, untracked, _) = list.scan(top, Some(&memory));
    assert!(!untracked.is_empty());
    assert!(!memory.has_listing(0));
}

#[test]
fn kept_findings_are_updated_by_scanning_what_may_have_changed() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let write = |path: &str, contents: &str| {
        std::fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
        std::fs::write(top.join(path), contents).unwrap();
    };
    let mut list = RecordedFiles(
        BTreeMap::from([
            ("a/b/file", "text"),
            ("a/file", "text"),
            ("a/other", "text"),
            ("c/file", "text"),
            ("c/old", "text"),
            ("c/same", "text"),
        ]),
        &[],
    );
    for (path, contents) in &list.0 {
        write(path, contents);
    }
    let tracked = list.tracked(top);
    let mut known = KeptFindings::new(list.find(top, &tracked, None, None)).unwrap();
    let paths = |paths: &[&str]| paths.iter().map(|path| BString::from(*path)).collect();
    let scan_again =
        |list: &RecordedFiles, known: &mut KeptFindings, tracked: &Tracked, told: &[&str]| {
            let told: Vec<BString> = paths(told);
            if let Some(focus) = known.focus(tracked, &told, [], []) {
                let found = list.find(top, tracked, None, Some(&focus));
                assert!(known.merge(tracked, &focus, found));
            }
            let findings = known.findings();
            (differing(tracked, findings), findings.untracked.clone())
        };
    let longer = |path: &str| format!("{path} {:?}", Observed::Present(FileMode::FILE));
    // For a tracked file, nothing but that file is looked at.
    for path in ["a/file", "a/other", "a/new", "a/b/file", "c/new"] {
        write(path, "longer text");
    }
    let expected = (vec![longer("a/file")], Vec::new());
    assert_eq!(
        scan_again(&list, &mut known, &tracked, &["a/file"]),
        expected
    );
    // An untracked path is found only by listing its directory.
    let expected = (vec![longer("a/file")], paths(&["a/new"]));
    assert_eq!(
        scan_again(&list, &mut known, &tracked, &["a/new"]),
        expected
    );
    // Only the entries that changed are compared.
    list.0.insert("a/file", "longer text");
    list.0.insert("c/file", "longer text");
    let (now, tree_diff) =
        tracked.updated_to_records(list.records(top).iter().map(|(path, entry)| (*path, entry)));
    assert!(known.move_to(&tracked, &now, &tree_diff, |_| true, 2));
    let expected = (vec![longer("c/file")], paths(&["a/new"]));
    assert_eq!(scan_again(&list, &mut known, &now, &[]), expected);
    assert_eq!(
        known.take_changed_directories(),
        ["a", "c"].map(BString::from).into_iter().collect()
    );
    // If names were added or removed, those files are looked at, and what is not tracked is looked for.
    list.0.insert("c/new", "longer text");
    list.0.remove("c/old");
    let (later, tree_diff) =
        now.updated_to_records(list.records(top).iter().map(|(path, entry)| (*path, entry)));
    for path in ["c/new", "c/same"] {
        write(path, "even longer text");
    }
    write("c/newer", "");
    assert!(known.move_to(&now, &later, &tree_diff, |_| true, 3));
    let expected = (
        ["c/file", "c/new"].map(longer).to_vec(),
        paths(&["a/new", "c/newer", "c/old"]),
    );
    assert_eq!(scan_again(&list, &mut known, &later, &[]), expected);
    // If very many entries changed, nothing is kept.
    for contents in list.0.values_mut() {
        *contents = "other";
    }
    let (last, tree_diff) =
        later.updated_to_records(list.records(top).iter().map(|(path, entry)| (*path, entry)));
    assert!(!known.move_to(&later, &last, &tree_diff, |_| false, 4));
}

/// Blocks that count how often files are read.
struct CountedBlocks {
    blocks: InMemory,
    reads: AtomicUsize,
}

impl Blocks for CountedBlocks {
    fn directory(&self, number: DirNumber) -> Result<&[u8], Damaged> {
        self.blocks.directory(number)
    }

    fn files(&self, key: u32) -> Result<&[u8], Damaged> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.blocks.files(key)
    }

    fn directory_number_end(&self) -> u32 {
        self.blocks.directory_number_end()
    }

    fn files_key_end(&self) -> u32 {
        self.blocks.files_key_end()
    }
}

#[test]
fn many_findings_in_one_directory_are_updated_in_one_pass_over_its_files() {
    const COUNT: u32 = 5000;
    let hash = HashKind::Sha1;
    let (stat, flags) = (RecordedStat::default(), EntryFlags::default());
    let entry = Entry::new(stat, FileMode::FILE, id_of("text"), flags);
    let names: Vec<BString> = (0..COUNT)
        .map(|number| format!("dir/{number:06}").into())
        .collect();
    let counted = |first: Option<&str>| {
        let mut builder = Builder::new(hash.len_in_bytes(), InMemory::default());
        let first = first.map(BString::from);
        for name in first.iter().chain(&names) {
            builder.push(name.as_ref(), &entry);
        }
        let blocks = Arc::new(CountedBlocks {
            blocks: builder.finish(),
            reads: AtomicUsize::new(0),
        });
        (blocks.clone(), Tracked::new(hash, blocks))
    };
    let (blocks, tracked) = counted(None);
    let reads = |blocks: &CountedBlocks| blocks.reads.swap(0, Ordering::Relaxed);
    let _ = tracked.directory(tracked.find_directory("dir".into()).unwrap());
    let segments = reads(&blocks);
    assert!(segments > 4);
    let found = Findings {
        tracked: (0..COUNT)
            .map(|number| (number, Observed::Missing))
            .collect(),
        ..Findings::default()
    };
    let mut known = KeptFindings::new(found.clone()).unwrap();
    // All of them may have changed.
    let focus = known.focus(&tracked, &names, [], []).unwrap();
    assert!(reads(&blocks) < 4 * segments);
    let mut beside = Beside::new(&tracked);
    assert!(names.iter().all(|name| !beside.has(name.as_ref())));
    assert!(reads(&blocks) < 4 * segments);
    // One of them is as recorded now.
    let focus_of_one = known.focus(&tracked, &names[7..8], [], []).unwrap();
    reads(&blocks);
    assert!(known.merge(&tracked, &focus_of_one, Findings::default()));
    assert!(reads(&blocks) < 4 * segments);
    assert_eq!(known.findings().tracked.len(), names.len() - 1);
    let differences = known.differences(&tracked, Some(&focus), &found);
    assert!(reads(&blocks) < 10 * segments);
    assert_eq!(differences.len(), 1);
    // All get other numbers.
    let (later_blocks, later) = counted(Some("a"));
    let is_kept = known.move_to(&tracked, &later, &Default::default(), |_| false, 0);
    assert!(is_kept);
    assert!(reads(&blocks) + reads(&later_blocks) < 10 * segments);
    assert_eq!(known.findings().tracked.len(), names.len() - 1);
}

#[test]
fn directories_that_a_system_vouches_for_are_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let files = BTreeMap::from([("a/b/file", "text"), ("a/file", "text"), ("c/file", "text")]);
    let list = RecordedFiles(files, &["a"]);
    for path in ["a/b/new", "a/new", "c/new", "a/file", "a/b/file"] {
        std::fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
        std::fs::write(top.join(path), "other").unwrap();
    }
    let tracked = list.tracked(top);
    let memory = ScanMemory::new(tracked.directory_number_end() as usize);
    wait_for_tick();
    // The declaration does not cover ignored files, and nothing derived from it is remembered.
    for (ignored, unseen) in [
        (IgnoredMode::No, None),
        (IgnoredMode::Traditional, Some("a/new")),
        (IgnoredMode::No, None),
    ] {
        let found = list.find_with(top, &tracked, Some(&memory), None, ignored);
        let expected = ["a/b/new"].into_iter().chain(unseen).chain(["c/new"]);
        assert_eq!(found.untracked, expected.collect::<Vec<_>>());
        assert_eq!(differing(&tracked, &found).len(), 3);
    }
}

fn symlink_in(top: &Path, target: &str, path: &str) {
    symlink(target, top.join(path)).unwrap();
}

#[test]
fn only_a_shortage_of_this_process_is_beyond_its_means() {
    let warned = |is_of_shortage| Findings {
        warnings: vec![RulesWarning {
            directory: "dir".into(),
            text: "unable to access 'dir/.gitignore': Too many open files".into(),
            is_of_shortage,
        }],
        ..Findings::default()
    };
    let unlisted = |reason| Findings {
        unlisted: vec![Unseen {
            path: "dir".into(),
            reason,
        }],
        ..Findings::default()
    };
    let told =
        |findings: Findings| ScanError::beyond_means(&findings).map(|error| error.to_string());
    assert_eq!(
        told(warned(true)).unwrap(),
        "unable to access 'dir/.gitignore': Too many open files"
    );
    assert_eq!(
        told(unlisted(Errno::MFILE)).unwrap(),
        "cannot open directory 'dir': Too many open files"
    );
    assert_eq!(told(warned(false)), None);
    assert_eq!(told(unlisted(Errno::ACCESS)), None);
}
