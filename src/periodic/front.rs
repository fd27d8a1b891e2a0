//! A second solver: better schedules than PerSched's, from fewer periods.
//!
//! Three things differ from Algorithm 2. *Periods*: instead of a geometric series, whole multiples of the applications'
//! own cycles, with and without room for contention: just there a pattern wastes least, since it holds a whole number
//! of instances of somebody (and, where the file storage is the bottleneck, of their cycles slowed alike). They are
//! tried in the order of what a pattern of that period could reach at most, one for SysEfficiency, one for Dilation,
//! and never where that is beaten already. *Patterns*: besides insertion, a [sweep](super::sweep) along the period that
//! serves whoever is behind, or whose bytes free the most work; insertion then fills what is left. *Result*: all
//! patterns that no other one beats in both objectives, so that a caller may ask for the most SysEfficiency at a given
//! Dilation. At the end the periods of those are shortened by bisection.

use super::insert::Builder;
use super::pattern::{Objective, PERIOD_MAX, Pattern, Score};
use super::persched::{NoPattern, Search, best_period};
use super::quantities::Micros;
use super::sweep::{Plan, Rule, sweep};
use super::workload::Workload;

/// How a pattern of a given period is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Instance by instance (PerSched, Algorithms 1 and 3).
    Insertion,
    /// A sweep that serves whoever is furthest behind, filled up by insertion.
    Behind,
    /// A sweep that serves whose bytes free the most work, filled up by insertion.
    Value,
}

/// All that decides a pattern of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The period.
    pub period: Micros,
    /// How it is filled.
    pub maker: Maker,
}

/// A pattern that no other found beats in both objectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contender {
    /// How to make it.
    pub recipe: Recipe,
    /// How good it is.
    pub score: Score,
}

/// How far to look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exploration {
    /// The shortest period; what is below [`Workload::cycle_max`] is as good as that.
    pub period_min: Micros,
    /// The longest period over the shortest.
    pub period_ratio: f64,
    /// About how many instances to place in all, which is what takes the time.
    pub instances_max: u64,
}

impl Exploration {
    /// Periods up to 20 times the longest cycle, and a sixth of the instances that the first loop of
    /// PerSched would place from there with the paper's parameters.
    pub fn of(workload: &Workload) -> Exploration {
        let period_min = workload.cycle_max();
        // Σ over a geometric series: about (last - first) / ε.
        let series = period_min.0 as f64 * (10.0 - 1.0) / 0.01;
        let instances_max = (series * instances_per_time(workload) / 6.0) as u64;
        Exploration { period_min, period_ratio: 20.0, instances_max }
    }
}

/// About how many instances all applications do in a microsecond.
fn instances_per_time(workload: &Workload) -> f64 {
    let alone: f64 = workload.jobs().iter().map(|job| 1.0 / job.cycle as f64).sum();
    alone / workload.dilation_shared()
}

impl Recipe {
    /// The score of the pattern; `None` when it leaves an application out.
    ///
    /// Panics for a period of 0 or past [`PERIOD_MAX`].
    pub fn score(&self, workload: &Workload) -> Option<Score> {
        self.fill(workload, Builder::for_score(workload, self.period)).score()
    }

    /// The pattern; `None` when it leaves an application out.
    ///
    /// Panics for a period of 0 or past [`PERIOD_MAX`].
    pub fn pattern(&self, workload: &Workload) -> Option<Pattern> {
        self.fill(workload, Builder::for_pattern(workload, self.period)).pattern()
    }

    fn fill<'a>(&self, workload: &'a Workload, mut builder: Builder<'a>) -> Builder<'a> {
        let rule = match self.maker {
            Maker::Insertion => None,
            Maker::Behind => Some(Rule::Behind),
            Maker::Value => Some(Rule::Value),
        };
        if let Some(rule) = rule {
            let offsets = offsets(workload, self.period);
            let plan = Plan { period: self.period.0, rule, offsets: &offsets };
            for (job, track) in sweep(workload, &plan).iter().enumerate() {
                builder.adopt(job, track.instances());
            }
        }
        builder.insert_all();
        builder
    }
}

