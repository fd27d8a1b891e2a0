//! A datatype as the constructor calls that make it.

use serde::{Deserialize, Serialize};

/// The predefined types that cases are made of, with the sizes of the usual 64-bit C compilers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Named {
    /// `MPI_BYTE`.
    Byte,
    /// `MPI_SHORT`, 2 bytes.
    Short,
    /// `MPI_INT`, 4 bytes.
    Int,
    /// `MPI_DOUBLE`, 8 bytes.
    Double,
    /// `MPI_SHORT_INT`: a short at 0, an int at 4; size 6, extent 8.
    ShortInt,
    /// `MPI_DOUBLE_INT`: a double at 0, an int at 8; size 12, extent 16.
    DoubleInt,
}

impl Named {
    /// All of them.
    pub const ALL: [Named; 6] =
        [Named::Byte, Named::Short, Named::Int, Named::Double, Named::ShortInt, Named::DoubleInt];
}

/// The storage order of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Order {
    /// `MPI_ORDER_C`: the last dimension varies fastest.
    C,
    /// `MPI_ORDER_FORTRAN`: the first dimension varies fastest.
    Fortran,
}

/// How one dimension of a distributed array is dealt to the processes along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Distribution {
    /// `MPI_DISTRIBUTE_NONE`: not dealt; one process along the dimension.
    None,
    /// `MPI_DISTRIBUTE_BLOCK`: one block of `arg` elements each, by default the smallest that suffices.
    Block,
    /// `MPI_DISTRIBUTE_CYCLIC`: blocks of `arg` elements (by default 1) dealt round robin.
    Cyclic,
}

/// One dimension of [`TypeSpec::Darray`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Dimension {
    /// `array_of_gsizes`: elements of the global array.
    pub global: i32,
    /// `array_of_distribs`.
    pub distribution: Distribution,
    /// `array_of_dargs`; `None` is `MPI_DISTRIBUTE_DFLT_DARG`.
    pub arg: Option<i32>,
    /// `array_of_psizes`: processes along this dimension.
    pub processes: i32,
}

/// One block of an indexed type: `length` elements at `displacement`, in elements or in bytes as the constructor says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Block {
    /// Elements.
    pub length: i32,
    /// Extents of the element (`Indexed`) or bytes (`Hindexed`).
    pub displacement: i64,
}

/// One block of a struct: `length` elements of `inner` at `displacement` bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// Elements.
    pub length: i32,
    /// Bytes.
    pub displacement: i64,
    /// The elements' type.
    pub inner: TypeSpec,
}

/// A datatype as a tree of constructor calls, with the arguments that MPI takes. What C passes as `int` is `i32`
/// (displacements of `Indexed` and `IndexedBlock` are `i64` here but always fit), what C passes as `MPI_Aint` is `i64`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TypeSpec {
    /// A predefined type.
    Named(Named),
    /// `MPI_Type_dup`.
    Dup(Box<TypeSpec>),
    /// `MPI_Type_contiguous`.
    Contiguous {
        /// Copies of `inner`.
        count: i32,
        /// The element.
        inner: Box<TypeSpec>,
    },
    /// `MPI_Type_vector`.
    Vector {
        /// Blocks.
        count: i32,
        /// Elements a block.
        blocklength: i32,
        /// From block to block, in extents of `inner`.
        stride: i32,
        /// The element.
        inner: Box<TypeSpec>,
    },
    /// `MPI_Type_create_hvector`.
    Hvector {
        /// Blocks.
        count: i32,
        /// Elements a block.
        blocklength: i32,
        /// From block to block, in bytes.
        stride: i64,
        /// The element.
        inner: Box<TypeSpec>,
    },
    /// `MPI_Type_indexed`.
    Indexed {
        /// Blocks, displaced by extents of `inner`.
        blocks: Vec<Block>,
        /// The element.
        inner: Box<TypeSpec>,
    },
    /// `MPI_Type_create_hindexed`.
    Hindexed {
        /// Blocks, displaced by bytes.
        blocks: Vec<Block>,
        /// The element.
        inner: Box<TypeSpec>,
    },
    /// `MPI_Type_create_indexed_block`.
    IndexedBlock {
        /// Elements a block.
        blocklength: i32,
        /// One a block, in extents of `inner`.
        displacements: Vec<i32>,
        /// The element.
        inner: Box<TypeSpec>,
    },
    /// `MPI_Type_create_hindexed_block`.
    HindexedBlock {
        /// Elements a block.
        blocklength: i32,
        /// One a block, in bytes.
        displacements: Vec<i64>,
        /// The element.
        inner: Box<TypeSpec>,
    },
    /// `MPI_Type_create_struct`. Its extent is padded to the strictest alignment of its basic elements, unless bounds
    /// were set explicitly inside (MPI-4.1, section 5.1.6); [`TypeSpec::extent`] says what came out.
    Struct {
        /// The blocks.
        fields: Vec<Field>,
    },
    /// `MPI_Type_create_subarray`. The three lists have one entry a dimension, in elements.
    Subarray {
        /// The whole array.
        sizes: Vec<i32>,
        /// The part.
        subsizes: Vec<i32>,
        /// The first element of the part.
        starts: Vec<i32>,
        /// Storage order.
        order: Order,
        /// The element.
        inner: Box<TypeSpec>,
    },
    /// `MPI_Type_create_darray`.
    Darray {
        /// Processes in the grid: the product of the dimensions' `processes`.
        size: i32,
        /// The process whose part this is; the grid is numbered in C order whatever `order` says.
        rank: i32,
        /// The dimensions.
        dimensions: Vec<Dimension>,
        /// Storage order of the array.
        order: Order,
        /// The element.
        inner: Box<TypeSpec>,
    },
    /// `MPI_Type_create_resized`.
    Resized {
        /// The new lower bound, in bytes.
        lb: i64,
        /// The new extent, in bytes.
        extent: i64,
        /// The type whose bounds are replaced.
        inner: Box<TypeSpec>,
    },
}

