//! Datatypes and cases as text, close to the calls that a C program would make.

use crate::case::{Case, Op};
use crate::spec::{Distribution, Order, TypeSpec};
use std::fmt;

impl fmt::Display for TypeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeSpec::Named(named) => write!(f, "{named:?}"),
            TypeSpec::Dup(inner) => write!(f, "dup({inner})"),
            TypeSpec::Contiguous { count, inner } => write!(f, "contiguous({count}, {inner})"),
            TypeSpec::Vector { count, blocklength, stride, inner } => {
                write!(f, "vector({count}, {blocklength}, {stride}, {inner})")
            }
            TypeSpec::Hvector { count, blocklength, stride, inner } => {
                write!(f, "hvector({count}, {blocklength}, {stride}, {inner})")
            }
            TypeSpec::Indexed { blocks, inner } => {
                write!(
                    f,
                    "indexed({}, {inner})",
                    list(blocks, |b| format!("{}@{}", b.length, b.displacement))
                )
            }
            TypeSpec::Hindexed { blocks, inner } => {
                write!(
                    f,
                    "hindexed({}, {inner})",
                    list(blocks, |b| format!("{}@{}", b.length, b.displacement))
                )
            }
            TypeSpec::IndexedBlock { blocklength, displacements, inner } => {
                write!(f, "indexed_block({blocklength}, {displacements:?}, {inner})")
            }
            TypeSpec::HindexedBlock { blocklength, displacements, inner } => {
                write!(f, "hindexed_block({blocklength}, {displacements:?}, {inner})")
            }
            TypeSpec::Struct { fields } => {
                let field = |b: &crate::spec::Field| format!("{}@{} {}", b.length, b.displacement, b.inner);
                write!(f, "struct({})", list(fields, field))
            }
            TypeSpec::Subarray { sizes, subsizes, starts, order, inner } => {
                write!(f, "subarray({sizes:?}, {subsizes:?}, {starts:?}, {order}, {inner})")
            }
            TypeSpec::Darray { size, rank, dimensions, order, inner } => {
                let dimension = |d: &crate::spec::Dimension| {
                    let arg = d.arg.map_or(String::from("dflt"), |arg| arg.to_string());
                    let way = match d.distribution {
                        Distribution::None => String::from("none"),
                        Distribution::Block => format!("block({arg})"),
                        Distribution::Cyclic => format!("cyclic({arg})"),
                    };
                    format!("{} {way}/{}", d.global, d.processes)
                };
                write!(f, "darray({rank} of {size}, {}, {order}, {inner})", list(dimensions, dimension))
            }
            TypeSpec::Resized { lb, extent, inner } => write!(f, "resized({lb}, {extent}, {inner})"),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::C => "C",
            Order::Fortran => "Fortran",
        })
    }
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", "))
}

/// The whole case, a line a fact; ranks that do nothing in an operation are left out.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ranks, {:?}, {}", self.ranks.len(), self.family, self.replay_line())?;
        for (key, value) in &self.hints {
            writeln!(f, "  hint {key}={value}")?;
        }
        if !self.initial.is_empty() {
            let end = self.initial_offset + self.initial.len() as u64;
            writeln!(f, "  file holds [{}, {end}) at first", self.initial_offset)?;
        }
        for (rank, part) in self.ranks.iter().enumerate() {
            let view = &part.view;
            writeln!(
                f,
                "  rank {rank} view: disp {}, etype {}, filetype {}",
                view.disp, view.etype, view.filetype
            )?;
        }
        for (index, op) in self.ops.iter().enumerate() {
            writeln!(f, "  op {index}: {:?}", op.kind)?;
            op.fmt_ranks(f)?;
        }
        Ok(())
    }
}

impl Op {
    fn fmt_ranks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rank, access) in self.ranks.iter().enumerate().filter(|(_, access)| access.count != 0) {
            let offset =
                if self.kind.is_at() { format!("offset {}, ", access.offset) } else { String::new() };
            writeln!(
                f,
                "    rank {rank}: {offset}{} of {} at byte {} of {}",
                access.count, access.memtype, access.base, access.buffer_len
            )?;
        }
        Ok(())
    }
}
