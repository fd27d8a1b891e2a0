//! Every call to the MPI library, through its profiling names: codes checked, lists and strings made Rust's.
//!
//! Handles are the program's or ours. That they are valid is the program's duty towards MPI; passing a bad
//! one on does what the MPI library does with it.

use crate::constructor::{ArrayConstants, Combiner};
use pmpi_sys::consts;
pub(crate) use pmpi_sys::{
    self as ffi, MPI_Comm, MPI_Count, MPI_Datatype, MPI_File, MPI_Info, MPI_Offset, MPI_SUCCESS as SUCCESS,
    MPI_Status,
};
use std::ffi::{CStr, CString, c_char, c_int};
use tatpio::error::{Error, ErrorClass};
use tatpio::units::Bytes;

/// Turns a return code into a result that says which call it was.
fn check(code: c_int, call: &str) -> Result<(), Error> {
    if code == SUCCESS {
        return Ok(());
    }
    Err(Error::Invalid { class: ErrorClass::Other, what: format!("{call} failed: {}", error_text(code)) })
}

/// Room for an array that MPI measures in ints.
const fn room(length: c_int) -> usize {
    length as usize // MPI_MAX_* are small and positive
}

fn error_text(code: c_int) -> String {
    let mut text = [0; room(ffi::MPI_MAX_ERROR_STRING) + 1];
    let mut length = 0;
    // SAFETY: writes at most MPI_MAX_ERROR_STRING characters with the final zero; `text` has that room.
    let known = unsafe { ffi::PMPI_Error_string(code, text.as_mut_ptr(), &raw mut length) };
    if known == SUCCESS { text_of(&text) } else { format!("error code {code}") }
}

/// The text up to the first zero, which every caller's spare last element guarantees.
fn text_of(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().map(|&character| character.cast_unsigned()).collect();
    CStr::from_bytes_until_nul(&bytes).expect("a final zero").to_string_lossy().into_owned()
}

/// Ends the job.
pub(crate) fn abort() -> ! {
    // SAFETY: MPI is initialized, or this call of the program could not have come here.
    unsafe { ffi::PMPI_Abort(consts::comm_world(), 1) };
    std::process::abort()
}

/// The MPI error code of a class. The predefined classes are codes too (MPI-4.1, section 9.4).
pub(crate) fn error_code(class: ErrorClass) -> c_int {
    match class {
        ErrorClass::Io => ffi::MPI_ERR_IO,
        ErrorClass::NoSpace => ffi::MPI_ERR_NO_SPACE,
        ErrorClass::Quota => ffi::MPI_ERR_QUOTA,
        ErrorClass::ReadOnly => ffi::MPI_ERR_READ_ONLY,
        ErrorClass::Access => ffi::MPI_ERR_ACCESS,
        ErrorClass::NoSuchFile => ffi::MPI_ERR_NO_SUCH_FILE,
        ErrorClass::Type => ffi::MPI_ERR_TYPE,
        ErrorClass::Count => ffi::MPI_ERR_COUNT,
        ErrorClass::Arg => ffi::MPI_ERR_ARG,
        ErrorClass::NoMem => ffi::MPI_ERR_NO_MEM,
        ErrorClass::Other => ffi::MPI_ERR_OTHER,
        ErrorClass::UnsupportedOperation => ffi::MPI_ERR_UNSUPPORTED_OPERATION,
        ErrorClass::File => ffi::MPI_ERR_FILE,
    }
}

/// Calls the file's error handler, which may not return.
pub(crate) fn call_error_handler(fh: MPI_File, code: c_int) {
    // SAFETY: the program's open file; the handler is the program's.
    let handled = unsafe { ffi::PMPI_File_call_errhandler(fh, code) };
    if handled != SUCCESS {
        crate::report::warn(&format!("MPI_File_call_errhandler failed: {}", error_text(handled)));
    }
}

// Communicators

