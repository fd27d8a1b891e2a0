//! Invariants of generated cases: they are valid, repeatable, and between them exercise everything.

use std::collections::BTreeMap;
use std::time::Instant;
use tatpio_model::{Case, Family, Limits, Model, Named, OpKind, TypeSpec, from_text, generate};

fn limits() -> Vec<(&'static str, Limits)> {
    let base = Limits::default();
    let none = Limits { overlap: false, tiles: false, padding: false, empty: false, quirks: false, ..base };
    vec![
        ("default", base),
        ("large", Limits { large: true, ..base }),
        ("nothing special", none),
        ("large, nothing special", Limits { large: true, ..none }),
        ("no overlaps", Limits { overlap: false, ..base }),
        ("four ranks", Limits::mpi(4)),
        ("one rank, few bytes", Limits { ranks_max: 1, bytes_max: 100, ..base }),
    ]
}

/// What an implementation without faults leaves passes every check; returns the number of bytes moved.
fn run(case: &Case) -> u64 {
    let mut model = Model::new(case);
    let mut file = case.initial_file();
    let mut moved = 0;
    while let Some(step) = model.step() {
        for expect in &step.ranks {
            let mut buffer = case.buffer(step.op, expect.rank);
            expect.perform(case, &mut file, &mut buffer);
            moved += expect.transferred;
            expect.check_strictly(case, &buffer, expect.transferred).unwrap();
        }
        let read = |at: u64, bytes: &mut [u8]| bytes.copy_from_slice(&file[at as usize..][..bytes.len()]);
        model.check_file(file.len() as u64, read).unwrap();
    }
    moved
}

#[test]
fn cases_are_valid_and_within_their_limits() {
    for (name, limits) in limits() {
        for seed in 0..400 {
            let case = generate(seed, &limits);
            let check = || case.check_valid().and_then(|()| case.check_limits());
            check().unwrap_or_else(|error| panic!("{name}: {error}\n{case}"));
            assert_eq!(case.limits, limits);
        }
    }
}

#[test]
fn a_seed_gives_one_case() {
    for (_, limits) in limits() {
        for seed in (0..100).chain([u64::MAX, 1 << 40]) {
            let case = generate(seed, &limits);
            assert_eq!(case, generate(seed, &limits));
            assert_ne!(case, generate(seed ^ 1 << 20, &limits));
            assert_eq!(from_text(&case.replay_line()).unwrap(), case);
            assert_eq!(from_text(&case.to_json()).unwrap(), case);
        }
    }
}

#[test]
fn replay_text_is_read_or_refused_with_a_reason() {
    let case = generate(17, &"ranks:3,large:yes".parse().unwrap());
    assert_eq!(case.ranks.len(), 3);
    assert_eq!(from_text("seed=17 limits=ranks:3-3,large:yes").unwrap(), case);
    for (text, part) in [
        ("", "no seed"),
        ("limits=ranks:1-2", "no seed"),
        ("seed=x", "\"x\" is not a number"),
        ("seed=1 limits=ranks:0-2", "range of ranks"),
        ("seed=1 limits=ranks:5-2", "range of ranks"),
        ("seed=1 limits=large:maybe", "yes or no"),
        ("seed=1 limits=colour:blue", "colour"),
        ("seed=1 limits=large", "key:value"),
        ("seed=1 other", "other"),
        ("{}", "JSON"),
        ("file=/nonexistent/case.json", "/nonexistent/case.json"),
    ] {
        let error = from_text(text).unwrap_err();
        assert!(error.contains(part), "{text:?}: {error}");
    }
}

#[test]
fn two_thousand_seeds_exercise_everything() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let limits = Limits { large: true, ..Limits::default() };
    for seed in 0..2000 {
        for word in generate(seed, &limits).features() {
            *seen.entry(word).or_default() += 1;
        }
    }
    for (word, times) in &seen {
        println!("{times:5} {word}");
    }
    let missing: Vec<String> = wanted().into_iter().filter(|word| !seen.contains_key(word)).collect();
    assert!(missing.is_empty(), "never seen: {missing:?}");
}

