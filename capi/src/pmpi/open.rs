//! MPI_File_open and MPI_File_close: which files tatpio serves.
//!
//! Whether it serves a file is decided by all ranks together, from exchanged values: a rank that decided by
//! itself would be alone in its collectives. The MPI library opens every file first, whoever serves it.

use crate::hints::{self, Given};
use crate::mpi::{self, MPI_Comm, MPI_File, MPI_Info};
use crate::table::{self, Engine, Split, State};
use crate::{guarded, report};
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tatpio::backend::{Access, PosixFile};
use tatpio::collective::FileSetup;
use tatpio::comm::mpi::{MpiComm, host_name};
use tatpio::comm::{Communicator, Reduce};
use tatpio::error::Error;
use tatpio::hints::Switch;
use tatpio::plan::View;

/// MPI_File_open (MPI-4.1, section 14.2.1). Collective.
///
/// # Safety
///
/// The MPI standard's duties.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_File_open(
    comm: MPI_Comm,
    filename: *const c_char,
    amode: c_int,
    info: MPI_Info,
    fh: *mut MPI_File,
) -> c_int {
    // SAFETY: the caller's arguments, as they came.
    let real = || unsafe { mpi::ffi::PMPI_File_open(comm, filename, amode, info, fh) };
    guarded("MPI_File_open", || {
        if !mpi::is_one_group(comm) {
            return real(); // the MPI library says what is wrong, through the right error handler
        }
        // SAFETY: a C string or null, which the MPI library refuses.
        let name = (!filename.is_null()).then(|| unsafe { CStr::from_ptr(filename) });
        match decide(comm, name, amode, info) {
            Err(error) => {
                report::warn(&format!("MPI_File_open: {error}"));
                real()
            }
            Ok(None) => real(),
            Ok(Some(wanted)) => {
                let code = real();
                // SAFETY: the MPI library wrote the handle when it succeeded.
                let handle = (code == mpi::SUCCESS).then(|| unsafe { *fh });
                if let Err(error) = serve(comm, handle, amode, wanted) {
                    report::warn(&format!("MPI_File_open: {error}"));
                }
                code
            }
        }
    })
}

/// A file that tatpio is to serve.
struct Wanted {
    name: String,
    path: PathBuf,
    given: Given,
    rank: u32,
}

/// Whether rank 0's hints ask for tatpio, and nothing forbids it. Collective.
///
/// One reduction, also when tatpio is off everywhere: no rank can know that by itself.
fn decide(
    comm: MPI_Comm,
    name: Option<&CStr>,
    amode: c_int,
    info: MPI_Info,
) -> Result<Option<Wanted>, Error> {
    let (rank, size) = mpi::rank_and_size(comm)?;
    let given = Given::at_open(info);
    let path = name.and_then(own_path);
    let asked = match given.hints.tatpio {
        Switch::Enable => true,
        Switch::Automatic => size > 1,
        Switch::Disable => false,
    };
    let forbidden = path.is_none() || mpi::is_sequential(amode);
    let print = given.fingerprint();
    let mut words = [u64::from(asked), u64::from(asked && rank == 0), u64::from(forbidden), print, !print];
    mpi::all_reduce_max(comm, &mut words)?;
    let [asked_by_any, asked_by_0, forbidden, most, least] = words;
    let on = asked_by_0 != 0 && forbidden == 0;
    let name = name.map_or(String::new(), |name| name.to_string_lossy().into_owned());
    if rank == 0 {
        given.warn(on);
        if asked_by_any != 0 && forbidden == 0 && most != !least {
            hints::warn_mismatch(&name);
        }
    }
    Ok(path.filter(|_| on).map(|path| Wanted { name, path, given, rank }))
}

/// Prefixes by which ROMIO is told the file system (`ad_fstype.c`). `ufs:` is what tatpio does anyway; the
/// others ask for a driver of the MPI library's, which then gets the file.
const PREFIXES: [&[u8]; 14] = [
    b"nfs:",
    b"xfs:",
    b"panfs:",
    b"pfs:",
    b"piofs:",
    b"pvfs:",
    b"pvfs2:",
    b"lustre:",
    b"gpfs:",
    b"daos:",
    b"ime:",
    b"quobyte:",
    b"gridftp:",
    b"testfs:",
];

/// The path as the operating system takes it, or `None` for a name that asks for a driver of the MPI library.
fn own_path(name: &CStr) -> Option<PathBuf> {
    let bytes = name.to_bytes();
    if PREFIXES.iter().any(|prefix| bytes.starts_with(prefix)) {
        return None;
    }
    let bytes = bytes.strip_prefix(b"ufs:").unwrap_or(bytes);
    Some(Path::new(OsStr::from_bytes(bytes)).to_owned())
}

/// What keeps a rank from serving a file that it wanted to serve. The number is what ranks exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    /// The MPI library did not open it here.
    NotOpen,
    /// It is a device, a pipe or a directory.
    NotRegular,
    /// It cannot be opened a second time: the system's error number.
    System(u16),
}

impl Obstacle {
    fn code(self) -> u64 {
        match self {
            Obstacle::NotOpen => 0,
            Obstacle::NotRegular => 1,
            Obstacle::System(number) => 2 + u64::from(number),
        }
    }

    fn of_code(code: u64) -> Obstacle {
        match code {
            0 => Obstacle::NotOpen,
            1 => Obstacle::NotRegular,
            number => Obstacle::System(u16::try_from(number - 2).unwrap_or(0)),
        }
    }
}

