//! Where hints come from, and what happens to wrong ones.

use super::{Here, hint, is_served, lines_with, printed, write};
use crate::mpi_io::{Comm, Datatype, File, Info, mode};
use std::fs;

pub fn bad_hints_warn_once_on_rank_0(here: &Here) {
    let file = here.served(b"");
    let default = hint(&file, "cb_buffer_size");
    file.close().expect("closes");
    let info =
        Info::new(&[("tatpio_asign", "hop_bytes"), ("cb_buffer_size", "plenty"), ("tatpio_assign", "best")]);
    for round in 0..2 {
        let (file, text) = printed(here, || here.open(b"", &info));
        // Each once a process, however many files are opened; the text says what was expected.
        let expected = usize::from(here.rank() == 0 && round == 0);
        for part in ["tatpio_asign=\"hop_bytes\"", "cb_buffer_size=\"plenty\"", "tatpio_assign=\"best\""] {
            assert_eq!(lines_with(&text, part), expected, "{part}: {text:?}");
        }
        assert!(text.lines().all(|line| line.contains("expected")), "{text:?}");
        assert_eq!(hint(&file, "cb_buffer_size"), default);
        assert_eq!(hint(&file, "tatpio_assign").as_deref(), Some("hop_bytes"));
        assert!(is_served(&file));
        file.close().expect("closes");
    }
}

pub fn mismatched_hints_are_those_of_rank_0(here: &Here) {
    let mine = ((here.rank() + 1) * 4096).to_string();
    let (file, text) = printed(here, || here.open(b"", &Info::new(&[("cb_buffer_size", &mine)])));
    let several = here.world.size() > 1;
    assert_eq!(lines_with(&text, "different hints"), usize::from(several && here.rank() == 0), "{text:?}");
    assert_eq!(hint(&file, "cb_buffer_size").as_deref(), Some("4096"));
    here.write_pattern(&file, 1, 100).expect("writes");
    file.close().expect("closes");
    assert_eq!(here.content(), here.pattern(1, 100));
}

pub fn mismatched_switch_is_that_of_rank_0(here: &Here) {
    for rank_0_asks in [false, true] {
        let switch = if (here.rank() == 0) == rank_0_asks { "enable" } else { "disable" };
        let file = here.open(b"", &Info::new(&[("tatpio", switch)]));
        assert_eq!(is_served(&file), rank_0_asks);
        here.write_pattern(&file, 1, 100).expect("writes");
        file.close().expect("closes");
        assert_eq!(here.content(), here.pattern(1, 100));
    }
}

pub fn hints_come_from_a_file(here: &Here) {
    let path = format!("{}-hints", here.path);
    if here.rank() == 0 {
        fs::write(&path, "# what a site might set\ntatpio=enable\ncb_buffer_size 65536\n").expect("writable");
    }
    here.environment(Some(&path));
    let file = here.open(b"", &Info::null());
    assert!(is_served(&file));
    assert_eq!(hint(&file, "cb_buffer_size").as_deref(), Some("65536"));
    file.close().expect("closes");
    if here.rank() == 0 {
        fs::remove_file(&path).expect("just read");
    }
    here.world.barrier();

    let (file, text) = printed(here, || here.open(b"", &Info::null()));
    assert_eq!(lines_with(&text, "TATPIO_HINTS"), usize::from(here.rank() == 0), "{text:?}");
    assert!(!is_served(&file));
    file.close().expect("closes");
}

pub fn the_program_wins_over_the_environment(here: &Here) {
    here.environment(Some("tatpio=enable;cb_buffer_size=4096;cb_nodes=1"));
    let file = here.open(b"", &Info::new(&[("cb_buffer_size", "8192")]));
    assert_eq!(hint(&file, "cb_buffer_size").as_deref(), Some("8192"));
    assert_eq!(hint(&file, "cb_nodes").as_deref(), Some("1"));
    file.close().expect("closes");
}

pub fn hints_change_with_set_info_and_set_view(here: &Here) {
    let file = here.served(b"");
    file.set_info(&Info::new(&[("cb_nodes", "2")])).expect("hints");
    assert_eq!(hint(&file, "cb_nodes").as_deref(), Some("2"));
    let byte = Datatype::byte();
    file.set_view(0, &byte, &byte, "native", &Info::new(&[("cb_buffer_size", "12288")])).expect("a view");
    assert_eq!(hint(&file, "cb_buffer_size").as_deref(), Some("12288"));
    here.write_pattern(&file, 1, 5000).expect("writes");

    file.set_info(&Info::new(&[("tatpio", "disable")])).expect("hints");
    assert!(!is_served(&file));
    here.write_pattern(&file, 101, 5000).expect("writes");
    file.set_info(&Info::new(&[("tatpio", "enable")])).expect("hints");
    assert!(is_served(&file));
    // Different hints on different ranks, later than at open.
    let mine = ((here.rank() + 1) * 4096).to_string();
    file.set_info(&Info::new(&[("cb_buffer_size", &mine)])).expect("hints");
    assert_eq!(hint(&file, "cb_buffer_size").as_deref(), Some("4096"));
    file.close().expect("closes");
    assert_eq!(here.content(), here.pattern(101, 5000));
}

pub fn automatic_is_for_several_ranks(here: &Here) {
    here.environment(Some("tatpio=automatic"));
    let file = here.open(b"", &Info::null());
    assert_eq!(is_served(&file), here.world.size() > 1);
    file.close().expect("closes");

    let path = format!("{}-{}", here.path, here.rank());
    for (switch, served) in [("automatic", false), ("enable", true)] {
        let info = Info::new(&[("tatpio", switch)]);
        let file = File::open(&Comm::itself(), &path, mode::RDWR | mode::CREATE, &info).expect("opens");
        assert_eq!(is_served(&file), served, "{switch}");
        write(&file, Some(3), &mut [7; 5]).expect("writes");
        file.close().expect("closes");
        assert_eq!(fs::read(&path).expect("just written"), [0, 0, 0, 7, 7, 7, 7, 7]);
        fs::remove_file(&path).expect("just read");
    }
}

pub fn disabled_files_are_left_alone(here: &Here) {
    here.environment(Some("tatpio=enable"));
    let file = here.open(b"", &Info::new(&[("tatpio", "disable")]));
    left_alone(here, file);
    here.environment(None);
    let file = here.open(b"", &Info::null());
    left_alone(here, file);
}

/// A run without TATPIO_HINTS and without a word of tatpio in the program.
pub fn nobody_enables_tatpio(here: &Here) {
    here.environment(None);
    let (file, text) = printed(here, || here.open(b"", &Info::new(&[("cb_buffer_size", "plenty")])));
    assert_eq!(lines_with(&text, "tatpio"), 0, "{text:?}");
    left_alone(here, file);
}

/// The bytes are right, and no hint speaks of tatpio but one that says it is off.
fn left_alone(here: &Here, file: File) {
    assert!(!is_served(&file));
    let keys = file.info().expect("hints").keys();
    assert!(!keys.iter().any(|key| key.starts_with("tatpio_")), "{keys:?}");
    here.write_pattern(&file, 1, 1000).expect("writes");
    file.close().expect("closes");
    assert_eq!(here.content(), here.pattern(1, 1000));
}