/// Whether collective calls on it involve one group of ranks; `false` also for a null handle.
pub(crate) fn is_one_group(comm: MPI_Comm) -> bool {
    let mut inter = 1;
    // SAFETY: not the null handle; `inter` is a place for one int.
    comm != consts::comm_null()
        && unsafe { ffi::PMPI_Comm_test_inter(comm, &raw mut inter) } == SUCCESS
        && inter == 0
}

/// This process's rank, and the number of ranks.
pub(crate) fn rank_and_size(comm: MPI_Comm) -> Result<(u32, u32), Error> {
    let (mut rank, mut size) = (0, 0);
    // SAFETY: places for one int each.
    unsafe {
        check(ffi::PMPI_Comm_rank(comm, &raw mut rank), "MPI_Comm_rank")?;
        check(ffi::PMPI_Comm_size(comm, &raw mut size), "MPI_Comm_size")?;
    }
    let number = |value: c_int| u32::try_from(value).expect("ranks are not negative");
    Ok((number(rank), number(size)))
}

/// The maximum over all ranks, word by word. Collective.
pub(crate) fn all_reduce_max(comm: MPI_Comm, words: &mut [u64]) -> Result<(), Error> {
    // Signed, with the top bit flipped: MPI libraries of today take the maximum of unsigned words wrongly
    // (see `MpiComm::all_reduce`).
    const FLIP: u64 = 1 << 63;
    let count = c_int::try_from(words.len()).expect("a few words");
    let (int64, max) = (consts::int64_t(), consts::op_max());
    words.iter_mut().for_each(|word| *word ^= FLIP);
    // SAFETY: `words` is read and written in place, as many 64-bit words as announced.
    let code = unsafe {
        ffi::PMPI_Allreduce(consts::in_place(), words.as_mut_ptr().cast(), count, int64, max, comm)
    };
    words.iter_mut().for_each(|word| *word ^= FLIP);
    check(code, "MPI_Allreduce")
}

/// The name of this process's host.
pub(crate) fn host_name() -> Result<String, Error> {
    let mut name = [0; room(ffi::MPI_MAX_PROCESSOR_NAME) + 1];
    let mut length = 0;
    // SAFETY: writes at most MPI_MAX_PROCESSOR_NAME characters with the final zero.
    let code = unsafe { ffi::PMPI_Get_processor_name(name.as_mut_ptr(), &raw mut length) };
    check(code, "MPI_Get_processor_name")?;
    Ok(text_of(&name))
}

// Info objects

/// All keys with their values; none for MPI_INFO_NULL.
pub(crate) fn info_pairs(info: MPI_Info) -> Result<Vec<(String, String)>, Error> {
    if info == consts::info_null() {
        return Ok(Vec::new());
    }
    let mut count = 0;
    // SAFETY: a place for one int.
    check(unsafe { ffi::PMPI_Info_get_nkeys(info, &raw mut count) }, "MPI_Info_get_nkeys")?;
    let mut pairs = Vec::new();
    for index in 0..count {
        let mut key = [0; room(ffi::MPI_MAX_INFO_KEY) + 1];
        // SAFETY: writes at most MPI_MAX_INFO_KEY characters and the final zero.
        check(unsafe { ffi::PMPI_Info_get_nthkey(info, index, key.as_mut_ptr()) }, "MPI_Info_get_nthkey")?;
        let key = text_of(&key);
        if let Some(value) = info_get(info, &key)? {
            pairs.push((key, value));
        }
    }
    Ok(pairs)
}

/// The value of a key, if it is set.
pub(crate) fn info_get(info: MPI_Info, key: &str) -> Result<Option<String>, Error> {
    let mut value = [0; room(ffi::MPI_MAX_INFO_VAL) + 1];
    let mut found = 0;
    let key = c_string(key)?;
    // SAFETY: the key ends in zero; writes at most MPI_MAX_INFO_VAL characters and the final zero.
    let code = unsafe {
        ffi::PMPI_Info_get(info, key.as_ptr(), ffi::MPI_MAX_INFO_VAL, value.as_mut_ptr(), &raw mut found)
    };
    check(code, "MPI_Info_get")?;
    Ok((found != 0).then(|| text_of(&value)))
}

