//! The referee at work: it keeps the books under one lock, puts ranks to sleep and wakes them.

use super::books::{Books, Call, Doing, Input, Outcome, Place};
use crate::units::Rank;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The panic payload of a rank that is stopped because the run has failed.
pub(super) struct Stopped;

/// The books of one run.
#[derive(Debug)]
pub(super) struct World {
    books: Mutex<Books>,
    bells: Vec<Bell>,
    share_fails_on: Option<Rank>,
}

/// Where one rank waits. Each has its own, because a bell that all shared would wake them into one lock.
#[derive(Debug, Default)]
struct Bell {
    message: Mutex<Option<Message>>,
    rung: Condvar,
}

/// Why a waiting rank is woken.
#[derive(Clone, Debug)]
enum Message {
    Finished(Arc<Outcome>),
    Arrived,
    Failed,
}

impl World {
    pub(super) fn new(ranks: u32, share_fails_on: Option<Rank>) -> World {
        let bells = (0..ranks).map(|_| Bell::default()).collect();
        World { books: Mutex::new(Books::new(ranks)), bells, share_fails_on }
    }

    pub(super) fn size(&self) -> usize {
        self.bells.len()
    }

    pub(super) fn share_fails_on(&self) -> Option<Rank> {
        self.share_fails_on
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.books().failure.clone()
    }

    /// Enters a collective; returns what it leaves when all members have entered it.
    pub(super) fn collective(&self, me: Place, call: Call, input: Input) -> Arc<Outcome> {
        let mut books = self.open_books();
        if let Err(text) = books.enter(me, call, input) {
            self.fail_and_stop(books, text);
        }
        if let Some(outcome) = books.finish(me.group) {
            let outcome = Arc::new(outcome);
            let others = books.resume_others(me);
            drop(books);
            for other in others {
                self.ring(other, Message::Finished(Arc::clone(&outcome)));
            }
            return outcome;
        }
        match self.wait(books, me, Doing::Collective) {
            Message::Finished(outcome) => outcome,
            other => unreachable!("a rank in a collective gets {other:?}"),
        }
    }

    /// Sends, then waits until the wanted messages, (sender, length), are here; returns them in that order.
    pub(super) fn exchange(
        &self,
        me: Place,
        outgoing: Vec<(u32, Vec<u8>)>,
        wanted: Vec<(u32, usize)>,
    ) -> Vec<Vec<u8>> {
        let mut books = self.open_books();
        let mut woken = Vec::new();
        let missing = books.trade(me, outgoing, &wanted, &mut woken);
        // Even when the trade failed: in the books these ranks no longer wait, so nothing else would wake
        // them.
        for receiver in woken {
            self.ring(receiver, Message::Arrived);
        }
        let missing = match missing {
            Ok(missing) => missing,
            Err(text) => self.fail_and_stop(books, text),
        };
        if missing > 0 {
            self.wait(books, me, Doing::Receiving { group: me.group, missing });
            books = self.open_books();
        }
        match books.take_mail(me, &wanted) {
            Ok(messages) => messages,
            Err(text) => self.fail_and_stop(books, text),
        }
    }

    /// A rank's program is over: it returned, or failed with this text.
    pub(super) fn end(&self, number: u32, result: Result<(), String>) {
        let mut books = self.books();
        let verdict = books.end(number);
        if let Err(text) = result.and(verdict) {
            self.fail(&mut books, text);
        }
    }

    /// Notes that this rank waits, and waits.
    fn wait(&self, mut books: MutexGuard<'_, Books>, me: Place, doing: Doing) -> Message {
        if let Err(text) = books.pause(me.number, doing) {
            self.fail_and_stop(books, text);
        }
        drop(books);
        let bell = &self.bells[Rank(me.number).index()];
        let mut message = unpoisoned(bell.message.lock());
        loop {
            match message.take() {
                Some(Message::Failed) => {
                    drop(message);
                    stop();
                }
                Some(other) => return other,
                None => message = unpoisoned(bell.rung.wait(message)),
            }
        }
    }

    fn ring(&self, number: u32, message: Message) {
        let bell = &self.bells[Rank(number).index()];
        *unpoisoned(bell.message.lock()) = Some(message);
        bell.rung.notify_one();
    }

    /// Records the first failure and wakes whoever waits.
    fn fail(&self, books: &mut Books, text: String) {
        if books.failure.is_some() {
            return;
        }
        books.failure = Some(text);
        for number in books.waiting() {
            self.ring(number, Message::Failed);
        }
    }

    fn fail_and_stop(&self, mut books: MutexGuard<'_, Books>, text: String) -> ! {
        self.fail(&mut books, text);
        drop(books);
        stop()
    }

    /// The books, for a rank that wants to go on: stops it when the run has failed.
    fn open_books(&self) -> MutexGuard<'_, Books> {
        let books = self.books();
        if books.failure.is_some() {
            drop(books);
            stop();
        }
        books
    }

    /// Returns when so many ranks wait. For tests that need an order of events.
    #[cfg(test)]
    pub(super) fn until_waiting(&self, count: usize) {
        while self.open_books().waiting().count() < count {
            std::thread::yield_now();
        }
    }

    /// Returns when this rank has ended. For tests that need an order of events.
    #[cfg(test)]
    pub(super) fn until_ended(&self, number: u32) {
        while !self.open_books().has_ended(number) {
            std::thread::yield_now();
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        unpoisoned(self.books.lock())
    }
}

/// Ends this rank's program quietly: the failure has its text already.
fn stop() -> ! {
    resume_unwind(Box::new(Stopped))
}

/// The books stay usable when a rank panics: no entry is left half written.
fn unpoisoned<T>(result: Result<T, PoisonError<T>>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}
