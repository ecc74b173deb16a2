//! Compares command lines with git: both must accept and refuse the same ones, in the same words.

use bstr::{BStr, BString, ByteSlice};
use vigil_daemon::protocol::Terminal;
use vigil_git::environment::Environment;
use vigil_git::repository::settings::{Renames, Settings};
use vigil_model::request::UntrackedMode;
use vigil_testkit::sandbox::Sandbox;

use super::arguments::{Arguments, TABLE};
use super::plan::StatusPlan;
use super::settings::PrintSettings;
use crate::options::{OwnOptions, usage};
use crate::output::color::ColorUse;
use crate::reply::Reply;

const USAGE: &str = "\
usage: git status [<options>] [--] [<pathspec>...]

    -v, --[no-]verbose    be verbose
    -s, --[no-]short      show status concisely
    -b, --[no-]branch     show branch information
    --[no-]show-stash     show stash information
    --[no-]ahead-behind   compute full ahead/behind values
    --[no-]porcelain[=<version>]
                          machine-readable output
    --[no-]long           show status in long format (default)
    -z, --[no-]null       terminate entries with NUL
    -u, --[no-]untracked-files[=<mode>]
                          show untracked files, optional modes: all, normal, no. (Default: all)
    --[no-]ignored[=<mode>]
                          show ignored files, optional modes: traditional, matching, no. (Default: traditional)
    --[no-]ignore-submodules[=<when>]
                          ignore changes to submodules, optional when: all, dirty, untracked. (Default: all)
    --[no-]column[=<style>]
                          list untracked files in columns
    --no-renames          do not detect renames
    --renames             opposite of --no-renames
    -M, --find-renames[=<n>]
                          detect renames, optionally set similarity index

";

#[test]
fn the_usage_text_is_git_s() {
    assert_eq!(usage(&TABLE, OwnOptions::IfVigil).as_bstr(), USAGE);
}

/// git refuses each of these, or prints its usage text.
const REFUSED: &[&str] = &[
    "--renames=x",
    "--no-no-renames=x",
    "--no-renames=x",
    "--n",
    "--no",
    "--no-",
    "--n=1",
    "--no=1",
    "--no-=1",
    "--s",
    "--sho",
    "--i",
    "--ignore",
    "--no-i",
    "--p=zz",
    "--porcelain=",
    "--no-p=x",
    "-short",
    "-porcelain",
    "-porcelain=v2",
    "-no-renames",
    "-bx",
    "-x",
    "-xs --porcelain=3",
    "--porcelain=3 -x",
    "--bogus=5",
    "--no-find-renames",
    "--no-f",
    "-sbh",
    "-s -h",
    "-s --help",
    "--column=foo",
    "--column=row,foo",
    "--column=nodense,foo,bar",
    "--column=dense,column,no",
    "--no-column=x",
    "--v=1",
    "-v=1",
    "-zq",
    "--no-no-n",
    "--fo",
    "--=x",
    "-é",
    "-sé",
    "--short=",
    "--nope",
    "---short",
    "--Short",
    "-u=no",
    "-uno= --bogus",
    "-ux --ignored=y",
    "--untracked-files=ALL",
    "--untracked-files=2x",
    "--ignored=y",
    "--ignored=",
    "--ignored=matching -uno",
    "--ignored=matching -ufalse",
    "--long -z",
    "-z --long -ux",
    "--ignore-submodules=x",
    "--ignore-submodules=ALL",
];

/// Lines that git parses differently in versions with an older usage text.
const READ_OTHERWISE_BEFORE: &[&str] = &[
    "--n",
    "--no",
    "--no-",
    "--n=1",
    "--no=1",
    "--no-=1",
    "--no-p=x",
    "--=x",
    "--ignored=matching -ufalse",
    "-s --no-n",
    "-s --untracked-files=TRUE",
    "-s --untracked-files=0x0",
    "-s -u1k",
    "-s --untracked-files=",
];

/// git accepts each of these.
const TAKEN: &[&str] = &[
    "-s --re",
    "-s --no-re",
    "-s --no-no-re",
    "-s --find",
    "-s -M=50",
    "-s --find-renames==50",
    "-s --no-n",
    "-s --end-of-options -s",
    "-s --u",
    "-s --untracked-files=TRUE",
    "-s --untracked-files=0x0",
    "-s -u1k",
    "-s --untracked-files=",
    "-s --ahead --no-ahead",
    "--no-short -z",
    "--long --no-long -z",
    "--long --porcelain -z",
    "-s --column=auto,,nodense --no-c",
    "-sbvv --no-v",
    "-s --ignored=matching --no-ignored -uno",
    "-s - x -- -q",
    "-s --ignore-submodules=none",
];

