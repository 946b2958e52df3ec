//! The options of the commands that search.
//!
//! Owns their notation. Redis looks the set up first, so that it tells of a wrong member where it
//! stands among the options.

use bytes::Bytes;

use super::cell::Place;
use super::read::place_of;
use super::shape::{Outline, Shape};
use super::{parse_place, parse_unit};
use crate::collections::sorted_set::SortedSet;
use crate::command::CommandError;
use crate::commands::string_value::integer;
use crate::number::parse_double;

/// One of the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// GEORADIUS, which may store.
    Radius { may_store: bool },
    /// GEORADIUSBYMEMBER, which may store.
    RadiusByMember { may_store: bool },
    /// GEOSEARCH.
    Search,
    /// GEOSEARCHSTORE.
    SearchStore,
}

impl Command {
    /// Where the searched key stands.
    pub(super) fn source_at(self) -> usize {
        match self {
            Self::Radius { .. } | Self::RadiusByMember { .. } | Self::Search => 1,
            Self::SearchStore => 2,
        }
    }

    /// Where the options begin.
    fn options_at(self) -> usize {
        match self {
            Self::Radius { .. } => 6,
            Self::RadiusByMember { .. } => 5,
            Self::Search => 2,
            Self::SearchStore => 3,
        }
    }

    fn is_search(self) -> bool {
        matches!(self, Self::Search | Self::SearchStore)
    }

    /// Whether STORE and STOREDIST with a key are options.
    fn takes_store_keys(self) -> bool {
        matches!(
            self,
            Self::Radius { may_store: true } | Self::RadiusByMember { may_store: true }
        )
    }

    /// The keys that the command may write. Options that are read as something else may be among
    /// them; to lock those as well does no harm.
    pub(super) fn targets(self, args: &[Bytes]) -> Vec<&Bytes> {
        match self {
            Self::SearchStore => vec![&args[1]],
            Self::Search => Vec::new(),
            Self::Radius { .. } | Self::RadiusByMember { .. } if !self.takes_store_keys() => {
                Vec::new()
            }
            Self::Radius { .. } | Self::RadiusByMember { .. } => {
                let options = args.get(self.options_at()..).unwrap_or_default();
                let pairs = options.windows(2).filter(|pair| {
                    pair[0].eq_ignore_ascii_case(b"store")
                        || pair[0].eq_ignore_ascii_case(b"storedist")
                });
                pairs.map(|pair| &pair[1]).collect()
            }
        }
    }
}

/// The order of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sorting {
    /// The order of the cells that were looked at.
    None,
    /// The nearest first.
    Ascending,
    /// The farthest first.
    Descending,
}

/// What a command asks for.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "one for each option")]
pub(super) struct Request {
    /// Nothing where the set does not exist.
    pub(super) shape: Option<Shape>,
    pub(super) has_distance: bool,
    pub(super) has_hash: bool,
    pub(super) has_place: bool,
    pub(super) sorting: Sorting,
    /// Elements at most.
    pub(super) count: Option<u64>,
    /// Any so many will do.
    pub(super) any: bool,
    /// The key that gets the result.
    pub(super) target: Option<Bytes>,
    /// Whether distances become the scores there.
    pub(super) stores_distance: bool,
}

/// What was read so far.
struct Reading {
    request: Request,
    middle: Option<Place>,
    /// A member was named; its place is not known where there is no set.
    has_member: bool,
    outline: Option<(Outline, f64)>,
}

/// Reads a command's arguments beside its key.
pub(super) async fn parse(
    args: &[Bytes],
    command: Command,
    set: &mut Option<SortedSet>,
) -> Result<Request, CommandError> {
    let mut reading = Reading {
        request: Request {
            shape: None,
            has_distance: false,
            has_hash: false,
            has_place: false,
            sorting: Sorting::None,
            count: None,
            any: false,
            target: (command == Command::SearchStore).then(|| args[1].clone()),
            stores_distance: false,
        },
        middle: None,
        has_member: false,
        outline: None,
    };
    match command {
        Command::Radius { .. } => {
            reading.middle = Some(parse_place(&args[2], &args[3])?);
            reading.outline = Some(parse_circle(&args[4], &args[5])?);
        }
        Command::RadiusByMember { .. } if set.is_some() => {
            reading.take_member(set, &args[2]).await?;
            reading.outline = Some(parse_circle(&args[3], &args[4])?);
        }
        Command::RadiusByMember { .. } | Command::Search | Command::SearchStore => {}
    }
    let mut rest = &args[command.options_at()..];
    while !rest.is_empty() {
        let taken = reading.take_option(rest, command, set).await?;
        rest = &rest[taken..];
    }
    reading.finish(&args[0], command)
}

