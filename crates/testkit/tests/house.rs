//! The rules for this workspace that no compiler checks, such as which crate may use which, and under which licences.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails may panic"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, Meta, Token, UseTree};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--offline",
            // Dependencies for other platforms were not downloaded.
            "--filter-platform",
            &format!("{}-unknown-linux-gnu", std::env::consts::ARCH),
        ])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Our crates from the bottom up, each with the crates that it may use; it may also use what those use. Tests may use more.
const CRATE_DEPENDENCIES: [(&str, &[&str]); 17] = [
    ("vigil-linux", &[]),
    ("vigil-model", &[]),
    ("vigil-stamp", &["vigil-model", "vigil-linux"]),
    ("vigil-store", &["vigil-stamp"]),
    ("vigil-rules", &["vigil-stamp"]),
    ("vigil-objects", &["vigil-stamp"]),
    ("vigil-scan", &["vigil-stamp"]),
    ("vigil-watch", &["vigil-stamp"]),
    (
        "vigil-git",
        &["vigil-objects", "vigil-rules", "vigil-store"],
    ),
    ("vigil-history", &["vigil-git"]),
    ("vigil-hg", &["vigil-rules", "vigil-store"]),
    (
        "vigil-engine",
        &["vigil-history", "vigil-hg", "vigil-scan", "vigil-watch"],
    ),
    ("vigil-daemon", &["vigil-engine", "vigil-watch"]),
    ("vigil", &["vigil-daemon"]),
    ("vigil-testkit", &[]),
    ("vigil-fuzz", &["vigil"]),
    ("vigil-bench", &["vigil-linux"]),
];

/// The crates that do not print, read the environment, exit or name a socket.
const CRATES_WITHOUT_ENVIRONMENT: [&str; 10] = [
    "model", "stamp", "store", "rules", "objects", "git", "history", "hg", "scan", "engine",
];

/// Returns the crates of ours that each crate may depend on, directly or not, except in tests.
fn allowed_dependencies() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut allowed_dependencies: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, uses) in CRATE_DEPENDENCIES {
        let below = uses
            .iter()
            .flat_map(|used| allowed_dependencies[used].iter().copied());
        let all = below.chain(uses.iter().copied()).collect();
        allowed_dependencies.insert(name, all);
    }
    allowed_dependencies
}

#[test]
fn crates_use_only_those_below_them() {
    let metadata = metadata();
    let allowed_dependencies = allowed_dependencies();
    let mut seen = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if !package["source"].is_null() {
            continue;
        }
        let may_use = allowed_dependencies
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not in CRATE_DEPENDENCIES"));
        seen.insert(name);
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = dependency["name"].as_str().unwrap();
            let is_ours = used == "vigil" || used.starts_with("vigil-");
            let is_for_tests = dependency["kind"] == "dev";
            assert!(
                !is_ours || is_for_tests || may_use.contains(used),
                "{name} may not use {used}"
            );
        }
    }
    assert_eq!(
        allowed_dependencies
            .keys()
            .copied()
            .collect::<BTreeSet<_>>(),
        seen
    );
}

#[test]
fn every_dependency_has_a_permissive_licence() {
    const PERMISSIVE: [&str; 11] = [
        "MIT",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "ISC",
        "Zlib",
        "Unlicense",
        "0BSD",
        "Unicode-3.0",
    ];
    for package in metadata()["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"]
            .as_str()
            .unwrap_or_else(|| panic!("{name} names no licence"));
        let is_permissive = licence
            .replace(['(', ')'], "")
            .replace('/', " OR ")
            .split(" AND ")
            .all(|all| {
                all.split(" OR ")
                    .any(|one| PERMISSIVE.contains(&one.trim()))
            });
        assert!(is_permissive, "{name}: {licence}");
    }
}

fn collect_sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect_sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn unsafe_code_stays_in_the_linux_crate_and_nothing_is_left_for_later() {
    let root = workspace();
    let mut files = Vec::new();
    collect_sources(&root.join("crates"), &mut files);
    collect_sources(&root.join("bench"), &mut files);
    assert!(files.len() > 20);
    let later = ["TO", "DO"].concat();
    let mend = ["FIX", "ME"].concat();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let is_linux = file.starts_with(root.join("crates/linux"));
        let opens_unsafe = text.lines().any(|line| {
            let code = line.split("//").next().unwrap_or_default();
            ["unsafe {", "unsafe fn", "unsafe impl"]
                .iter()
                .any(|form| code.contains(form) && !code.contains('"'))
        });
        assert!(
            is_linux || !opens_unsafe,
            "unsafe code in {}",
            file.display()
        );
        assert!(
            !text.contains(&later) && !text.contains(&mend),
            "a mark for later work in {}",
            file.display()
        );
    }
}