fn wanted() -> Vec<String> {
    let mut wanted = Vec::new();
    for constructor in TypeSpec::CONSTRUCTORS {
        wanted.extend(["file", "memory"].map(|place| format!("{place} {constructor}")));
    }
    for place in ["file", "memory"] {
        wanted.extend(Named::ALL.map(|named| format!("{place} {named:?}")));
        wanted.extend(["C", "Fortran"].map(|order| format!("{place} darray in {order} order")));
        wanted.extend(["C", "Fortran"].map(|order| format!("{place} subarray in {order} order")));
        wanted.extend(["None", "Block", "Cyclic"].map(|way| format!("{place} darray {way}")));
    }
    wanted.extend(Family::ALL.map(|family| format!("family {family:?}")));
    wanted.extend(OpKind::ALL.map(|kind| format!("op {kind:?}")));
    let hints = "cb_buffer_size cb_nodes cb_config_list=* romio_cb_write=enable romio_cb_write=automatic \
        romio_cb_write=disable romio_cb_read=enable romio_cb_read=automatic romio_cb_read=disable \
        romio_ds_write=enable romio_ds_write=automatic romio_ds_write=disable romio_ds_read=enable \
        romio_ds_read=automatic romio_ds_read=disable striping_unit striping_factor tatpio_assign=rank_order \
        tatpio_assign=locality tatpio_assign=hop_bytes tatpio_domains=even tatpio_domains=cyclic tatpio_node_ranks \
        tatpio_topology=flat tatpio_topology=tree tatpio_topology=torus tatpio_topology=fat-tree \
        romio_min_fdomain_size ind_wr_buffer_size ind_rd_buffer_size";
    wanted.extend(hints.split_whitespace().map(|hint| format!("hint {hint}")));
    let properties = [
        "empty view",
        "tiles interleave",
        "filetype does not start at its lower bound",
        "one rank",
        "empty file",
        "all ranks idle",
        "some ranks idle",
        "ranks write one byte",
        "ranks read one byte",
        "bytes past 2^31",
        "bytes past 2^32",
        "holes",
        "no holes",
        "access within one tile",
        "access of several tiles",
        "padded struct",
        "memory not sorted",
        "memory at negative displacements",
        "memory type with negative lower bound",
        "memory overlaps",
        "memory type without data",
        "memory elements interleave",
    ];
    wanted.extend(properties.map(String::from));
    wanted
}

#[test]
fn reads_are_short_sometimes_and_delivered_mostly() {
    let (mut whole, mut short, mut none) = (0, 0, 0);
    for seed in 0..1000 {
        let case = generate(seed, &Limits::default());
        let mut model = Model::new(&case);
        while let Some(step) = model.step() {
            if !case.ops[step.op].kind.is_write() {
                for expect in step.ranks.iter().filter(|expect| expect.requested > 0) {
                    match expect.transferred {
                        0 => none += 1,
                        some if some < expect.requested => short += 1,
                        _ => whole += 1,
                    }
                }
            }
            // No real file says who won where several ranks wrote.
            model.settle();
        }
    }
    println!("reads: {whole} whole, {short} short, {none} of nothing");
    assert!(whole > short && short > 100 && none > 100);
}

#[test]
fn a_faultless_implementation_passes_and_the_model_is_fast() {
    let limits = Limits::default();
    let start = Instant::now();
    let cases: Vec<Case> = (0..1000).map(|seed| generate(seed, &limits)).collect();
    let generated = start.elapsed();
    let start = Instant::now();
    let moved: u64 = cases.iter().map(run).sum();
    let ran = start.elapsed();
    let ranks: usize = cases.iter().map(|case| case.ranks.len()).sum();
    let count = cases.len() as u32;
    println!(
        "{count} cases of {:.1} ranks and {} bytes: {:?} to make, {:?} to run, each",
        ranks as f64 / f64::from(count),
        moved / u64::from(count),
        generated / count,
        ran / count
    );
}
