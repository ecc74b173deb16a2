//! Actions as lines of a bash script.

use bstr::{BString, ByteSlice};

use super::{Action, Damage, split_time};
use crate::shell;

/// A Python program that changes the first byte of a file through a mapping. tmpfs does not change the file's mtime, so that
/// neither git nor anything else could notice; in that case the program sets the mtime, as other file systems do.
pub(super) const WRITE_MAPPED: &str = "import mmap,os,sys; f=open(os.fsencode(sys.argv[1]),\"r+b\"); \
    then=os.fstat(f.fileno()).st_mtime_ns; m=mmap.mmap(f.fileno(),0); m[0]^=1; m.flush(); m.close(); \
    os.fstat(f.fileno()).st_mtime_ns==then and os.utime(f.fileno()); f.close()";

impl Action {
    /// The action as a line of bash, to be run in the root.
    pub fn script(&self) -> BString {
        let mut line = BString::default();
        let mut say = |words: &[&[u8]]| words.iter().for_each(|word| line.extend_from_slice(word));
        let word = |path: &BString| shell::word(path);
        match self {
            Self::Write { path, data } => {
                say(&[&shell::print(data), b" | put ", &word(path)]);
            }
            Self::Append { path, data } => {
                say(&[
                    b"[ -f ",
                    &word(path),
                    b" ] && ",
                    &shell::print(data),
                    b" >> ",
                    &word(path),
                ]);
            }
            Self::RewriteUnseen { path, data } => {
                let name = word(path);
                let rewrite = match data {
                    Some(data) => {
                        let mut rewrite = shell::print(data);
                        rewrite.extend_from_slice(b" > ");
                        rewrite.extend_from_slice(&name);
                        rewrite
                    }
                    None => {
                        let mut rewrite =
                            BString::from("perl -0777 -pi -e 's/(.)/chr(ord($1)^1)/gse' -- ");
                        rewrite.extend_from_slice(&name);
                        rewrite
                    }
                };
                say(&[b"touch -r ", &name, b" \"$ROOT/clock\" && ", &rewrite]);
                say(&[b" && touch -r \"$ROOT/clock\" ", &name]);
            }
            Self::Resize { path, length } => {
                say(&[
                    b"[ -f ",
                    &word(path),
                    b" ] && truncate -s ",
                    length.to_string().as_bytes(),
                    b" -- ",
                ]);
                say(&[&word(path)]);
            }
            Self::SetTime { path, nanoseconds } => {
                let (seconds, rest) = split_time(*nanoseconds);
                say(&[
                    format!("touch -h -c -m -d @{seconds}.{rest:09} -- ").as_bytes(),
                    &word(path),
                ]);
            }
            Self::SetMode { path, mode } => {
                say(&[
                    b"[ -L ",
                    &word(path),
                    b" ] || chmod ",
                    format!("{mode:o} -- ").as_bytes(),
                    &word(path),
                ]);
            }
            Self::Link { path, target } => {
                say(&[
                    &script_parents(path),
                    b"ln -s -n -- ",
                    &word(target),
                    b" ",
                    &word(path),
                ]);
            }
            Self::HardLink { from, to } => {
                say(&[&script_parents(to), b"ln -- ", &word(from), b" ", &word(to)]);
            }
            Self::Fifo { path } => say(&[&script_parents(path), b"mkfifo -- ", &word(path)]),
            Self::Socket { path } => {
                say(&[&script_parents(path), b"python3 -c 'import os,sys; "]);
                say(&[
                    b"os.mknod(os.fsencode(sys.argv[1]), 0o140644)' ",
                    &word(path),
                ]);
            }
            Self::Directory { path } => say(&[b"mkdir -p -- ", &word(path)]),
            Self::ManyFiles { path, count } => {
                say(&[b"mkdir -p -- ", &word(path), b" && (cd ", &word(path)]);
                say(&[format!(
                    " && for n in $(seq 0 {}); do : > f$n; done)",
                    count.saturating_sub(1)
                )
                .as_bytes()]);
            }
            Self::Remove { path } => say(&[b"rm -rf -- ", &word(path)]),
            Self::Rename { from, to } => {
                say(&[
                    &script_parents(to),
                    b"mv -T -- ",
                    &word(from),
                    b" ",
                    &word(to),
                ]);
            }
            Self::Exchange { first, second } => {
                say(&[
                    b"python3 -c 'import ctypes,os,sys; a=[os.fsencode(p) for p in sys.argv[1:]]; ",
                ]);
                say(&[b"ctypes.CDLL(None).renameat2(-100, a[0], -100, a[1], 2)' "]);
                say(&[&word(first), b" ", &word(second)]);
            }
            Self::Copy { from, to } => {
                say(&[
                    b"[ -f ",
                    &word(from),
                    b" ] && put ",
                    &word(to),
                    b" < ",
                    &word(from),
                ]);
            }
            Self::Hold { path } => {
                say(&[b"[ -f ", &word(path), b" ] && exec 9<> ", &word(path)]);
            }
            Self::WriteHeld { data } => {
                say(&[b"{ ", &shell::print(data), b" >&9; } 2> /dev/null"]);
            }
            Self::Release => say(&[b"exec 9>&-"]),
            Self::WriteMapped { path } => {
                say(&[b"[ -f ", &word(path), b" ] && python3 -c "]);
                say(&[&shell::word(WRITE_MAPPED.as_bytes()), b" ", &word(path)]);
            }
            Self::Damage { path, damage } => {
                let how = match damage {
                    Damage::Cut(place) => format!("d=d[:len(d)*{place}//1000]"),
                    Damage::Flip(place) => format!("d[len(d)*{place}//1000]^=1"),
                };
                say(&[b"python3 -c 'import glob,os,sys; p=os.fsencode(sys.argv[1]); "]);
                say(&[b"p=sorted(glob.glob(p) or [p])[0]; "]);
                say(&[b"d=bytearray(open(p,\"rb\").read()); ", how.as_bytes()]);
                say(&[b"; os.unlink(p); open(p,\"wb\").write(d)' ", &word(path)]);
            }
            Self::Git(run) => {
                if let Some(input) = &run.input {
                    say(&[&shell::print(input), b" | "]);
                }
                say(&[b"(cd ", &word(&run.directory), b" && "]);
                for (name, value) in &run.variables {
                    say(&[name, b"=", &word(value), b" "]);
                }
                say(&[b"\"$GIT\""]);
                for argument in &run.arguments {
                    say(&[b" ", &word(argument)]);
                }
                say(&[b")"]);
            }
        }
        line
    }
}

/// The command that creates the directories that `path` needs.
fn script_parents(path: &BString) -> BString {
    let mut out = BString::default();
    if let Some(end) = path.rfind_byte(b'/') {
        out.extend_from_slice(b"mkdir -p -- ");
        out.extend_from_slice(&shell::word(path.get(..end).unwrap_or_default()));
        out.extend_from_slice(b" && ");
    }
    out
}