/// Sets a key. A value longer than the MPI library takes is left out.
pub(crate) fn info_set(info: MPI_Info, key: &str, value: &str) -> Result<(), Error> {
    if value.len() >= room(ffi::MPI_MAX_INFO_VAL) {
        return Ok(());
    }
    let (key, value) = (c_string(key)?, c_string(value)?);
    // SAFETY: both strings end in zero and outlive the call.
    check(unsafe { ffi::PMPI_Info_set(info, key.as_ptr(), value.as_ptr()) }, "MPI_Info_set")
}

fn c_string(text: &str) -> Result<CString, Error> {
    let what = || format!("{text:?} has a zero byte inside");
    CString::new(text).map_err(|_| Error::Invalid { class: ErrorClass::Other, what: what() })
}

// Files

pub(crate) fn is_sequential(amode: c_int) -> bool {
    amode & ffi::MPI_MODE_SEQUENTIAL != 0
}

pub(crate) fn may_read(amode: c_int) -> bool {
    amode & ffi::MPI_MODE_WRONLY == 0
}

pub(crate) fn may_write(amode: c_int) -> bool {
    amode & ffi::MPI_MODE_RDONLY == 0
}

/// The individual file pointer, in etypes.
pub(crate) fn position(fh: MPI_File) -> Result<MPI_Offset, Error> {
    let mut offset = 0;
    // SAFETY: the program's open file; a place for one offset.
    check(unsafe { ffi::PMPI_File_get_position(fh, &raw mut offset) }, "MPI_File_get_position")?;
    Ok(offset)
}

/// Moves the individual file pointer, in etypes.
pub(crate) fn seek(fh: MPI_File, offset: MPI_Offset) -> Result<(), Error> {
    // SAFETY: the program's open file.
    check(unsafe { ffi::PMPI_File_seek(fh, offset, ffi::MPI_SEEK_SET) }, "MPI_File_seek")
}

/// Makes a status say that so many bytes were moved, so that MPI_Get_count and MPI_Get_elements are true.
pub(crate) fn set_status(status: *mut MPI_Status, bytes: Bytes) -> Result<(), Error> {
    if status == consts::status_ignore() {
        return Ok(());
    }
    let count = MPI_Count::try_from(bytes).expect("a file ends before 2^63");
    // SAFETY: the program's status, as it is not MPI_STATUS_IGNORE.
    unsafe {
        check(ffi::PMPI_Status_set_elements_x(status, consts::byte(), count), "MPI_Status_set_elements_x")?;
        check(ffi::PMPI_Status_set_cancelled(status, 0), "MPI_Status_set_cancelled")
    }
}

// Datatypes

pub(crate) fn is_null_datatype(datatype: MPI_Datatype) -> bool {
    datatype == consts::datatype_null()
}

/// What the MPI library says of a datatype, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub size: Bytes,
    pub lower: i64,
    pub extent: i64,
}

/// Size and bounds of a datatype.
pub(crate) fn bounds(datatype: MPI_Datatype) -> Result<Bounds, Error> {
    let (mut size, mut lower, mut extent) = (0, 0, 0);
    // SAFETY: places for one count each.
    unsafe {
        check(ffi::PMPI_Type_size_x(datatype, &raw mut size), "MPI_Type_size_x")?;
        check(
            ffi::PMPI_Type_get_extent_x(datatype, &raw mut lower, &raw mut extent),
            "MPI_Type_get_extent_x",
        )?;
    }
    Ok(Bounds { size: u64::try_from(size).map_err(|_| too_large())?, lower, extent })
}

/// A datatype of ours, freed when dropped; MPI keeps what files still need.
pub(crate) struct Datatype(MPI_Datatype);