/// Applications begin one after another, each a share of its own cycle later: alike ones would else compute and
/// transfer all at once.
fn offsets(workload: &Workload, period: Micros) -> Vec<u64> {
    let jobs = workload.jobs();
    let offset = |(number, cycle): (usize, u64)| {
        let share = u128::from(cycle) * number as u128 / jobs.len() as u128;
        u64::try_from(share).expect("a share of a cycle") % period.0
    };
    jobs.iter().map(|job| job.cycle).enumerate().map(offset).collect()
}

/// A recipe to try, and what it can reach at most.
#[derive(Clone, Copy)]
struct Candidate {
    recipe: Recipe,
    hope: Score,
}

/// A computation from a recipe to the score of its pattern, which threads may share.
pub type ScoreRecipe<'a> = &'a (dyn Fn(Recipe) -> Option<Score> + Sync);

/// Maps a batch of recipes one after another: what [`front`] takes where there is one thread.
pub fn in_turn(recipes: &[Recipe], score: ScoreRecipe<'_>) -> Vec<Option<Score>> {
    recipes.iter().map(|&recipe| score(recipe)).collect()
}

/// How many recipes a call of the map gets.
const BATCH: usize = 12;

/// The patterns found that no other beats in both objectives, by rising SysEfficiency and rising Dilation. `map`
/// returns, for each recipe of a batch, what the function it is given returns for it; it may call it on any thread and
/// in any order, and the result is the same.
///
/// # Errors
///
/// [`NoPattern`], when there is no period or no pattern with all applications.
pub fn front<M>(workload: &Workload, exploration: &Exploration, map: M) -> Result<Vec<Contender>, NoPattern>
where
    M: Fn(&[Recipe], ScoreRecipe<'_>) -> Vec<Option<Score>>,
{
    let score = |recipe: Recipe| recipe.score(workload);
    let multiples = multiples(workload, exploration);
    let period_max = Micros(*multiples.last().ok_or(NoPattern::NoPeriod)?);
    let mut front = Front::default();
    add_persched(workload, exploration, &mut front, |batch| map(batch, &score));
    let candidates = candidates(workload, &multiples, &front);
    let density = instances_per_time(workload);
    let mut purse = Purse { left: exploration.instances_max as f64, density };
    let mut rest = candidates.iter().peekable();
    while rest.peek().is_some() {
        let hopeful = rest.by_ref().filter(|candidate| !front.beats(&candidate.hope));
        let batch: Vec<Recipe> = hopeful.map(|candidate| candidate.recipe).take(BATCH).collect();
        let scores = map(&batch, &score);
        for (recipe, score) in batch.iter().zip(scores) {
            front.add(*recipe, score);
        }
        if !purse.pay(&batch) {
            break;
        }
    }
    let mut purse = Purse { left: exploration.instances_max as f64 / 3.0, density };
    shorten(workload, &mut front, |batch| purse.pay(batch).then(|| map(batch, &score)));
    if front.contenders.is_empty() {
        return Err(NoPattern::LeavesOneOut { period_max });
    }
    Ok(front.contenders)
}

/// How many instances may still be placed.
struct Purse {
    left: f64,
    /// Instances in a microsecond.
    density: f64,
}

impl Purse {
    /// Says whether there is something left after these.
    fn pay(&mut self, recipes: &[Recipe]) -> bool {
        self.left -= recipes.iter().map(|recipe| recipe.period.0 as f64 * self.density).sum::<f64>();
        self.left > 0.0
    }
}

/// Begins with what PerSched finds for each objective.
fn add_persched(
    workload: &Workload,
    exploration: &Exploration,
    front: &mut Front,
    map: impl Fn(&[Recipe]) -> Vec<Option<Score>>,
) {
    let recipe = |&period: &Micros| Recipe { period, maker: Maker::Insertion };
    for objective in [Objective::SysEfficiency, Objective::Dilation] {
        let search = Search { objective, ..Search::from_period(exploration.period_min) };
        let found =
            best_period(workload, &search, |batch, _| map(&batch.iter().map(recipe).collect::<Vec<_>>()));
        if let Ok(period) = found {
            let recipe = recipe(&period);
            front.add(recipe, recipe.score(workload));
        }
    }
}

/// The contender with the most SysEfficiency of those whose Dilation is at most `dilation_max`.
pub fn most_efficient(front: &[Contender], dilation_max: f64) -> Option<&Contender> {
    front.iter().rfind(|contender| contender.score.dilation() <= dilation_max)
}

/// By rising SysEfficiency and rising Dilation.
#[derive(Default)]
struct Front {
    contenders: Vec<Contender>,
}

impl Front {
    /// Whether somebody is as good in both objectives.
    fn beats(&self, score: &Score) -> bool {
        // The first that is as efficient has the least dilation of those.
        let as_efficient =
            self.contenders.partition_point(|held| held.score.compare_efficiency(score).is_lt());
        self.contenders.get(as_efficient).is_some_and(|held| held.score.compare_dilation(score).is_ge())
    }

    fn add(&mut self, recipe: Recipe, score: Option<Score>) {
        let Some(score) = score.filter(|score| !self.beats(score)) else { return };
        self.contenders.retain(|held| {
            held.score.compare_efficiency(&score).is_gt() || held.score.compare_dilation(&score).is_gt()
        });
        let place = self.contenders.partition_point(|held| held.score.compare_efficiency(&score).is_lt());
        self.contenders.insert(place, Contender { recipe, score });
    }
}

/// What is tried of each multiple of a cycle: how to fill it, and how much longer it is made, in 1024ths, to leave room
/// for contention. Being fair costs the most room.
const VARIANTS: [(Maker, u64); 7] = [
    (Maker::Value, 0),
    (Maker::Behind, 2),
    (Maker::Insertion, 0),
    (Maker::Behind, 5),
    (Maker::Value, 2),
    (Maker::Behind, 10),
    (Maker::Insertion, 4),
];

/// A cycle this many times shorter than the longest is not worth a period of its own: what a period of another's loses
/// on it is less than that.
const CYCLES_MAX: u64 = 64;

/// What to try, the most promising first: by turns for SysEfficiency, for SysEfficiency and then Dilation,
/// and for Dilation.
fn candidates(workload: &Workload, multiples: &[u64], front: &Front) -> Vec<Candidate> {
    let variant = |period: u64, (maker, slack)| {
        let period = Micros(period + period / 1024 * slack);
        Candidate { recipe: Recipe { period, maker }, hope: at_most(workload, period) }
    };
    let all = multiples.iter().flat_map(|&period| VARIANTS.map(|kind| variant(period, kind)));
    let mut all: Vec<Candidate> = all.filter(|candidate| !front.beats(&candidate.hope)).collect();
    // Short periods first: they cost less, and more of them can be tried.
    all.sort_by_key(|candidate| candidate.recipe.period);
    let mut orders = [(); 3].map(|()| (0..all.len()).collect::<Vec<usize>>());
    orders[0].sort_by(|&a, &b| all[b].hope.compare_efficiency(&all[a].hope));
    orders[1].sort_by(|&a, &b| Objective::SysEfficiency.compare(&all[b].hope, &all[a].hope));
    orders[2].sort_by(|&a, &b| Objective::Dilation.compare(&all[b].hope, &all[a].hope));
    let mut seen = vec![false; all.len()];
    let turns = (0..all.len()).flat_map(|turn| [0, 1, 2].map(|order: usize| orders[order][turn]));
    turns.filter(|&index| !std::mem::replace(&mut seen[index], true)).map(|index| all[index]).collect()
}

/// Multiples of the cycles, alone and slowed alike; ascending, each once.
fn multiples(workload: &Workload, exploration: &Exploration) -> Vec<u64> {
    let least = exploration.period_min.max(workload.cycle_max()).0;
    let most = (least as f64 * exploration.period_ratio).min(PERIOD_MAX.0 as f64 / 1.01) as u64;
    let mut cycles: Vec<u64> = workload.jobs().iter().map(|job| job.cycle).collect();
    cycles.retain(|cycle| cycle * CYCLES_MAX >= workload.cycle_max().0);
    let dilation = workload.dilation_shared();
    if dilation > 1.0 {
        let slowed: Vec<u64> = cycles.iter().map(|&cycle| (cycle as f64 * dilation).ceil() as u64).collect();
        cycles.extend(slowed);
    }
    cycles.sort_unstable();
    cycles.dedup();
    let mut multiples: Vec<u64> = (cycles.into_iter())
        .flat_map(|cycle| (least.div_ceil(cycle)..=most / cycle).map(move |multiple| multiple * cycle))
        .collect();
    multiples.sort_unstable();
    multiples.dedup();
    multiples
}

/// About the best score of a pattern of this period: whole instances only, and the file storage carries no more than
/// B. For SysEfficiency no pattern has more; for Dilation all are slowed alike before what is left is given away.
fn at_most(workload: &Workload, period: Micros) -> Score {
    let jobs = workload.jobs();
    let mut counts: Vec<u64> = jobs.iter().map(|job| period.0 / job.cycle).collect();
    let mut score = Score::new(workload, period, &counts);
    let shared = workload.work_at_most(period.0 as f64, |job| (period.0 / job.cycle) as f64);
    // A hair more, so that rounding never loses what can be reached.
    score.work = score.work.min((shared * (1.0 + 1e-9)) as u128 + 1);
    if workload.dilation_shared() == 1.0 {
        return score;
    }
    let dilated = period.0 as f64 / workload.dilation_shared();
    let mut left = workload.platform().total.0 as f64 * period.0 as f64;
    for (count, job) in counts.iter_mut().zip(jobs) {
        *count = (*count).min((dilated / job.cycle as f64) as u64);
        left -= *count as f64 * job.grains as f64;
    }
    // Whoever is slowed most gets one more, while there is something to give.
    loop {
        let alone = |index: &usize| counts[*index] * jobs[*index].cycle;
        let slowest = (0..jobs.len()).min_by_key(alone).expect("a workload has applications");
        left -= jobs[slowest].grains as f64;
        let fits = (counts[slowest] + 1) * jobs[slowest].cycle <= period.0;
        if left < 0.0 || !fits {
            score.alone_least = Micros(alone(&slowest));
            return score;
        }
        counts[slowest] += 1;
    }
}

/// How often the period of a contender is halved in its distance to the least that its instances need.
const BISECTIONS: u32 = 6;

/// Shortens the periods of all contenders as far as the same work fits, all side by side, until `map` returns nothing.
fn shorten(
    workload: &Workload,
    front: &mut Front,
    mut map: impl FnMut(&[Recipe]) -> Option<Vec<Option<Score>>>,
) {
    let mut brackets: Vec<(Contender, u64)> =
        front.contenders.iter().map(|&held| (held, held.floor(workload))).collect();
    for _ in 0..BISECTIONS {
        let middle = |(held, least): &(Contender, u64)| Recipe {
            period: Micros(least + (held.recipe.period.0 - least) / 2),
            ..held.recipe
        };
        let recipes: Vec<Recipe> = brackets.iter().map(middle).collect();
        let Some(scores) = map(&recipes) else { return };
        for ((bracket, recipe), score) in brackets.iter_mut().zip(&recipes).zip(scores) {
            front.add(*recipe, score);
            let carries = |score: &Score| {
                score.work >= bracket.0.score.work && score.alone_least >= bracket.0.score.alone_least
            };
            match score.filter(carries) {
                Some(score) => bracket.0 = Contender { recipe: *recipe, score },
                None => bracket.1 = recipe.period.0,
            }
        }
    }
}

impl Contender {
    /// No period below this can carry the same work.
    fn floor(&self, workload: &Workload) -> u64 {
        let work = self.score.work as f64 / workload.platform().processors as f64;
        let least = (work / workload.efficiency_shared()) as u64;
        least.max(self.score.alone_least.0).max(workload.cycle_max().0).min(self.recipe.period.0)
    }
}
