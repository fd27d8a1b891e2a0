//! The referee's books: who waits where, which collective comes next, and the messages under way. No thread
//! waits here: every entry answers at once.

use super::super::{Reduce, Segment};
use crate::units::Rank;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// A rank's number in the first group, a group, and its rank in that group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) number: u32,
    pub(super) group: usize,
    pub(super) rank: u32,
}

/// Which collective a rank calls, with everything that all ranks must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Barrier,
    AllGather,
    Gather { root: Rank },
    Broadcast { root: Rank },
    AllReduce { op: Reduce, count: usize },
    AllToAll,
    Split,
    Share,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Barrier => f.write_str("barrier"),
            Call::AllGather => f.write_str("all_gather"),
            Call::Gather { root } => write!(f, "gather to root {root}"),
            Call::Broadcast { root } => write!(f, "broadcast from root {root}"),
            Call::AllReduce { op, count } => write!(f, "all_reduce {op:?} of {count} values"),
            Call::AllToAll => f.write_str("all_to_all"),
            Call::Split => f.write_str("split"),
            Call::Share => f.write_str("share"),
        }
    }
}

/// What one rank brings to a collective.
#[derive(Debug)]
pub(super) enum Input {
    Nothing,
    Bytes(Vec<u8>),
    Values(Vec<u64>),
    Color(u32),
    Segment(Option<Segment>),
}

/// What a collective leaves; every rank takes its part of it without holding the books.
#[derive(Debug)]
pub(super) enum Outcome {
    Nothing,
    /// Every rank's bytes.
    Lists(Vec<Vec<u8>>),
    /// The root's bytes.
    Bytes(Vec<u8>),
    /// The combined values.
    Values(Vec<u64>),
    /// Every rank's values.
    Rows(Vec<Vec<u64>>),
    /// Where every rank goes.
    Groups(Vec<Seat>),
    Segments(Option<Vec<Segment>>),
}

/// A rank's place in the group that a split put it in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) group: usize,
    pub(super) rank: u32,
    pub(super) size: u32,
}

/// The books of one run.
#[derive(Debug)]
pub(super) struct Books {
    groups: Vec<Group>,
    /// What each rank does, by its number in the first group.
    doing: Vec<Doing>,
    /// How many of them run: neither wait nor have ended. At zero with somebody waiting nothing can ever
    /// happen.
    running: usize,
    /// The first failure's text: the run is over.
    pub(super) failure: Option<String>,
}

/// What a rank does, as far as the referee knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Running,
    Collective,
    /// Waits in this group for so many messages.
    Receiving {
        group: usize,
        missing: usize,
    },
    Ended,
}

#[derive(Debug)]
struct Group {
    /// `world`, or the parent's name, the number of the split and the color: `world/3.1`.
    name: String,
    /// By rank of the group: the number in the first group. Ascending, because a split keeps the order.
    members: Vec<u32>,
    /// How many collectives are over.
    finished: u64,
    /// The collective that some members wait in.
    call: Option<Call>,
    inputs: Vec<Option<Input>>,
    arrived: usize,
    /// By receiver, then by sender; a receiver's row is empty until somebody sends to it or it waits.
    mail: Vec<Vec<Mailbox>>,
}

/// The messages from one rank to another.
#[derive(Clone, Debug, Default)]
struct Mailbox {
    waiting: VecDeque<Vec<u8>>,
    /// How many messages the receiver has asked for and not taken yet.
    wanted: usize,
}

impl Mailbox {
    fn is_missed(&self) -> bool {
        self.wanted > self.waiting.len()
    }
}

impl Books {
    pub(super) fn new(ranks: u32) -> Books {
        let members: Vec<u32> = (0..ranks).collect();
        Books {
            doing: vec![Doing::Running; members.len()],
            running: members.len(),
            groups: vec![Group::new("world".to_owned(), members)],
            failure: None,
        }
    }

