//! Hop-bytes by their definition: double by double, with every distance counted on the tree, and the best assignment by
//! trying all. Shares nothing with the library.

/// A job on a tree of switches; every node holds as many ranks, the last perhaps fewer.
pub struct Job {
    pub pattern: &'static str,
    /// Doubles along an edge.
    pub edge: usize,
    pub ranks: usize,
    pub per_node: usize,
    /// The children of a switch at each level, the top first.
    pub tree: &'static [usize],
    /// The position of each node in the tree.
    pub at: &'static [usize],
}

/// A hop is sixteen.
const HOP: u64 = 16;

impl Job {
    pub fn nodes(&self) -> usize {
        self.ranks.div_ceil(self.per_node)
    }

    fn node_of(&self, rank: usize) -> usize {
        rank / self.per_node
    }

    /// The arguments of `tatpio plan`; a block of the file is one double.
    pub fn arguments(&self) -> String {
        let list = |numbers: &[usize]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        format!(
            "plan {}:{} --ranks {} --per-node {} --topology tree:{}@{} --hints striping_unit=8 --json",
            self.pattern,
            self.edge,
            self.ranks,
            self.per_node,
            list(self.tree),
            list(self.at)
        )
    }

    /// Sixteenths of a hop between two ranks.
    pub fn distance(&self, a: usize, b: usize) -> u64 {
        let (from, to) = (self.node_of(a), self.node_of(b));
        if a == b {
            0
        } else if from == to {
            HOP
        } else {
            self.switches_up(from, to) * 2 * HOP
        }
    }

    /// How many levels two nodes must climb to meet.
    fn switches_up(&self, a: usize, b: usize) -> u64 {
        let (mut a, mut b, mut levels) = (self.at[a], self.at[b], 0);
        for children in self.tree.iter().rev() {
            (a, b, levels) = (a / children, b / children, levels + 1);
            if a == b {
                break;
            }
        }
        levels
    }

    /// The rank that holds the double at `[z, y, x]`.
    fn holder(&self, at: [usize; 3]) -> usize {
        let root = |power: u32| (1..).find(|root: &usize| root.pow(power) >= self.ranks).unwrap();
        match self.pattern {
            "cube" => {
                let q = root(3);
                assert_eq!(q.pow(3), self.ranks, "only cubes are this simple");
                let [z, y, x] = at.map(|coordinate| self.part(q, coordinate));
                (z * q + y) * q + x
            }
            _ => {
                // In slice z, part p is in row p / q - z and column p % q + z, around the edges.
                let q = root(2);
                let [z, y, x] = at.map(|coordinate| self.part(q, coordinate));
                (y + z) % q * q + (x + q - z) % q
            }
        }
    }

    /// Which of `parts` neighbours holds a coordinate: the first edge % parts have one more.
    fn part(&self, parts: usize, coordinate: usize) -> usize {
        let sizes = (0..parts).map(|part| self.edge / parts + usize::from(part < self.edge % parts));
        let mut end = 0;
        sizes
            .take_while(|size| {
                end += size;
                end <= coordinate
            })
            .count()
    }

    /// By rank and domain: bytes. There are as many domains as nodes.
    pub fn matrix(&self) -> Vec<Vec<u64>> {
        let (edge, domains) = (self.edge, self.nodes());
        let doubles = edge * edge * edge;
        let mut matrix = vec![vec![0; domains]; self.ranks];
        for index in 0..doubles {
            let rank = self.holder([index / edge / edge, index / edge % edge, index % edge]);
            let domain = (0..domains).rev().find(|domain| doubles * domain / domains <= index).unwrap();
            matrix[rank][domain] += 8;
        }
        matrix
    }

    /// What it costs when these ranks serve the domains.
    pub fn cost(&self, serving: &[usize]) -> u64 {
        let matrix = self.matrix();
        let way = |rank: usize, domain: usize| matrix[rank][domain] * self.distance(rank, serving[domain]);
        (0..self.ranks)
            .flat_map(|rank| (0..serving.len()).map(move |domain| (rank, domain)))
            .map(|(r, d)| way(r, d))
            .sum()
    }

    /// The original: the lowest rank of each node in turn.
    pub fn rank_order(&self) -> Vec<usize> {
        (0..self.nodes()).map(|node| node * self.per_node).collect()
    }

    /// The least that any assignment of one domain a node costs.
    pub fn least_cost(&self) -> u64 {
        let matrix = self.matrix();
        let serve = |rank: usize, domain: usize| {
            (0..self.ranks).map(|from| matrix[from][domain] * self.distance(from, rank)).sum()
        };
        let best = |node: usize, domain: usize| {
            let ranks = (0..self.ranks).filter(|&rank| self.node_of(rank) == node);
            ranks.map(|rank| serve(rank, domain)).min().unwrap()
        };
        self.best_of_all(best, u64::min)
    }

    /// The most bytes that can stay on their nodes.
    pub fn most_held(&self) -> u64 {
        let matrix = self.matrix();
        self.best_of_all(|node, domain| self.held(&matrix, node, domain), u64::max)
    }

    pub fn held(&self, matrix: &[Vec<u64>], node: usize, domain: usize) -> u64 {
        (0..self.ranks).filter(|&rank| self.node_of(rank) == node).map(|rank| matrix[rank][domain]).sum()
    }

    /// Over all ways to give each domain a node of its own, domain by domain over the sets of nodes that are taken.
    fn best_of_all(&self, value: impl Fn(usize, usize) -> u64, better: fn(u64, u64) -> u64) -> u64 {
        let nodes = self.nodes();
        let mut best: Vec<Option<u64>> = vec![None; 1 << nodes];
        best[0] = Some(0);
        for taken in 0..best.len() {
            let Some(so_far) = best[taken] else { continue };
            let domain = taken.count_ones() as usize;
            for node in (0..nodes).filter(|node| taken & (1 << node) == 0) {
                let found = so_far + value(node, domain);
                let entry = &mut best[taken | 1 << node];
                *entry = Some(entry.map_or(found, |known| better(known, found)));
            }
        }
        best.last().copied().flatten().unwrap()
    }

    /// Bytes from switch to switch in a write, as "from > to", when these ranks serve the domains. Only for two levels.
    pub fn loads(&self, serving: &[usize]) -> std::collections::BTreeMap<String, u64> {
        let matrix = self.matrix();
        let rack = |node: usize| format!("switch1.{}", self.at[node] / self.tree[1]);
        let mut loads = std::collections::BTreeMap::new();
        for (rank, row) in matrix.iter().enumerate() {
            for (domain, &bytes) in row.iter().enumerate() {
                let (from, to) = (self.node_of(rank), self.node_of(serving[domain]));
                if from == to || bytes == 0 {
                    continue;
                }
                let mut way = vec![format!("node{from}"), rack(from)];
                if rack(from) != rack(to) {
                    way.extend(["root".to_string(), rack(to)]);
                }
                way.push(format!("node{to}"));
                for link in way.windows(2) {
                    *loads.entry(format!("{} > {}", link[0], link[1])).or_default() += bytes;
                }
            }
        }
        loads
    }
}