impl Datatype {
    /// As many bytes as given, without gaps; committed.
    pub fn of_bytes(bytes: Bytes) -> Result<Datatype, Error> {
        Datatype::of_blocks(&[(0, bytes)], i64::try_from(bytes).map_err(|_| too_large())?)
    }

    /// Blocks of bytes as (displacement, length), and the distance of successive tiles; committed.
    pub fn of_blocks(blocks: &[(u64, Bytes)], extent: i64) -> Result<Datatype, Error> {
        let (mut lengths, mut places) = (Vec::new(), Vec::new());
        for &(mut at, mut bytes) in blocks {
            // MPI counts elements of a block in an int.
            while bytes > 0 {
                let length = c_int::try_from(bytes).unwrap_or(c_int::MAX);
                lengths.push(length);
                places.push(ffi::MPI_Aint::try_from(at).map_err(|_| too_large())?);
                at += u64::from(length.unsigned_abs());
                bytes -= u64::from(length.unsigned_abs());
            }
        }
        let count = c_int::try_from(lengths.len()).map_err(|_| too_large())?;
        let mut list = Datatype(consts::datatype_null());
        let mut tile = Datatype(consts::datatype_null());
        // SAFETY: both lists have `count` entries; places for one handle each.
        unsafe {
            let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
            let code =
                ffi::PMPI_Type_create_hindexed(count, lengths, places, consts::byte(), &raw mut list.0);
            check(code, "MPI_Type_create_hindexed")?;
            let extent = ffi::MPI_Aint::try_from(extent).map_err(|_| too_large())?;
            let code = ffi::PMPI_Type_create_resized(list.0, 0, extent, &raw mut tile.0);
            check(code, "MPI_Type_create_resized")?;
            check(ffi::PMPI_Type_commit(&raw mut tile.0), "MPI_Type_commit")?;
        }
        Ok(tile)
    }

    /// A duplicate of a datatype; of a predefined one the same handle, which is never freed.
    pub fn copy_of(datatype: MPI_Datatype) -> Result<Datatype, Error> {
        if envelope(datatype)?.is_predefined() {
            return Ok(Datatype(datatype));
        }
        let mut copy = Datatype(consts::datatype_null());
        // SAFETY: a place for one handle.
        check(unsafe { ffi::PMPI_Type_dup(datatype, &raw mut copy.0) }, "MPI_Type_dup")?;
        Ok(copy)
    }

    pub fn raw(&self) -> MPI_Datatype {
        self.0
    }

    /// Gives the handle away, to be freed by the program.
    pub fn into_raw(mut self) -> MPI_Datatype {
        std::mem::replace(&mut self.0, consts::datatype_null())
    }
}

impl Drop for Datatype {
    fn drop(&mut self) {
        if !is_null_datatype(self.0) {
            free_if_derived(&mut self.0);
        }
    }
}

/// Frees a handle that MPI gave us. Predefined types have no copies to free (MPI-4.1, section 5.1.13).
pub(crate) fn free_if_derived(datatype: &mut MPI_Datatype) {
    let derived = envelope(*datatype).is_ok_and(|envelope| !envelope.is_predefined());
    // SAFETY: nobody else has the handle (callers' contract).
    if derived && unsafe { ffi::PMPI_Type_free(datatype) } != SUCCESS {
        crate::report::warn("MPI_Type_free failed: memory is lost");
    }
}

fn too_large() -> Error {
    Error::Invalid { class: ErrorClass::Type, what: "a datatype is too large for the MPI library".into() }
}

/// What a datatype is made of.
pub(crate) enum Kind {
    /// A predefined type, named or of Fortran's parametrised ones.
    Basic,
    /// A constructor call.
    Derived(Contents),
    /// A constructor that is newer than tatpio: the number of its combiner.
    Unknown(c_int),
}

/// The arguments of the call that made a datatype; see [`crate::constructor::Call`].
pub(crate) struct Contents {
    pub combiner: Combiner,
    pub arguments: Vec<i64>,
    pub large: bool,
    elements: Vec<MPI_Datatype>,
}

