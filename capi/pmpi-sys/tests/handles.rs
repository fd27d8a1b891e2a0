//! The handles and numbers are those of the library that is linked. None of this needs MPI to be initialized.

use pmpi_sys::consts::*;
use pmpi_sys::*;

#[test]
fn handles_of_a_kind_differ() {
    let comms = [comm_null(), comm_world(), comm_self()];
    let types = [
        datatype_null(),
        byte(),
        char(),
        short(),
        int(),
        long(),
        float(),
        double(),
        long_double(),
        float_int(),
        double_int(),
        long_int(),
        short_int(),
        two_int(),
        long_double_int(),
    ];
    let ops = [op_null(), op_sum(), op_min(), op_max()];
    fn distinct<T: PartialEq + std::fmt::Debug>(all: &[T]) {
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one), "{one:?} is there twice: {all:?}");
        }
    }
    distinct(&comms);
    distinct(&types);
    distinct(&ops);
    distinct(&[errhandler_null(), errors_return(), errors_are_fatal()]);
    assert_ne!(in_place(), bottom());
}

#[test]
fn numbers_can_be_matched() {
    let name = match MPI_COMBINER_VECTOR {
        MPI_COMBINER_NAMED => "named",
        MPI_COMBINER_VECTOR => "vector",
        _ => "other",
    };
    assert_eq!(name, "vector");
    let displacement: MPI_Offset = MPI_DISPLACEMENT_CURRENT;
    assert_eq!((MPI_SUCCESS, displacement), (0, -54_278_278));
}

#[test]
fn the_library_is_the_one_of_the_header() {
    let (mut version, mut subversion) = (0, 0);
    // SAFETY: PMPI_Get_version may be called at any time and writes two ints.
    let code = unsafe { PMPI_Get_version(&raw mut version, &raw mut subversion) };
    assert_eq!((code, version, subversion), (MPI_SUCCESS, MPI_VERSION, MPI_SUBVERSION));
    assert_eq!(LARGE_COUNT, MPI_VERSION >= 4);
    assert!(["mpich", "openmpi"].contains(&IMPLEMENTATION));
}
