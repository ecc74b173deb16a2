//! Facts about other processes, and how this process runs and ends.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Flock, FlockType, Pid, Resource, fcntl_getlk, getrlimit, test_kill_process};

use crate::limits::PROC;
use crate::stat::stat_path;

/// posix_spawn(3) copies nothing of this process, which fork(2) does: a daemon may be large. The standard library has it start
/// programs in other folders only if this function is linked, and a static C library links what is named.
#[used]
static STARTS_IN_A_FOLDER: unsafe extern "C" fn(
    *mut libc::posix_spawn_file_actions_t,
    *const c_char,
) -> c_int = libc::posix_spawn_file_actions_addchdir_np;

/// The number of cores that this process may use, determined once.
///
/// If more than two are allowed (sched_getaffinity(2)), the quota of the control group counts too (cgroups(7)). Reading it
/// takes a dozen files, and where two cores are allowed it could take away only one.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| {
        let allowed = rustix::thread::sched_getaffinity(None);
        match allowed.map_or(0, |cores| cores.count() as usize) {
            few @ 1..=2 => few,
            _ => std::thread::available_parallelism().map_or(1, usize::from),
        }
    })
}

/// Whether the process `pid` exists and may be signalled (`kill(2)` with signal 0).
pub fn is_alive(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// Whether another process holds a lock on the open file `fd` that rules out a read lock (`F_GETLK` in fcntl(2)).
///
/// # Errors
/// fcntl(2) failed.
pub fn is_locked(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    let wanted = Flock::from(FlockType::ReadLock);
    Ok(fcntl_getlk(fd, &wanted)?.is_some())
}

/// Whether the process `pid` has the file with this device and inode open, as far as proc(5) shows that to this user.
pub fn has_open(pid: u32, (dev, ino): (u64, u64)) -> bool {
    let open = std::fs::read_dir(format!("{PROC}/{pid}/fd"));
    open.into_iter().flatten().flatten().any(|fd| {
        let stat = stat_path(&fd.path());
        stat.is_ok_and(|stat| (stat.dev, stat.ino) == (dev, ino))
    })
}

/// The resources that this process has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time of all threads together.
    pub cpu: Duration,
    /// The number of times a thread slept because a resource was not available yet.
    pub waits: u64,
}

/// Returns the resources that this process has used so far (getrusage(2)).
#[allow(unsafe_code, reason = "getrusage has no safe wrapper")]
pub fn usage() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the right type, and all-zero bytes are a valid `rusage`.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |time: libc::timeval| {
        let whole = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
        whole.saturating_add(Duration::from_micros(
            u64::try_from(time.tv_usec).unwrap_or(0),
        ))
    };
    Usage {
        cpu: time(usage.ru_utime).saturating_add(time(usage.ru_stime)),
        waits: u64::try_from(usage.ru_nvcsw).unwrap_or(0),
    }
}

/// Ends this process as if killed by writing to a closed pipe, which kills every program that does not ignore the signal
/// (signal(7), `SIGPIPE`).
#[allow(unsafe_code, reason = "signal dispositions have no safe wrapper")]
pub fn die_of_broken_pipe() -> ! {
    // SAFETY: `signal` and `raise` take plain integers, and `SIG_DFL` is a valid disposition.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::raise(libc::SIGPIPE);
    }
    std::process::exit(128_i32.saturating_add(libc::SIGPIPE))
}

/// From now on, a write beyond the limit on file sizes (`RLIMIT_FSIZE` in getrlimit(2)) fails with `FBIG`, as one on a full
/// disk fails, instead of ending the process (`SIGXFSZ`). Programs started by this process are not affected.
#[allow(unsafe_code, reason = "signal dispositions have no safe wrapper")]
pub fn survive_long_files() {
    extern "C" fn do_nothing(_: c_int) {}
    let handler: extern "C" fn(c_int) = do_nothing;
    // SAFETY: an all-zero `sigaction` is a valid one, and the handler does nothing. Unlike an ignored signal, a caught one is
    // reset to its default in an executed program; one that this process inherited as ignored stays ignored.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGXFSZ, std::ptr::null(), &raw mut action);
        if action.sa_sigaction != libc::SIG_IGN {
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGXFSZ, &raw const action, std::ptr::null_mut());
        }
    }
}

