//! How a file is opened, and what it is.

use super::{Here, is_served, lines_with, printed, write};
use crate::mpi_io::{Data, Datatype, File, Form, Info, class, mode};
use std::fs;
use std::path::Path;

/// The classes are those of ROMIO's own errors. (Open MPI 4.1.4 says on 4 ranks that it wrote to a read-only
/// file.)
pub fn forbidden_calls_fail(here: &Here) {
    let path = here.file_with(b"0123456789");
    let opened = |amode| {
        let file = File::open(&here.world, path, amode, &Info::null()).expect("opens");
        assert!(is_served(&file));
        file
    };
    for form in Form::ALL {
        let file = opened(mode::RDONLY);
        let mut bytes = [1; 4];
        let outcome = file.write_all(form, Some(0), Data::bytes(&mut bytes, &Datatype::byte()));
        assert_eq!(here.agreed_class(outcome), class::READ_ONLY);
        let outcome = file.read_all(form, Some(6), Data::bytes(&mut bytes, &Datatype::byte()));
        assert_eq!(here.agreed_class(outcome), 0);
        assert_eq!(bytes, *b"6789");
        file.close().expect("closes");

        let file = opened(mode::WRONLY);
        let outcome = file.read_all(form, Some(0), Data::bytes(&mut bytes, &Datatype::byte()));
        assert_eq!(here.agreed_class(outcome), class::ACCESS);
        file.close().expect("closes");
    }
    assert_eq!(here.content(), b"0123456789");
}

/// Interleaved pieces with holes, through a descriptor that the program may not read from.
pub fn write_only_keeps_the_holes(here: &Here) {
    let ranks = here.world.size();
    let tile = 3 * ranks + 5;
    let path = here.file_with(&vec![b'.'; 40 * tile]);
    let file = File::open(&here.world, path, mode::WRONLY, &Info::null()).expect("opens");
    assert!(is_served(&file));
    let filetype = Datatype::blocks(&[(3, 3 * here.rank())], tile).expect("a type");
    file.set_view(0, &Datatype::byte(), &filetype, "native", &Info::null()).expect("a view");
    let letter = b'A' + u8::try_from(here.rank()).expect("few ranks");
    write(&file, Some(0), &mut [letter; 3 * 40]).expect("writes");
    file.close().expect("closes");
    let mut one: Vec<u8> = (b'A'..).take(ranks).flat_map(|letter| [letter; 3]).collect();
    one.extend([b'.'; 5]);
    assert_eq!(here.content(), one.repeat(40));
}

pub fn append_starts_at_the_end(here: &Here) {
    let path = here.file_with(b"0123456789");
    let file = File::open(&here.world, path, mode::RDWR | mode::APPEND, &Info::null()).expect("opens");
    assert!(is_served(&file));
    assert_eq!(file.position().expect("a position"), 10);
    file.seek(10 + 2 * here.rank() as u64).expect("seeks");
    write(&file, None, &mut [b'a' + u8::try_from(here.rank()).expect("few ranks"); 2]).expect("writes");
    assert_eq!(file.position().expect("a position"), 12 + 2 * here.rank() as u64);
    file.close().expect("closes");
    assert_eq!(here.content(), [b"0123456789", here.pattern(b'a', 2).as_slice()].concat());
}

pub fn delete_on_close_deletes(here: &Here) {
    let path = here.file_with(b"");
    let amode = mode::RDWR | mode::DELETE_ON_CLOSE;
    let file = File::open(&here.world, path, amode, &Info::null()).expect("opens");
    assert!(is_served(&file));
    here.write_pattern(&file, 1, 100).expect("writes");
    assert_eq!(here.content(), here.pattern(1, 100));
    file.close().expect("closes");
    here.world.barrier();
    assert!(!Path::new(path).exists());
}

pub fn exclusive_creation(here: &Here) {
    let path = here.file_with(b"").to_owned();
    if here.rank() == 0 {
        fs::remove_file(&path).expect("just made");
    }
    here.world.barrier();
    let amode = mode::RDWR | mode::CREATE | mode::EXCL;
    let file = File::open(&here.world, &path, amode, &Info::null()).expect("opens");
    assert!(is_served(&file));
    here.write_pattern(&file, 1, 100).expect("writes");
    file.close().expect("closes");
    let second = File::open(&here.world, &path, amode, &Info::null());
    assert_ne!(here.agreed_class(second.map(drop_open)), 0);
    let missing = File::open(&here.world, &format!("{path}-missing"), mode::RDWR, &Info::null());
    assert_ne!(here.agreed_class(missing.map(drop_open)), 0);
    assert_eq!(here.content(), here.pattern(1, 100));
}

fn drop_open(file: File) {
    file.close().expect("closes");
}

pub fn what_is_no_regular_file_passes_through(here: &Here) {
    let (file, text) = printed(here, || File::open(&here.world, "/dev/null", mode::RDWR, &Info::null()));
    let Ok(file) = file else {
        // Not every MPI library opens devices.
        return assert_ne!(here.agreed_class(file), 0);
    };
    assert!(!is_served(&file));
    assert_eq!(lines_with(&text, "not a regular file"), usize::from(here.rank() == 0), "{text:?}");
    write(&file, Some(0), &mut [1; 10]).expect("writes");
    file.close().expect("closes");
}

pub fn sequential_files_pass_through(here: &Here) {
    let path = here.file_with(b"");
    match File::open(&here.world, path, mode::WRONLY | mode::SEQUENTIAL, &Info::null()) {
        Ok(file) => {
            assert!(!is_served(&file));
            file.close().expect("closes");
        }
        Err(error) => assert_ne!(here.agreed_class::<()>(Err(error)), 0),
    }
}

/// ROMIO's; Open MPI opens no such names.
pub fn file_system_prefixes(here: &Here) {
    let path = here.file_with(b"");
    for (prefix, served) in [("ufs:", true), ("nfs:", false)] {
        match File::open(&here.world, &format!("{prefix}{path}"), mode::RDWR, &Info::null()) {
            Ok(file) => {
                assert_eq!(is_served(&file), served, "{prefix}");
                here.write_pattern(&file, 1, 10).expect("writes");
                file.close().expect("closes");
                assert_eq!(here.content(), here.pattern(1, 10));
            }
            Err(error) => assert_ne!(here.agreed_class::<()>(Err(error)), 0),
        }
    }
}

pub fn atomic_mode_passes_through(here: &Here) {
    let file = here.served(b"");
    for (on, first) in [(true, 1), (false, 101)] {
        if let Err(error) = file.set_atomicity(on) {
            assert_ne!(here.agreed_class::<()>(Err(error)), 0);
        }
        here.write_pattern(&file, first, 100).expect("writes");
        assert_eq!(here.content(), here.pattern(first, 100));
    }
    file.close().expect("closes");
}
