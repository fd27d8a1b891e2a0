//! Whether a case is a valid MPI program, asked of its type maps.

use crate::case::{Access, Case, Family, Op, RankCase};
use crate::spec::TypeSpec;
use crate::typemap::{TypeMap, signed};
use crate::view::Tiling;

impl Case {
    /// Checks the rules of MPI-4.1, sections 14.1.1, 14.3 and 14.4, that apply to the calls of a case.
    ///
    /// # Errors
    ///
    /// Says which rule is broken, and where.
    pub fn check_valid(&self) -> Result<(), String> {
        if self.ranks.is_empty() {
            return Err(String::from("no ranks"));
        }
        let unit = self.ranks[0].view.etype.extent();
        for (rank, part) in self.ranks.iter().enumerate() {
            check_view(part).map_err(|error| format!("rank {rank}: {error}"))?;
            if part.view.etype.extent() != unit {
                return Err(format!("rank {rank}: its etype has another extent than rank 0's"));
            }
        }
        let mut positions = vec![0; self.ranks.len()];
        for (index, op) in self.ops.iter().enumerate() {
            if op.ranks.len() != self.ranks.len() {
                return Err(format!("operation {index} is not for {} ranks", self.ranks.len()));
            }
            for (rank, access) in op.ranks.iter().enumerate() {
                check_access(&self.ranks[rank], op, access, &mut positions[rank])
                    .map_err(|error| format!("operation {index}, rank {rank}: {error}"))?;
            }
        }
        Ok(())
    }

    /// Checks that the case uses only what its limits allow.
    ///
    /// # Errors
    ///
    /// Says which limit is broken.
    pub fn check_limits(&self) -> Result<(), String> {
        let limits = &self.limits;
        let ranks = self.ranks.len() as u64;
        if ranks < u64::from(limits.ranks_min) || ranks > u64::from(limits.ranks_max) {
            return Err(format!("{ranks} ranks"));
        }
        if self.bytes() > limits.bytes_max {
            return Err(format!("{} bytes", self.bytes()));
        }
        for part in &self.ranks {
            let filetype = TypeMap::of(&part.view.filetype);
            if !limits.empty && filetype.size() == 0 {
                return Err(String::from("an empty view"));
            }
            if !limits.quirks {
                self.check_quirks(&part.view.etype, &part.view.filetype)?;
            }
            if !limits.tiles && filetype.true_ub() - filetype.true_lb() > filetype.extent() {
                return Err(String::from("tiles interleave"));
            }
        }
        for (index, op) in self.ops.iter().enumerate() {
            let touched: Vec<u64> = self.file_bytes(index).concat();
            if !limits.large && touched.iter().any(|&at| at >= 1 << 31) {
                return Err(format!("operation {index} touches bytes past 2^31"));
            }
            if !limits.overlap && op.kind.is_write() && repeats(touched) {
                return Err(format!("operation {index}: two ranks write one byte"));
            }
        }
        Ok(())
    }

    fn check_quirks(&self, etype: &TypeSpec, filetype: &TypeSpec) -> Result<(), String> {
        let mut quirks = Vec::new();
        let size = filetype.size();
        filetype.walk(&mut |spec| match spec {
            TypeSpec::Resized { lb, inner, .. } if *lb < 0 || (*lb > inner.true_lb() && size > 0) => {
                quirks.push(spec)
            }
            TypeSpec::Indexed { blocks, .. } | TypeSpec::Hindexed { blocks, .. }
                if size > 0 && blocks.iter().any(|block| block.length == 0) =>
            {
                quirks.push(spec);
            }
            TypeSpec::Struct { fields } if fields.iter().any(|field| field.length == 0) => quirks.push(spec),
            _ => {}
        });
        let pointers = self.ops.iter().any(|op| !op.kind.is_at());
        if pointers
            && (matches!(self.family, Family::Independent | Family::Same)
                || etype.true_extent() != signed(etype.size()))
        {
            quirks.push(etype);
        }
        match quirks.first() {
            None => Ok(()),
            Some(spec) => Err(format!("{spec} is not for every library")),
        }
    }

    /// The file bytes of each rank's stream in an operation, by rank.
    pub fn file_bytes(&self, op: usize) -> Vec<Vec<u64>> {
        (0..self.ranks.len()).map(|rank| self.file_bytes_of(op, rank)).collect()
    }

