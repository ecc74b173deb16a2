//! Attributes.

use crate::sandbox::Sandbox;

/// Macros that refer to one another, and in the end to an attribute that matters or to one that does not.
#[test]
fn chained_macros() {
    let sandbox = Sandbox::with_history();
    sandbox.write("a", "other\r\n");
    let chain = |end: &str| {
        let links = (0..2000).map(|n| format!("[attr]m{n} -b{n} m{} c{n}=v\n", n + 1));
        let links: String = links.collect();
        format!("{links}[attr]m2000 {end}\n")
    };
    for end in ["x", "x=1", "-x", "text", "m0", "m1999 x", "!x m7"] {
        for rules in [
            "* m0",
            "* m0\na -m1000\n",
            "* m1000 !m0\n",
            "* x\n* m0",
            "* m0 -m2000",
        ] {
            sandbox.write(".gitattributes", [&chain(end), rules].concat());
            for spec in [
                ":(attr:x)",
                ":(attr:x=1)",
                ":(attr:-x)",
                ":(attr:b7)",
                ":(attr:-b1500)",
            ] {
                sandbox.assert_same_as_git(&["status", "-s", spec]);
            }
            sandbox.assert_same_as_git(&["status", "-s"]);
        }
    }
}

#[test]
fn the_shell_of_a_filter_calls_itself_by_the_command() {
    let sandbox = Sandbox::with_history();
    sandbox.write(".gitattributes", "a filter=f\n");
    for clean in ["echo \"$0\" >&2; cat", "no-such-program %f"] {
        sandbox.git(["config", "filter.f.clean", clean]);
        // With the same contents, only the filter tells.
        sandbox.write("a", "three");
        sandbox.assert_same_as_git(&["--no-optional-locks", "status", "-s"]);
    }
}
