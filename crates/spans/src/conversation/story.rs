//! What happened in a conversation: who said what, which calls were asked for, and what ran each.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::value::RawValue;

use super::parts::{hash_part, same_json};
use super::{Conversation, Event, Place, Said, ToolRun};
use crate::messages::{Part, Role};
use sortie_recording::loss::count;

/// How many threads of messages are told apart in one conversation.
const THREADS: usize = 64;
/// How many calls of one name are compared with one that was run.
const WINDOW: usize = 64;

/// A call that a model asks for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Option<Box<RawValue>>,
    pub(super) place: Place,
    /// Whether a model said so, and not only a history.
    pub(super) by_model: bool,
    pub(super) run: Option<usize>,
    pub(super) result: Option<Answered>,
}

#[derive(Debug)]
pub(super) struct Answered {
    pub(super) place: Place,
    pub(super) value: Option<Box<RawValue>>,
    pub(super) is_error: bool,
}

/// What happened, in no order yet.
#[derive(Debug, Default)]
pub(super) struct Story {
    pub(super) texts: Vec<(Place, Role, String)>,
    pub(super) tools: Vec<(Place, Option<String>, Arc<RawValue>)>,
    pub(super) asked: Vec<Asked>,
    /// Where the calls of an id are among those that were asked for.
    pub(super) by_id: HashMap<String, Vec<usize>>,
    /// The first call of each name that may still wait for its result, where results have no ids.
    pub(super) first_open: HashMap<String, usize>,
    /// Calls that were run, and that no model asked for.
    pub(super) unasked: Vec<usize>,
}

impl Story {
    /// The oldest call that waits for its result, of a name or of any.
    fn first_waiting(&mut self, name: Option<&str>) -> Option<usize> {
        let from = self.first_open.entry(name.unwrap_or_default().to_owned()).or_default();
        let is_it = |asked: &Asked| asked.result.is_none() && name.is_none_or(|name| asked.name == name);
        let found = self.asked.get(*from..)?.iter().position(is_it).map(|at| at + *from);
        *from = found.unwrap_or(*from);
        found
    }
}

impl Conversation {
    pub(super) fn tell(&mut self) -> Story {
        let mut story = Story::default();
        let mut teller = Teller::default();
        // What agents give repeats what models said: it is looked at last, and counts where it does not.
        let (events, repeated): (Vec<_>, Vec<_>) = std::mem::take(&mut self.events)
            .into_iter()
            .partition(|event| !matches!(event.said, Said::Output { by_model: false, .. }));
        for Event { place, said } in events.into_iter().chain(repeated) {
            match said {
                Said::Tools { server, tools } => story.tools.push((place, server, tools)),
                Said::Input { span, turns } => {
                    let (from, is_certain) = teller.follow(span, &turns);
                    if !is_certain && from < turns.len() && from > 0 {
                        self.odd("a history that is not the one before, and more");
                    }
                    for hash in &turns[from..] {
                        self.tell_turn(&mut story, &mut teller, *hash, &place, false, is_certain);
                    }
                }
                Said::Output { span, turns, by_model } => {
                    for hash in turns {
                        self.tell_turn(&mut story, &mut teller, hash, &place, by_model, by_model);
                        if by_model {
                            teller.append(span, hash);
                        }
                    }
                }
            }
        }
        self.match_runs(&mut story);
        story
    }

