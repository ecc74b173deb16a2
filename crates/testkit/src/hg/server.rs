//! A Mercurial process that answers many commands (`hg help internals`, the command server), since starting it takes long.

use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::sandbox::HgSandbox;

/// The output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HgOutput {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// The exit code.
    pub code: i32,
}

/// The command server's process.
#[derive(Debug)]
pub struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The top of the working copy.
    top: Vec<u8>,
}

/// The time limit of an answer.
const LIMIT: Timespec = Timespec {
    tv_sec: 60,
    tv_nsec: 0,
};

/// The maximum length in bytes that is accepted for one piece.
const CHUNK_LEN_MAX: usize = 1 << 28;

impl Server {
    /// Starts a server at the top of the working copy of `sandbox`, which need not have a repository yet. It opens the repository
    /// anew for each command, as a separate process would: an open one keeps ignore patterns that other files and options have
    /// changed since.
    ///
    /// # Errors
    /// The server cannot be started, or does not greet.
    pub fn start(sandbox: &HgSandbox) -> io::Result<Self> {
        let mut child = sandbox
            .command(sandbox.hg_program(), &sandbox.top())
            .args([
                "serve",
                "--cmdserver",
                "pipe",
                "--config",
                "ui.interactive=no",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let missing = || io::Error::other("the command server has no pipes");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        let mut server = Self {
            child,
            input,
            output,
            top: sandbox.top().into_os_string().into_vec(),
        };
        server.read_chunk()?;
        Ok(server)
    }

    fn read_chunk(&mut self) -> io::Result<(u8, Vec<u8>)> {
        self.wait_for_more()?;
        let mut header = [0; 5];
        self.output.read_exact(&mut header)?;
        let [channel, len @ ..] = header;
        let len = usize::try_from(u32::from_be_bytes(len)).unwrap_or(usize::MAX);
        if channel.is_ascii_uppercase() {
            // It asks for this many bytes of input; there are none.
            self.input.write_all(&0u32.to_be_bytes())?;
            self.input.flush()?;
            return Ok((channel, Vec::new()));
        }
        if len > CHUNK_LEN_MAX {
            return Err(io::Error::other("the command server says too much"));
        }
        let mut bytes = vec![0; len];
        self.output.read_exact(&mut bytes)?;
        Ok((channel, bytes))
    }

    /// Waits until there is something to read.
    ///
    /// # Errors
    /// It takes too long: Mercurial opens a fifo in the place of a file, and waits for a writer.
    fn wait_for_more(&self) -> io::Result<()> {
        if !self.output.buffer().is_empty() {
            return Ok(());
        }
        let output = self.output.get_ref().as_fd();
        match poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&LIMIT))? {
            0 => Err(io::Error::other("the command server hangs")),
            _ => Ok(()),
        }
    }

    /// Runs one command at the top of the working copy, or where `--cwd` leads from there.
    ///
    /// # Errors
    /// The process has ended.
    pub fn run<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> io::Result<HgOutput> {
        let joined = with_cwd(&self.top, arguments).join(&0);
        let len = u32::try_from(joined.len()).map_err(io::Error::other)?;
        self.input.write_all(b"runcommand\n")?;
        self.input.write_all(&len.to_be_bytes())?;
        self.input.write_all(&joined)?;
        self.input.flush()?;
        let mut output = HgOutput::default();
        loop {
            let (channel, bytes) = self.read_chunk()?;
            match channel {
                b'o' => output.stdout.extend(bytes),
                b'e' => output.stderr.extend(bytes),
                b'r' => {
                    let code = bytes.first_chunk().copied().map(i32::from_be_bytes);
                    output.code = code.unwrap_or(-1) & 0xff;
                    return Ok(output);
                }
                _ => {}
            }
        }
    }
}

/// Adds `--cwd` with the top to `arguments`, unless they have it: the repository that the process has open is not used for them.
fn with_cwd<A: AsRef<[u8]>>(top: &[u8], arguments: &[A]) -> Vec<Vec<u8>> {
    let option = b"--cwd".as_slice();
    let words = arguments.iter().map(AsRef::as_ref);
    let folder: &[&[u8]] = match words.clone().any(|word| word == option) {
        true => &[],
        false => &[option, top],
    };
    let words = folder.iter().copied().chain(words);
    words.map(<[u8]>::to_vec).collect()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_runs_in_the_top_unless_it_says_where() {
        let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect::<Vec<_>>();
        assert_eq!(
            with_cwd(b"/t", &[b"status".as_slice(), b"-A"]),
            words(&[b"--cwd", b"/t", b"status", b"-A"])
        );
        let says_where = words(&[b"status", b"--cwd", b"d"]);
        assert_eq!(with_cwd(b"/t", &says_where), says_where);
    }
}
