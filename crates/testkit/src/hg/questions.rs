//! Random questions.

use super::operations::Player;

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
    if player.rng.chance(8) {
        words.push(b"-T".to_vec());
        words.push(b"json".to_vec());
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
        ]);
        words.push(config.as_bytes().to_vec());
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

/// A pattern of any kind.
fn pattern(player: &mut Player<'_>) -> Vec<u8> {
    const PATTERNS: [&str; 26] = [
        "filepath:d/a",
        "re:(?i)A",
        "rootfilesin:d",
        "rootfilesin:.",
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
        "rootglob:d/*",
        "rootglob:**/a",
        "nowhere",
        "glob:{a,b}",
        "glob:[!a]*",
        "include:more",
        "re:a|b",
        "re:",
        "nested",
    ];
    /// How many are read in another way by versions before 7.
    const NEW_PATTERNS: usize = 4;
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