impl Reading {
    /// Reads one option. Returns how many words it took.
    async fn take_option(
        &mut self,
        words: &[Bytes],
        command: Command,
        set: &mut Option<SortedSet>,
    ) -> Result<usize, CommandError> {
        if let Some(taken) = self.take_word(&words[0]) {
            return Ok(taken);
        }
        let word = words[0].to_ascii_lowercase();
        match (&word[..], &words[1..]) {
            (b"count", [count, ..]) => {
                let count = integer(count)?;
                if count <= 0 {
                    return Err(CommandError::other("ERR COUNT must be > 0"));
                }
                self.request.count = Some(count.unsigned_abs());
                Ok(2)
            }
            (b"store" | b"storedist", [key, ..]) if command.takes_store_keys() => {
                self.request.target = Some(key.clone());
                self.request.stores_distance = &word[..] == b"storedist";
                Ok(2)
            }
            (b"storedist", _) if command == Command::SearchStore => {
                self.request.stores_distance = true;
                Ok(1)
            }
            _ if command.is_search() => self.take_search_option(&word, &words[1..], set).await,
            _ => Err(CommandError::Syntax),
        }
    }

    /// Reads an option of one word.
    fn take_word(&mut self, word: &[u8]) -> Option<usize> {
        let request = &mut self.request;
        match word.to_ascii_lowercase().as_slice() {
            b"withdist" => request.has_distance = true,
            b"withhash" => request.has_hash = true,
            b"withcoord" => request.has_place = true,
            b"any" => request.any = true,
            b"asc" => request.sorting = Sorting::Ascending,
            b"desc" => request.sorting = Sorting::Descending,
            _ => return None,
        }
        Some(1)
    }

    /// Reads an option that says where to search.
    async fn take_search_option(
        &mut self,
        word: &[u8],
        values: &[Bytes],
        set: &mut Option<SortedSet>,
    ) -> Result<usize, CommandError> {
        let is_place_named = self.middle.is_some() && !self.has_member;
        let is_rectangle = matches!(self.outline, Some((Outline::Rectangle { .. }, _)));
        let is_circle = matches!(self.outline, Some((Outline::Circle { .. }, _)));
        match (word, values) {
            (b"frommember", [member, ..]) if !is_place_named => {
                self.take_member(set, member).await?;
                Ok(2)
            }
            (b"fromlonlat", [longitude, latitude, ..]) if !self.has_member => {
                self.middle = Some(parse_place(longitude, latitude)?);
                Ok(3)
            }
            (b"byradius", [radius, unit, ..]) if !is_rectangle => {
                self.outline = Some(parse_circle(radius, unit)?);
                Ok(3)
            }
            (b"bybox", [width, height, unit, ..]) if !is_circle => {
                self.outline = Some(parse_rectangle(width, height, unit)?);
                Ok(4)
            }
            _ => Err(CommandError::Syntax),
        }
    }

    /// The middle is where a member is.
    async fn take_member(
        &mut self,
        set: &mut Option<SortedSet>,
        member: &[u8],
    ) -> Result<(), CommandError> {
        self.has_member = true;
        if let Some(set) = set {
            let place = place_of(set, member).await?;
            self.middle = Some(place.ok_or(CommandError::other(
                "ERR could not decode requested zset member",
            ))?);
        }
        Ok(())
    }

    /// Checks that the options go together.
    fn finish(self, name: &[u8], command: Command) -> Result<Request, CommandError> {
        let mut request = self.request;
        if request.target.is_some()
            && (request.has_distance || request.has_hash || request.has_place)
        {
            let what = if command == Command::SearchStore {
                "GEOSEARCHSTORE"
            } else {
                "STORE option in GEORADIUS"
            };
            return Err(CommandError::other(format!(
                "ERR {what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
            )));
        }
        let name = String::from_utf8_lossy(name);
        if command.is_search() && !self.has_member && self.middle.is_none() {
            return Err(CommandError::other(format!(
                "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for {name}"
            )));
        }
        if command.is_search() && self.outline.is_none() {
            return Err(CommandError::other(format!(
                "ERR exactly one of BYRADIUS and BYBOX can be specified for {name}"
            )));
        }
        if request.any && request.count.is_none() {
            return Err(CommandError::other(
                "ERR the ANY argument requires COUNT argument",
            ));
        }
        if request.count.is_some() && request.sorting == Sorting::None && !request.any {
            request.sorting = Sorting::Ascending;
        }
        request.shape = match (self.middle, self.outline) {
            (Some(middle), Some((outline, unit_m))) => Some(Shape {
                middle,
                outline,
                unit_m,
            }),
            (None, _) | (_, None) => None,
        };
        Ok(request)
    }
}

fn parse_circle(radius: &[u8], unit: &[u8]) -> Result<(Outline, f64), CommandError> {
    let radius = length(radius, "ERR need numeric radius")?;
    if radius < 0.0 {
        return Err(CommandError::other("ERR radius cannot be negative"));
    }
    Ok((Outline::Circle { radius }, parse_unit(unit)?))
}

fn parse_rectangle(
    width: &[u8],
    height: &[u8],
    unit: &[u8],
) -> Result<(Outline, f64), CommandError> {
    let width = length(width, "ERR need numeric width")?;
    let height = length(height, "ERR need numeric height")?;
    if width < 0.0 || height < 0.0 {
        return Err(CommandError::other(
            "ERR height or width cannot be negative",
        ));
    }
    Ok((Outline::Rectangle { width, height }, parse_unit(unit)?))
}

fn length(text: &[u8], error: &'static str) -> Result<f64, CommandError> {
    parse_double(text).ok_or(CommandError::other(error))
}