/// The stack size, in bytes, that any code here may rely on: that of a process by default. A walk through folders that are
/// nested as deeply as a path can be long needs more than the standard library gives to a thread.
const STACK_LEN: usize = 8 << 20;

/// Returns a builder of threads that have the usual stack.
pub fn thread_builder() -> std::thread::Builder {
    std::thread::Builder::new().stack_size(STACK_LEN)
}

/// Calls `run` on a stack of the usual size, however small the limit of this process is (`RLIMIT_STACK` in getrlimit(2)).
pub fn with_usual_stack<T: Send>(run: impl Fn() -> T + Sync) -> T {
    let limit = getrlimit(Resource::Stack).current;
    if limit.is_none_or(|limit| limit >= STACK_LEN as u64) {
        return run();
    }
    std::thread::scope(|scope| {
        match thread_builder().spawn_scoped(scope, &run) {
            Ok(thread) => thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // If no thread can be created, the stack at hand may still suffice.
            Err(_) => run(),
        }
    })
}

/// Whether `text` matches the shell pattern `pattern` (fnmatch(3) without flags). A NUL in either never matches.
#[allow(unsafe_code, reason = "the C library's own matching is the rule here")]
pub fn matches_glob(pattern: &[u8], text: &CStr) -> bool {
    let Ok(pattern) = CString::new(pattern) else {
        return false;
    };
    // SAFETY: both are NUL-terminated strings that live through the call.
    unsafe { libc::fnmatch(pattern.as_ptr(), text.as_ptr(), 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::process::Command;

    #[test]
    fn this_process_lives_and_process_zero_does_not_count() {
        assert!(is_alive(i32::try_from(std::process::id()).unwrap()));
        assert!(!is_alive(0));
    }

    #[test]
    fn a_file_that_is_open_is_found_and_another_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let id = |path: &std::path::Path| stat_path(path).map(|stat| (stat.dev, stat.ino)).unwrap();
        let (own, path) = (std::process::id(), dir.path().join("file"));
        let file = std::fs::File::create(&path).unwrap();
        assert!(has_open(own, id(&path)));
        assert!(!has_open(own, id(dir.path())));
        drop(file);
        assert!(!has_open(own, id(&path)));
        assert!(!has_open(0, id(&path)));
    }

    #[test]
    #[allow(unsafe_code, reason = "pthread_atfork has no safe wrapper")]
    fn a_program_in_another_folder_is_started_without_a_copy_of_this_process() {
        thread_local! {
            static FORKS: Cell<u32> = const { Cell::new(0) };
        }
        extern "C" fn count() {
            FORKS.set(FORKS.get() + 1);
        }
        // SAFETY: the function may be called at any time, in any thread.
        let result = unsafe { libc::pthread_atfork(Some(count), None, None) };
        assert_eq!(result, 0);
        let mut command = Command::new("/bin/pwd");
        let output = command.current_dir("/usr").output().unwrap();
        assert_eq!((output.stdout.as_slice(), FORKS.get()), (&b"/usr\n"[..], 0));
        // The standard library forks if it must look for the program in a new environment's PATH.
        let mut command = Command::new("pwd");
        command.env("PATH", "/bin").output().unwrap();
        assert_eq!(FORKS.get(), 1);
    }

    #[test]
    fn usage_only_grows() {
        let before = usage();
        let mut sum = 0u64;
        while usage().cpu == before.cpu {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let after = usage();
        assert!(after.cpu > before.cpu && after.waits >= before.waits);
    }

    #[test]
    fn a_glob_matches_as_fnmatch_does() {
        assert!(matches_glob(b"v1.5.*", c"v1.5.5"));
        assert!(matches_glob(b"v1.5.[0-9]", c"v1.5.5"));
        assert!(!matches_glob(b"v1.4.*", c"v1.5.5"));
        assert!(!matches_glob(b"v1\0", c"v1"));
    }
}