impl Contents {
    /// The element types.
    pub fn elements(&self) -> &[MPI_Datatype] {
        &self.elements
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        self.elements.iter_mut().for_each(free_if_derived);
    }
}

/// The array constructors' constants of this MPI library.
pub(crate) fn array_constants() -> ArrayConstants {
    ArrayConstants {
        order_c: ffi::MPI_ORDER_C.into(),
        order_fortran: ffi::MPI_ORDER_FORTRAN.into(),
        distribute_none: ffi::MPI_DISTRIBUTE_NONE.into(),
        distribute_block: ffi::MPI_DISTRIBUTE_BLOCK.into(),
        distribute_cyclic: ffi::MPI_DISTRIBUTE_CYCLIC.into(),
        default_argument: ffi::MPI_DISTRIBUTE_DFLT_DARG.into(),
    }
}

/// How long the lists are that MPI_Type_get_contents fills.
struct Envelope {
    integers: usize,
    addresses: usize,
    counts: usize,
    datatypes: usize,
    combiner: c_int,
}

impl Envelope {
    fn is_predefined(&self) -> bool {
        matches!(
            self.combiner,
            ffi::MPI_COMBINER_NAMED
                | ffi::MPI_COMBINER_F90_REAL
                | ffi::MPI_COMBINER_F90_COMPLEX
                | ffi::MPI_COMBINER_F90_INTEGER
        )
    }
}

fn combiner(number: c_int) -> Option<Combiner> {
    // MPI-3 took the names of the forms that only old Fortran calls make out of C; the libraries kept their
    // numbers, each just below that of the C form.
    const HVECTOR_INTEGER: c_int = ffi::MPI_COMBINER_HVECTOR - 1;
    const HINDEXED_INTEGER: c_int = ffi::MPI_COMBINER_HINDEXED - 1;
    const STRUCT_INTEGER: c_int = ffi::MPI_COMBINER_STRUCT - 1;
    Some(match number {
        ffi::MPI_COMBINER_DUP => Combiner::Dup,
        ffi::MPI_COMBINER_CONTIGUOUS => Combiner::Contiguous,
        ffi::MPI_COMBINER_VECTOR => Combiner::Vector,
        ffi::MPI_COMBINER_HVECTOR | HVECTOR_INTEGER => Combiner::Hvector,
        ffi::MPI_COMBINER_INDEXED => Combiner::Indexed,
        ffi::MPI_COMBINER_HINDEXED | HINDEXED_INTEGER => Combiner::Hindexed,
        ffi::MPI_COMBINER_INDEXED_BLOCK => Combiner::IndexedBlock,
        ffi::MPI_COMBINER_HINDEXED_BLOCK => Combiner::HindexedBlock,
        ffi::MPI_COMBINER_STRUCT | STRUCT_INTEGER => Combiner::Struct,
        ffi::MPI_COMBINER_SUBARRAY => Combiner::Subarray,
        ffi::MPI_COMBINER_DARRAY => Combiner::Darray,
        ffi::MPI_COMBINER_RESIZED => Combiner::Resized,
        _ => return None,
    })
}

/// Takes a datatype apart by one level.
pub(crate) fn take_apart(datatype: MPI_Datatype) -> Result<Kind, Error> {
    let envelope = envelope(datatype)?;
    if envelope.is_predefined() {
        return Ok(Kind::Basic);
    }
    match combiner(envelope.combiner) {
        None => Ok(Kind::Unknown(envelope.combiner)),
        Some(combiner) => Ok(Kind::Derived(contents(datatype, combiner, &envelope)?)),
    }
}

fn length(number: impl TryInto<usize>) -> usize {
    number.try_into().ok().expect("a list that MPI keeps in memory is addressable")
}

