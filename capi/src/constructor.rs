//! The arguments of an MPI datatype constructor, as MPI_Type_get_contents lists them, as a layout (MPI-4.1,
//! section 5.1.13). No MPI call is made here.

use tatpio::error::{Error, ErrorClass};
use tatpio::plan::{Distribution, Layout, LayoutError, Order};

/// The constructors of derived datatypes. The Fortran `*_INTEGER` forms are those of the same name: they
/// differ in which of MPI_Type_get_contents' lists holds the displacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combiner {
    Dup,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Darray,
    Resized,
}

/// The values of the MPI library's constants that array constructors take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayConstants {
    pub order_c: i64,
    pub order_fortran: i64,
    pub distribute_none: i64,
    pub distribute_block: i64,
    pub distribute_cyclic: i64,
    pub default_argument: i64,
}

/// A constructor call.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub combiner: Combiner,
    /// The integers, then the addresses, then the large counts. For all but the two array constructors this
    /// is the order of the call's arguments, whichever of the three lists each came in.
    pub arguments: &'a [i64],
    /// Whether the call was a large-count (`_c`) one, which lists array sizes after everything else.
    pub large: bool,
    /// The element types: one, or one a block for [`Combiner::Struct`].
    pub elements: &'a [Layout],
    pub constants: ArrayConstants,
}

