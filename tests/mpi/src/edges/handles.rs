//! Several files at a time, threads, and what is left when files are closed.

use super::{Here, is_served, read, write};
use crate::mpi_io::{Comm, File, Info, mode};
use std::fs;

pub fn several_files_and_communicators(here: &Here) {
    let half = here.world.split(here.rank() % 2);
    let amode = mode::RDWR | mode::CREATE | mode::DELETE_ON_CLOSE;
    let open = |comm: &Comm, name: String| {
        let file = File::open(comm, &format!("{}-{name}", here.path), amode, &Info::null()).expect("opens");
        assert!(is_served(&file));
        file
    };
    let files = [
        (&here.world, open(&here.world, "a".into())),
        (&half, open(&half, format!("half-{}", here.rank() % 2))),
        (&here.world, open(&here.world, "b".into())),
        (&Comm::itself(), open(&Comm::itself(), format!("self-{}", here.rank()))),
    ];
    for round in 0..3u8 {
        for (index, (comm, file)) in (0u8..).zip(&files) {
            let mut mine = [10 * round + index; 7];
            let offset = 7 * (usize::from(round) * comm.size() + comm.rank());
            write(file, Some(i64::try_from(offset).expect("small")), &mut mine).expect("writes");
        }
    }
    for (index, (comm, file)) in (0u8..).zip(&files) {
        let mut all = vec![0; 3 * 7 * comm.size()];
        read(file, Some(0), &mut all).expect("reads");
        let expected: Vec<u8> = (0..3).flat_map(|round| vec![10 * round + index; 7 * comm.size()]).collect();
        assert_eq!(all, expected);
    }
    for (_, file) in files {
        file.close().expect("closes");
    }
}

/// Each thread has a file and a communicator of its own; their collective calls run at the same time, in any
/// order. Files are opened and closed by one thread: with several, MPI_File_open of MPICH 4.0.2 hangs, and so
/// do its own collective reads and writes.
pub fn threads_on_files_of_their_own(here: &Here) {
    if !here.world.all_true(Comm::threads_may_call()) {
        if here.rank() == 0 {
            eprintln!("   not done: the MPI library does not take calls from several threads");
        }
        return;
    }
    let open = |number: usize| {
        let comm = here.world.split(0);
        let amode = mode::RDWR | mode::CREATE | mode::DELETE_ON_CLOSE;
        let path = format!("{}-thread-{number}", here.path);
        let file = File::open(&comm, &path, amode, &Info::null()).expect("opens");
        assert!(is_served(&file));
        (comm, file)
    };
    let files: Vec<(Comm, File)> = (0..3).map(open).collect();
    std::thread::scope(|scope| {
        for (comm, file) in &files {
            scope.spawn(move || {
                for round in 0..20u8 {
                    let mut mine = [round; 1000];
                    write(file, Some(i64::try_from(1000 * comm.rank()).expect("small")), &mut mine)
                        .expect("writes");
                    let mut all = vec![0; 1000 * comm.size()];
                    read(file, Some(0), &mut all).expect("reads");
                    assert!(all.iter().all(|&byte| byte == round));
                    comm.barrier();
                }
            });
        }
    });
    for (_, file) in files {
        file.close().expect("closes");
    }
}

/// Descriptors are counted. Communicators and other MPI handles cannot be, but MPI libraries have only some
/// thousands.
pub fn nothing_leaks(here: &Here) {
    let path = here.file_with(b"").to_owned();
    let descriptors = || fs::read_dir("/proc/self/fd").expect("Linux").count();
    let cycle = || {
        let file = File::open(&here.world, &path, mode::RDWR, &Info::null()).expect("opens");
        here.write_pattern(&file, 1, 100).expect("writes");
        file.close().expect("closes");
    };
    for _ in 0..10 {
        cycle();
    }
    let before = descriptors();
    for _ in 0..200 {
        cycle();
    }
    assert_eq!(descriptors(), before);
}
