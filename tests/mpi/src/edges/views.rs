//! Views: those that tatpio leaves to the MPI library, and what the program gets back.

use super::{Here, is_served, lines_with, printed};
use crate::mpi_io::{Data, Datatype, Form, Info};

/// With tatpio the file holds what it holds without: the MPI library converts, or refuses.
pub fn external32_passes_through(here: &Here) {
    let contents = ["disable", "enable"].map(|switch| {
        let file = here.open(b"", &Info::new(&[("tatpio", switch)]));
        let int = Datatype::int();
        let class = here.agreed_class(file.set_view(0, &int, &int, "external32", &Info::null()));
        let rank = i32::try_from(here.rank()).expect("few ranks");
        let mut bytes = (0x0102_0300 + rank).to_ne_bytes();
        let data = Data { buffer: &mut bytes, base: 0, count: 1, datatype: &int };
        let wrote = here.agreed_class(file.write_all(Form::Plain, Some(rank.into()), data));
        // A native view is tatpio's again.
        let byte = Datatype::byte();
        file.set_view(0, &byte, &byte, "native", &Info::null()).expect("a view");
        assert_eq!(is_served(&file), switch == "enable");
        file.sync().expect("syncs");
        let content = here.content();
        here.write_pattern(&file, 1, 100).expect("writes");
        file.close().expect("closes");
        assert_eq!(here.content(), here.pattern(1, 100));
        (class, wrote, content)
    });
    assert_eq!(contents[0], contents[1]);
}

pub fn get_view_returns_the_programs_types(here: &Here) {
    let file = here.served(b"");
    let (_, etype, filetype, _) = file.view().expect("a view");
    assert_eq!(etype.measures(), Ok((1, 0, 1)));
    assert_eq!(filetype.measures(), Ok((1, 0, 1)));

    let pair = Datatype::double_int();
    let tiles = Datatype::strided(3, 2, 5, &pair).expect("a type");
    file.set_view(1000, &pair, &tiles, "native", &Info::null()).expect("a view");
    for _ in 0..2 {
        let (disp, etype, filetype, datarep) = file.view().expect("a view");
        assert_eq!((disp, datarep.as_str()), (1000, "native"));
        assert_eq!(etype.measures(), pair.measures());
        assert_eq!(filetype.measures(), tiles.measures());
        // They are types like others: a view can be made of them.
        file.set_view(1000, &etype, &filetype.commit().expect("a type"), "native", &Info::null())
            .expect("a view");
    }
    file.close().expect("closes");
}

pub fn a_refused_view_changes_nothing(here: &Here) {
    let file = here.served(b"");
    let byte = Datatype::byte();
    let tile = Datatype::blocks(&[(10, 10 * here.rank())], 10 * here.world.size()).expect("a type");
    file.set_view(0, &byte, &tile, "native", &Info::null()).expect("a view");
    let (outcome, text) = printed(here, || file.set_view(0, &byte, &byte, "nonsense", &Info::null()));
    assert_ne!(here.agreed_class(outcome), 0);
    assert_eq!(lines_with(&text, "tatpio"), 0, "{text:?}");
    let mut mine = [b'a' + u8::try_from(here.rank()).expect("few ranks"); 10];
    file.write_all(Form::Plain, None, Data::bytes(&mut mine, &byte)).expect("writes");
    file.close().expect("closes");
    assert_eq!(here.content(), here.pattern(b'a', 10));
}

/// The types of a value and an int have gaps; what is in them is not written.
pub fn pairs_leave_their_gaps_out(here: &Here) {
    for (pair, value) in Datatype::pairs() {
        let int = size_of::<i32>();
        let second = value.next_multiple_of(int);
        let (size, _, extent) = pair.measures().expect("a type");
        let extent = usize::try_from(extent).expect("not negative");
        assert_eq!(size, (value + int) as u64);
        let mut memory: Vec<u8> = (1..).take(3 * extent).collect();
        let element = |at: usize| [&memory[at..at + value], &memory[at + second..at + second + int]].concat();
        let mine: Vec<u8> = (0..3).flat_map(|index| element(index * extent)).collect();
        let file = here.served(b"");
        let offset = i64::try_from(here.rank() * mine.len()).expect("small");
        let data = Data { buffer: &mut memory, base: 0, count: 3, datatype: &pair };
        let status = file.write_all(Form::Plain, Some(offset), data).expect("writes");
        assert_eq!((status.bytes(), status.count(&pair)), (3 * size, Some(3)));
        file.close().expect("closes");
        assert_eq!(here.content(), mine.repeat(here.world.size()));
    }
}

pub fn fortran_kinds_are_plain_data(here: &Here) {
    let Ok(real) = Datatype::f90_real() else { return };
    let file = here.served(b"");
    let two = Datatype::strided(1, 2, 2, &real).expect("a type");
    file.set_view(0, &real, &two, "native", &Info::null()).expect("a view");
    let mut bytes = [b'a' + u8::try_from(here.rank()).expect("few ranks"); 16];
    let offset = i64::try_from(2 * here.rank()).expect("small");
    let data = Data { buffer: &mut bytes, base: 0, count: 1, datatype: &two };
    file.write_all(Form::Plain, Some(offset), data).expect("writes");
    file.close().expect("closes");
    assert_eq!(here.content(), here.pattern(b'a', 16));
}
