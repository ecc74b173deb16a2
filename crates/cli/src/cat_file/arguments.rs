//! The command line of `vigil cat-file`.

use bstr::{BStr, BString, ByteSlice};

use super::filter::Filter;
use super::format::DEFAULT;
use crate::options::{Argument, Given, OptionEntry, OptionTable, OwnOptions, Value, parse, usage};
use crate::reply::{Reply, bytes, labelled};

/// A question about one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Single {
    /// `-e`: whether it exists.
    Exists,
    /// `-p`: its contents, for reading.
    Pretty,
    /// `-t`: its type.
    Type,
    /// `-s`: its size.
    Size,
    /// The contents of the named object, or of the object of this type that it leads to. The type's name may be invalid.
    Contents(BString),
    /// The transformed contents.
    Transformed(Transform),
}

/// How the contents of blobs are transformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transform {
    /// `--textconv`: by the path's diff driver.
    Textconv,
    /// `--filters`: to what they would be in the working tree.
    Filters,
}

/// What a batch prints for each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Batch {
    /// `--batch`: the line and the contents.
    Contents,
    /// `--batch-check`: the line.
    Info,
    /// `--batch-command`: what the command on each line asks for.
    Commands,
}

/// The options of a batch.
#[derive(Clone, Debug)]
pub(super) struct BatchArguments {
    pub(super) batch: Batch,
    pub(super) format: BString,
    /// No format was given.
    pub(super) has_default_format: bool,
    pub(super) all_objects: bool,
    pub(super) unordered: bool,
    /// Output is buffered: nobody waits for each answer.
    pub(super) buffered: bool,
    pub(super) follow_symlinks: bool,
    pub(super) transform: Option<Transform>,
    pub(super) filter: Filter,
    pub(super) input_delimiter: u8,
    pub(super) output_delimiter: u8,
}

/// What the command has to do.
#[derive(Clone, Debug)]
pub(super) enum Task {
    Single {
        single: Single,
        name: BString,
        /// The path by which contents are transformed (`--path`).
        path: Option<BString>,
    },
    Batch(BatchArguments),
}

impl Task {
    /// Returns whether the task covers all objects.
    pub(super) fn is_of_all_objects(&self) -> bool {
        matches!(self, Self::Batch(batch) if batch.all_objects)
    }
}

/// The parsed command line.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    pub(super) task: Task,
    /// People appear under their names in `.mailmap`.
    pub(super) use_mailmap: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Mode(Mode),
    AllowUnknownType,
    UseMailmap,
    Batch(Batch),
    InputNul,
    Nul,
    Buffer,
    FollowSymlinks,
    Unordered,
    Path,
    Filter,
}

/// Options that exclude each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Exists,
    Pretty,
    Type,
    Size,
    AllObjects,
    Textconv,
    Filters,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Exists => "-e",
            Self::Pretty => "-p",
            Self::Type => "-t",
            Self::Size => "-s",
            Self::AllObjects => "--batch-all-objects",
            Self::Textconv => "--textconv",
            Self::Filters => "--filters",
        }
    }
}

const fn entry(
    key: Key,
    short: Option<u8>,
    long: &'static str,
    help: &'static str,
) -> OptionEntry<Key> {
    OptionEntry {
        key,
        short,
        long,
        argument: Argument::None,
        value: Value::Any,
        negatable: false,
        help,
        is_own: false,
    }
}

const fn flag(key: Key, long: &'static str, help: &'static str) -> OptionEntry<Key> {
    OptionEntry {
        negatable: true,
        ..entry(key, None, long, help)
    }
}

const fn batch(batch: Batch, long: &'static str, help: &'static str) -> OptionEntry<Key> {
    OptionEntry {
        argument: Argument::Optional("format"),
        ..entry(Key::Batch(batch), None, long, help)
    }
}

const fn hidden(entry: OptionEntry<Key>) -> OptionEntry<Key> {
    OptionEntry {
        is_own: true,
        ..entry
    }
}

