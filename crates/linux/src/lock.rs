//! Locks on files and directories, held for as long as a value lives.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A file or directory on which this process holds an exclusive lock (flock(2)). The lock ends with the value, or
/// with the process.
#[derive(Debug)]
pub struct Locked<F: AsFd = OwnedFd>(F);

impl<F: AsFd> Locked<F> {
    /// Locks what is open as `file`. `None` if another open file description has it locked. Never waits.
    ///
    /// # Errors
    /// flock(2) failed for another reason than that another has the lock.
    pub fn try_new(file: F) -> Result<Option<Self>, Errno> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The open file or directory.
    pub fn file(&self) -> &F {
        &self.0
    }
}

impl<F: AsFd> Drop for Locked<F> {
    /// Unlocks explicitly, since closing is not enough while a child that was just forked has a copy of
    /// the descriptor.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn one_holds_the_lock_until_it_is_dropped_even_if_a_copy_of_the_descriptor_lives() {
        let dir = tempfile::tempdir().unwrap();
        let open = || File::open(dir.path()).unwrap();
        let file = open();
        let _copy = file.try_clone().unwrap();
        let held = Locked::try_new(file).unwrap().unwrap();
        assert!(Locked::try_new(open()).unwrap().is_none());
        drop(held);
        assert!(Locked::try_new(open()).unwrap().is_some());
    }
}
