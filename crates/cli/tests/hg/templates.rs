//! Templates, with each kind of file.

use std::os::unix::ffi::OsStringExt;

use super::sandbox::{WorkingCopy, hg_programs};

const TEMPLATES: [&str; 59] = [
    "{path}\\n",
    "{status} {path}\\n",
    "{path}\\0{source}\\0",
    "{if(source, '{source} -> ')}{path}\\n",
    "{if(source, 'a', path|upper)}|",
    "{if(ifeq(status, \"A\", '1'), \"A!\", \"-\")}",
    "{ifeq(status, 'M', 'mod', 'other')} {path}\\n",
    "{ifeq(source, \"\", 'none')}|",
    "{separate(', ', status, '', source, path)}\\n",
    "{separate('')}|",
    "{itemtype}{index}",
    "constant",
    "constant\\n\\t\\x41\\0415\\q\\\\",
    "\\{path}",
    "{path}\\\\n",
    "{'\\{path} {path}'}",
    "{\"{status}{path}\"}\\n",
    "{'\\x41\\n'}",
    "{\"a\\\"b\"}\\n",
    "{('x')}",
    "a\\}b{path}}\\n",
    "{ path | upper | lower }\\n",
    "{path|addbreaks}",
    "{path|basename}\\n",
    "{path|dirname}\\n",
    "{path|stripdir}\\n",
    "{path|escape}\\n",
    "{path|firstline}\\n",
    "{path|json}\\n",
    "{source|json}\\n",
    "{path|lower}\\n",
    "{path|upper}\\n",
    "{source|nonempty}\\n",
    "{path|short}\\n",
    "{path|stringify}\\n",
    "{path|strip}|",
    "{path|urlescape}\\n",
    "{path|utf8}\\n",
    "{path|xmlescape}\\n",
    "{'/a/b/'|basename} {'/a/b/'|dirname} {'//a'|dirname} {'a//b'|stripdir}",
    "{'\\x01\\x00\\x7f\u{e9}<>&\"'|xmlescape}{'\\x01\\x00\\x7f\"'|escape}",
    "{\"\\x01\\x7f\u{e9}\u{1f600}<>&'/\"|json}",
    "{'\u{c4}\u{df}\\n'|lower}{'\u{e4}\u{df}'|upper}",
    "{label('status.added', '{path}\\n')}",
    "{label('status.clean ui.error', path)}",
    "{label('nothing', path)}",
    "{label('', path)}",
    "{relpath(path)}\\n",
    "{''|nonempty}",
    "{if('', 't', 'f')}",
    "{if(path, 't')}",
    "json",
    "",
    "'{path}'",
    "{if(source, path)|json} {ifeq(path, 'b', path)|json} {(if(source, path))|json|json}",
    "{index|json}{index|upper}{(index)|json|json}{index|stringify|json}{'{index}'|json}\\n",
    "{if(path, index)|json}{ifeq(path, 'a', '', index)|json}{if(source, index)|json}\\n",
    "{if(index, 't', 'f')}{if(if(path, index), 't')}\\n",
    "{if(source, path, '')|json} {if(path, if(source, path))|json} {if(path, source)|json}",
];

#[test]
fn each_file_is_shown_by_a_template() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in ["a", "d/e", "d/Sp \u{e9}", "q'<&>", "-x"] {
            working.write(name, "1\n");
        }
        working.commit("0");
        working.write("d/unknown", "");
        working.write("in\nline", "");
        std::fs::write(
            working
                .path("d")
                .join(std::ffi::OsString::from_vec(b"\xff\xfe<\xc3".to_vec())),
            "",
        )
        .unwrap();
        working.hg(&["copy", "d/e", "d/copy"]);
        working.hg(&["move", "a", "b"]);
        for name in [
            &b"\xed\xa0\x80"[..],
            b"\xed\xb0\x80",
            b"end\x1b[0m of colours",
        ] {
            let name = std::ffi::OsString::from_vec(name.to_vec());
            std::fs::write(working.path("d").join(name), "").unwrap();
        }
        let mut server = working.server();
        for template in TEMPLATES {
            let is_of_text = template.contains("utf8");
            let path = if is_of_text { "d/e" } else { "." };
            working.assert_same_as_hg_server(&mut server, &["status", "-AC", "-T", template, path]);
        }
        for template in [
            "{label('status.added', '{path}\\n')}",
            "{label('status.clean ui.error', path)}",
            "{label('x', path)}",
            "{label('red', '{label(\"bold\", path)} {status}')}\\n",
            "{label('ui.error', '{label(\"status.added\", path)}')}\\n",
            "{label('my.own', path)}\\n",
            "{label('purple magenta_background purple_background', path)}\\n",
            "{label('unknown \\x0bbold', path)}\\n",
        ] {
            working.assert_same_as_hg_server(
                &mut server,
                &[
                    "status",
                    "-A",
                    "--color=always",
                    "-T",
                    template,
                    "--config",
                    "color.my.own=cyan",
                ],
            );
        }
        working.assert_same_as_hg(&["status", "--color=always"]);
        working.assert_same_as_hg(&["status", "-T", "json"]);
        working.assert_same_as_hg_in("d", &["status", "-A", "-T", "{relpath(path)} {path}\\n"]);
        working.assert_same_as_hg_in("d", &["status", "-C", "-T", "{relpath(source)}|"]);
        working.assert_same_as_hg(&["status", "-n", "-0", "-T", "{status} {path}\\n"]);
        working.assert_same_as_hg(&["status", "--change", "0", "-T", "{status} {path}\\n"]);
        for template in [
            "status",
            "debug",
            "{node}",
            "{path|count}",
            "{path",
            "json(path)",
            "mine",
        ] {
            let config = "templates.mine={path}";
            let (_, stderr, code) = working.vigil(&["status", "-T", template, "--config", config]);
            assert_eq!(code, Some(255), "{template}");
            assert!(stderr.contains("the template"), "{stderr}");
        }
    }
}

