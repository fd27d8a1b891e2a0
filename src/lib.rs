//! draft
pub mod backend;
pub mod collective;
pub mod comm;
pub mod error;
pub mod hints;
pub mod memory;
pub mod placement;
pub mod plan;
pub mod stats;
pub mod topology;
pub mod units;