    /// The file bytes of one rank's stream in an operation.
    pub fn file_bytes_of(&self, op: usize, rank: usize) -> Vec<u64> {
        let access = &self.ops[op].ranks[rank];
        if access.bytes() == 0 {
            return Vec::new();
        }
        let tiling = Tiling::new(&self.ranks[rank].view);
        let offset = if self.ops[op].kind.is_at() {
            access.offset
        } else {
            let earlier = self.ops[..op].iter().filter(|op| !op.kind.is_at());
            earlier.map(|op| op.ranks[rank].bytes() / tiling.etype_size()).sum()
        };
        tiling.file_bytes(offset, access.bytes())
    }
}

fn check_view(part: &RankCase) -> Result<(), String> {
    let etype = TypeMap::of(&part.view.etype);
    if etype.size() == 0 || etype.extent() <= 0 {
        return Err(String::from("an empty etype"));
    }
    if etype.true_lb() < 0 || !etype.is_monotonic() || etype.overlaps() {
        return Err(format!("etype {} goes back or overlaps", part.view.etype));
    }
    let filetype = TypeMap::of(&part.view.filetype);
    if !filetype.is_monotonic() || filetype.overlaps() {
        return Err(format!("filetype {} goes back or overlaps", part.view.filetype));
    }
    if filetype.size() > 0 && filetype.extent() <= 0 {
        return Err(format!("filetype {} has extent {}", part.view.filetype, filetype.extent()));
    }
    if filetype.extent() % etype.extent() != 0 {
        return Err(format!("filetype {} ends inside an etype", part.view.filetype));
    }
    // A filetype is made of etypes: entry by entry, each group is the etype moved by whole extents.
    if !filetype.entries().len().is_multiple_of(etype.entries().len()) {
        return Err(format!("filetype {} is not made of whole etypes", part.view.filetype));
    }
    for group in filetype.entries().chunks(etype.entries().len()) {
        let moved = group[0].displacement - etype.entries()[0].displacement;
        let same = group.iter().zip(etype.entries()).all(|(mine, theirs)| {
            mine.basic == theirs.basic && mine.displacement == theirs.displacement + moved
        });
        if !same || moved < 0 || moved % etype.extent() != 0 {
            return Err(format!("filetype {} is not made of etypes at {moved}", part.view.filetype));
        }
    }
    Ok(())
}

fn check_access(part: &RankCase, op: &Op, access: &Access, position: &mut u64) -> Result<(), String> {
    if access.count < 0 {
        return Err(format!("count {}", access.count));
    }
    let map = TypeMap::of(&access.memtype);
    let bytes = access.bytes();
    if bytes == 0 {
        return Ok(());
    }
    let tiling = Tiling::new(&part.view);
    if tiling.size() == 0 {
        return Err(String::from("data for an empty view"));
    }
    check_signature(&part.view.etype, &map, access.count)?;
    let memory = access.memory_bytes();
    if memory.iter().any(|&place| place >= access.buffer_len) {
        return Err(format!("memory type {} leaves the buffer", access.memtype));
    }
    if !op.kind.is_write() && repeats(memory) {
        return Err(format!("memory type {} overlaps in a read", access.memtype));
    }
    let offset = if op.kind.is_at() { access.offset } else { *position };
    let file = tiling.file_bytes(offset, bytes);
    if !op.kind.is_at() {
        *position += bytes / tiling.etype_size();
    }
    if repeats(file) {
        return Err(format!("filetype {} overlaps itself across tiles", part.view.filetype));
    }
    Ok(())
}

/// The data are whole etypes, basic element by basic element.
fn check_signature(etype: &TypeSpec, memory: &TypeMap, count: i32) -> Result<(), String> {
    let unit = TypeMap::of(etype).signature();
    let element = memory.signature();
    let total = element.len() * usize::try_from(count).expect("a count is not negative");
    let same = (0..total).all(|i| element[i % element.len()] == unit[i % unit.len()]);
    match same && total.is_multiple_of(unit.len()) {
        true => Ok(()),
        false => Err(format!("the memory type's signature is not that of whole etypes {etype}")),
    }
}

/// Whether something occurs twice.
fn repeats<T: Ord>(mut items: Vec<T>) -> bool {
    items.sort_unstable();
    items.windows(2).any(|pair| pair[0] == pair[1])
}
