//! tatpio makes MPI collective I/O topology-aware: file domains go to the aggregators that are nearest to the data.
//!
//! This crate is the engine. It knows nothing of MPI: ranks are a [`comm::Communicator`], files a
//! [`backend::Backend`]. The crate in `capi/` puts it under unmodified MPI programs.
//!
//! A collective call runs as alternating pure stages and communication:
//!
//! ```text
//! flatten    datatype and view -> file bytes in nested strides        plan::Layout, plan::Access
//! survey     every rank's range; errors are agreed on before data moves
//! partition  the range -> file domains, no lock block in two of them   plan::Domains
//! place      communication matrix x distances -> aggregators           placement, topology
//! plan       rounds of cb_buffer_size, holes known in advance          plan::plan_rounds, plan::Coverage
//! move       one copy through shared memory in a node, messages between nodes
//! agree      one outcome on every rank
//! ```
//!
//! Supported: collective writes and reads of any datatype and view in native representation, data sieving,
//! read-modify-write under a lock, even and cyclic domains and dealt stripes, six assignments, distances from hwloc,
//! InfiniBand, Slurm, topology files and synthetic networks, plans kept from call to call. Not supported yet: nonblocking
//! and shared-pointer collectives, atomic mode, other data representations (the interposer leaves those to the MPI library).
//!
//! Beside the collective path stand pure rooms for the layers around it: [`arbitration`] of I/O nodes, [`periodic`] I/O
//! windows, fair [`sharing`] of servers, and a simulator ([`simulate`]) for the last. No daemon runs them yet.
//!
//! ```
//! use tatpio::backend::MemoryFile;
//! use tatpio::collective::{CollectiveFile, FileSetup, Request};
//! use tatpio::comm::{Communicator, SimSetup, simulate};
//! use tatpio::memory::Memory;
//! use tatpio::plan::{Access, Layout, View};
//! use tatpio::units::ByteRange;
//!
//! // Three ranks write bytes in turn: 0 1 2 0 1 2 ...
//! let shared = MemoryFile::new();
//! let written = simulate(&SimSetup::new(3), |comm| {
//!     let rank = comm.rank();
//!     let every_third = Layout::bytes(1)?.resized(0, 3)?;
//!     let view = View { displacement: u64::from(rank.0), filetype: every_third, etype_bytes: 1 };
//!     let mut data = vec![rank.0 as u8; 4];
//!     let request = Access::new(&view, 0, 4).map(|access| Request { access, memory: Memory::contiguous(&mut data) });
//!     let setup = FileSetup::new("example", comm.size());
//!     let mut file = CollectiveFile::open(comm, shared.handle(), setup);
//!     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(file.write_all(request).unwrap())
//! });
//! assert!(written.unwrap().into_iter().all(|bytes| bytes.unwrap() == 4));
//! assert_eq!(shared.contents(ByteRange::new(0, 12)), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
//! ```

pub mod arbitration;
pub mod backend;
pub mod collective;
pub mod comm;
pub mod error;
pub mod hints;
pub mod memory;
pub mod periodic;
pub mod placement;
pub mod plan;
pub mod sharing;
pub mod simulate;
pub mod stats;
pub mod topology;
pub mod units;
