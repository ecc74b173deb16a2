//! Parsing of options.

use bstr::{BStr, BString, ByteSlice};

use super::{Argument, Given, OptionEntry, OptionTable, OwnOptions, usage};
use crate::reply::{Reply, bytes, labelled};

/// Calls `take` for each option in `arguments`, in order. Returns the arguments that are not options.
///
/// # Errors
/// The first problem, found here or by `take`, as the reply that ends the command.
pub(crate) fn parse<K: Copy>(
    table: &OptionTable<K>,
    arguments: &[BString],
    mut take: impl FnMut(K, Given<'_>) -> Result<(), Reply>,
) -> Result<Vec<BString>, Reply> {
    let mut others = Vec::new();
    let mut remaining = arguments.iter();
    while let Some(argument) = remaining.next() {
        match argument.as_slice() {
            b"--" | b"--end-of-options" => {
                others.extend(remaining.cloned());
                break;
            }
            b"--help" => return Err(asked_usage(table, OwnOptions::IfVigil)),
            b"--help-all" => return Err(asked_usage(table, OwnOptions::Shown)),
            [b'-', b'-', name @ ..] => {
                parse_long(table, name.as_bstr(), &mut remaining, &mut take)?;
            }
            [b'-', cluster @ ..] if !cluster.is_empty() => {
                parse_cluster(table, cluster.as_bstr(), &mut remaining, &mut take)?;
            }
            _ => others.push(argument.clone()),
        }
    }
    Ok(others)
}

/// Refuses `others`, which [`parse`] returned, for a command that takes none.
///
/// # Errors
/// There are some: the reply has the usage of `table`.
pub(crate) fn refuse_others<K>(table: &OptionTable<K>, others: &[BString]) -> Result<(), Reply> {
    match others {
        [] => Ok(()),
        _ => Err(with_usage(table, b"too many arguments")),
    }
}

/// Refuses all options and arguments, for a command that has none: `table` is without options.
///
/// # Errors
/// There are some, or one asks for help.
pub(crate) fn refuse_all<K: Copy>(
    table: &OptionTable<K>,
    arguments: &[BString],
) -> Result<(), Reply> {
    refuse_others(table, &parse(table, arguments, |_, _| Ok(()))?)
}

/// Takes the subcommand from the front of `arguments`. Returns it and the rest.
///
/// # Errors
/// There is none.
pub(crate) fn subcommand<'a, K>(
    table: &OptionTable<K>,
    arguments: &'a [BString],
) -> Result<(&'a BString, &'a [BString]), Reply> {
    let taken = arguments.split_first();
    taken.ok_or_else(|| without_subcommand(table))
}

/// Replies to a `word` where a subcommand is expected, if it is none.
///
/// # Errors
/// It does not ask for help.
pub(crate) fn other_than_subcommand<K: Copy>(
    table: &OptionTable<K>,
    word: &BString,
) -> Result<Reply, Reply> {
    match word.as_slice() {
        b"-h" | b"--help" => Ok(asked_usage(table, OwnOptions::IfVigil)),
        [b'-', ..] => {
            parse(table, std::slice::from_ref(word), |_, _| Ok(()))?;
            Err(without_subcommand(table))
        }
        _ => Err(with_usage(
            table,
            &bytes!["unknown subcommand: `", word, "'"],
        )),
    }
}

fn without_subcommand<K>(table: &OptionTable<K>) -> Reply {
    with_usage(table, b"need a subcommand")
}

fn asked_usage<K>(table: &OptionTable<K>, own_options: OwnOptions) -> Reply {
    Reply::printed(usage(table, own_options), 0)
}

/// The reply to a wrong command line, with the usage text.
pub(crate) fn with_usage<K>(table: &OptionTable<K>, complaint: &[u8]) -> Reply {
    let stderr = bytes![
        labelled("error: ", complaint),
        usage(table, OwnOptions::IfVigil)
    ];
    Reply::complained(stderr, Reply::USAGE)
}

/// An option that a name may stand for, and whether the name negates it.
struct Candidate<'t, K> {
    entry: &'t OptionEntry<K>,
    negated: bool,
}

impl<K> Candidate<'_, K> {
    fn name(&self) -> Vec<u8> {
        bytes![if self.negated { "no-" } else { "" }, self.entry.long]
    }
}

fn parse_long<'a, K: Copy>(
    table: &OptionTable<K>,
    given: &BStr,
    remaining: &mut impl Iterator<Item = &'a BString>,
    take: &mut impl FnMut(K, Given<'_>) -> Result<(), Reply>,
) -> Result<(), Reply> {
    let (name, value) = match given.split_once_str("=") {
        Some((name, value)) => (name.as_bstr(), Some(value.as_bstr())),
        None => (given, None),
    };
    let found = find_long(table, given, name)?;
    let accepts_value = !found.negated && found.entry.argument != Argument::None;
    let how = match value {
        Some(_) if !accepts_value => {
            let text = bytes!["option `", found.name(), "' takes no value"];
            return Err(Reply::usage_error(text));
        }
        Some(value) => Given::With(value),
        None if found.negated => Given::Negated,
        None => match found.entry.argument {
            Argument::Required(_) => {
                let complaint = || bytes!["option `", found.entry.long, "' requires a value"];
                Given::With(next_value(remaining, complaint)?)
            }
            _ => Given::Bare,
        },
    };
    take(found.entry.key, how)
}

