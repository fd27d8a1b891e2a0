//! A file of the operating system.

use super::Backend;
use crate::units::{ByteRange, Bytes, Offset};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Access {
    ReadOnly,
    /// Writing. The file is opened for reading too where its permissions allow it, so that a hole can be
    /// written by read-modify-write.
    WriteOnly,
    ReadWrite,
}

/// A descriptor of our own on a file that exists. Closed when dropped, with its locks.
#[derive(Debug)]
pub struct PosixFile {
    file: File,
    readable: bool,
    block_bytes: Bytes,
    /// Whether the system refused open-file-description locks, so that this file uses the process's.
    process_locks: AtomicBool,
}

impl PosixFile {
    /// Opens an existing file.
    ///
    /// # Errors
    /// Those of open(2) and fstat(2).
    pub fn open(path: impl AsRef<Path>, access: Access) -> io::Result<PosixFile> {
        let open = |read, write| OpenOptions::new().read(read).write(write).open(&path);
        let (file, readable) = match access {
            Access::ReadOnly => (open(true, false)?, true),
            Access::ReadWrite => (open(true, true)?, true),
            Access::WriteOnly => match open(true, true) {
                Err(error) if error.kind() == ErrorKind::PermissionDenied => (open(false, true)?, false),
                result => (result?, true),
            },
        };
        let block_bytes = file.metadata()?.blksize();
        Ok(PosixFile { file, readable, block_bytes, process_locks: AtomicBool::new(false) })
    }

    /// The file system's block size (st_blksize): domains that end on it do not share a block.
    pub fn block_bytes(&self) -> Bytes {
        self.block_bytes
    }

