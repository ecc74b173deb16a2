//! The listening socket handed over by a service manager that starts the daemon on demand (sd_listen_fds(3), `contrib/systemd`).

use std::os::fd::OwnedFd;

use bstr::ByteSlice;
use rustix::io::Errno;
use rustix::net::{SocketAddrUnix, getsockname};
use vigil_daemon::runtime_folder::RuntimePath;
use vigil_git::environment::Environment;
use vigil_linux::{activation, errno};
use vigil_model::raw_text::{raw, raw_path};

/// Takes the socket at `runtime_path` that was handed to this process, if any, and removes the variables that announce it. To be
/// called once, while the process has a single thread.
///
/// # Errors
/// Something other than that socket was handed over; the text says what.
pub(super) fn socket(
    environment: &Environment,
    runtime_path: &RuntimePath,
) -> Result<Option<OwnedFd>, String> {
    activation::clear_variables();
    let number = |name: &str| environment.get(name)?.to_str().ok()?.parse::<u32>().ok();
    // The variables may be inherited: what was handed to another process does not count.
    if number("LISTEN_PID") != Some(std::process::id()) {
        return Ok(None);
    }
    if number("LISTEN_FDS") != Some(1) {
        let count = environment.get("LISTEN_FDS").unwrap_or_default();
        return Err(format!(
            "LISTEN_FDS is '{count}', and must be 1",
            count = raw(count)
        ));
    }
    let unusable = |error: Errno| {
        let error = errno::text(error);
        format!("descriptor 3, by LISTEN_FDS, is no Unix stream socket that listens: {error}")
    };
    let socket = activation::listener().map_err(unusable)?;
    let address = getsockname(&socket).map_err(unusable)?;
    let path = runtime_path.socket();
    let wanted = SocketAddrUnix::new(&path).ok();
    let is_there = SocketAddrUnix::try_from(address).is_ok_and(|found| Some(found) == wanted);
    if !is_there {
        let path = raw_path(&path);
        return Err(format!(
            "descriptor 3, by LISTEN_FDS, is not the socket {path}, where clients look"
        ));
    }
    Ok(Some(socket))
}