pub(super) const TABLE: OptionTable<Key> = OptionTable {
    synopsis: "git cat-file <type> <object>
   or: git cat-file (-e | -p | -t | -s) <object>
   or: git cat-file (--textconv | --filters)
                    [<rev>:<path|tree-ish> | --path=<path|tree-ish> <rev>]
   or: git cat-file (--batch | --batch-check | --batch-command) [--batch-all-objects]
                    [--buffer] [--follow-symlinks] [--unordered]
                    [--textconv | --filters] [-Z]",
    headings: &[
        (0, "Check object existence or emit object contents"),
        (2, "Emit [broken] object attributes"),
        (
            7,
            "Batch objects requested on stdin (or --batch-all-objects)",
        ),
        (13, "Change or optimize batch output"),
        (
            16,
            "Emit object (blob or tree) with conversion or filter (stand-alone, or with batch)",
        ),
    ],
    entries: &[
        entry(
            Key::Mode(Mode::Exists),
            Some(b'e'),
            "",
            "check if <object> exists",
        ),
        entry(
            Key::Mode(Mode::Pretty),
            Some(b'p'),
            "",
            "pretty-print <object> content",
        ),
        entry(
            Key::Mode(Mode::Type),
            Some(b't'),
            "",
            "show object type (one of 'blob', 'tree', 'commit', 'tag', ...)",
        ),
        entry(Key::Mode(Mode::Size), Some(b's'), "", "show object size"),
        hidden(flag(
            Key::AllowUnknownType,
            "allow-unknown-type",
            "historical option -- no-op",
        )),
        flag(Key::UseMailmap, "use-mailmap", "use mail map file"),
        flag(Key::UseMailmap, "mailmap", "alias of --use-mailmap"),
        batch(
            Batch::Contents,
            "batch",
            "show full <object> or <rev> contents",
        ),
        batch(
            Batch::Info,
            "batch-check",
            "like --batch, but don't emit <contents>",
        ),
        hidden(entry(
            Key::InputNul,
            Some(b'z'),
            "",
            "stdin is NUL-terminated",
        )),
        entry(
            Key::Nul,
            Some(b'Z'),
            "",
            "stdin and stdout is NUL-terminated",
        ),
        batch(Batch::Commands, "batch-command", "read commands from stdin"),
        entry(
            Key::Mode(Mode::AllObjects),
            None,
            "batch-all-objects",
            "with --batch[-check]: ignores stdin, batches all known objects",
        ),
        flag(Key::Buffer, "buffer", "buffer --batch output"),
        flag(
            Key::FollowSymlinks,
            "follow-symlinks",
            "follow in-tree symlinks",
        ),
        flag(
            Key::Unordered,
            "unordered",
            "do not order objects before emitting them",
        ),
        entry(
            Key::Mode(Mode::Textconv),
            None,
            "textconv",
            "run textconv on object's content",
        ),
        entry(
            Key::Mode(Mode::Filters),
            None,
            "filters",
            "run filters on object's content",
        ),
        OptionEntry {
            argument: Argument::Required("blob|tree"),
            value: Value::Path,
            ..flag(
                Key::Path,
                "path",
                "use a <path> for (--textconv | --filters); Not with 'batch'",
            )
        },
        OptionEntry {
            argument: Argument::Required("args"),
            ..flag(Key::Filter, "filter", "object filtering")
        },
    ],
};

/// The options as given, before their combination is checked.
#[derive(Default)]
struct Options {
    mode: Option<Mode>,
    use_mailmap: bool,
    batch: Option<(Batch, Option<BString>)>,
    input_nul: bool,
    nul: bool,
    buffer: Option<bool>,
    follow_symlinks: bool,
    unordered: bool,
    path: Option<BString>,
    filter: Filter,
}

impl Options {
    fn take(&mut self, key: Key, given: Given<'_>) -> Result<(), Reply> {
        let is_set = given != Given::Negated;
        let value = match given {
            Given::With(value) => Some(value),
            Given::Bare | Given::Negated => None,
        };
        match key {
            Key::Mode(mode) => match self.mode {
                Some(other) if other != mode => {
                    let text = format!(
                        "options '{}' and '{}' cannot be used together",
                        mode.name(),
                        other.name()
                    );
                    return Err(Reply::usage_error(text));
                }
                _ => self.mode = Some(mode),
            },
            Key::AllowUnknownType => {}
            Key::UseMailmap => self.use_mailmap = is_set,
            Key::Batch(_) if self.batch.is_some() => {
                return Err(Reply::usage_error("only one batch option may be specified"));
            }
            Key::Batch(batch) => self.batch = Some((batch, value.map(BStr::to_owned))),
            Key::InputNul => self.input_nul = true,
            Key::Nul => self.nul = true,
            Key::Buffer => self.buffer = Some(is_set),
            Key::FollowSymlinks => self.follow_symlinks = is_set,
            Key::Unordered => self.unordered = is_set,
            Key::Path => self.path = value.map(BStr::to_owned),
            Key::Filter => {
                self.filter = match value {
                    Some(text) => self.filter.and(Filter::parse(text)?),
                    None => Filter::default(),
                }
            }
        }
        Ok(())
    }
}