    /// One locking call, waiting.
    ///
    /// The lock belongs to the open file description, that is to this value. A process's ordinary record lock
    /// would be lost when anything in the process, such as the MPI library, closes any descriptor of the
    /// file, and would not exclude two ranks that are threads of one process. Those are used only where the
    /// kernel or file system knows nothing better.
    fn set_lock(&self, kind: libc::c_int, range: ByteRange) -> nix::Result<()> {
        let position = |value: u64| libc::off_t::try_from(value).map_err(|_| Errno::EOVERFLOW);
        let lock = libc::flock {
            l_type: libc::c_short::try_from(kind).expect("a lock type is a small number"),
            l_whence: libc::c_short::try_from(libc::SEEK_SET).expect("a whence is a small number"),
            l_start: position(range.start)?,
            l_len: position(range.len())?,
            l_pid: 0,
        };
        loop {
            let of_process = self.process_locks.load(Ordering::Relaxed);
            let call = if of_process { FcntlArg::F_SETLKW(&lock) } else { FcntlArg::F_OFD_SETLKW(&lock) };
            match fcntl(&self.file, call) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(Errno::EINVAL) if !of_process => self.process_locks.store(true, Ordering::Relaxed),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Backend for PosixFile {
    fn read_at(&self, offset: Offset, buffer: &mut [u8]) -> io::Result<usize> {
        // Linux moves at most 0x7ffff000 bytes a call, and any call may move fewer: only 0 means the end of
        // the file.
        let mut done = 0;
        while done < buffer.len() {
            match self.file.read_at(&mut buffer[done..], position(offset, done)?) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, offset: Offset, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.file.write_at(&bytes[done..], position(offset, done)?) {
                // A device that takes nothing, and says nothing, would hold us here for ever.
                Ok(0) => return Err(io::Error::from_raw_os_error(libc::ENOSPC)),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn size(&self) -> io::Result<Bytes> {
        Ok(self.file.metadata()?.len())
    }

    fn sync(&self) -> io::Result<()> {
        // fdatasync: it leaves out the time stamps, not the size.
        self.file.sync_data()
    }

    fn lock(&self, range: ByteRange) -> io::Result<()> {
        // To fcntl a length of 0 means "to the end of the file".
        if range.is_empty() {
            return Ok(());
        }
        // An exclusive lock needs a descriptor for writing; a reader that asks for one gets EBADF.
        Ok(self.set_lock(libc::F_WRLCK, range)?)
    }

    fn unlock(&self, range: ByteRange) {
        if range.is_empty() {
            return;
        }
        if let Err(error) = self.set_lock(libc::F_UNLCK, range) {
            log::warn!("bytes {range} of a file stay locked until it is closed: {error}");
        }
    }

    fn readable(&self) -> bool {
        self.readable
    }
}

/// `offset + done`, as far as a file can reach.
fn position(offset: Offset, done: usize) -> io::Result<u64> {
    let position = offset.checked_add(done as u64).filter(|&position| i64::try_from(position).is_ok());
    position.ok_or_else(|| io::Error::from_raw_os_error(libc::EFBIG))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::AtomicU32;
    use tempfile::NamedTempFile;

    fn file_with(bytes: &[u8]) -> NamedTempFile {
        let file = NamedTempFile::new().expect("a writable temporary directory");
        std::fs::write(file.path(), bytes).expect("just created");
        file
    }

    fn open(file: &NamedTempFile, access: Access) -> PosixFile {
        PosixFile::open(file.path(), access).expect("just created")
    }

    #[test]
    fn reads_stop_at_the_end_of_the_file() {
        let file = file_with(b"0123456789");
        let reader = open(&file, Access::ReadOnly);
        for (offset, expected) in [(0, &b"0123"[..]), (8, b"89"), (10, b""), (1 << 50, b"")] {
            let mut buffer = [0; 4];
            let count = reader.read_at(offset, &mut buffer).expect("a plain file");
            assert_eq!(&buffer[..count], expected, "from {offset}");
        }
        assert_eq!(reader.read_at(3, &mut []).expect("nothing to do"), 0);
        assert_eq!(reader.size().expect("a plain file"), 10);
        assert!(reader.block_bytes() > 0);
    }

    #[test]
    fn a_far_write_leaves_a_hole_of_zeros() {
        let file = file_with(b"");
        let writer = open(&file, Access::ReadWrite);
        let far = 1 << 41;
        match writer.write_at(far, b"far") {
            // Some file systems end earlier (ext4 with small blocks at 4 TiB): that must be said, not
            // wrapped.
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EFBIG)),
            Ok(()) => {
                let mut buffer = [0xEE; 8];
                assert_eq!(writer.read_at(far - 2, &mut buffer).expect("a plain file"), 5);
                assert_eq!(&buffer[..5], b"\0\0far");
                assert_eq!(writer.size().expect("a plain file"), far + 3);
            }
        }
        writer.sync().expect("a plain file");
    }

    #[test]
    fn offsets_past_the_largest_are_refused() {
        let file = file_with(b"x");
        let both = open(&file, Access::ReadWrite);
        for offset in [1 << 63, u64::MAX] {
            assert!(both.read_at(offset, &mut [0; 2]).is_err());
            assert!(both.write_at(offset, &[0; 2]).is_err());
        }
        let error = both.lock(ByteRange::new(1 << 63, u64::MAX)).expect_err("past the largest offset");
        assert_eq!(error.raw_os_error(), Some(libc::EOVERFLOW));
    }

    #[test]
    fn failures_keep_the_systems_error_number() {
        let full = PosixFile::open("/dev/full", Access::WriteOnly).expect("every Linux has it");
        let error = full.write_at(0, b"x").expect_err("always full");
        assert_eq!(ErrorClass::of(&error), ErrorClass::NoSpace);

        let error = PosixFile::open("/nonexistent/file", Access::ReadWrite).expect_err("no such folder");
        assert_eq!(ErrorClass::of(&error), ErrorClass::NoSuchFile);

        let file = file_with(b"abc");
        let reader = open(&file, Access::ReadOnly);
        let error = reader.write_at(0, b"x").expect_err("opened for reading");
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
        let error = reader.lock(ByteRange::new(0, 1)).expect_err("a writer's lock");
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    }

    #[test]
    fn write_only_reads_where_the_permissions_let_it() {
        let file = file_with(b"abc");
        assert!(open(&file, Access::WriteOnly).readable());
        std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o200)).expect("our own file");
        let writer = open(&file, Access::WriteOnly);
        writer.write_at(0, b"x").expect("writable");
        // A privileged user may read all the same.
        assert_eq!(writer.readable(), writer.read_at(0, &mut [0]).is_ok());
    }

    #[test]
    fn a_lock_excludes_another_handle_in_the_same_process() {
        let file = file_with(&[0; 8]);
        let inside = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let handle = open(&file, Access::ReadWrite);
                    for round in 0..200 {
                        let range = ByteRange::new(round % 4, 6);
                        handle.lock(range).expect("locks on a local file");
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two holders at once");
                        let mut value = [0; 2];
                        handle.read_at(4, &mut value).expect("a plain file");
                        let next = (u16::from_ne_bytes(value) + 1).to_ne_bytes();
                        handle.write_at(4, &next).expect("a plain file");
                        inside.fetch_sub(1, Ordering::SeqCst);
                        handle.unlock(range);
                        // What would drop a process's own record locks.
                        drop(open(&file, Access::ReadOnly));
                    }
                });
            }
        });
        assert!(!open(&file, Access::ReadWrite).process_locks.load(Ordering::Relaxed));
        let content = std::fs::read(file.path()).expect("just written");
        assert_eq!(content[4..6], 400u16.to_ne_bytes());
    }

    #[test]
    fn closing_another_descriptor_keeps_the_lock() {
        let file = file_with(&[0; 8]);
        let (holder, other) = (open(&file, Access::ReadWrite), open(&file, Access::ReadWrite));
        holder.lock(ByteRange::new(0, 4)).expect("free");
        drop(open(&file, Access::ReadWrite));
        let lock = |start| libc::flock { l_type: 1, l_whence: 0, l_start: start, l_len: 2, l_pid: 0 };
        let taken = fcntl(&other.file, FcntlArg::F_OFD_SETLK(&lock(3)));
        assert_eq!(taken, Err(Errno::EAGAIN));
        assert_eq!(fcntl(&other.file, FcntlArg::F_OFD_SETLK(&lock(4))), Ok(0));
        holder.lock(ByteRange::new(6, 6)).expect("no bytes, not the rest of the file");
    }
}
