//! The model on cases made by hand: every rule once, with the answer written out.

use tatpio_model::{
    Access, Case, Family, Limits, Model, Op, OpKind, POISON, RankCase, TypeSpec, View, simplify,
};

/// Ranks with plain byte views at the given displacements, on a file of `initial` bytes.
fn case(disps: &[u64], initial: &[u8], ops: Vec<Op>) -> Case {
    let view = |&disp: &u64| View { disp, etype: TypeSpec::BYTE, filetype: TypeSpec::BYTE };
    Case {
        seed: 5,
        limits: Limits::default(),
        family: Family::Blocks,
        ranks: disps.iter().map(|disp| RankCase { view: view(disp) }).collect(),
        hints: vec![(String::from("cb_nodes"), String::from("2"))],
        initial_offset: 0,
        initial: initial.to_vec(),
        ops,
    }
}

fn access(offset: u64, count: i32) -> Access {
    Access { offset, count, memtype: TypeSpec::BYTE, base: 0, buffer_len: count.unsigned_abs() as usize }
}

fn op(kind: OpKind, ranks: &[(u64, i32)]) -> Op {
    Op { kind, ranks: ranks.iter().map(|&(offset, count)| access(offset, count)).collect() }
}

/// Reads from a file in memory.
fn reader(file: &[u8]) -> impl FnMut(u64, &mut [u8]) {
    |at, bytes| bytes.copy_from_slice(&file[at as usize..][..bytes.len()])
}

#[test]
fn writes_extend_the_file_and_leave_zeros_in_gaps() {
    let case = case(&[0, 6], &[9], vec![op(OpKind::WriteAtAll, &[(2, 2), (1, 1)])]);
    let mut model = Model::new(&case);
    let step = model.step().unwrap();
    let (one, two) = (&step.ranks[0].buffer, &step.ranks[1].buffer);
    let right = vec![9, 0, one[0], one[1], 0, 0, 0, two[0]];
    model.check_file(8, reader(&right)).unwrap();
    assert!(model.step().is_none());
    for (at, change) in [(0, 1), (1, 1), (2, 1), (7, 0x80)] {
        let mut wrong = right.clone();
        wrong[at] ^= change;
        let error = Model::clone(&model).check_file(8, reader(&wrong)).unwrap_err();
        assert!(error.contains(&format!("file byte {at} ")), "{error}");
    }
    let error = model.check_file(9, reader(&[right, vec![0]].concat())).unwrap_err();
    assert!(error.contains("9 bytes, not 8"), "{error}");
}

#[test]
fn reads_stop_at_the_end_of_the_file() {
    let case = case(&[0, 3, 5], &[11, 12, 13, 14], vec![op(OpKind::ReadAtAll, &[(1, 2), (0, 4), (0, 2)])]);
    let step = Model::new(&case).step().unwrap();
    let got = |rank: usize| (step.ranks[rank].transferred, step.ranks[rank].buffer.clone());
    assert_eq!(got(0), (2, vec![12, 13]));
    assert_eq!(got(1), (1, vec![14, POISON, POISON, POISON]));
    assert_eq!(got(2), (0, vec![POISON, POISON]));
    // What could not be delivered may hold anything, except to a strict check; what was delivered may not.
    let expect = &step.ranks[1];
    expect.check(&case, &[14, 0, 0, 7], 1).unwrap();
    expect.check_strictly(&case, &[14, POISON, POISON, POISON], 1).unwrap();
    assert!(expect.check_strictly(&case, &[14, 0, 0, 7], 1).is_err());
    assert!(
        expect.check(&case, &[15, POISON, POISON, POISON], 1).unwrap_err().contains("byte 3 of the file")
    );
    assert!(expect.check(&case, &[14, POISON, POISON, POISON], 4).unwrap_err().contains("status says 4"));
}

#[test]
fn a_tile_that_goes_back_ends_a_read_at_its_first_missing_byte() {
    // Tiles one byte apart, of bytes 0 and 3: the stream is 0 3 1 4 2 5.
    let blocks =
        TypeSpec::IndexedBlock { blocklength: 1, displacements: vec![0, 3], inner: Box::new(TypeSpec::BYTE) };
    let mut case = case(&[0], &[21, 22, 23, 24], vec![op(OpKind::ReadAtAll, &[(0, 6)])]);
    case.ranks[0].view.filetype = TypeSpec::resized(0, 1, blocks);
    let step = Model::new(&case).step().unwrap();
    assert_eq!(step.ranks[0].transferred, 3);
    assert_eq!(step.ranks[0].buffer, [21, 24, 22, POISON, POISON, POISON]);
}

#[test]
fn file_pointers_move_by_what_was_asked_for() {
    let ops = vec![
        op(OpKind::ReadAll, &[(0, 3), (0, 0)]),
        op(OpKind::ReadAtAll, &[(1, 1), (0, 1)]),
        op(OpKind::ReadAll, &[(0, 1), (0, 2)]),
    ];
    let case = case(&[0, 0], &[31, 32], ops);
    let mut model = Model::new(&case);
    let mut seen = Vec::new();
    while let Some(step) = model.step() {
        seen.extend(step.ranks.iter().map(|expect| (expect.offset, expect.position, expect.transferred)));
    }
    assert_eq!(seen, [(0, 3, 2), (0, 0, 0), (1, 3, 1), (0, 0, 1), (3, 4, 0), (0, 2, 2)]);
}