/// The reply to a wrong command line: git's message without the usual label, an empty line, and the usage text.
fn refuse(text: impl AsRef<[u8]>) -> Reply {
    let stderr = bytes![labelled("fatal: ", text.as_ref()), b"\n", late_usage()];
    Reply::complained(stderr, Reply::USAGE)
}

/// The usage text once options have been parsed: git then shows the alias as if it took a value.
fn late_usage() -> Vec<u8> {
    usage(&TABLE, OwnOptions::IfVigil).replace("--[no-]mailmap    ", "--[no-]mailmap ...")
}

impl Arguments {
    /// Parses `arguments`.
    ///
    /// # Errors
    /// The reply to a command line that git refuses.
    pub(super) fn parse(arguments: &[BString]) -> Result<Self, Reply> {
        let mut options = Options::default();
        let others = parse(&TABLE, arguments, |key, given| options.take(key, given))?;
        options.filter.check(options.batch.is_some())?;
        let transform = match options.mode {
            Some(Mode::Textconv) => Some(Transform::Textconv),
            Some(Mode::Filters) => Some(Transform::Filters),
            _ => None,
        };
        if options.path.is_some() && transform.is_none() {
            return Err(refuse(
                "'--path=<path|tree-ish>' needs '--filters' or '--textconv'",
            ));
        }
        let use_mailmap = options.use_mailmap;
        let task = match options.batch.take() {
            Some(batch) => Task::Batch(batch_arguments(batch, options, transform, &others)?),
            None => single(options, transform, &others)?,
        };
        Ok(Self { task, use_mailmap })
    }
}

fn batch_arguments(
    (batch, format): (Batch, Option<BString>),
    options: Options,
    transform: Option<Transform>,
    others: &[BString],
) -> Result<BatchArguments, Reply> {
    let all_objects = options.mode == Some(Mode::AllObjects);
    match options.mode {
        Some(mode) if transform.is_none() && !all_objects => {
            return Err(refuse(format!(
                "'{}' is incompatible with batch mode",
                mode.name()
            )));
        }
        None | Some(Mode::AllObjects) if !others.is_empty() => {
            return Err(refuse("batch modes take no arguments"));
        }
        _ => {}
    }
    let delimiter = |is_nul| if is_nul { 0 } else { b'\n' };
    Ok(BatchArguments {
        batch,
        has_default_format: format.is_none(),
        format: format.unwrap_or_else(|| DEFAULT.into()),
        all_objects,
        unordered: options.unordered,
        buffered: options.buffer.unwrap_or(all_objects),
        follow_symlinks: options.follow_symlinks,
        transform,
        filter: options.filter,
        input_delimiter: delimiter(options.input_nul || options.nul),
        output_delimiter: delimiter(options.nul),
    })
}

fn single(
    options: Options,
    transform: Option<Transform>,
    others: &[BString],
) -> Result<Task, Reply> {
    let needs_batch = [
        (options.follow_symlinks, "--follow-symlinks"),
        (options.buffer.is_some(), "--buffer"),
        (
            options.mode == Some(Mode::AllObjects),
            "--batch-all-objects",
        ),
        (options.input_nul, "-z"),
        (options.nul, "-Z"),
    ];
    if let Some((_, name)) = needs_batch.iter().find(|(is_given, _)| *is_given) {
        return Err(refuse(format!("'{name}' requires a batch mode")));
    }
    let Some(mode) = options.mode else {
        return match others {
            [] => Err(Reply::complained(late_usage(), Reply::USAGE)),
            [kind, name] => Ok(Task::Single {
                single: Single::Contents(kind.clone()),
                name: name.clone(),
                path: None,
            }),
            _ => Err(refuse(format!(
                "only two arguments allowed in <type> <object> mode, not {}",
                others.len()
            ))),
        };
    };
    let name = match others {
        [name] => name.clone(),
        [] => {
            let what = match transform {
                Some(_) => "<rev>",
                None => "<object>",
            };
            return Err(refuse(format!("{what} required with '{}'", mode.name())));
        }
        _ => return Err(refuse("too many arguments")),
    };
    let single = match (mode, transform) {
        (_, Some(transform)) => Single::Transformed(transform),
        (Mode::Exists, None) => Single::Exists,
        (Mode::Type, None) => Single::Type,
        (Mode::Size, None) => Single::Size,
        (_, None) => Single::Pretty,
    };
    Ok(Task::Single {
        single,
        name,
        path: options.path,
    })
}