/// The outcome of a line: exit code and standard error. A usage text counts as an error, since versions of git differ in where
/// they print it and in whether asking for it is a failure.
type Outcome = (i32, BString);

fn outcome(code: i32, stdout: &[u8], stderr: &[u8]) -> Outcome {
    match stdout.starts_with(b"usage") {
        true => (129, [stderr, stdout].concat().into()),
        false => (code, stderr.into()),
    }
}

fn ours(words: &[&str]) -> Outcome {
    let (settings, print) = (Settings::default(), PrintSettings::default());
    let words: Vec<BString> = words.iter().map(|&word| word.into()).collect();
    let plan = Arguments::parse(&words).and_then(|arguments| {
        StatusPlan::new(
            arguments,
            &settings,
            &print,
            "".into(),
            &Environment::default(),
            Terminal::default(),
        )
    });
    let reply = match plan {
        Ok(plan) => plan.refusal.unwrap_or_else(|| Reply::printed("", 0)),
        Err(reply) => reply,
    };
    outcome(reply.code.into(), &reply.stdout, &reply.stderr)
}

fn theirs(sandbox: &Sandbox, words: &[&str]) -> Outcome {
    let output = sandbox.output("", words, "");
    let code = output.status.code().unwrap();
    outcome(code, &output.stdout, &output.stderr)
}

fn without_usage(outcome: Outcome) -> Outcome {
    let cut = |text: BString| match text.find("usage: git status") {
        Some(at) => BString::from(&text[..at + 17]),
        None => text,
    };
    (outcome.0, cut(outcome.1))
}

#[test]
fn lines_are_taken_and_refused_as_git_does() {
    let sandbox = Sandbox::new();
    let has_same_usage = theirs(&sandbox, &["status", "-h"]).1 == USAGE;
    let mut differences = Vec::new();
    for line in REFUSED.iter().chain(TAKEN) {
        if !has_same_usage && READ_OTHERWISE_BEFORE.contains(line) {
            continue;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let mut expected = theirs(&sandbox, &[&["status"], &words[..]].concat());
        let mut actual = ours(&words);
        if !has_same_usage {
            expected = without_usage(expected);
            actual = without_usage(actual);
        }
        assert_eq!(actual.0 == 0, TAKEN.contains(line), "{line}");
        if actual != expected {
            differences.push((line, actual, expected));
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

#[test]
fn porcelain_formats_do_not_follow_the_configuration() {
    let settings = || Settings {
        short: true,
        branch: true,
        ahead_behind: Some(false),
        show_stash: true,
        relative_paths: false,
        untracked: UntrackedMode::All,
        renames: Renames::Copies,
        rename_limit: 7,
        quote_path: false,
        ..Settings::default()
    };
    let print = PrintSettings {
        color_use: Some(ColorUse::Always),
        ..PrintSettings::default()
    };
    let plan = |words: &[&str]| {
        let words: Vec<BString> = words.iter().map(|&word| word.into()).collect();
        let arguments = Arguments::parse(&words).unwrap();
        let environment = Environment::default();
        StatusPlan::new(
            arguments,
            &settings(),
            &print,
            BStr::new("dir/"),
            &environment,
            Terminal::default(),
        )
        .unwrap()
    };
    let short = plan(&[]);
    assert_eq!(short.format, crate::output::Format::Short);
    assert!(short.request.branch && !short.request.ahead_behind && !short.request.stash);
    assert_eq!(short.presentation.palette.updated, b"\x1b[32m");
    assert_eq!(short.presentation.prefix, "");
    for words in [
        &["--porcelain"][..],
        &["-z"],
        &["-s", "-z"],
        &["--porcelain=2"],
    ] {
        let request = plan(words).request;
        assert!(!request.branch && request.ahead_behind, "{words:?}");
        assert_eq!(request.untracked, UntrackedMode::All);
        assert_eq!(request.stash, words == ["--porcelain=2"]);
        let rule = request.renames.unwrap();
        assert_eq!((rule.copies, rule.min_score, rule.limit), (true, 30_000, 7));
    }
    assert!(plan(&["--porcelain", "-b"]).request.branch);
    assert_eq!(plan(&["--no-renames"]).request.renames, None);
    let both = plan(&["-M90%", "--no-renames"]).request.renames.unwrap();
    assert_eq!((both.copies, both.min_score), (false, 54_000));
    assert!(!plan(&["--renames"]).request.renames.unwrap().copies);
}
