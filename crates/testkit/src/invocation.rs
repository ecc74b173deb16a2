//! One `status` command line, as data.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use bstr::BString;

use crate::sandbox::Sandbox;
use crate::shell;

/// A `status` command line, with its working directory and environment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Invocation {
    /// The working directory, relative to the sandbox's root. If it does not exist, its nearest existing ancestor
    /// is used.
    pub directory: BString,
    /// Variables beyond those of the sandbox.
    pub variables: Vec<(BString, BString)>,
    /// Options before `status`, each with its arguments (`-c x=y`).
    pub globals: Vec<Vec<BString>>,
    /// Options after `status`.
    pub options: Vec<BString>,
    /// Pathspecs, after `--`.
    pub pathspecs: Vec<BString>,
}

impl Invocation {
    /// `status` with these options in `directory`.
    pub fn new(directory: &str, options: &[&str]) -> Self {
        Self {
            directory: directory.into(),
            options: options
                .iter()
                .map(|option| BString::from(*option))
                .collect(),
            ..Self::default()
        }
    }

    /// All arguments of the program.
    pub fn arguments(&self) -> Vec<BString> {
        let mut arguments: Vec<BString> = self.globals.iter().flatten().cloned().collect();
        arguments.push("status".into());
        arguments.extend(self.options.iter().cloned());
        if !self.pathspecs.is_empty() {
            arguments.push("--".into());
            arguments.extend(self.pathspecs.iter().cloned());
        }
        arguments
    }

    /// The command that asks `program`, which must neither write nor fetch anything.
    pub fn command(&self, sandbox: &Sandbox, program: &Path) -> Command {
        let mut command = self.bare_command(sandbox, program);
        let arguments = self.arguments();
        command.args(arguments.iter().map(|argument| sandbox.expand(argument)));
        command
    }

    /// Another git command for `program`, about the same repository and with the same configuration, but without
    /// arguments of its own yet.
    pub fn other_command(&self, sandbox: &Sandbox, program: &Path) -> Command {
        let mut command = self.bare_command(sandbox, program);
        let globals = self.globals.iter().flatten();
        command.args(globals.map(|argument| sandbox.expand(argument)));
        command
    }

    fn bare_command(&self, sandbox: &Sandbox, program: &Path) -> Command {
        let mut command = sandbox.isolated(program, &self.directory);
        // The usage text contains the name by which the program was called.
        command.arg0("git");
        command.envs(Sandbox::reading_variables());
        for (name, value) in &self.variables {
            command.env(sandbox.expand(name), sandbox.expand(value));
        }
        command
    }

    /// The invocation as a line of bash, to be run in the root. The shell variable `program` names the program.
    pub fn script(&self, program: &str) -> BString {
        let mut line = BString::from("(cd ");
        line.extend_from_slice(&shell::word(&self.directory));
        line.extend_from_slice(b" && ");
        for (name, value) in Sandbox::reading_variables() {
            line.extend_from_slice(format!("{name}={value} ").as_bytes());
        }
        for (name, value) in &self.variables {
            line.extend_from_slice(name);
            line.push(b'=');
            line.extend_from_slice(&shell::word(value));
            line.push(b' ');
        }
        line.extend_from_slice(format!("\"${program}\"").as_bytes());
        for argument in self.arguments() {
            line.push(b' ');
            line.extend_from_slice(&shell::word(&argument));
        }
        line.push(b')');
        line
    }

    /// Whether the long format is possible: no other format is named, or an option may revoke it.
    pub fn may_be_long(&self) -> bool {
        let names_format = |option: &BString| {
            option == "-s"
                || option == "-z"
                || [b"--short".as_slice(), b"--null", b"--porcelain"]
                    .iter()
                    .any(|name| option.starts_with(name))
        };
        let takes_back = |option: &BString| {
            [b"--l".as_slice(), b"--no-shor", b"--no-p", b"--no-nu"]
                .iter()
                .any(|start| option.starts_with(start))
        };
        !self.options.iter().any(names_format) || self.options.iter().any(takes_back)
    }

    /// Every invocation that is simpler in one respect, the boldest simplification first.
    pub fn simpler(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut add = |change: &dyn Fn(&mut Self)| {
            let mut copy = self.clone();
            change(&mut copy);
            if copy != *self {
                all.push(copy);
            }
        };
        add(&|it| it.pathspecs.clear());
        add(&|it| it.globals.clear());
        add(&|it| it.variables.clear());
        for index in 0..self.pathspecs.len() {
            add(&|it| drop(it.pathspecs.remove(index)));
        }
        for index in 0..self.globals.len() {
            add(&|it| drop(it.globals.remove(index)));
        }
        for index in 0..self.variables.len() {
            add(&|it| drop(it.variables.remove(index)));
        }
        for index in 0..self.options.len() {
            add(&|it| drop(it.options.remove(index)));
        }
        add(&|it| {
            let end = it
                .directory
                .iter()
                .position(|byte| *byte == b'/')
                .unwrap_or(it.directory.len());
            it.directory.truncate(end);
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_and_the_arguments_agree() {
        let invocation = Invocation {
            variables: vec![("GIT_DIR".into(), "{ROOT}/work/.git".into())],
            globals: vec![vec!["-c".into(), "a.b=c d".into()]],
            pathspecs: vec!["-x".into()],
            ..Invocation::new("work/a", &["-s", "-b"])
        };
        assert_eq!(
            invocation.script("GIT"),
            "(cd work/a && GIT_OPTIONAL_LOCKS=0 GIT_NO_LAZY_FETCH=1 GIT_DIR=\"$ROOT\"/work/.git \"$GIT\" -c 'a.b=c d' status -s -b -- -x)"
        );
    }

    #[test]
    fn simplifying_ends_at_the_bare_command() {
        let mut invocation = Invocation::new("work/a/b", &["-s", "-z"]);
        invocation.pathspecs = vec!["x".into(), "y".into()];
        let mut rounds = 0;
        while let Some(simpler) = invocation.simpler().into_iter().next() {
            invocation = simpler;
            rounds += 1;
        }
        assert_eq!(invocation, Invocation::new("work", &[]));
        assert_eq!(rounds, 4);
    }
}