    /// `is_new` says that it was said here, and does not repeat what was.
    fn tell_turn(
        &mut self,
        story: &mut Story,
        teller: &mut Teller,
        hash: u64,
        place: &Place,
        by_model: bool,
        is_new: bool,
    ) {
        let Some(turn) = self.turns.get(&hash) else { return };
        for part in &turn.parts {
            let key = hash_part(&self.hasher, turn.role, part);
            let is_first = teller.said.insert(key);
            match part {
                Part::Text(text) => {
                    let repeats = match turn.role {
                        Role::Assistant => !by_model && !is_first,
                        _ => !is_new && !is_first,
                    };
                    if !repeats {
                        story.texts.push((place.clone(), turn.role, text.clone()));
                    }
                }
                Part::Call { id, name, arguments } => {
                    let known = id.as_ref().and_then(|id| story.by_id.get(id)?.last().copied());
                    match known {
                        Some(at) if !by_model || !story.asked[at].by_model => {
                            story.asked[at].by_model |= by_model;
                        }
                        None if id.is_none() && !is_new && !is_first => {}
                        _ => {
                            if let Some(id) = id {
                                story.by_id.entry(id.clone()).or_default().push(story.asked.len());
                            }
                            story.asked.push(Asked {
                                id: id.clone(),
                                name: name.clone(),
                                arguments: arguments.clone(),
                                place: place.clone(),
                                by_model,
                                run: None,
                                result: None,
                            });
                        }
                    }
                }
                Part::Result { id, name, value, is_error } => {
                    let found = match (id, name) {
                        (Some(id), _) => story.by_id.get(id).and_then(|known| known.last().copied()),
                        (None, name) => story.first_waiting(name.as_deref()),
                    };
                    let Some(asked) = found.and_then(|at| story.asked.get_mut(at)) else {
                        if is_first {
                            count(&mut self.notes.oddities, "a result of no call");
                        }
                        continue;
                    };
                    if asked.result.is_none() {
                        asked.result = Some(Answered {
                            place: place.clone(),
                            value: value.clone(),
                            is_error: *is_error,
                        });
                    }
                }
            }
        }
    }

    /// Finds what ran each call: by its id, else by its name and arguments, the oldest first.
    fn match_runs(&mut self, story: &mut Story) {
        let time = |run: &ToolRun| run.place.as_ref().map_or(0, |place| place.time);
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_key(|at| time(&self.runs[*at]));
        let mut left = Vec::new();
        let mut next: HashMap<&str, usize> = HashMap::new();
        for at in order {
            let by_id = self.runs[at].id.as_deref().and_then(|id| {
                let asked = story.by_id.get(id)?;
                let next = next.entry(id).or_default();
                *next += 1;
                asked.get(*next - 1).copied()
            });
            match by_id {
                Some(asked) => story.asked[asked].run = Some(at),
                None => left.push(at),
            }
        }
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, asked) in story.asked.iter().enumerate().filter(|(_, asked)| asked.run.is_none()) {
            by_name.entry(asked.name.clone()).or_default().push(at);
        }
        for at in left {
            let run = &self.runs[at];
            let candidates = by_name.get_mut(&run.name);
            let found = candidates.and_then(|candidates| {
                let fits = |asked: &Asked| {
                    asked.place.time <= time(run)
                        && (run.id.is_none() || asked.id.is_none())
                        && match (&asked.arguments, &run.arguments) {
                            (Some(a), Some(b)) => same_json(a, b),
                            _ => true,
                        }
                };
                let place = candidates.iter().take(WINDOW).position(|asked| fits(&story.asked[*asked]))?;
                Some(candidates.remove(place))
            });
            match found {
                Some(asked) => story.asked[asked].run = Some(at),
                None => story.unasked.push(at),
            }
        }
        if !self.runs.is_empty() && !self.models.is_empty() {
            for _ in 0..story.unasked.len().min(1000) {
                self.odd("a call that no model asked for");
            }
        }
    }
}

/// Which messages were said, in threads: an agent and those that it asks have a history each.
#[derive(Debug, Default)]
struct Teller {
    threads: Vec<Vec<u64>>,
    /// The thread that a span went on with.
    of_span: HashMap<u64, usize>,
    said: HashSet<u64>,
}

impl Teller {
    /// Finds the thread that a history goes on with: where it goes on, and whether it is that thread, and more.
    fn follow(&mut self, span: u64, turns: &[u64]) -> (usize, bool) {
        let common = |thread: &Vec<u64>| thread.iter().zip(turns).take_while(|(a, b)| a == b).count();
        let best = self.threads.iter().enumerate().map(|(at, thread)| (common(thread), at)).max();
        match best {
            Some((shared, at)) if shared > 0 => {
                let is_extension = shared == self.threads[at].len();
                self.threads[at] = turns.to_vec();
                self.of_span.insert(span, at);
                (shared, is_extension)
            }
            _ => {
                if self.threads.len() == THREADS {
                    self.threads.remove(0);
                    self.of_span.clear();
                }
                self.threads.push(turns.to_vec());
                self.of_span.insert(span, self.threads.len() - 1);
                (0, self.threads.len() == 1)
            }
        }
    }

    fn append(&mut self, span: u64, hash: u64) {
        if let Some(thread) = self.of_span.get(&span).and_then(|at| self.threads.get_mut(*at)) {
            thread.push(hash);
        }
    }
}