/// Takes the next argument as the value of an option.
fn next_value<'a>(
    remaining: &mut impl Iterator<Item = &'a BString>,
    complaint: impl FnOnce() -> Vec<u8>,
) -> Result<&'a BStr, Reply> {
    match remaining.next() {
        Some(value) => Ok(value.as_bstr()),
        None => Err(Reply::usage_error(complaint())),
    }
}

/// Finds the option with the full name `name`, or the only one with that prefix. `given` is what messages show: the name with
/// its value.
fn find_long<'t, K>(
    table: &'t OptionTable<K>,
    given: &BStr,
    name: &BStr,
) -> Result<Candidate<'t, K>, Reply> {
    let (stem, says_no, says_no_twice) = match name.strip_prefix(b"no-") {
        Some(rest) => match rest.strip_prefix(b"no-") {
            Some(rest) => (rest, false, true),
            None => (rest, true, false),
        },
        None => (name.as_bytes(), false, false),
    };
    let mut last = None;
    let mut last_but_one = None;
    for entry in table.entries {
        if entry.long.is_empty() {
            continue;
        }
        let (entry_stem, is_inverted) = entry.stem();
        let negated = says_no != is_inverted;
        if (says_no_twice && !is_inverted) || (negated && !entry.negatable) {
            continue;
        }
        if entry_stem.as_bytes() == stem {
            return Ok(Candidate { entry, negated });
        }
        if entry.is_own {
            continue;
        }
        let begins_name = entry_stem.as_bytes().starts_with(stem);
        // A prefix of "no-" itself is also a prefix of every negated form.
        let begins_negation = entry.negatable && b"no-".starts_with(given);
        let readings = [
            begins_name.then_some(negated),
            begins_negation.then_some(!is_inverted),
        ];
        for negated in readings.into_iter().flatten() {
            last_but_one = last.replace(Candidate { entry, negated });
        }
    }
    match (last_but_one, last) {
        (Some(one), Some(other)) => {
            let text = bytes![
                "ambiguous option: ",
                given,
                " (could be --",
                one.name(),
                " or --",
                other.name(),
                ")"
            ];
            Err(with_usage(table, &text))
        }
        (None, Some(only)) => Ok(only),
        (_, None) => Err(with_usage(table, &bytes!["unknown option `", given, "'"])),
    }
}

/// Parses short options that share a dash.
fn parse_cluster<'a, K: Copy>(
    table: &OptionTable<K>,
    cluster: &BStr,
    remaining: &mut impl Iterator<Item = &'a BString>,
    take: &mut impl FnMut(K, Given<'_>) -> Result<(), Reply>,
) -> Result<(), Reply> {
    let mut rest = cluster.as_bytes();
    while let Some((&letter, tail)) = rest.split_first() {
        let is_first = rest.len() == cluster.len();
        let entry = table
            .entries
            .iter()
            .find(|entry| entry.short == Some(letter));
        let Some(entry) = entry else {
            if is_first {
                refuse_missing_dash(table, cluster)?;
            }
            return Err(unknown_letter(table, letter, rest));
        };
        let takes_tail = entry.argument != Argument::None && !tail.is_empty();
        let how = match entry.argument {
            _ if takes_tail => Given::With(tail.as_bstr()),
            Argument::Required(_) => {
                let complaint = || bytes!["switch `", [letter], "' requires a value"];
                Given::With(next_value(remaining, complaint)?)
            }
            _ => Given::Bare,
        };
        take(entry.key, how)?;
        rest = if takes_tail { b"" } else { tail };
        if is_first && !rest.is_empty() {
            refuse_missing_dash(table, cluster)?;
        }
    }
    Ok(())
}

fn unknown_letter<K>(table: &OptionTable<K>, letter: u8, rest: &[u8]) -> Reply {
    match letter {
        b'h' => asked_usage(table, OwnOptions::IfVigil),
        _ if letter.is_ascii() => with_usage(table, &bytes!["unknown switch `", [letter], "'"]),
        _ => with_usage(
            table,
            &bytes!["unknown non-ascii option in string: `-", rest, "'"],
        ),
    }
}

