//! draft
pub mod units; pub mod error; pub mod plan; pub mod memory;
