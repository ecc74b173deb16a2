use std::path::Path;

use vigil_hg::config::Config;
use vigil_testkit::random::rng::Rng;

use super::*;

/// Returns the text of a template for a file with an odd name, or `None` if the template is refused.
fn rendered(text: &str) -> Option<BString> {
    let template = Template::read(
        text.into(),
        Path::new("/"),
        |_| false,
        &TemplateAliases::default(),
    )
    .ok()?;
    let config = Config::default();
    let colors = Colors::new(&config, None, true, false, false);
    let context = Context {
        paths: &PathDisplay::new(Path::new("/"), Path::new("/d"), true),
        colors: &colors,
        is_strict_utf8: true,
    };
    let item = Item {
        path: BStr::new(b"d/a\"\xff&"),
        letter: 'M',
        source: None,
        index: 0,
    };
    let mut out = Vec::new();
    template.show(&mut out, &item, context).ok()?;
    Some(out.into())
}

#[test]
fn a_template_nests_no_deeper_than_the_stack_is() {
    let filters = |number| format!("{{path{}}}", "|lower".repeat(number));
    assert_eq!(rendered(&filters(20)).unwrap(), b"d/a\"\xff&");
    assert_eq!(rendered(&filters(100_000)), None);
    let nested =
        |number: usize| format!("{{{}path{}}}", "if(".repeat(number), ",'')".repeat(number));
    assert!(rendered(&nested(5)).is_some());
    assert_eq!(rendered(&nested(100_000)), None);
}

#[test]
fn output_that_grows_with_each_filter_is_limited() {
    let quotes = |number| format!("{{status|json{}}}", "|json".repeat(number));
    assert_eq!(rendered(&quotes(1)).unwrap(), r#""\"M\"""#);
    assert_eq!(rendered(&quotes(28)), None);
}

#[test]
fn every_template_is_shown_or_refused() {
    const WORDS: [&str; 36] = [
        "{",
        "}",
        "(",
        ")",
        "|",
        ",",
        "'",
        "\"",
        "\\",
        " ",
        "path",
        "status",
        "source",
        "itemtype",
        "index",
        "json",
        "lower",
        "upper",
        "urlescape",
        "xmlescape",
        "escape",
        "dirname",
        "strip",
        "short",
        "utf8",
        "if",
        "ifeq",
        "separate",
        "label",
        "relpath",
        "0",
        "7",
        "x4",
        "n",
        "\n",
        "\u{fc}",
    ];
    let mut shown = 0;
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let mut text = String::new();
        for _ in 0..rng.below(14) {
            text.push_str(rng.pick(&WORDS));
        }
        // Most texts become an expression.
        if rng.chance(70) {
            text = format!("{{{text}}}");
        }
        shown += usize::from(rendered(&text).is_some());
    }
    assert!(shown > 200, "{shown}");
}