#[test]
fn case_conversion_of_other_encodings_is_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "");
        for encoding in ["latin-1", "ascii", "utf8", "UTF-8"] {
            working.assert_same_as_hg(&["status", "-T", "{path|upper}", "--encoding", encoding]);
        }
        working.write("\u{e9}", "");
        for encoding in ["utf8", "UTF-8"] {
            working.assert_same_as_hg(&["status", "-T", "{path|upper}", "--encoding", encoding]);
        }
        working.assert_same_as_hg(&["status", "-T", "{path|json}", "--encoding", "latin-1"]);
        working.assert_same_as_hg(&["status", "--rev", "null", "--encoding", "latin-1"]);
        for question in [
            &["-T", "{path|upper}", "--encoding=latin-1"][..],
            &["--rev", "\u{e9}", "--encoding=ascii"],
            &["-T", "{path|upper}", "--encodingmode=replace"],
        ] {
            let (_, stderr, code) = working.vigil(&[&["status"], question].concat());
            assert_eq!(code, Some(255));
            assert!(stderr.contains("another encoding than UTF-8"), "{stderr}");
        }
        for pager in ["no", "auto", "nothing"] {
            working.assert_same_as_hg(&["status", "--pager", pager]);
        }
    }
}

#[test]
fn aliases_in_templates_are_expanded() {
    const ALIASES: &str = "[templatealias]
name = path|basename
line = '{mark(status)} {name}\\n'
mark(letter) = '<{letter|lower}>'
pair(one, other) = separate(':', one, other)
status = ifeq(source, '', path, 'copy')
n = index
text = '{index}'
shout(path) = path|upper
both(x) = pair(x, shout(x))
late = first
late = path
unused(= path
unused( x , y ) = nosuch(
";
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("d/a", "1\n");
        working.commit("0");
        working.write("d/b", "");
        working.hg(&["copy", "d/a", "d/c"]);
        working.write_config(&ALIASES.replace("unused(= path\n", ""));
        for template in [
            "{name}\\n",
            "{line}",
            "{'{line}'}{\"{line|upper}\"}",
            "{status}\\n",
            "{pair(path, status)}|",
            "{path|mark}{mark('{name}')}\\n",
            "{n|json}{text|json}\\n",
            "{shout(source)}{source|shout}|",
            "{both(name)|both}\\n",
            "{if(source, both(source), mark(n))}\\n",
            "{late}\\n",
            "name\\n",
            "json",
        ] {
            working.assert_same_as_hg(&["status", "-AC", "-T", template]);
        }
        for template in [
            "{pair}",
            "{pair(path)}",
            "{path|pair}",
            "{path|name}",
            "{name()}",
            "{unused(path, n)}",
        ] {
            let (_, stderr, code) = working.vigil(&["status", "-T", template]);
            assert_eq!(code, Some(255), "{template}");
            assert!(stderr.contains("the template"), "{stderr}");
        }
        working.write_config(ALIASES);
        let (_, stderr, _) = working.vigil(&["status", "-T", "{path}"]);
        assert!(stderr.contains("templatealias.unused("), "{stderr}");
        working.assert_same_as_hg(&["status", "-T", "text"]);
        working.assert_same_as_hg(&["status"]);
    }
}
