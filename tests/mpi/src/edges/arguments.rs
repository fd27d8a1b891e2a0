//! Errors: of arguments, of one rank, of the storage; the same class everywhere, and nobody waits for ever.

use super::{Here, printed, write};
use crate::mpi_io::{Data, Datatype, File, Form, Info, Result, Status, class, mode};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use std::fs;

/// What is wrong with the last rank's call.
const MISTAKES: [(&str, i32); 4] =
    [("count", class::COUNT), ("datatype", class::TYPE), ("offset", class::ARG), ("etype", class::IO)];

pub fn errors_of_one_rank_reach_all(here: &Here) {
    let file = here.served(b"");
    let int = Datatype::int();
    file.set_view(0, &int, &int, "native", &Info::null()).expect("a view");
    for (mistake, expected) in MISTAKES {
        for form in Form::ALL {
            let (outcome, text) = printed(here, || wrong_call(here, &file, mistake, form));
            assert_eq!(here.agreed_class(outcome), expected, "{mistake} {form:?}");
            // The rank that was wrong says how, once; the others print nothing.
            let guilty = here.rank() + 1 == here.world.size();
            assert_eq!(text.lines().count(), usize::from(guilty), "{mistake} {form:?}: {text:?}");
            if guilty {
                assert!(text.contains(&here.path) && text.contains("_all"), "{text:?}");
            }
        }
    }
    // The file is as good as before.
    assert_eq!(file.position().expect("a position"), 0);
    here.write_pattern_of_ints(&file);
    file.close().expect("closes");
}

impl Here {
    /// Each rank one int, in order of ranks. Collective.
    fn write_pattern_of_ints(&self, file: &File) {
        let value = i32::try_from(self.rank()).expect("few ranks");
        let offset = i64::try_from(self.rank()).expect("few ranks");
        let mut bytes = value.to_ne_bytes();
        let data = Data { buffer: &mut bytes, base: 0, count: 1, datatype: &Datatype::int() };
        let status = file.write_all(Form::Plain, Some(offset), data).expect("writes");
        assert_eq!(status.count(&Datatype::int()), Some(1));
        let ranks = 0..i32::try_from(self.world.size()).expect("few ranks");
        let expected: Vec<u8> = ranks.flat_map(i32::to_ne_bytes).collect();
        assert_eq!(self.content(), expected);
    }
}

/// A write that is right on all ranks but the last. Collective.
fn wrong_call(here: &Here, file: &File, mistake: &str, form: Form) -> Result<Status> {
    let guilty = here.rank() + 1 == here.world.size();
    let is = |name| guilty && mistake == name;
    let datatype = match mistake {
        "datatype" if guilty => Datatype::null(),
        "etype" => Datatype::byte(),
        _ => Datatype::int(),
    };
    let whole = if mistake == "etype" { 4 } else { 1 };
    let count = if is("count") {
        -1
    } else if is("etype") {
        3
    } else {
        whole
    };
    let offset = if is("offset") { -1 } else { 0 };
    let mut buffer = [1; 16];
    let data = Data { buffer: &mut buffer, base: 0, count, datatype: &datatype };
    file.write_all(form, Some(offset), data)
}

pub fn error_handlers_may_call_mpi(here: &Here) {
    let file = here.served(b"");
    let calls = file.count_errors();
    let outcome = wrong_call_of_bytes(&file);
    assert_eq!(here.agreed_class(outcome), class::COUNT);
    assert_eq!(calls(), 1, "the file's error handler is called once a failed call");
    here.write_pattern(&file, 1, 10).expect("writes");
    assert_eq!(calls(), 1);
    file.close().expect("closes");
}

fn wrong_call_of_bytes(file: &File) -> Result<Status> {
    let mut buffer = [1; 16];
    let data = Data { buffer: &mut buffer, base: 0, count: -1, datatype: &Datatype::byte() };
    file.write_all(Form::Plain, Some(0), data)
}

/// A file system of a few pages, where this process may mount one; elsewhere the check says so and does
/// nothing.
pub fn a_full_disk_is_no_space(here: &Here) {
    let folder = format!("{}-disk", here.path);
    let mut mounted = true;
    if here.rank() == 0 {
        fs::create_dir(&folder).expect("the scratch folder can be written");
        let outcome =
            mount(Some("tatpio"), folder.as_str(), Some("tmpfs"), MsFlags::empty(), Some("size=256k"));
        if let Err(error) = outcome {
            eprintln!("   not done: a file system for it cannot be mounted: {error}");
            mounted = false;
        }
    }
    if here.world.all_true(mounted) {
        let path = format!("{folder}/file");
        let file = File::open(&here.world, &path, mode::RDWR | mode::CREATE, &Info::null()).expect("opens");
        // The files stay while they are open, whatever happens to this check.
        here.world.barrier();
        if here.rank() == 0 {
            umount2(folder.as_str(), MntFlags::MNT_DETACH).expect("mounted above");
        }
        fills_up(here, &file);
        file.close().expect("closes");
    }
    here.world.barrier();
    if here.rank() == 0 {
        fs::remove_dir(&folder).expect("empty");
    }
}

/// Writes past the room there is: an error of one class everywhere, and a smaller write works.
fn fills_up(here: &Here, file: &File) {
    let block = 1 << 20;
    let offset = i64::try_from(here.rank() * block).expect("small");
    let outcome = write(file, Some(offset), &mut vec![1; block]);
    assert_eq!(here.agreed_class(outcome), class::NO_SPACE);
    file.set_size(0).expect("room again");
    here.write_pattern(file, 1, 1000).expect("writes");
    let mut back = vec![0; 1000 * here.world.size()];
    assert_eq!(super::read(file, Some(0), &mut back).expect("reads").bytes(), back.len() as u64);
    assert_eq!(back, here.pattern(1, 1000));
}

/// A limit on the size of files instead of a full disk: EFBIG, which MPI has no other class for.
pub fn a_file_size_limit_is_no_space(here: &Here) {
    let file = here.served(b"");
    // SAFETY: no handler is run: the signal is ignored, so that the write returns an error.
    let before =
        unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.expect("a signal that can be ignored");
    let (soft, hard) = getrlimit(Resource::RLIMIT_FSIZE).expect("limits can be read");
    setrlimit(Resource::RLIMIT_FSIZE, 256 << 10, hard).expect("limits can be lowered");
    fills_up(here, &file);
    setrlimit(Resource::RLIMIT_FSIZE, soft, hard).expect("limits can be raised to where they were");
    // SAFETY: what was there before.
    unsafe { signal(Signal::SIGXFSZ, before) }.expect("a signal that can be handled");
    file.close().expect("closes");
}
