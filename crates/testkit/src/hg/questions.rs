//! Random questions: the arguments of status commands.

use super::operations::Player;

/// The arguments of a status of the whole working copy.
pub(super) fn plain_question(player: &mut Player<'_>) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = vec![b"status".to_vec()];
    for (options, percent) in [
        (&["-A"][..], 20),
        (&["-i", "-u"], 10),
        (&["-mardu"], 10),
        (&["-mardcui"], 5),
        (&["-C"], 20),
        (&["-n"], 10),
        (&["-T", "json"], 15),
        (&["--terse", "ui"], 5),
        (&["--config", "ui.ignore=more"], 8),
    ] {
        if player.rng.chance(percent) {
            words.extend(options.iter().map(|option| option.as_bytes().to_vec()));
        }
    }
    words
}

/// The arguments of a status.
pub(super) fn question(player: &mut Player<'_>) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = vec![b"status".to_vec()];
    match player.rng.below(10) {
        0..4 => {}
        4 | 5 => words.push(b"-A".to_vec()),
        6 => words.push(b"-q".to_vec()),
        _ => {
            for option in ["-m", "-a", "-r", "-d", "-u", "-i", "-c"] {
                if player.rng.chance(25) {
                    words.push(option.as_bytes().to_vec());
                }
            }
        }
    }
    for (option, percent) in [("-C", 30), ("-n", 8), ("-0", 8)] {
        if player.rng.chance(percent) {
            words.push(option.as_bytes().to_vec());
        }
    }
    if player.rng.chance(20) {
        changesets(player, &mut words);
    }
    if player.rng.chance(8) {
        words.push(b"-T".to_vec());
        words.push(b"json".to_vec());
    } else if player.rng.chance(8) {
        let template: &str = player.rng.pick(&TEMPLATES);
        words.push(b"-T".to_vec());
        words.push(template.as_bytes().to_vec());
    }
    for (option, percent) in [
        ("-S", 5),
        ("-v", 5),
        ("--no-copies", 4),
        ("-y", 3),
        ("--no-mod", 3),
    ] {
        if player.rng.chance(percent) {
            words.push(option.as_bytes().to_vec());
        }
    }
    if player.rng.chance(8) {
        words.push(b"--terse".to_vec());
        let letters: &str = player.rng.pick(&["m", "u", "i", "mardu", "c", "uic"]);
        words.push(letters.as_bytes().to_vec());
    }
    if player.rng.chance(8) {
        words.push(b"--config".to_vec());
        let config: &str = player.rng.pick(&[
            "ui.relative-paths=yes",
            "ui.relative-paths=no",
            "ui.statuscopies=yes",
            "commands.status.relative=yes",
            "commands.status.terse=u",
            "ui.ignore=more",
            "ui.quiet=yes",
            "ui.color=always",
            "ui.verbose=yes",
            "ui.detailed-exit-code=yes",
            "commands.status.verbose=yes",
            "color.status.added=bold",
        ]);
        words.push(config.as_bytes().to_vec());
    }
    if player.partial.sparse && player.rng.chance(5) {
        words.push(b"--config".to_vec());
        words.push(b"sparse.missingwarning=no".to_vec());
    }
    if player.rng.chance(5) {
        words.push(b"--color".to_vec());
        words.push(b"always".to_vec());
    }
    if player.rng.chance(15) {
        words.push(b"--cwd".to_vec());
        let cwd: &str = player.rng.pick(&["d", "d/e", "out", "o.d/x y"]);
        words.push(cwd.as_bytes().to_vec());
    }
    for (option, percent) in [("-I", 10), ("-X", 10)] {
        if player.rng.chance(percent) {
            words.push(option.as_bytes().to_vec());
            words.push(pattern(player));
        }
    }
    if player.rng.chance(25) {
        let count = player.rng.below(2).saturating_add(1);
        for _ in 0..count {
            let pattern = pattern(player);
            if !pattern.starts_with(b"-") {
                words.push(pattern);
            }
        }
    }
    words
}

const TEMPLATES: [&str; 8] = [
    "{status} {path}\\n",
    "{path}\\0",
    "{path|json} {source|json}\\n",
    "{if(source, '{source} -> ')}{path|urlescape}\\n",
    "{ifeq(status, 'M', path|upper, path|basename)}|",
    "{label('status.added', path|xmlescape)}\\n",
    "{separate(' ', status, source, relpath(path))}\\n",
    "x",
];

/// Adds the changesets to compare.
fn changesets(player: &mut Player<'_>, words: &mut Vec<Vec<u8>>) {
    if player.rng.chance(30) {
        words.push(b"--change".to_vec());
        words.push(changeset(player));
        return;
    }
    let count = player.rng.pick(&[1, 1, 1, 2, 2, 3]);
    for _ in 0..count {
        words.push(b"--rev".to_vec());
        let mut name = changeset(player);
        if player.rng.chance(10) {
            name.push(b':');
            name.extend(changeset(player));
        }
        words.push(name);
    }
}

/// The name of a changeset, which may not exist.
fn changeset(player: &mut Player<'_>) -> Vec<u8> {
    let mut name = match player.rng.chance(50) {
        true => player.changeset_number().into_bytes(),
        false => {
            let known: &str = player.rng.pick(&[
                ".",
                "null",
                "tip",
                "wdir()",
                "p1()",
                "p2()",
                "-1",
                "-2",
                "a",
                "0",
                "one",
                "two",
                "side",
                "default",
                "0b",
                "desc(c1)",
                "desc('c2')",
            ]);
            known.as_bytes().to_vec()
        }
    };
    if player.rng.chance(20) {
        let more: &str = player.rng.pick(&["^", "~2", "^2", "^0", "~1^"]);
        name.extend_from_slice(more.as_bytes());
    }
    name
}

/// A pattern of any kind.
fn pattern(player: &mut Player<'_>) -> Vec<u8> {
    const PATTERNS: [&str; 26] = [
        "filepath:d/a",
        "re:(?i)A",
        "rootfilesin:d",
        "rootfilesin:.",
        "rootglob:d/*",
        "include:more",
        "d",
        "d/e",
        ".",
        "glob:*.c",
        "glob:**.o",
        "re:.*\\.c$",
        "re:d/",
        "path:d",
        "path:d/e/f",
        "relglob:a",
        "relglob:*.o",
        "relpath:d/e",
        "relre:e/",
        "rootglob:**/a",
        "nowhere",
        "glob:{a,b}",
        "glob:[!a]*",
        "re:a|b",
        "re:",
        "nested",
    ];
    /// The number of patterns that versions before 7 read differently.
    const NEW_PATTERNS: usize = 6;
    match player.rng.chance(40) {
        true => player.path(),
        false => {
            let known = match player.is_old {
                true => PATTERNS.get(NEW_PATTERNS..).unwrap_or_default(),
                false => &PATTERNS,
            };
            let text: &str = player.rng.pick(known);
            text.as_bytes().to_vec()
        }
    }
}
