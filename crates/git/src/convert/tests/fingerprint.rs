//! Tests what changes the fingerprint of a conversion, and what does not.

use super::*;

/// Returns the fingerprint of `f` with these attributes, under changed settings.
fn fingerprint(attributes: &str, change: impl FnOnce(&mut Settings)) -> Option<u64> {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", format!("f {attributes}\n"));
    let mut settings = fixture.settings(&[]);
    change(&mut settings);
    fixture.converter(settings).fingerprint("f".into())
}

fn with_driver(driver: Driver) -> Option<u64> {
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
    assert_eq!(all[0], Some(0x1_0000_0000));
    assert_eq!(all[4], Some(0x1_0000_0101));
    assert_eq!(all[5], Some(0x1_0001_0000));
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
fn conversions_that_depend_on_programs_have_no_fingerprint() {
    let command = |clean: &str| Driver {
        clean: Some(clean.into()),
        ..Driver::default()
    };
    let plain = fingerprint("", |_| {});
    assert_eq!(with_driver(command("cat")), None);
    let process = Driver {
        process: Some("cat".into()),
        ..Driver::default()
    };
    assert_eq!(with_driver(process), None);
    let required = Driver {
        required: true,
        ..Driver::default()
    };
    assert_eq!(with_driver(required), None);
    assert_eq!(fingerprint("working-tree-encoding=UTF-16", |_| {}), None);
    assert_eq!(fingerprint("working-tree-encoding", |_| {}), None);

    // A filter that does nothing counts as none.
    assert_eq!(with_driver(Driver::default()), plain);
    assert_eq!(with_driver(command("")), plain);
    assert_eq!(fingerprint("filter=unknown", |_| {}), plain);
}
