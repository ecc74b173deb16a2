//! One process of Mercurial that answers many commands (`hg help internals`, the command server), since its start takes long.

use std::io::{self, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::sandbox::HgSandbox;

/// What a command said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// The exit code.
    pub code: i32,
}

/// The process.
#[derive(Debug)]
pub struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// The most bytes that are believed to come in one piece.
const PIECE_LEN_MAX: usize = 1 << 28;

impl Server {
    /// Starts one in the working copy of `sandbox`.
    ///
    /// # Errors
    /// It cannot be started, or does not greet.
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
        };
        server.piece()?;
        Ok(server)
    }

    fn piece(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut header = [0; 5];
        self.output.read_exact(&mut header)?;
        let [channel, len @ ..] = header;
        let len = usize::try_from(u32::from_be_bytes(len)).unwrap_or(usize::MAX);
        if channel.is_ascii_uppercase() {
            // It asks for input of so many bytes; there is none.
            self.input.write_all(&0u32.to_be_bytes())?;
            self.input.flush()?;
            return Ok((channel, Vec::new()));
        }
        if len > PIECE_LEN_MAX {
            return Err(io::Error::other("the command server says too much"));
        }
        let mut bytes = vec![0; len];
        self.output.read_exact(&mut bytes)?;
        Ok((channel, bytes))
    }

    /// Runs one command.
    ///
    /// # Errors
    /// The process is gone.
    pub fn run<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> io::Result<Said> {
        let joined: Vec<&[u8]> = arguments.iter().map(AsRef::as_ref).collect();
        let joined = joined.join(&0);
        let len = u32::try_from(joined.len()).map_err(io::Error::other)?;
        self.input.write_all(b"runcommand\n")?;
        self.input.write_all(&len.to_be_bytes())?;
        self.input.write_all(&joined)?;
        self.input.flush()?;
        let mut said = Said::default();
        loop {
            let (channel, bytes) = self.piece()?;
            match channel {
                b'o' => said.stdout.extend(bytes),
                b'e' => said.stderr.extend(bytes),
                b'r' => {
                    let code = bytes.first_chunk().copied().map(i32::from_be_bytes);
                    said.code = code.unwrap_or(-1) & 0xff;
                    return Ok(said);
                }
                _ => {}
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
