//! File pointers, sizes, statuses, and the split calls.

use super::{Here, read, write};
use crate::mpi_io::{Data, Datatype, File, Form, Info, class};

pub fn short_reads_say_how_much(here: &Here) {
    // 100 bytes a rank but for the last, which has 30, and the file ends there.
    let ranks = here.world.size();
    let file = here.served(&vec![b'x'; 100 * ranks - 70]);
    let whole = here.rank() + 1 < ranks;
    let mut buffer = vec![b'.'; 100];
    let offset = i64::try_from(100 * here.rank()).expect("small");
    let status = read(&file, Some(offset), &mut buffer).expect("a short read is no error");
    assert_eq!(status.bytes(), if whole { 100 } else { 30 });
    assert_eq!(status.count(&Datatype::byte()), Some(status.bytes()));
    assert_eq!(buffer.iter().filter(|&&byte| byte == b'x').count() as u64, status.bytes());

    // At the pointer: it moves by what was asked for. 30 bytes are seven ints and a half, which is no count.
    file.seek(100 * here.rank() as u64).expect("seeks");
    let int = Datatype::int();
    let data = Data { buffer: &mut buffer, base: 0, count: 25, datatype: &int };
    let status = file.read_all(Form::Plain, None, data).expect("a short read is no error");
    assert_eq!(status.count(&int), whole.then_some(25));
    assert_eq!(file.position().expect("a position"), 100 * (here.rank() + 1) as u64);

    // Nothing is left for anybody.
    let status = read(&file, Some(1 << 40), &mut buffer).expect("a short read is no error");
    assert_eq!(status.bytes(), 0);
    file.close().expect("closes");
}

/// Collective and independent calls take turns on one pointer, in a view with holes.
pub fn pointers_across_kinds_of_calls(here: &Here) {
    let file = here.served(b"");
    let ranks = here.world.size();
    let int = Datatype::int();
    let tile = Datatype::blocks(&[(8, 8 * here.rank())], 8 * ranks).expect("a type");
    file.set_view(0, &int, &tile, "native", &Info::null()).expect("a view");
    let value = b'a' + u8::try_from(here.rank()).expect("few ranks");
    let ints = |file: &File, count: usize| {
        let mut bytes = vec![value; 4 * count];
        let count = i64::try_from(count).expect("small");
        let data = Data { buffer: &mut bytes, base: 0, count, datatype: &int };
        file.write_all(Form::Plain, None, data).expect("writes")
    };
    ints(&file, 3);
    assert_eq!(file.position().expect("a position"), 3);
    file.write(&[value.to_ascii_uppercase(); 12]).expect("writes"); // three ints, by this rank alone
    assert_eq!(file.position().expect("a position"), 6);
    ints(&file, 4);
    assert_eq!(file.position().expect("a position"), 10);
    file.seek(1).expect("seeks");
    let mut back = [0; 36];
    let data = Data { buffer: &mut back, base: 0, count: 9, datatype: &int };
    assert_eq!(file.read_all(Form::Plain, None, data).expect("reads").bytes(), 36);
    let kinds: Vec<u8> = back.chunks(4).map(|chunk| chunk[0]).collect();
    let (small, capital) = (value, value.to_ascii_uppercase());
    assert_eq!(kinds, [small, small, capital, capital, capital, small, small, small, small]);
    assert_eq!(file.position().expect("a position"), 10);
    // A call with an offset leaves the pointer alone.
    let mut bytes = [value; 4];
    let data = Data { buffer: &mut bytes, base: 0, count: 1, datatype: &int };
    file.write_all(Form::Plain, Some(20), data).expect("writes");
    assert_eq!(file.position().expect("a position"), 10);
    file.close().expect("closes");
}

pub fn split_calls(here: &Here) {
    let file = here.served(b"");
    let byte = Datatype::byte();
    let mut mine = vec![b'a' + u8::try_from(here.rank()).expect("few ranks"); 50];
    file.seek(50 * here.rank() as u64).expect("seeks");
    let data = Data::bytes(&mut mine, &byte);
    file.begin(true, Form::Split, None, &data).expect("begins");
    assert_eq!(here.agreed_class(file.begin(true, Form::Split, None, &data)), class::IO, "one at a time");
    assert_eq!(file.end(true, false, &data).expect("ends").bytes(), 50);
    assert_eq!(file.position().expect("a position"), 50 * (here.rank() + 1) as u64);
    assert_eq!(here.agreed_class(file.end(true, false, &data)), class::IO, "nothing was begun");
    // The end of another call ends nothing well.
    file.begin(false, Form::Split, Some(0), &data).expect("begins");
    assert_eq!(here.agreed_class(file.end(false, false, &data)), class::IO);

    // In passing through, too.
    file.set_info(&Info::new(&[("tatpio", "disable")])).expect("hints");
    file.begin(true, Form::Split, Some(0), &data).expect("begins");
    assert_eq!(here.agreed_class(file.begin(true, Form::Split, Some(0), &data)), class::IO);
    file.end(true, true, &data).expect("ends");
    file.close().expect("closes");
}

pub fn sizes_are_seen_at_once(here: &Here) {
    let file = here.served(b"");
    here.write_pattern(&file, 1, 100).expect("writes");
    here.world.barrier();
    assert_eq!(file.size().expect("a size"), 100 * here.world.size() as u64);
    here.world.barrier();
    file.set_size(50).expect("a size");
    let mut buffer = [0; 100];
    assert_eq!(read(&file, Some(0), &mut buffer).expect("reads").bytes(), 50);
    file.preallocate(1000).expect("a size");
    assert_eq!(read(&file, Some(900), &mut buffer).expect("reads").bytes(), 100);
    assert_eq!(buffer, [0; 100], "what was cut off and allocated again is zeros");
    assert_eq!(file.read_at(0, &mut buffer).expect("reads"), 100);
    assert_eq!(buffer[..50], [1; 50]);
    file.sync().expect("syncs");
    file.close().expect("closes");
}

pub fn ranks_with_nothing(here: &Here) {
    let file = here.served(b"");
    for writer in 0..=here.world.size() {
        let mut bytes = if here.rank() == writer { vec![b'z'; 10] } else { Vec::new() };
        let status =
            write(&file, Some(i64::try_from(10 * writer).expect("small")), &mut bytes).expect("writes");
        assert_eq!(status.bytes(), bytes.len() as u64);
    }
    let mut bytes = if here.rank() == 0 { vec![0; 10 * here.world.size()] } else { Vec::new() };
    assert_eq!(read(&file, Some(0), &mut bytes).expect("reads").bytes(), bytes.len() as u64);
    assert!(bytes.iter().all(|&byte| byte == b'z'));
    file.close().expect("closes");
}
