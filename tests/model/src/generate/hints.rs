//! Random hints. None changes what a case must do.

use crate::rng::Rng;

/// The most rounds, stripes or windows that small buffers may cut the file into: more take time and find nothing.
const PIECES_MAX: u64 = 64;

/// Hints for a number of ranks whose operations touch the bytes between the ends of `hull`.
pub(super) fn choose(rng: &mut Rng, ranks: usize, hull: (u64, u64)) -> Vec<(String, String)> {
    let span = hull.1 - hull.0;
    let mut hints = Vec::new();
    let mut set = |key: &str, value: String| hints.push((String::from(key), value));
    if rng.chance(75) {
        set("cb_buffer_size", buffer_size(rng, span).to_string());
    }
    if rng.chance(55) {
        set("cb_nodes", (rng.below(ranks as u64 + 2) + 1).to_string());
    }
    if rng.chance(50) {
        set("cb_config_list", String::from(*rng.pick(&["*:1", "*:2", "*:*"])));
    }
    for (key, percent) in
        [("romio_cb_write", 45), ("romio_cb_read", 45), ("romio_ds_write", 40), ("romio_ds_read", 40)]
    {
        if rng.chance(percent) {
            // Two of three leave collective buffering on: that path is what is under test.
            set(key, String::from(*rng.pick(&["enable", "enable", "automatic", "automatic", "disable"])));
        }
    }
    let cyclic = rng.chance(25);
    if rng.chance(45) || cyclic {
        let least = if cyclic { span / 4096 } else { 0 };
        let units: Vec<u64> = [1, 7, 64, 512, 4096, 65536, 1 << 20, 1 << 24]
            .into_iter()
            .filter(|&unit| unit >= least)
            .collect();
        set("striping_unit", rng.pick(&units).to_string());
    }
    if rng.chance(20) {
        set("striping_factor", rng.pick(&[1, 2, 4, 7]).to_string());
    }
    if cyclic || rng.chance(20) {
        set("tatpio_domains", String::from(if cyclic { "cyclic" } else { "even" }));
    }
    if rng.chance(60) {
        let all = ["rank_order", "locality", "hop_bytes", "bottleneck", "stripes", "stripes", "automatic"];
        set("tatpio_assign", String::from(*rng.pick(&all)));
    }
    if rng.chance(60) {
        set("tatpio_node_ranks", rng.pick(&[1, 2, 2, 3, 4, 8]).to_string());
    }
    if rng.chance(50) {
        // One place a rank is enough whatever the number of ranks a node.
        set("tatpio_topology", topology(rng, ranks as u64));
    }
    if rng.chance(25) {
        set("romio_min_fdomain_size", rng.pick(&[0, 1, 100, 4096, 1 << 20]).to_string());
    }
    for key in ["ind_wr_buffer_size", "ind_rd_buffer_size"] {
        if rng.chance(35) {
            set(key, buffer_size(rng, span).to_string());
        }
    }
    hints
}

/// A small buffer, often odd, that cuts `span` bytes into a bearable number of pieces.
fn buffer_size(rng: &mut Rng, span: u64) -> u64 {
    let top = *rng.weighted(&[(30, 16), (30, 256), (30, 4096), (10, 1 << 20)]);
    (rng.below(top) + 1).max(span / PIECES_MAX)
}

/// A topology with at least `places` places for nodes.
fn topology(rng: &mut Rng, places: u64) -> String {
    let side = *rng.pick(&[2, 3, 4]);
    match rng.below(6) {
        0 => String::from("flat"),
        5 => format!("dragonfly:{side},2,{}", places.div_ceil(2 * side)),
        1 => format!("tree:{side},{}", places.div_ceil(side)),
        2 => format!("torus:{side},{}", places.div_ceil(side)),
        3 => format!("torus:2,{side},{}", places.div_ceil(2 * side)),
        _ => format!("fat-tree:{side},2,{}", places.div_ceil(2 * side)),
    }
}
