//! Tests explanations of a conversion.

use super::*;
use crate::converter::{Reason, Step, Treatment};
use vigil_model::conversion::Conversion;
use vigil_rules::attributes::Value;

/// Explains `f` with these attributes, under changed settings.
fn explain(attributes: &str, change: impl FnOnce(&mut Settings)) -> Vec<Step> {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", format!("f {attributes}\n"));
    let mut settings = fixture.settings(&[]);
    change(&mut settings);
    let converter = fixture.converter(settings);
    let steps = converter.explain("f".into()).unwrap();
    // Only a file that is not converted has no steps.
    let as_is = explain_nothing(&fixture);
    assert_eq!(steps.is_empty(), converter.fingerprint("f".into()) == as_is);
    steps
}

fn explain_nothing(fixture: &Fixture) -> Option<Conversion> {
    fixture
        .converter(fixture.settings(&[]))
        .fingerprint("none".into())
}

/// Returns the treatments, and the attributes that decide them.
fn treatments(attributes: &str) -> Vec<(Treatment, &'static str, Value)> {
    let steps = explain(attributes, |_| {}).into_iter();
    steps
        .map(|step| match step.reason {
            Reason::Attribute { name, value, place } => {
                assert_eq!(place.map(|place| place.line), Some(1));
                (step.treatment, name, value)
            }
            Reason::AutoCrlf => unreachable!("{attributes}"),
        })
        .collect()
}

#[test]
fn each_step_has_its_attribute() {
    let text = |text: &str| Value::Text(text.into());
    assert_eq!(treatments(""), []);
    assert_eq!(treatments("-text"), []);
    assert_eq!(treatments("text"), [(Treatment::Text, "text", Value::Set)]);
    assert_eq!(
        treatments("text=auto"),
        [(Treatment::AutoText, "text", text("auto"))]
    );
    assert_eq!(treatments("text=auto eol=crlf"), treatments("text=auto"));
    assert_eq!(treatments("eol=lf"), [(Treatment::Text, "eol", text("lf"))]);
    assert_eq!(
        treatments("crlf eol=lf"),
        [(Treatment::Text, "crlf", Value::Set)]
    );
    assert_eq!(
        treatments("working-tree-encoding=UTF-16 text ident"),
        [
            (
                Treatment::Encoding("UTF-16".into()),
                "working-tree-encoding",
                text("UTF-16")
            ),
            (Treatment::Text, "text", Value::Set),
            (Treatment::Ident, "ident", Value::Set),
        ]
    );
    // This driver does not exist.
    assert_eq!(treatments("filter=d"), []);
}

#[test]
fn settings_are_named_where_no_attribute_decides() {
    let with_auto_crlf = |settings: &mut Settings| settings.auto_crlf = AutoCrlf::Input;
    let by_setting = Step {
        treatment: Treatment::AutoText,
        reason: Reason::AutoCrlf,
    };
    assert_eq!(explain("", with_auto_crlf), [by_setting]);
    assert_eq!(explain("-text", with_auto_crlf), []);
    let steps = explain("filter=d", |settings| {
        let driver = Driver {
            clean: Some("cat".into()),
            ..Driver::default()
        };
        settings.drivers.insert("d".into(), driver);
    });
    assert_eq!(steps[0].treatment, Treatment::Filter("d".into()));
}