#[cfg(large_count)]
fn envelope(datatype: MPI_Datatype) -> Result<Envelope, Error> {
    let (mut integers, mut addresses, mut counts, mut datatypes, mut combiner) = (0, 0, 0, 0, 0);
    // SAFETY: places for four counts and one int.
    let code = unsafe {
        let (counts, datatypes) = (&raw mut counts, &raw mut datatypes);
        ffi::PMPI_Type_get_envelope_c(
            datatype,
            &raw mut integers,
            &raw mut addresses,
            counts,
            datatypes,
            &raw mut combiner,
        )
    };
    check(code, "MPI_Type_get_envelope_c")?;
    let (integers, addresses) = (length(integers), length(addresses));
    Ok(Envelope { integers, addresses, counts: length(counts), datatypes: length(datatypes), combiner })
}

#[cfg(not(large_count))]
fn envelope(datatype: MPI_Datatype) -> Result<Envelope, Error> {
    let (mut integers, mut addresses, mut datatypes, mut combiner) = (0, 0, 0, 0);
    // SAFETY: places for four ints.
    let code = unsafe {
        let (addresses, datatypes) = (&raw mut addresses, &raw mut datatypes);
        ffi::PMPI_Type_get_envelope(datatype, &raw mut integers, addresses, datatypes, &raw mut combiner)
    };
    check(code, "MPI_Type_get_envelope")?;
    let (integers, addresses) = (length(integers), length(addresses));
    Ok(Envelope { integers, addresses, counts: 0, datatypes: length(datatypes), combiner })
}

fn contents(datatype: MPI_Datatype, combiner: Combiner, envelope: &Envelope) -> Result<Contents, Error> {
    let mut integers: Vec<c_int> = vec![0; envelope.integers];
    let mut addresses: Vec<ffi::MPI_Aint> = vec![0; envelope.addresses];
    let mut counts: Vec<MPI_Count> = vec![0; envelope.counts];
    let mut elements = vec![consts::datatype_null(); envelope.datatypes];
    fill(datatype, &mut integers, &mut addresses, &mut counts, &mut elements)?;
    let mut arguments: Vec<i64> = integers.into_iter().map(i64::from).collect();
    #[allow(clippy::unnecessary_cast)] // MPI_Aint is i64 in MPICH, isize in Open MPI, 64 bits in both
    arguments.extend(addresses.into_iter().map(|address| address as i64));
    arguments.extend(counts);
    Ok(Contents { combiner, arguments, large: envelope.counts > 0, elements })
}

/// Fills the lists, which are as long as the envelope says.
#[cfg(large_count)]
fn fill(
    datatype: MPI_Datatype,
    integers: &mut [c_int],
    addresses: &mut [ffi::MPI_Aint],
    counts: &mut [MPI_Count],
    elements: &mut [MPI_Datatype],
) -> Result<(), Error> {
    let count = |length: usize| MPI_Count::try_from(length).expect("a list in memory");
    // SAFETY: each list is as long as announced.
    let code = unsafe {
        ffi::PMPI_Type_get_contents_c(
            datatype,
            count(integers.len()),
            count(addresses.len()),
            count(counts.len()),
            count(elements.len()),
            integers.as_mut_ptr(),
            addresses.as_mut_ptr(),
            counts.as_mut_ptr(),
            elements.as_mut_ptr(),
        )
    };
    check(code, "MPI_Type_get_contents_c")
}

/// Fills the lists, which are as long as the envelope says.
#[cfg(not(large_count))]
fn fill(
    datatype: MPI_Datatype,
    integers: &mut [c_int],
    addresses: &mut [ffi::MPI_Aint],
    _counts: &mut [MPI_Count],
    elements: &mut [MPI_Datatype],
) -> Result<(), Error> {
    let count = |length: usize| c_int::try_from(length).expect("as many as the envelope said in an int");
    // SAFETY: each list is as long as announced.
    let code = unsafe {
        ffi::PMPI_Type_get_contents(
            datatype,
            count(integers.len()),
            count(addresses.len()),
            count(elements.len()),
            integers.as_mut_ptr(),
            addresses.as_mut_ptr(),
            elements.as_mut_ptr(),
        )
    };
    check(code, "MPI_Type_get_contents")
}