    /// A member enters a collective of its group.
    pub(super) fn enter(&mut self, me: Place, call: Call, input: Input) -> Result<(), String> {
        let group = &self.groups[me.group];
        let ended: Vec<u32> =
            group.members.iter().copied().filter(|&member| self.has_ended(member)).collect();
        let group = &mut self.groups[me.group];
        if !ended.is_empty() {
            let next = group.next_name();
            return Err(format!("rank {} calls {call}, {next}, but {} ended", me.number, Ranks(&ended)));
        }
        let expected = *group.call.get_or_insert(call);
        if expected != call {
            return Err(format!(
                "ranks disagree on {}: {} in {expected}, rank {} calls {call}",
                group.next_name(),
                Waiting(&group.entered()),
                me.number
            ));
        }
        group.inputs[Rank(me.rank).index()] = Some(input);
        group.arrived += 1;
        Ok(())
    }

    /// What the collective under way leaves, once every member has entered it.
    pub(super) fn finish(&mut self, group: usize) -> Option<Outcome> {
        let next_group = self.groups.len();
        let group = &mut self.groups[group];
        if group.arrived < group.members.len() {
            return None;
        }
        let call = group.call.take().expect("somebody entered it");
        let inputs: Vec<Input> =
            group.inputs.iter_mut().map(|input| input.take().expect("all entered")).collect();
        group.arrived = 0;
        group.finished += 1;
        Some(match call {
            Call::Barrier => Outcome::Nothing,
            Call::AllGather | Call::Gather { .. } => Outcome::Lists(all_bytes(inputs).collect()),
            Call::Broadcast { .. } => Outcome::Bytes(all_bytes(inputs).next().expect("the root's bytes")),
            Call::AllReduce { op, .. } => Outcome::Values(combine(op, all_values(inputs))),
            Call::AllToAll => Outcome::Rows(all_values(inputs).collect()),
            Call::Share => Outcome::Segments(all_segments(inputs)),
            Call::Split => {
                let (groups, seats) = group.split(&inputs, next_group);
                self.groups.extend(groups);
                Outcome::Groups(seats)
            }
        })
    }

    /// A finished collective lets the other members run; returns them.
    pub(super) fn resume_others(&mut self, me: Place) -> Vec<u32> {
        let members = &self.groups[me.group].members;
        let others: Vec<u32> = members.iter().copied().filter(|&member| member != me.number).collect();
        for &other in &others {
            self.resume(other);
        }
        others
    }

    /// Posts messages, (receiver, bytes), then asks for others, (sender, length). Returns how many of those
    /// are not here yet, and adds to `woken` the ranks that need not wait any more.
    pub(super) fn trade(
        &mut self,
        me: Place,
        outgoing: Vec<(u32, Vec<u8>)>,
        wanted: &[(u32, usize)],
        woken: &mut Vec<u32>,
    ) -> Result<usize, String> {
        for (to, bytes) in outgoing {
            woken.extend(self.post(me, to, bytes)?);
        }
        self.want_mail(me, wanted)
    }

    /// Puts a message into its mailbox; returns the receiver if this was the last one it waited for.
    fn post(&mut self, me: Place, to: u32, bytes: Vec<u8>) -> Result<Option<u32>, String> {
        let group = &mut self.groups[me.group];
        let receiver = group.members[Rank(to).index()];
        let doing = &mut self.doing[Rank(receiver).index()];
        if *doing == Doing::Ended {
            let (from, len, name) = (me.number, bytes.len(), &group.name);
            return Err(format!(
                "rank {from} sends {len} bytes to rank {receiver} in {name}, but rank {receiver} ended"
            ));
        }
        let mailbox = group.mailbox(me.rank, to);
        let missed = mailbox.is_missed();
        mailbox.waiting.push_back(bytes);
        match doing {
            Doing::Receiving { missing, .. } if missed => {
                *missing -= 1;
                if *missing > 0 {
                    return Ok(None);
                }
                self.resume(receiver);
                Ok(Some(receiver))
            }
            _ => Ok(None),
        }
    }

    /// Notes which messages a rank wants, (sender, length); returns how many of them are not here yet.
    fn want_mail(&mut self, me: Place, wanted: &[(u32, usize)]) -> Result<usize, String> {
        let mut missing = 0;
        for &(from, _) in wanted {
            let group = &mut self.groups[me.group];
            let sender = group.members[Rank(from).index()];
            let mailbox = group.mailbox(from, me.rank);
            mailbox.wanted += 1;
            if mailbox.is_missed() {
                missing += 1;
                if self.has_ended(sender) {
                    let (rank, name) = (me.number, &self.groups[me.group].name);
                    return Err(format!(
                        "rank {rank} waits for a message from rank {sender} in {name}, but rank {sender} ended"
                    ));
                }
            }
        }
        Ok(missing)
    }

