//! Files that import each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::{collect_sources, workspace};

/// The texts of a crate's files, by the path of the module from the crate's root.
type Modules = BTreeMap<Vec<String>, String>;

/// Reads the files of the crate whose root is in `folder`, except those that only tests use.
fn modules(folder: &Path) -> Modules {
    let mut files = Vec::new();
    collect_sources(folder, &mut files);
    let module = |file: &PathBuf| {
        let inner = file.strip_prefix(folder).unwrap().with_extension("");
        let names = inner.iter().map(|name| name.to_string_lossy().into_owned());
        let names = names.filter(|name| !["lib", "main", "mod"].contains(&name.as_str()));
        let is_test = inner.to_string_lossy().contains("test");
        (!is_test).then(|| (names.collect(), std::fs::read_to_string(file).unwrap()))
    };
    files.iter().filter_map(module).collect()
}

/// Returns `text` without comments and without code that is compiled only for tests.
fn code_without_tests(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("#[cfg(test)]") {
            let end = line.replace("#[cfg(test)]", "}");
            let mut is_open = false;
            let _ = lines.find(|line| {
                is_open |= line.ends_with('{');
                *line == end || !is_open && line.ends_with([';', '}'])
            });
            continue;
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

fn is_in_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Parses a path, or a tree of paths, at the start of `text`. Adds each to `paths`, prefixed with `before`, and returns the
/// rest of the text.
fn parse_paths<'t>(text: &'t str, before: &[&'t str], paths: &mut Vec<Vec<&'t str>>) -> &'t str {
    let text = text.trim_start();
    let Some(mut rest) = text.strip_prefix('{') else {
        let (name, rest) = text.split_at(text.find(|c| !is_in_name(c)).unwrap_or(text.len()));
        let path = [before, &[name]].concat();
        let Some(rest) = rest.strip_prefix("::") else {
            paths.push(path);
            return rest;
        };
        return parse_paths(rest, &path, paths);
    };
    loop {
        rest = parse_paths(rest, before, paths);
        // Skip a star, or `as` and a name.
        rest = &rest[rest.find([',', '}']).unwrap_or(rest.len())..];
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        if rest.is_empty() {
            return rest;
        }
        if let Some(behind) = rest.strip_prefix('}') {
            return behind;
        }
    }
}

/// Returns the modules of the crate that the text of `module` names.
fn imported_modules<'m>(
    module: &[String],
    text: &str,
    modules: &'m Modules,
) -> BTreeSet<&'m [String]> {
    let code = code_without_tests(text);
    let mut paths = Vec::new();
    let mut rest = code.as_str();
    while let Some(at) = rest.find("::") {
        let (text, behind) = rest.split_at(at);
        let before = text.trim_end_matches(is_in_name);
        let name = &text[before.len()..];
        let child = || [module, &[name.to_owned()]].concat();
        let begins = ["crate", "super", "self"].contains(&name) || modules.contains_key(&child());
        rest = &behind[2..];
        if begins && !before.ends_with("(in ") {
            rest = parse_paths(rest, &[name], &mut paths);
        } else {
            // Skip the rest of a path that begins outside the crate.
            rest = rest.trim_start_matches(|c| is_in_name(c) || c == ':');
        }
    }
    let mut found = BTreeSet::new();
    for path in paths {
        let mut named = module.to_vec();
        for name in path {
            match name {
                "crate" => named.clear(),
                "super" => drop(named.pop()),
                "self" => {}
                _ => {
                    named.push(name.to_owned());
                    if !modules.contains_key(&named) {
                        named.pop();
                        break;
                    }
                }
            }
        }
        found.extend(modules.get_key_value(&named).map(|(key, _)| key.as_slice()));
    }
    found
}

/// Returns the rings, or import cycles: sets of modules that all reach each other by imports. A module in no ring is alone.
fn import_cycles<'m>(modules: &'m Modules) -> BTreeSet<BTreeSet<&'m [String]>> {
    let mut reached = BTreeMap::new();
    for (module, text) in modules {
        reached.insert(module.as_slice(), imported_modules(module, text, modules));
    }
    let direct = reached.clone();
    for all in reached.values_mut() {
        let mut pending: Vec<_> = all.iter().copied().collect();
        while let Some(module) = pending.pop() {
            pending.extend(direct[module].iter().filter(|module| all.insert(module)));
        }
    }
    let cycle = |(module, all): (&&'m [String], &BTreeSet<&'m [String]>)| {
        let mutual = all.iter().filter(|other| reached[*other].contains(module));
        mutual.chain([module]).copied().collect()
    };
    reached.iter().map(cycle).collect()
}

/// The most files that may form a ring. If more would, what they share belongs in a file of its own.
const CYCLE_LEN_MAX: usize = 3;

#[test]
fn no_import_cycle_has_more_than_three_files() {
    let mut crates = 0;
    for entry in std::fs::read_dir(workspace().join("crates")).unwrap() {
        let folder = entry.unwrap().path().join("src");
        let modules = modules(&folder);
        crates += usize::from(modules.len() > CYCLE_LEN_MAX);
        for cycle in import_cycles(&modules) {
            let shown: Vec<String> = cycle.iter().map(|module| module.join("::")).collect();
            assert!(
                cycle.len() <= CYCLE_LEN_MAX,
                "in {} these import each other: {shown:?}",
                folder.display()
            );
        }
    }
    assert!(crates > 10, "only {crates} crates were looked at");
}

#[test]
fn import_cycles_are_found_in_the_text_of_files() {
    let largest = |last: &str| {
        let texts = [
            (
                "",
                "mod a;\nmod b;\npub mod c;\n\nfn f() {\n    a::f();\n}\n",
            ),
            (
                "a",
                "use std::a;\n\nuse super::{\n    b::{self, F as _, *},\n    c::X,\n};\n",
            ),
            (
                "b",
                "#[cfg(test)]\nmod tests {\n    use super::*;\n}\nuse crate::c::Y;\n",
            ),
            ("c", "mod d;\n\nuse self::d::D;\n"),
            ("c::d", last),
        ];
        let modules: Modules = texts
            .map(|(path, text)| {
                let names = path.split("::").filter(|name| !name.is_empty());
                (names.map(str::to_owned).collect(), text.to_owned())
            })
            .into();
        import_cycles(&modules).iter().map(BTreeSet::len).max()
    };
    assert_eq!(largest("use crate::f;\n"), Some(5));
    assert_eq!(largest("use super::super::a::{X, Y};\n"), Some(4));
    assert_eq!(largest("fn f() {\n    super::super::b::g();\n}\n"), Some(3));
    assert_eq!(largest("use super::C;\n"), Some(2));
    for nothing in [
        "",
        "// See crate::a.\npub(in crate::a) fn f() {}\n",
        "#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n",
        "#[cfg(test)]\nuse crate::a;\n",
        "use std::super_a::crate_a;\nuse other::a::b;\n",
    ] {
        assert_eq!(largest(nothing), Some(1), "{nothing}");
    }
}