/// Opens the file for tatpio and enters it in the table, or agrees not to. Collective, also for ranks without
/// a handle.
fn serve(comm: MPI_Comm, handle: Option<MPI_File>, amode: c_int, wanted: Wanted) -> Result<(), Error> {
    let mine = match handle {
        Some(_) => second_descriptor(&wanted.path, amode),
        None => Err(Obstacle::NotOpen),
    };
    // The lowest rank's obstacle: a minimum, as the maximum of the complement.
    let code =
        mine.as_ref().err().map_or(u64::MAX, |obstacle| u64::from(wanted.rank) << 32 | obstacle.code());
    let mut words = [!code];
    mpi::all_reduce_max(comm, &mut words)?;
    let least = !words[0];
    match (mine, handle) {
        (Ok(backend), Some(fh)) if least == u64::MAX => {
            table::insert(fh, start(comm, backend, amode, wanted));
        }
        _ => explain(&wanted, least),
    }
    Ok(())
}

/// Says on rank 0 why tatpio, which was asked for, does not serve a file.
fn explain(wanted: &Wanted, least: u64) {
    if wanted.rank != 0 || wanted.given.hints.tatpio != Switch::Enable {
        return;
    }
    let reason = match Obstacle::of_code(least & 0xffff_ffff) {
        Obstacle::NotOpen => return, // the program has the MPI library's error
        Obstacle::NotRegular => "it is not a regular file".to_owned(),
        Obstacle::System(number) => {
            let error = io::Error::from_raw_os_error(i32::from(number));
            format!("rank {} cannot open it a second time: {error}", least >> 32)
        }
    };
    report::warn(&format!("{}: tatpio is not used: {reason}", wanted.name));
}

/// tatpio's own descriptor. Local.
fn second_descriptor(path: &Path, amode: c_int) -> Result<PosixFile, Obstacle> {
    let system = |error: io::Error| {
        Obstacle::System(error.raw_os_error().and_then(|number| u16::try_from(number).ok()).unwrap_or(0))
    };
    // Before opening: to open a pipe or a device can block, or do something.
    if !std::fs::metadata(path).map_err(system)?.is_file() {
        return Err(Obstacle::NotRegular);
    }
    let access = match (mpi::may_read(amode), mpi::may_write(amode)) {
        (true, true) => Access::ReadWrite,
        (true, false) => Access::ReadOnly,
        (false, _) => Access::WriteOnly,
    };
    PosixFile::open(path, access).map_err(system)
}

/// The state of a file that every rank could open. Collective.
fn start(comm: MPI_Comm, backend: PosixFile, amode: c_int, wanted: Wanted) -> State {
    // SAFETY: the MPI library has just opened a file on this communicator, which is no inter-communicator.
    let comm = unsafe { MpiComm::dup(comm) };
    let setup = FileSetup {
        name: wanted.name.clone(),
        hints: hints::of_rank_0(&comm, &wanted.given.hints),
        hosts: hosts(&comm),
        processors: processors(),
        slurm_address: std::env::var("SLURM_TOPOLOGY_ADDR").ok(),
        block_bytes: backend.block_bytes(),
    };
    State {
        name: wanted.name,
        engine: Engine::open(comm, backend, setup),
        view: View::bytes(),
        program_types: None,
        foreign_view: false,
        atomic: false,
        may_read: mpi::may_read(amode),
        may_write: mpi::may_write(amode),
        split: Split::None,
    }
}

/// The host and the shared-memory group of every rank. Collective.
fn hosts(comm: &MpiComm) -> Vec<(String, u64)> {
    // A group goes by the lowest rank in it.
    let mut lowest = [u64::from(comm.rank().0)];
    comm.node_group().all_reduce(Reduce::Min, &mut lowest);
    let mut mine = lowest[0].to_le_bytes().to_vec();
    mine.extend(host_name().into_bytes());
    let host = |card: Vec<u8>| {
        let (group, name) = card.split_first_chunk().expect("every rank sends its group");
        (String::from_utf8_lossy(name).into_owned(), u64::from_le_bytes(*group))
    };
    comm.all_gather(&mine).into_iter().map(host).collect()
}

/// The processors that this process may run on; none where the system does not say.
fn processors() -> Vec<usize> {
    // SAFETY: a cpu_set_t is a plain bit set, for which zeros are valid; the call writes as many bytes as it
    // is told.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) != 0 {
            return Vec::new();
        }
        set
    };
    let limit = usize::try_from(libc::CPU_SETSIZE).expect("a small number");
    // SAFETY: each number is below CPU_SETSIZE.
    (0..limit).filter(|&processor| unsafe { libc::CPU_ISSET(processor, &set) }).collect()
}

/// MPI_File_close (MPI-4.1, section 14.2.2). Collective.
///
/// Like ROMIO's, it does not force data to the storage device: MPI_File_sync does.
///
/// # Safety
///
/// The MPI standard's duties.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_File_close(fh: *mut MPI_File) -> c_int {
    guarded("MPI_File_close", || {
        // SAFETY: the caller's handle, null or readable.
        if let Some(&handle) = unsafe { fh.as_ref() } {
            // Before the MPI library's close, after which the handle may be given to another file. Frees the
            // communicator.
            drop(table::remove(handle));
        }
        // SAFETY: the caller's argument, as it came.
        unsafe { mpi::ffi::PMPI_File_close(fh) }
    })
}