    /// The wanted messages, all of which are here.
    pub(super) fn take_mail(&mut self, me: Place, wanted: &[(u32, usize)]) -> Result<Vec<Vec<u8>>, String> {
        let group = &mut self.groups[me.group];
        let mut messages = Vec::with_capacity(wanted.len());
        for &(from, expected) in wanted {
            let sender = group.members[Rank(from).index()];
            let mailbox = group.mailbox(from, me.rank);
            mailbox.wanted -= 1;
            let message = mailbox.waiting.pop_front().expect("counted as here");
            if message.len() != expected {
                return Err(format!(
                    "ranks disagree on a message in {}: rank {sender} sent {} bytes, rank {} expects {expected}",
                    group.name,
                    message.len(),
                    me.number
                ));
            }
            messages.push(message);
        }
        Ok(messages)
    }

    /// A rank starts to wait; fails when nobody is left to end its wait.
    pub(super) fn pause(&mut self, number: u32, doing: Doing) -> Result<(), String> {
        self.doing[Rank(number).index()] = doing;
        self.running -= 1;
        self.check_somebody_runs()
    }

    /// A rank's program is over; fails when somebody counts on it.
    pub(super) fn end(&mut self, number: u32) -> Result<(), String> {
        self.doing[Rank(number).index()] = Doing::Ended;
        self.running -= 1;
        for group in &self.groups {
            group.check_end(number)?;
        }
        self.check_somebody_runs()
    }

    /// Who waits, for a failure to wake them.
    pub(super) fn waiting(&self) -> impl Iterator<Item = u32> + '_ {
        let waits = |doing: &Doing| matches!(doing, Doing::Collective | Doing::Receiving { .. });
        (0..).zip(&self.doing).filter(move |(_, doing)| waits(doing)).map(|(number, _)| number)
    }

    fn resume(&mut self, number: u32) {
        self.doing[Rank(number).index()] = Doing::Running;
        self.running += 1;
    }

    pub(super) fn has_ended(&self, number: u32) -> bool {
        self.doing[Rank(number).index()] == Doing::Ended
    }

    fn check_somebody_runs(&self) -> Result<(), String> {
        if self.running > 0 || self.waiting().next().is_none() {
            return Ok(());
        }
        let collectives = self.groups.iter().filter_map(|group| {
            let call = group.call?;
            Some(format!("{} in {call}, {}", Waiting(&group.entered()), group.next_name()))
        });
        let exchanges = self.waiting().filter_map(|number| {
            let Doing::Receiving { group, .. } = self.doing[Rank(number).index()] else { return None };
            let group = &self.groups[group];
            let senders = group.missed_senders(group.rank_of(number)?);
            Some(format!("rank {number} waits in an exchange of {} for {}", group.name, Ranks(&senders)))
        });
        let all: Vec<String> = collectives.chain(exchanges).collect();
        Err(format!("deadlock: {}", all.join("; ")))
    }
}

impl Group {
    fn new(name: String, members: Vec<u32>) -> Group {
        let size = members.len();
        let inputs = (0..size).map(|_| None).collect();
        Group { name, members, finished: 0, call: None, inputs, arrived: 0, mail: vec![Vec::new(); size] }
    }

    /// The collective that comes next, for messages.
    fn next_name(&self) -> String {
        format!("collective {} of {}", self.finished + 1, self.name)
    }

    /// The members that wait in the collective under way.
    fn entered(&self) -> Vec<u32> {
        let both = self.members.iter().zip(&self.inputs);
        both.filter(|(_, input)| input.is_some()).map(|(&member, _)| member).collect()
    }

    fn rank_of(&self, number: u32) -> Option<usize> {
        self.members.binary_search(&number).ok()
    }

    fn mailbox(&mut self, from: u32, to: u32) -> &mut Mailbox {
        let row = &mut self.mail[Rank(to).index()];
        if row.is_empty() {
            row.resize(self.members.len(), Mailbox::default());
        }
        &mut row[Rank(from).index()]
    }

