//! Tests what changes the fingerprint of a conversion, and what does not.

use super::*;
use vigil_model::conversion::Conversion;

/// Returns the fingerprint of `f` with these attributes, under changed settings.
fn fingerprint(attributes: &str, change: impl FnOnce(&mut Settings)) -> Option<Conversion> {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", format!("f {attributes}\n"));
    let mut settings = fixture.settings(&[]);
    change(&mut settings);
    fixture.converter(settings).fingerprint("f".into())
}

fn with_driver(driver: Driver) -> Option<Conversion> {
    fingerprint("filter=d", |settings| {
        settings.drivers.insert("d".into(), driver);
    })
}

#[test]
fn each_conversion_has_its_own_fingerprint() {
    let as_is = |_: &mut Settings| {};
    let all = [
        fingerprint("", as_is),
        fingerprint("text", as_is),
        fingerprint("text=auto", as_is),
        fingerprint("ident", as_is),
        fingerprint("text ident", as_is),
        fingerprint("", |settings| settings.hash = Kind::Sha256),
        fingerprint("text", |settings| settings.hash = Kind::Sha256),
    ];
    assert!(all.iter().all(Option::is_some), "{all:?}");
    assert_eq!(BTreeSet::from(all).len(), all.len(), "{all:?}");
    // Fingerprints that are on disk must not change.
    let numbers = all.map(|fingerprint| fingerprint.unwrap().number);
    assert_eq!(numbers[0], 0x1_0000_0000);
    assert_eq!(numbers[4], 0x1_0000_0101);
    assert_eq!(numbers[5], 0x1_0001_0000);
}

#[test]
fn settings_are_part_of_the_fingerprint_where_they_decide() {
    let as_is = |_: &mut Settings| {};
    let auto_crlf = |value| move |settings: &mut Settings| settings.auto_crlf = value;
    let (plain, auto) = (fingerprint("", as_is), fingerprint("text=auto", as_is));
    assert_eq!(fingerprint("", auto_crlf(AutoCrlf::True)), auto);
    assert_eq!(fingerprint("", auto_crlf(AutoCrlf::Input)), auto);
    assert_eq!(fingerprint("-text", auto_crlf(AutoCrlf::True)), plain);
    assert_eq!(fingerprint("eol=crlf", as_is), fingerprint("text", as_is));
    assert_eq!(fingerprint("crlf", as_is), fingerprint("text", as_is));
    assert_eq!(
        fingerprint("text", |settings| settings.eol_crlf = true),
        fingerprint("text", as_is)
    );
    assert_eq!(
        fingerprint("text=auto", |settings| settings.warns_of_loss = false),
        auto
    );
    assert_eq!(fingerprint("working-tree-encoding=utf8", as_is), plain);
}

#[test]
fn the_fingerprint_of_a_filter_or_an_encoding_is_its_own() {
    let command = |clean: &str| Driver {
        clean: Some(clean.into()),
        ..Driver::default()
    };
    let process = Driver {
        process: Some("cat".into()),
        ..Driver::default()
    };
    let plain = fingerprint("", |_| {});
    let all = [
        plain,
        with_driver(command("cat")),
        with_driver(command("cat -u")),
        with_driver(process),
        fingerprint("filter=d ident", |settings| {
            settings.drivers.insert("d".into(), command("cat"));
        }),
        fingerprint("filter=e", |settings| {
            settings.drivers.insert("e".into(), command("cat"));
        }),
        fingerprint("filter=d working-tree-encoding=SHIFT-JIS", |settings| {
            settings.drivers.insert("d".into(), command("cat"));
        }),
        fingerprint("working-tree-encoding=SHIFT-JIS", |_| {}),
        fingerprint("working-tree-encoding=SHIFT-JIS text", |_| {}),
        fingerprint("working-tree-encoding=UTF-16", |_| {}),
    ];
    assert!(all.iter().all(Option::is_some), "{all:?}");
    assert_eq!(BTreeSet::from(all).len(), all.len(), "{all:?}");
    assert_eq!(with_driver(command("cat")), all[1]);
    let by_program = all.map(|fingerprint| fingerprint.unwrap().is_by_program);
    assert!(!by_program[0]);
    assert_eq!(by_program[1..], [true; 9]);
    // Fingerprints that are on disk must not change.
    assert_eq!(all[1].unwrap().number, 0x8049_4649_7f8c_7088);

    let required = Driver {
        required: true,
        ..Driver::default()
    };
    assert_eq!(with_driver(required), None);
    assert_eq!(fingerprint("working-tree-encoding", |_| {}), None);

    // A filter that does nothing counts as none.
    assert_eq!(with_driver(Driver::default()), plain);
    assert_eq!(with_driver(command("")), plain);
    assert_eq!(fingerprint("filter=unknown", |_| {}), plain);
}
