//! What code may not contain: `unsafe` outside of one crate, marks for later work, and in most crates printing and the
//! environment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, Meta, Token, UseTree};

use crate::{collect_sources, workspace};

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

/// The crates that do not print, read the environment, exit or name a socket.
const CRATES_WITHOUT_ENVIRONMENT: [&str; 11] = [
    "model", "stamp", "store", "rules", "objects", "git", "convert", "history", "hg", "scan",
    "engine",
];

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