#[test]
fn any_of_several_writers_is_right_and_is_then_what_is_read() {
    let ops = vec![
        op(OpKind::WriteAtAll, &[(0, 1), (0, 1), (0, 1)]),
        op(OpKind::ReadAtAll, &[(0, 1), (0, 0), (0, 0)]),
    ];
    let case = case(&[0, 0, 0], &[], ops);
    for winner in 0..3 {
        let mut model = Model::new(&case);
        let step = model.step().unwrap();
        let value = step.ranks[winner].buffer[0];
        assert!(model.clone().check_file(1, reader(&[0])).is_err());
        model.check_file(1, reader(&[value])).unwrap();
        assert_eq!(model.step().unwrap().ranks[0].buffer, [value]);
    }
}

#[test]
#[should_panic(expected = "check_file must settle byte 0")]
fn a_read_of_an_unsettled_byte_is_refused() {
    let ops = vec![op(OpKind::WriteAtAll, &[(0, 1), (0, 1)]), op(OpKind::ReadAtAll, &[(0, 1), (0, 1)])];
    let case = case(&[0, 0], &[], ops);
    let mut model = Model::new(&case);
    while model.step().is_some() {}
}

#[test]
fn memory_types_scatter_and_leave_the_rest_alone() {
    let inner = Box::new(TypeSpec::BYTE);
    let backwards = TypeSpec::Vector { count: 2, blocklength: 1, stride: -2, inner };
    let mut read = op(OpKind::ReadAtAll, &[(0, 1)]);
    read.ranks[0] = Access { offset: 0, count: 2, memtype: backwards, base: 3, buffer_len: 8 };
    let case = case(&[0], &[41, 42, 43, 44], vec![read]);
    let step = Model::new(&case).step().unwrap();
    // Elements are the extent of 3 apart: bytes 3 and 1, then 6 and 4.
    let p = POISON;
    assert_eq!(step.ranks[0].buffer, [p, 42, p, 41, 44, p, 43, p]);
    let error = step.ranks[0].check(&case, &[p, 42, 0, 41, 44, p, 43, p], 4).unwrap_err();
    assert!(error.contains("outside the memory type"), "{error}");
}

#[test]
fn far_bytes_cost_nothing() {
    let far = 1 << 33;
    let ops = vec![op(OpKind::WriteAtAll, &[(0, 2), (0, 2)])];
    let case = case(&[3, far], &[], ops);
    let mut model = Model::new(&case);
    let step = model.step().unwrap();
    assert!(!model.checks_every_byte());
    let byte = |at: u64| match at {
        3 | 4 => step.ranks[0].buffer[at as usize - 3],
        at if at >= far => step.ranks[1].buffer[(at - far) as usize],
        _ => 0,
    };
    let mut compared = 0;
    let read = |at: u64, bytes: &mut [u8]| {
        compared += bytes.len();
        bytes.iter_mut().zip(at..).for_each(|(slot, at)| *slot = byte(at));
    };
    model.check_file(far + 2, read).unwrap();
    assert!(compared < 4096, "{compared}");
}

#[test]
fn data_is_never_zero_or_poison_and_depends_on_everything() {
    let write = |count| op(OpKind::WriteAtAll, &[(0, count), (0, count)]);
    let case = case(&[0, 5000], &[], vec![write(4000), write(4000)]);
    let buffers = [(0, 0), (0, 1), (1, 0)].map(|(op, rank)| case.buffer(op, rank));
    for buffer in &buffers {
        assert!(buffer.iter().all(|&byte| byte != 0 && byte != POISON));
    }
    assert!(buffers[0] != buffers[1] && buffers[0] != buffers[2] && buffers[1] != buffers[2]);
    assert_ne!(Case { seed: 6, ..case.clone() }.buffer(0, 0), buffers[0]);
}

#[test]
fn a_failing_case_shrinks_to_what_matters() {
    // The fault: rank 2 writes nothing wherever it writes more than three bytes.
    let fails = |case: &Case| {
        case.ops
            .iter()
            .any(|op| op.kind.is_write() && op.ranks.get(2).is_some_and(|access| access.bytes() > 3))
    };
    let limits = Limits { ranks_min: 3, ..Limits::default() };
    let seeds = (0..400).map(|seed| tatpio_model::generate(seed, &limits)).filter(fails).take(30);
    for case in seeds {
        let small = simplify(&case, fails);
        assert!(fails(&small) && small.check_valid().is_ok());
        assert_eq!(
            (small.ops.len(), small.ranks.len(), small.hints.len(), small.initial.len()),
            (1, 3, 0, 0)
        );
        let least = small.ranks[2].view.etype.size().max(7);
        assert!(small.bytes() <= least, "{} bytes left of {}\n{small}", small.bytes(), case.bytes());
        assert_eq!(tatpio_model::from_text(&small.to_json()).unwrap(), small);
    }
}
