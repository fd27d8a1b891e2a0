//! The checks of `faults_and_edges`, by subject, and what they share. A check panics where something is
//! wrong, which ends the job.

mod arguments;
mod handles;
mod hints;
mod modes;
mod pointers;
mod views;

use crate::mpi_io::{Comm, Data, Datatype, File, Form, Info, Result, Status, mode};
use crate::scratch;
use std::fs;
use std::os::fd::AsFd;

/// A check and its name.
pub type Check = (&'static str, fn(&Here));

/// The checks that enable tatpio.
pub const ALL: [Check; 34] = [
    ("bad_hints_warn_once_on_rank_0", hints::bad_hints_warn_once_on_rank_0),
    ("mismatched_hints_are_those_of_rank_0", hints::mismatched_hints_are_those_of_rank_0),
    ("mismatched_switch_is_that_of_rank_0", hints::mismatched_switch_is_that_of_rank_0),
    ("hints_come_from_a_file", hints::hints_come_from_a_file),
    ("the_program_wins_over_the_environment", hints::the_program_wins_over_the_environment),
    ("hints_change_with_set_info_and_set_view", hints::hints_change_with_set_info_and_set_view),
    ("automatic_is_for_several_ranks", hints::automatic_is_for_several_ranks),
    ("disabled_files_are_left_alone", hints::disabled_files_are_left_alone),
    ("errors_of_one_rank_reach_all", arguments::errors_of_one_rank_reach_all),
    ("error_handlers_may_call_mpi", arguments::error_handlers_may_call_mpi),
    ("a_full_disk_is_no_space", arguments::a_full_disk_is_no_space),
    ("a_file_size_limit_is_no_space", arguments::a_file_size_limit_is_no_space),
    ("forbidden_calls_fail", modes::forbidden_calls_fail),
    ("write_only_keeps_the_holes", modes::write_only_keeps_the_holes),
    ("append_starts_at_the_end", modes::append_starts_at_the_end),
    ("delete_on_close_deletes", modes::delete_on_close_deletes),
    ("exclusive_creation", modes::exclusive_creation),
    ("what_is_no_regular_file_passes_through", modes::what_is_no_regular_file_passes_through),
    ("sequential_files_pass_through", modes::sequential_files_pass_through),
    ("file_system_prefixes", modes::file_system_prefixes),
    ("atomic_mode_passes_through", modes::atomic_mode_passes_through),
    ("external32_passes_through", views::external32_passes_through),
    ("get_view_returns_the_programs_types", views::get_view_returns_the_programs_types),
    ("a_refused_view_changes_nothing", views::a_refused_view_changes_nothing),
    ("pairs_leave_their_gaps_out", views::pairs_leave_their_gaps_out),
    ("fortran_kinds_are_plain_data", views::fortran_kinds_are_plain_data),
    ("short_reads_say_how_much", pointers::short_reads_say_how_much),
    ("pointers_across_kinds_of_calls", pointers::pointers_across_kinds_of_calls),
    ("split_calls", pointers::split_calls),
    ("sizes_are_seen_at_once", pointers::sizes_are_seen_at_once),
    ("ranks_with_nothing", pointers::ranks_with_nothing),
    ("several_files_and_communicators", handles::several_files_and_communicators),
    ("threads_on_files_of_their_own", handles::threads_on_files_of_their_own),
    ("nothing_leaks", handles::nothing_leaks),
];

/// The check of a run without any hint.
pub const NEVER: [Check; 1] = [("nobody_enables_tatpio", hints::nobody_enables_tatpio)];

/// Where a check runs.
pub struct Here {
    /// All ranks.
    pub world: Comm,
    path: String,
}

impl Here {
    /// Collective.
    pub fn new() -> Here {
        let world = Comm::world();
        let path = scratch::path(&world, "edges");
        Here { world, path }
    }

    /// Says on rank 0 what comes, and sets the environment back to `tatpio=enable`. Collective.
    pub fn announce(&self, name: &str) {
        if self.rank() == 0 {
            eprintln!("-- {name}");
        }
        self.environment(Some("tatpio=enable"));
        self.world.barrier();
    }

    /// Says on rank 0 what was done.
    pub fn finish(&self, checks: usize) {
        if self.rank() == 0 {
            let _ = fs::remove_file(&self.path);
            println!(
                "faults_and_edges: {checks} checks on {} ranks of {} passed",
                self.world.size(),
                pmpi_sys::IMPLEMENTATION
            );
        }
    }

    fn rank(&self) -> usize {
        self.world.rank()
    }

    /// Sets or removes TATPIO_HINTS, which is read when a file is opened. Local.
    fn environment(&self, hints: Option<&str>) {
        // SAFETY: no other thread runs while a check changes the environment.
        unsafe {
            match hints {
                Some(text) => std::env::set_var("TATPIO_HINTS", text),
                None => std::env::remove_var("TATPIO_HINTS"),
            }
        }
    }

    /// The scratch file, holding these bytes. Collective.
    fn file_with(&self, bytes: &[u8]) -> &str {
        self.world.barrier();
        if self.rank() == 0 {
            fs::write(&self.path, bytes).expect("the scratch folder can be written");
        }
        self.world.barrier();
        &self.path
    }

    /// Opens the scratch file for reading and writing. Collective.
    fn open(&self, bytes: &[u8], info: &Info) -> File {
        let path = self.file_with(bytes);
        File::open(&self.world, path, mode::RDWR, info).expect("the scratch file opens")
    }

    /// As [`Here::open`], without hints of its own, and served by tatpio.
    fn served(&self, bytes: &[u8]) -> File {
        let file = self.open(bytes, &Info::null());
        assert!(is_served(&file), "tatpio serves the file: is it preloaded?");
        file
    }

    /// What the scratch file holds. Collective.
    fn content(&self) -> Vec<u8> {
        self.world.barrier();
        let bytes = fs::read(&self.path).expect("the scratch file can be read");
        self.world.barrier();
        bytes
    }

    /// The same data on every rank's place: rank 0's byte value is `first`, the next one's one more.
    fn pattern(&self, first: u8, block: usize) -> Vec<u8> {
        let value = |rank: usize| first + u8::try_from(rank).expect("few ranks");
        (0..self.world.size()).flat_map(|rank| vec![value(rank); block]).collect()
    }

    /// Writes this rank's block of that pattern in the plainest way, and returns it. Collective.
    fn write_pattern(&self, file: &File, first: u8, block: usize) -> Result<()> {
        let mut mine = vec![first + u8::try_from(self.rank()).expect("few ranks"); block];
        let offset = i64::try_from(self.rank() * block).expect("a small file");
        let status = write(file, Some(offset), &mut mine)?;
        assert_eq!(status.bytes(), block as u64);
        Ok(())
    }

    /// The class that every rank got; panics where they differ. Collective.
    fn agreed_class<T>(&self, outcome: Result<T>) -> i32 {
        let class = outcome.err().map_or(0, |error| error.class);
        let all = self.world.all(u64::try_from(class).expect("classes are not negative"));
        assert!(all.iter().all(|&other| other == all[0]), "the ranks' error classes differ: {all:?}");
        class
    }
}

impl Default for Here {
    fn default() -> Here {
        Here::new()
    }
}

/// Whether tatpio is in charge of a file.
fn is_served(file: &File) -> bool {
    let switch = hint(file, "tatpio");
    switch.as_deref() == Some("enable") || switch.as_deref() == Some("automatic")
}

/// A hint in use.
fn hint(file: &File, key: &str) -> Option<String> {
    file.info().expect("the hints of an open file").get(key)
}

/// Bytes at an offset in etypes, or at the individual file pointer. Collective.
fn write(file: &File, offset: Option<i64>, bytes: &mut [u8]) -> Result<Status> {
    file.write_all(Form::Plain, offset, Data::bytes(bytes, &Datatype::byte()))
}

/// Bytes from an offset in etypes, or from the individual file pointer. Collective.
fn read(file: &File, offset: Option<i64>, bytes: &mut [u8]) -> Result<Status> {
    file.read_all(Form::Plain, offset, Data::bytes(bytes, &Datatype::byte()))
}

/// What is printed to this process's standard error while `body` runs.
fn printed<T>(here: &Here, body: impl FnOnce() -> T) -> (T, String) {
    let path = format!("{}-stderr-{}", here.path, here.rank());
    let catcher = fs::File::create(&path).expect("the scratch folder can be written");
    let stderr = std::io::stderr();
    let before = stderr.as_fd().try_clone_to_owned().expect("a descriptor more");
    nix::unistd::dup2_stderr(&catcher).expect("descriptors of our own");
    let outcome = body();
    nix::unistd::dup2_stderr(&before).expect("descriptors of our own");
    let text = fs::read_to_string(&path).expect("just written");
    let _ = fs::remove_file(&path);
    (outcome, text)
}

/// How many lines hold a text.
fn lines_with(text: &str, part: &str) -> usize {
    text.lines().filter(|line| line.contains(part)).count()
}