impl TypeSpec {
    /// `MPI_BYTE`.
    pub const BYTE: TypeSpec = TypeSpec::Named(Named::Byte);

    /// Every constructor's name, as [`TypeSpec::constructor`] gives it.
    pub const CONSTRUCTORS: [&'static str; 13] = [
        "named",
        "dup",
        "contiguous",
        "vector",
        "hvector",
        "indexed",
        "hindexed",
        "indexed_block",
        "hindexed_block",
        "struct",
        "subarray",
        "darray",
        "resized",
    ];

    /// `count` copies of `inner`.
    pub fn contiguous(count: i32, inner: TypeSpec) -> TypeSpec {
        TypeSpec::Contiguous { count, inner: Box::new(inner) }
    }

    /// `inner` with other bounds, in bytes.
    pub fn resized(lb: i64, extent: i64, inner: TypeSpec) -> TypeSpec {
        TypeSpec::Resized { lb, extent, inner: Box::new(inner) }
    }

    /// The name of the outermost constructor.
    pub fn constructor(&self) -> &'static str {
        match self {
            TypeSpec::Named(_) => "named",
            TypeSpec::Dup(_) => "dup",
            TypeSpec::Contiguous { .. } => "contiguous",
            TypeSpec::Vector { .. } => "vector",
            TypeSpec::Hvector { .. } => "hvector",
            TypeSpec::Indexed { .. } => "indexed",
            TypeSpec::Hindexed { .. } => "hindexed",
            TypeSpec::IndexedBlock { .. } => "indexed_block",
            TypeSpec::HindexedBlock { .. } => "hindexed_block",
            TypeSpec::Struct { .. } => "struct",
            TypeSpec::Subarray { .. } => "subarray",
            TypeSpec::Darray { .. } => "darray",
            TypeSpec::Resized { .. } => "resized",
        }
    }

    /// The types it is made from, one level down.
    pub fn children(&self) -> Vec<&TypeSpec> {
        match self {
            TypeSpec::Named(_) => Vec::new(),
            TypeSpec::Struct { fields } => fields.iter().map(|field| &field.inner).collect(),
            TypeSpec::Dup(inner)
            | TypeSpec::Contiguous { inner, .. }
            | TypeSpec::Vector { inner, .. }
            | TypeSpec::Hvector { inner, .. }
            | TypeSpec::Indexed { inner, .. }
            | TypeSpec::Hindexed { inner, .. }
            | TypeSpec::IndexedBlock { inner, .. }
            | TypeSpec::HindexedBlock { inner, .. }
            | TypeSpec::Subarray { inner, .. }
            | TypeSpec::Darray { inner, .. }
            | TypeSpec::Resized { inner, .. } => vec![inner],
        }
    }

    /// Calls `visit` for this type and everything inside it.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a TypeSpec)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }
}
