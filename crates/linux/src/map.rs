//! Memory-mapped files.

mod truncation;

use std::ops::{Deref, Range};
use std::os::fd::AsFd;
use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{
    MapFlags, MprotectFlags, MremapFlags, ProtFlags, mmap, mmap_anonymous, mprotect, mremap_fixed,
    munmap,
};

use self::truncation::Registration;
pub use self::truncation::{install_truncation_handler, release_all, truncation_count};
use crate::memory::page_len;

/// The first part of a file, mapped for reading (mmap(2)).
///
/// Nobody should truncate or overwrite the file within the mapped length. Reading a part that was cut off ends the process
/// (`SIGBUS`), or yields zeros after [`install_truncation_handler`], which [`Self::is_truncated`] reports. Map only
/// files that are written by appending, or replaced as a whole.
#[derive(Debug)]
pub struct Map {
    start: NonNull<u8>,
    len: usize,
    /// `None` only while the value is created or dropped.
    registration: Option<Registration>,
}

impl Map {
    /// Maps the first `len` bytes of `file`. The memory begins at a multiple of the page size.
    ///
    /// # Errors
    /// `INVAL` if `len` is 0, `OVERFLOW` if the file is shorter, and `NOMEM` if there are too many mappings.
    #[allow(unsafe_code, reason = "mmap takes addresses")]
    pub fn read_only(file: impl AsFd, len: usize) -> Result<Self, Errno> {
        let size = rustix::fs::fstat(&file)?.st_size;
        if usize::try_from(size).is_ok_and(|size| size < len) {
            return Err(Errno::OVERFLOW);
        }
        // SAFETY: given no address, the kernel chooses one where nothing is mapped. The mapping is readable and never writable.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ,
                MapFlags::PRIVATE,
                file,
                0,
            )
        }?;
        // The kernel never chooses the address 0 by itself.
        let start = NonNull::new(start.cast::<u8>()).ok_or(Errno::INVAL)?;
        let mut map = Self {
            start,
            len,
            registration: None,
        };
        map.registration = Some(Registration::new(start, len).ok_or(Errno::NOMEM)?);
        match map.is_truncated() {
            true => Err(Errno::OVERFLOW),
            false => Ok(map),
        }
    }

    /// Copies the bytes to this process's memory, at the same addresses. After that the file is no longer in use, and its file
    /// system can be unmounted. Other threads may read in the meantime.
    ///
    /// # Errors
    /// `NOMEM` if there is too little memory, and `OVERFLOW` if part of the file is gone. Nothing has changed then.
    #[allow(unsafe_code, reason = "mmap, mprotect and mremap take addresses")]
    pub fn copy_to_memory(&self) -> Result<(), Errno> {
        let Some(registration) = self
            .registration
            .as_ref()
            .filter(|registration| !registration.is_copy())
        else {
            return Ok(());
        };
        // SAFETY: the kernel chooses an address where nothing is mapped.
        let copy = unsafe {
            let nowhere = std::ptr::null_mut();
            mmap_anonymous(nowhere, self.len, ProtFlags::WRITE, MapFlags::PRIVATE)
        }?;
        // SAFETY: the new memory is as long as this mapping, lies elsewhere, and nobody else knows its address.
        let is_made = unsafe {
            std::ptr::copy_nonoverlapping(self.start.as_ptr(), copy.cast::<u8>(), self.len);
            mprotect(copy, self.len, MprotectFlags::READ)
        };
        let is_made = match is_made {
            Ok(()) if self.is_truncated() => Err(Errno::OVERFLOW),
            made => made,
        };
        let start = self.start.as_ptr().cast();
        let moved = is_made.and_then(|()| {
            registration.replace_by_copy(|| {
                let flags = MremapFlags::MAYMOVE;
                // SAFETY: both ranges are mapped and ours. The replacement is atomic, and the addresses hold the same bytes
                // before and after it. Nobody else unmaps them as long as `self` lives.
                unsafe { mremap_fixed(copy, self.len, self.len, flags, start) }.map(drop)
            })
        });
        if moved.is_err() {
            // SAFETY: the copy is still where it was made, and nobody reads it.
            let _ = unsafe { munmap(copy, self.len) };
        }
        match moved {
            // Another thread did it.
            Err(Errno::ALREADY) => Ok(()),
            moved => moved,
        }
    }

    /// Whether part of the file within the mapped length is gone, or was when it was read. What was read may then be zeros.
    pub fn is_truncated(&self) -> bool {
        self.registration
            .as_ref()
            .is_none_or(Registration::is_truncated)
    }
}

/// The number of pages that are checked to tell whether a mapping is in memory.
const SAMPLES: usize = 16;

impl Map {
    /// Whether the file's pages are in memory, judged by a sample spread over the mapping (mincore(2)).
    #[allow(unsafe_code, reason = "mincore takes addresses")]
    pub fn is_in_memory(&self) -> bool {
        let page_len = page_len();
        let pages = self.len.div_ceil(page_len);
        (0..SAMPLES.min(pages)).all(|sample| {
            let page = pages.saturating_mul(sample) / SAMPLES.min(pages).max(1);
            let mut is_resident = 1u8;
            // SAFETY: the page is within the mapping, since it begins before the mapping's end. One byte receives the answer for
            // one page. Nothing is written to the mapping.
            let result = unsafe {
                let start = self.start.as_ptr().add(page.saturating_mul(page_len));
                libc::mincore(start.cast(), 1, &raw mut is_resident)
            };
            result != 0 || is_resident & 1 == 1
        })
    }