/// The macros that code in the crates of [`CRATES_WITHOUT_ENVIRONMENT`] may not use. The paths below are forbidden, too.
const FORBIDDEN_MACROS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
const FORBIDDEN_PATHS: [&str; 4] = [
    "std::env",
    "process::exit",
    "process::abort",
    "UnixListener",
];

/// What a source file contains that matters here. Code that is only for tests is left out.
#[derive(Default)]
struct ForbiddenUses {
    /// The forbidden macros and paths that were found.
    found: Vec<String>,
    /// The modules that have files of their own, and whether they are only for tests.
    modules: Vec<(String, bool)>,
    /// The names of the inline modules around the item that is being visited.
    inline_modules: Vec<String>,
}

/// Returns whether a `cfg` condition holds only in tests.
fn is_for_tests(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => {
            let parse = Punctuated::<Meta, Token![,]>::parse_terminated;
            let parts = list.parse_args_with(parse).unwrap_or_default();
            (list.path.is_ident("all") && parts.iter().any(is_for_tests))
                || (list.path.is_ident("any") && parts.iter().all(is_for_tests))
        }
        Meta::NameValue(_) => false,
    }
}

fn are_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<Meta>()
                    .is_ok_and(|meta| is_for_tests(&meta))
    })
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

impl ForbiddenUses {
    fn find_in(text: &str) -> Self {
        let mut source = Self::default();
        let file = syn::parse_file(text).unwrap();
        if !are_for_tests(&file.attrs) {
            source.visit_file(&file);
        }
        source
    }

    /// Notes the path made of `names`, if it is forbidden.
    fn check_path(&mut self, names: &[String]) {
        let path = format!("::{}::", names.join("::"));
        let forbidden = FORBIDDEN_PATHS.iter();
        let found = forbidden.filter(|forbidden| path.contains(&format!("::{forbidden}::")));
        self.found.extend(found.map(ToString::to_string));
    }