    /// The members whose messages this rank of the group waits for.
    fn missed_senders(&self, rank: usize) -> Vec<u32> {
        let both = self.members.iter().zip(&self.mail[rank]);
        both.filter(|(_, mailbox)| mailbox.is_missed()).map(|(&member, _)| member).collect()
    }

    /// Fails when the end of this rank leaves somebody waiting or a message unread.
    fn check_end(&self, number: u32) -> Result<(), String> {
        let Some(rank) = self.rank_of(number) else { return Ok(()) };
        if let Some(call) = self.call {
            let (waiting, next) = (self.entered(), self.next_name());
            return Err(format!("rank {number} ended, but {} in {call}, {next}", Waiting(&waiting)));
        }
        for (&sender, mailbox) in self.members.iter().zip(&self.mail[rank]) {
            if let Some(message) = mailbox.waiting.front() {
                let (len, name) = (message.len(), &self.name);
                return Err(format!(
                    "rank {number} ended without receiving {len} bytes that rank {sender} sent it in {name}"
                ));
            }
        }
        for (&receiver, row) in self.members.iter().zip(&self.mail) {
            if row.get(rank).is_some_and(Mailbox::is_missed) {
                let name = &self.name;
                return Err(format!(
                    "rank {number} ended, but rank {receiver} waits for a message from it in {name}"
                ));
            }
        }
        Ok(())
    }

    /// The groups that the colors make, the first of which gets this index, and where every member goes.
    fn split(&self, inputs: &[Input], first_index: usize) -> (Vec<Group>, Vec<Seat>) {
        let mut members_of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut seats = Vec::with_capacity(inputs.len());
        for (input, &member) in inputs.iter().zip(&self.members) {
            let Input::Color(color) = *input else { unreachable!("a split brings colors") };
            let members = members_of.entry(color).or_default();
            members.push(member);
            seats.push((color, Rank::from_index(members.len() - 1)));
        }
        let seats = seats.into_iter().map(|(color, rank)| Seat {
            group: first_index + members_of.range(..color).count(),
            rank: rank.0,
            size: Rank::from_index(members_of[&color].len()).0,
        });
        let seats = seats.collect();
        let named =
            |(color, members)| Group::new(format!("{}/{}.{color}", self.name, self.finished), members);
        (members_of.into_iter().map(named).collect(), seats)
    }
}

fn all_bytes(inputs: Vec<Input>) -> impl Iterator<Item = Vec<u8>> {
    inputs.into_iter().filter_map(|input| if let Input::Bytes(bytes) = input { Some(bytes) } else { None })
}

fn all_values(inputs: Vec<Input>) -> impl Iterator<Item = Vec<u64>> {
    inputs.into_iter().filter_map(|input| if let Input::Values(values) = input { Some(values) } else { None })
}

/// `None` when any rank has none.
fn all_segments(inputs: Vec<Input>) -> Option<Vec<Segment>> {
    inputs.into_iter().map(|input| if let Input::Segment(segment) = input { segment } else { None }).collect()
}

fn combine(op: Reduce, mut rows: impl Iterator<Item = Vec<u64>>) -> Vec<u64> {
    let mut total = rows.next().expect("a group has a rank");
    for row in rows {
        for (sum, value) in total.iter_mut().zip(row) {
            *sum = match op {
                Reduce::Sum => sum.wrapping_add(value),
                Reduce::Min => value.min(*sum),
                Reduce::Max => value.max(*sum),
            };
        }
    }
    total
}

/// Ascending ranks for people: `rank 3`, `ranks 0-2, 7`.
struct Ranks<'a>(&'a [u32]);

impl fmt::Display for Ranks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 { "rank " } else { "ranks " })?;
        for (index, run) in self.0.chunk_by(|&before, &after| before + 1 == after).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            match run {
                [one] => write!(f, "{separator}{one}")?,
                [first, .., last] => write!(f, "{separator}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

/// The same with its verb: `rank 3 waits`, `ranks 0-2, 7 wait`.
struct Waiting<'a>(&'a [u32]);

impl fmt::Display for Waiting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Ranks(self.0), if self.0.len() == 1 { "waits" } else { "wait" })
    }
}