    /// Releases the pages within `range`, in bytes. They are read from the file again when they are next accessed (madvise(2)).
    #[allow(unsafe_code, reason = "madvise takes addresses")]
    pub fn release(&self, range: Range<usize>) {
        let page_len = page_len();
        let end = range.end.min(self.len) / page_len * page_len;
        let start = range.start.checked_next_multiple_of(page_len);
        let Some(start) = start.filter(|start| *start < end) else {
            return;
        };
        let len = end.saturating_sub(start);
        let Some(registration) = &self.registration else {
            return;
        };
        // SAFETY: the range is within the mapping, which maps a file and was never written: the pages come back with the same
        // bytes.
        registration.unless_copy(|| unsafe {
            let start = self.start.as_ptr().add(start);
            let _ = rustix::mm::madvise(start.cast(), len, rustix::mm::Advice::LinuxDontNeed);
        });
    }

    /// Starts reading the whole mapping from disk (madvise(2)). The call may take as long as queuing the reads takes.
    #[allow(unsafe_code, reason = "madvise takes addresses")]
    pub fn read_ahead(&self) {
        // SAFETY: the range is that of the mapping; the advice changes no bytes.
        let _ = unsafe {
            rustix::mm::madvise(
                self.start.as_ptr().cast(),
                self.len,
                rustix::mm::Advice::WillNeed,
            )
        };
    }
}

impl Deref for Map {
    type Target = [u8];

    #[allow(unsafe_code, reason = "the memory is known by its address")]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` and `len` are those of a readable mapping that lives as long as `self`. The type requires of its users
        // that nobody changes the file's bytes within `len`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Map {
    #[allow(unsafe_code, reason = "munmap takes addresses")]
    fn drop(&mut self) {
        drop(self.registration.take());
        // SAFETY: this is the mapping that `read_only` made, and no reference into it can exist any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

// SAFETY: the mapping belongs to the process, not to a thread, and any thread may unmap it.
#[allow(unsafe_code, reason = "a pointer is not sent by itself")]
unsafe impl Send for Map {}

// SAFETY: it is only read.
#[allow(unsafe_code, reason = "a pointer is not shared by itself")]
unsafe impl Sync for Map {}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn the_beginning_of_a_file_is_read_also_when_it_has_grown_or_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "contents").unwrap();
        let map = Map::read_only(File::open(&path).unwrap(), 4).unwrap();
        fs::write(&path, "contents and more").unwrap();
        assert_eq!(&*map, b"cont");
        fs::remove_file(&path).unwrap();
        assert_eq!(
            std::thread::spawn(move || map.to_vec()).join().unwrap(),
            b"cont"
        );
    }

    #[test]
    fn no_more_than_the_file_is_mapped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "1234").unwrap();
        let open = || File::open(&path).unwrap();
        assert_eq!(Map::read_only(open(), 5).unwrap_err(), Errno::OVERFLOW);
        assert_eq!(Map::read_only(open(), 0).unwrap_err(), Errno::INVAL);
        let map = Map::read_only(open(), 4).unwrap();
        assert_eq!(&*map, b"1234");
        map.read_ahead();
        assert!(map.is_in_memory());
    }

    #[test]
    fn all_that_was_let_go_of_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes: Vec<u8> = (0..100_000).map(|at| (at / 100) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        let map = || Map::read_only(File::open(&path).unwrap(), bytes.len()).unwrap();
        let (one, other) = (map(), map());
        assert_eq!(*one, *bytes);
        release_all();
        assert_eq!((&*one, &*other), (&*bytes, &*bytes));
        assert!(!one.is_truncated() && !other.is_truncated());
    }

    #[test]
    fn a_copy_has_the_same_bytes_at_the_same_place_and_needs_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes: Vec<u8> = (0..100_001).map(|at| (at / 100) as u8 | 1).collect();
        fs::write(&path, &bytes).unwrap();
        let map = Map::read_only(File::open(&path).unwrap(), bytes.len()).unwrap();
        let uses_file = || {
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
            maps.contains(path.to_str().unwrap())
        };
        let seen: &[u8] = &map;
        assert!(uses_file());
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(seen, bytes));
            scope.spawn(|| map.copy_to_memory().unwrap());
        });
        assert!(!uses_file());
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(0)
            .unwrap();
        // Bytes that are no longer in the file cannot be read from it again.
        release_all();
        map.release(0..bytes.len());
        map.copy_to_memory().unwrap();
        assert_eq!(seen, bytes);
        assert!(!map.is_truncated());
    }

    #[test]
    fn what_is_cut_is_not_copied() {
        install_truncation_handler();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, [1; 100_000]).unwrap();
        let map = Map::read_only(File::open(&path).unwrap(), 100_000).unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(50_000)
            .unwrap();
        assert_eq!(map.copy_to_memory(), Err(Errno::OVERFLOW));
        assert!(map.is_truncated());
    }

    #[test]
    fn what_was_let_go_of_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let page_len = page_len();
        let bytes: Vec<u8> = (0..page_len * 5 + 7).map(|at| (at / 100) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        let map = Map::read_only(File::open(&path).unwrap(), bytes.len()).unwrap();
        assert_eq!(*map, *bytes);
        for range in [
            0..0,
            0..bytes.len(),
            1..page_len - 1,
            page_len - 1..3 * page_len + 1,
            4 * page_len..usize::MAX,
            usize::MAX - 1..usize::MAX,
        ] {
            map.release(range);
            assert_eq!(*map, *bytes);
        }
    }
}