impl Call<'_> {
    /// What the call builds, but for the alignment padding that only the MPI library knows.
    ///
    /// Errors: sizes that leave 63 bits, and argument lists that no such call can have.
    pub fn layout(&self) -> Result<Layout, Error> {
        let mut arguments = Arguments(self.arguments);
        let layout = match self.combiner {
            Combiner::Dup => self.element()?.clone(),
            Combiner::Contiguous => {
                let count = arguments.count()?;
                Layout::contiguous(count, self.element()?).map_err(too_large)?
            }
            Combiner::Vector | Combiner::Hvector => {
                let (count, block, stride) = (arguments.count()?, arguments.count()?, arguments.next()?);
                let stride = self.in_bytes(stride, self.combiner == Combiner::Vector)?;
                Layout::hvector(count, block, stride, self.element()?).map_err(too_large)?
            }
            Combiner::Indexed | Combiner::Hindexed => {
                let count = arguments.count()?;
                let lengths = arguments.counts(count)?;
                self.blocks(&lengths, arguments.take(count)?, self.combiner == Combiner::Indexed)?
            }
            Combiner::IndexedBlock | Combiner::HindexedBlock => {
                let (count, length) = (arguments.count()?, arguments.count()?);
                let displacements = arguments.take(count)?;
                let lengths = vec![length; displacements.len()];
                self.blocks(&lengths, displacements, self.combiner == Combiner::IndexedBlock)?
            }
            Combiner::Struct => self.structure(&mut arguments)?,
            Combiner::Subarray => self.subarray(&mut arguments)?,
            Combiner::Darray => self.darray(&mut arguments)?,
            Combiner::Resized => {
                let (lower, extent) = (arguments.next()?, arguments.next()?);
                self.element()?.resized(lower, extent).map_err(too_large)?
            }
        };
        Ok(layout)
    }

    fn element(&self) -> Result<&Layout, Error> {
        self.elements.first().ok_or_else(malformed)
    }

    /// A displacement that may be counted in extents of the element.
    fn in_bytes(&self, displacement: i64, in_extents: bool) -> Result<i64, Error> {
        if !in_extents {
            return Ok(displacement);
        }
        displacement.checked_mul(self.element()?.extent()).ok_or_else(|| too_large(LayoutError))
    }

    fn blocks(&self, lengths: &[u64], displacements: &[i64], in_extents: bool) -> Result<Layout, Error> {
        let blocks = lengths.iter().zip(displacements);
        let blocks = blocks.map(|(&length, &at)| Ok((length, self.in_bytes(at, in_extents)?)));
        let blocks = blocks.collect::<Result<Vec<_>, Error>>()?;
        Layout::hindexed(&blocks, self.element()?).map_err(too_large)
    }

    fn structure(&self, arguments: &mut Arguments<'_>) -> Result<Layout, Error> {
        let count = arguments.count()?;
        let lengths = arguments.counts(count)?;
        let displacements = arguments.take(count)?;
        if self.elements.len() != lengths.len() {
            return Err(malformed());
        }
        let places = lengths.into_iter().zip(displacements);
        let blocks: Vec<_> =
            places.zip(self.elements).map(|((length, &at), element)| (length, at, element.clone())).collect();
        Layout::structure(&blocks).map_err(too_large)
    }

    fn subarray(&self, arguments: &mut Arguments<'_>) -> Result<Layout, Error> {
        let dimensions = arguments.count()?;
        let early_order = if self.large { Some(arguments.next()?) } else { None };
        let sizes = arguments.counts(dimensions)?;
        let subsizes = arguments.counts(dimensions)?;
        let starts = arguments.counts(dimensions)?;
        let order = self.order(early_order.map_or_else(|| arguments.next(), Ok)?)?;
        Layout::subarray(&sizes, &subsizes, &starts, order, self.element()?).map_err(too_large)
    }

    fn darray(&self, arguments: &mut Arguments<'_>) -> Result<Layout, Error> {
        let (_processes, rank, dimensions) = (arguments.next()?, arguments.count()?, arguments.count()?);
        let early_sizes = if self.large { None } else { Some(arguments.counts(dimensions)?) };
        let kinds = arguments.take(dimensions)?;
        let values = arguments.take(dimensions)?;
        let grid = arguments.counts(dimensions)?;
        let order = self.order(arguments.next()?)?;
        let sizes = early_sizes.map_or_else(|| arguments.counts(dimensions), Ok)?;
        if rank >= grid.iter().product() {
            return Err(malformed());
        }
        let dealt = kinds.iter().zip(values).map(|(&kind, &value)| self.distribution(kind, value));
        let dealt = dealt.collect::<Result<Vec<_>, Error>>()?;
        Layout::darray(rank, &sizes, &dealt, &grid, order, self.element()?).map_err(too_large)
    }

    fn order(&self, value: i64) -> Result<Order, Error> {
        match value {
            value if value == self.constants.order_c => Ok(Order::C),
            value if value == self.constants.order_fortran => Ok(Order::Fortran),
            _ => Err(malformed()),
        }
    }

    fn distribution(&self, kind: i64, value: i64) -> Result<Distribution, Error> {
        let block = match value {
            value if value == self.constants.default_argument => None,
            value => Some(u64::try_from(value).map_err(|_| malformed())?),
        };
        match kind {
            kind if kind == self.constants.distribute_none => Ok(Distribution::None),
            kind if kind == self.constants.distribute_block => Ok(Distribution::Block(block)),
            kind if kind == self.constants.distribute_cyclic => Ok(Distribution::Cyclic(block)),
            _ => Err(malformed()),
        }
    }
}

/// The arguments not yet read.
struct Arguments<'a>(&'a [i64]);

impl<'a> Arguments<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [i64], Error> {
        let count = usize::try_from(count).map_err(|_| malformed())?;
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn next(&mut self) -> Result<i64, Error> {
        Ok(self.take(1)?[0])
    }

    fn count(&mut self) -> Result<u64, Error> {
        u64::try_from(self.next()?).map_err(|_| malformed())
    }

    fn counts(&mut self, count: u64) -> Result<Vec<u64>, Error> {
        self.take(count)?.iter().map(|&value| u64::try_from(value).map_err(|_| malformed())).collect()
    }
}

fn too_large(error: LayoutError) -> Error {
    Error::Invalid { class: ErrorClass::Type, what: error.to_string() }
}

fn malformed() -> Error {
    let what = "the MPI library describes a datatype in a way that tatpio does not know".into();
    Error::Invalid { class: ErrorClass::Type, what }
}