/// Refuses a cluster that looks like a long option with a missing dash.
fn refuse_missing_dash<K>(table: &OptionTable<K>, cluster: &BStr) -> Result<(), Reply> {
    let is_long_enough = cluster.len() >= 3;
    let begins_an_option = || {
        table
            .entries
            .iter()
            .any(|entry| !entry.is_own && entry.long.as_bytes().starts_with(cluster))
    };
    if is_long_enough && (cluster.starts_with(b"no-") || begins_an_option()) {
        let text = bytes!["did you mean `--", cluster, "` (with two dashes)?"];
        return Err(Reply::usage_error(text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: OptionTable<char> = OptionTable {
        synopsis: "test [<options>]",
        headings: &[],
        entries: &[
            entry('a', Some(b'a'), "alpha", Argument::None),
            entry('l', Some(b'l'), "alps", Argument::Optional("height")),
            entry('r', None, "no-rest", Argument::None),
            entry('n', Some(b'n'), "name", Argument::Required("name")),
            OptionEntry {
                negatable: false,
                ..entry('f', None, "fixed", Argument::None)
            },
            OptionEntry {
                is_own: true,
                ..entry('o', None, "alphabet", Argument::Optional("kind"))
            },
        ],
    };

    const fn entry(
        key: char,
        short: Option<u8>,
        long: &'static str,
        argument: Argument,
    ) -> OptionEntry<char> {
        OptionEntry {
            key,
            short,
            long,
            argument,
            value: crate::options::Value::Any,
            negatable: true,
            help: "text",
            is_own: false,
        }
    }

    fn read(arguments: &[&str]) -> Result<(String, Vec<BString>), Reply> {
        let arguments: Vec<BString> = arguments.iter().map(|&text| text.into()).collect();
        let mut seen = String::new();
        let others = parse(&TABLE, &arguments, |key, how| {
            seen.push(key);
            match how {
                Given::Bare => {}
                Given::With(value) => seen.push_str(&format!("={value}")),
                Given::Negated => seen.push('!'),
            }
            Ok(())
        })?;
        Ok((seen, others))
    }

    fn options(arguments: &[&str]) -> String {
        read(arguments).unwrap().0
    }

    fn complaint(arguments: &[&str]) -> String {
        let reply = read(arguments).unwrap_err();
        assert_eq!(reply.code, Reply::USAGE);
        let stderr = String::from_utf8(reply.stderr).unwrap();
        stderr.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn names_are_found_whole_abbreviated_and_negated() {
        assert_eq!(options(&["--alpha", "--alps", "--alps=3"]), "all=3");
        assert_eq!(options(&["--alph", "--alp=", "--no-alps"][..1]), "a");
        assert_eq!(options(&["--no-alpha", "--no-alph"]), "a!a!");
        assert_eq!(options(&["--fi"]), "f");
    }

    #[test]
    fn an_inverted_name_works_both_ways() {
        assert_eq!(options(&["--no-rest", "--rest", "--no-no-rest"]), "rr!r!");
        assert_eq!(options(&["--re", "--no-re"]), "r!r");
    }

    #[test]
    fn clusters_end_at_a_value() {
        assert_eq!(options(&["-aal", "-l7a"]), "aall=7a");
    }

    #[test]
    fn a_required_value_is_joined_or_the_next_argument() {
        let (seen, others) = read(&["--name", "--alpha", "--name=", "-n", "-a", "-anx"]).unwrap();
        assert_eq!((seen.as_str(), others.len()), ("n=--alphan=n=-aan=x", 0));
        assert_eq!(options(&["--no-name"]), "n!");
        assert_eq!(
            complaint(&["--name"]),
            "error: option `name' requires a value"
        );
        assert_eq!(complaint(&["-an"]), "error: switch `n' requires a value");
    }

    #[test]
    fn other_arguments_may_stand_between_options() {
        let (seen, others) = read(&["x", "-a", "-", "", "--", "-a", "--"]).unwrap();
        assert_eq!(seen, "a");
        assert_eq!(others, ["x", "-", "", "-a", "--"]);
        let (seen, others) = read(&["--end-of-options", "-a"]).unwrap();
        assert_eq!((seen.as_str(), others.len()), ("", 1));
    }

    #[test]
    fn a_hidden_option_takes_no_abbreviation_away() {
        assert_eq!(options(&["--alphabet=x", "--alph"]), "o=xa");
        assert_eq!(complaint(&["--alphab"]), "error: unknown option `alphab'");
    }

    #[test]
    fn problems_are_told_in_git_s_words() {
        assert_eq!(
            complaint(&["--al=1"]),
            "error: ambiguous option: al=1 (could be --alpha or --alps)"
        );
        assert_eq!(
            complaint(&["--no-fixed"]),
            "error: unknown option `no-fixed'"
        );
        assert_eq!(
            complaint(&["--alpha=1"]),
            "error: option `alpha' takes no value"
        );
        assert_eq!(
            complaint(&["--no-alps=1"]),
            "error: option `no-alps' takes no value"
        );
        assert_eq!(complaint(&["-ax"]), "error: unknown switch `x'");
        assert_eq!(
            complaint(&["-aé"]),
            "error: unknown non-ascii option in string: `-é'"
        );
        assert_eq!(
            complaint(&["-alp"]),
            "error: did you mean `--alp` (with two dashes)?"
        );
    }

    #[test]
    fn usage_is_printed_where_it_is_asked_for() {
        for arguments in [&["--help"][..], &["-a", "-h"], &["-ah"]] {
            let reply = read(arguments).unwrap_err();
            assert_eq!(reply.code, 0);
            assert!(reply.stdout.starts_with(b"usage: test"), "{arguments:?}");
            assert!(reply.stderr.is_empty());
        }
    }
}