    /// Notes the forbidden paths in a tree of imports.
    fn check_imports(&mut self, tree: &UseTree, above: &[String]) {
        let with = |name: String| [above, &[name]].concat();
        match tree {
            UseTree::Path(path) => {
                self.check_imports(&path.tree, &with(path.ident.to_string()));
            }
            UseTree::Name(name) => self.check_path(&with(name.ident.to_string())),
            UseTree::Rename(rename) => self.check_path(&with(rename.ident.to_string())),
            UseTree::Glob(_) => self.check_path(above),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.check_imports(tree, above);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for ForbiddenUses {
    fn visit_item(&mut self, item: &'ast Item) {
        let is_test = are_for_tests(attributes_of(item));
        if let Item::Mod(module) = item {
            let name = module.ident.to_string();
            assert!(
                !module.attrs.iter().any(|attr| attr.path().is_ident("path")),
                "this test cannot find the file of the module {name}"
            );
            if module.content.is_none() {
                let path = [self.inline_modules.as_slice(), &[name]].concat().join("/");
                self.modules.push((path, is_test));
                return;
            }
            self.inline_modules.push(name);
        }
        if !is_test {
            visit::visit_item(self, item);
        }
        if matches!(item, Item::Mod(_)) {
            self.inline_modules.pop();
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            _ => &[],
        };
        if !are_for_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.check_path(&names);
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.check_imports(&item.tree, &[]);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let name = call.path.segments.last().unwrap().ident.to_string();
        if FORBIDDEN_MACROS.contains(&name.as_str()) {
            self.found.push(format!("{name}!"));
        }
        // The macro's arguments are tokens, not a syntax tree.
        let tokens: String = call.tokens.to_string().split_whitespace().collect();
        for macro_name in FORBIDDEN_MACROS {
            if tokens.contains(&format!("{macro_name}!(")) {
                self.found.push(format!("{macro_name}!"));
            }
        }
        for path in FORBIDDEN_PATHS {
            if tokens.contains(path) {
                self.found.push(path.to_owned());
            }
        }
        visit::visit_macro(self, call);
    }
}

/// Checks the module in `file` and the modules below it, which are in `folder`. Adds to `known` each file that is read, and
/// each that is only for tests, with all files in the folder of the same name.
fn check_module(file: &Path, folder: &Path, known: &mut BTreeSet<PathBuf>) {
    let text = std::fs::read_to_string(file).unwrap();
    let source = ForbiddenUses::find_in(&text);
    let found = source.found;
    assert!(found.is_empty(), "{found:?} in {}", file.display());
    known.insert(file.to_owned());
    for (name, is_test) in source.modules {
        let below = folder.join(&name);
        let beside = folder.join(format!("{name}.rs"));
        let inside = below.join("mod.rs");
        let file = if beside.exists() { beside } else { inside };
        assert!(file.exists(), "the module {} has no file", file.display());
        if is_test {
            known.insert(file);
            if below.is_dir() {
                let mut tests = Vec::new();
                collect_sources(&below, &mut tests);
                known.extend(tests);
            }
        } else {
            check_module(&file, &below, known);
        }
    }
}

#[test]
fn the_engine_neither_prints_nor_reads_the_environment() {
    for folder in CRATES_WITHOUT_ENVIRONMENT.map(|folder| format!("crates/{folder}/src")) {
        let folder = workspace().join(folder);
        let mut known = BTreeSet::new();
        check_module(&folder.join("lib.rs"), &folder, &mut known);
        let mut files = Vec::new();
        collect_sources(&folder, &mut files);
        for file in files {
            assert!(
                known.contains(&file),
                "{} belongs to no module",
                file.display()
            );
        }
    }
}

#[test]
fn forbidden_uses_are_found_wherever_they_are() {
    let found = |text: &str| ForbiddenUses::find_in(text).found;
    for text in [
        "#[cfg(test)] mod tests { fn f() { println!(); } } fn g() { println!(); }",
        "#[cfg(test)] use std::env; fn g() { std::env::var(\"A\"); }",
        "#[cfg(test)] mod tests; fn g() { eprintln!(\"a\"); }",
        "fn g() { vec![std::env::args()]; }",
        "fn g() { format!(\"{}\", { print!(\"\"); 1 }); }",
        "use std::{env, fs};",
        "use std::process::{self, exit};",
        "fn g() { std::process::exit(1) }",
        "impl A { #[cfg(test)] fn a() { dbg!(1); } fn b() { dbg!(1); } }",
        "mod inline { mod deep { use std::os::unix::net::UnixListener; } }",
        "#[cfg(not(test))] fn g() { println!(); }",
        "#[cfg(any(test, feature = \"a\"))] fn g() { println!(); }",
        "const A: &str = \"#[cfg(test)] mod tests {\"; fn g() { println!(); }",
    ] {
        assert_eq!(found(text).len(), 1, "{text}");
    }
    for text in [
        "fn f() {} #[cfg(test)] mod tests { fn f() { println!(); std::env::var(\"A\"); } }",
        "#[cfg(all(test, unix))] fn f() { println!(); }",
        "#[test] fn f() { println!(); }",
        "//! println!() and std::env::var\n const A: &str = \"println!()\";",
        "use crate::environment; fn f() { environment::get(); writeln!(a); }",
        "#![cfg(test)] fn f() { println!(); }",
    ] {
        assert_eq!(found(text), Vec::<String>::new(), "{text}");
    }
    let modules = ForbiddenUses::find_in("mod a; #[cfg(test)] mod b; mod c { mod d; }").modules;
    let expected = [("a", false), ("b", true), ("c/d", false)];
    assert_eq!(
        modules,
        expected.map(|(name, is_test)| (name.to_owned(), is_test))
    );
}

#[test]
fn the_minimum_compiler_is_the_one_that_is_used() {
    let manifest = std::fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let toolchain = std::fs::read_to_string(workspace().join("rust-toolchain.toml")).unwrap();
    let value = |text: &str, key: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .unwrap();
        line.trim_matches([' ', '=', '"']).to_owned()
    };
    let least = value(&manifest, "rust-version");
    let used = value(&toolchain, "channel");
    assert_eq!(used.rsplit_once('.').unwrap().0, least);
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let root = workspace();
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let mut files = Vec::new();
    collect_sources(&root.join("crates"), &mut files);
    let all: String = files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    let mut guard_count = 0;
    for line in text.lines() {
        let Some(list) = line.trim().strip_prefix("Guarded by: ") else {
            continue;
        };
        for name in list.trim_end_matches('.').split(", ") {
            let name = name.trim_matches('`');
            assert!(
                all.contains(&format!("fn {name}(")),
                "no test is called {name}"
            );
            guard_count += 1;
        }
    }
    let (_, invariants) = text.split_once("\n## Invariants\n").unwrap();
    let invariants = invariants.split("\n## ").next().unwrap();
    let is_numbered = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
    let guarded = invariants.matches("   Guarded by: ").count();
    assert_eq!(guarded, invariants.lines().filter(is_numbered).count());
    assert!(guard_count >= guarded && guarded > 0);
}

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
