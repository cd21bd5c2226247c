//! Decodes messages, without trusting them.

use super::{Frame, Greeting, KINDS, MAGIC, Malformed, Reply, UNITS, action, frame_type, mark};
use crate::{
    Action, Control, Declaration, Dropped, Event, Histogram, LogLine, Node, ObserverId, Program,
    Site, Stamp, Table, Tree, Value,
};

/// Decodes the event in a frame; None if its type is unknown.
///
/// # Errors
/// If the payload is too short or has impossible numbers.
pub fn take_event(frame: &Frame) -> Result<Option<Event>, Malformed> {
    let mut body = Body::new(&frame.body);
    let event = match frame.kind {
        frame_type::HELLO => Event::Hello(body.program()?),
        frame_type::DECLARE => match body.declaration()? {
            Some(declaration) => Event::Declare(declaration),
            None => return Ok(None),
        },
        frame_type::TICK => Event::Tick(Stamp { at: body.number()?, cpu: body.number()? }),
        frame_type::UPDATE => {
            let id = body.id()?;
            match body.value()? {
                Some(value) => Event::Update(id, value),
                None => return Ok(None),
            }
        }
        frame_type::LOG => Event::Log(LogLine { at: body.number()?, text: body.text()? }),
        frame_type::MARKER => Event::Marker(body.text()?),
        frame_type::DROPPED => {
            Event::Dropped(Dropped { ticks: body.number()?, lines: body.number()? })
        }
        frame_type::ANSWER => {
            let request = body.small()?;
            let is_done = body.flag()?;
            let text = body.text()?;
            Event::Answer { request, result: if is_done { Ok(text) } else { Err(text) } }
        }
        frame_type::END => Event::End(body.text()?),
        _ => return Ok(None),
    };
    Ok(Some(event))
}

/// Decodes the request in a frame; None if its type is unknown.
///
/// # Errors
/// As for [`take_event`].
pub fn take_control(frame: &Frame) -> Result<Option<Control>, Malformed> {
    if frame.kind != frame_type::CONTROL {
        return Ok(None);
    }
    let mut body = Body::new(&frame.body);
    let request = body.small()?;
    let action = match body.byte()? {
        action::SET_PERIOD => Action::SetPeriod(body.id()?, body.small()?),
        action::STOP => Action::Stop(body.id()?),
        action::RESUME => Action::Resume(body.id()?),
        action::SNAPSHOT => Action::Snapshot(body.text()?),
        action::SAMPLING => Action::Sampling(body.flag()?),
        action::MARK => Action::Mark(body.text()?),
        _ => return Ok(None),
    };
    Ok(Some(Control { request, action }))
}

/// Decodes a client's first frame.
///
/// # Errors
/// If it is not a greeting.
pub fn take_greeting(frame: &Frame) -> Result<Greeting, Malformed> {
    let mut body = Body::new(&frame.body);
    if frame.kind != frame_type::GREETING || body.bytes(MAGIC.len())? != MAGIC {
        return Err(body.malformed("not a client of Bactrian's protocol"));
    }
    let (lowest, highest) = (body.small()?, body.small()?);
    let length = body.length()?;
    Ok(Greeting { lowest, highest, token: body.bytes(length)?.to_vec() })
}

/// Decodes a program's first frame.
///
/// # Errors
/// If it is not a reply.
pub fn take_reply(frame: &Frame) -> Result<Reply, Malformed> {
    let mut body = Body::new(&frame.body);
    let is_known =
        matches!(frame.kind, frame_type::WELCOME | frame_type::REFUSED | frame_type::ELSEWHERE);
    if !is_known || body.bytes(MAGIC.len())? != MAGIC {
        return Err(body.malformed("not a program that speaks Bactrian's protocol"));
    }
    Ok(match frame.kind {
        frame_type::WELCOME => Reply::Welcome(body.small()?),
        frame_type::ELSEWHERE => Reply::Elsewhere { socket: body.text()?, run: body.text()? },
        _ => Reply::Refused(body.text()?),
    })
}

/// The unread part of a payload.
struct Body<'a> {
    rest: &'a [u8],
    length: usize,
}

type Taken<T> = Result<T, Malformed>;

impl<'a> Body<'a> {
    fn new(body: &'a [u8]) -> Body<'a> {
        Body { rest: body, length: body.len() }
    }

    fn malformed(&self, reason: &'static str) -> Malformed {
        Malformed { offset: (self.length - self.rest.len()) as u64, reason }
    }

    fn bytes(&mut self, length: usize) -> Taken<&'a [u8]> {
        let short = self.malformed("a frame is truncated");
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(short)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn byte(&mut self) -> Taken<u8> {
        Ok(self.bytes(1)?[0])
    }

    fn flag(&mut self) -> Taken<bool> {
        Ok(self.byte()? != 0)
    }

    fn number(&mut self) -> Taken<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.malformed("a number of more than 64 bits"))
    }

    /// A number of at most 32 bits.
    fn small(&mut self) -> Taken<u32> {
        let number = self.number()?;
        number.try_into().map_err(|_| self.malformed("a number of more than 32 bits"))
    }

    fn id(&mut self) -> Taken<ObserverId> {
        self.small().map(ObserverId)
    }

    /// The number of elements that follow, each of which takes at least one byte.
    fn length(&mut self) -> Taken<usize> {
        let length = self.number()?;
        let fits = usize::try_from(length).ok().filter(|length| *length <= self.rest.len());
        fits.ok_or_else(|| self.malformed("more elements than the frame has bytes"))
    }

    fn float(&mut self) -> Taken<f64> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.bytes(8)?);
        Ok(f64::from_le_bytes(bytes))
    }

    fn text(&mut self) -> Taken<String> {
        let length = self.length()?;
        // OCaml strings are bytes; invalid UTF-8 is replaced.
        Ok(String::from_utf8_lossy(self.bytes(length)?).into_owned())
    }

    fn program(&mut self) -> Taken<Program> {
        Ok(Program {
            name: self.text()?,
            pid: self.small()?,
            started: self.number()?,
            runtime: self.text()?,
            controls: self.flag()?,
            // Older programs do not send it.
            run: if self.rest.is_empty() { String::new() } else { self.text()? },
        })
    }

    /// None if the kind is unknown.
    fn declaration(&mut self) -> Taken<Option<Declaration>> {
        let id = self.id()?;
        let kind = KINDS.get(usize::from(self.byte()?)).copied();
        let unit = UNITS.get(usize::from(self.byte()?)).copied().unwrap_or_default();
        let period_ms = self.small()?;
        let name = self.text()?;
        let labels = (0..self.length()?).map(|_| Ok((self.text()?, self.text()?)));
        let labels = labels.collect::<Taken<Vec<_>>>()?;
        Ok(kind.map(|kind| Declaration { id, kind, name, labels, unit, period_ms }))
    }

    /// None if the mark is unknown.
    fn value(&mut self) -> Taken<Option<Value>> {
        let value = match self.byte()? {
            mark::COUNT => Value::Count(self.number()?),
            mark::ELAPSED => {
                let (nanos, runs) = (self.number()?, self.number()?);
                Value::Elapsed { nanos, runs, running: self.flag()? }
            }
            mark::INT => {
                let number = self.number()?;
                Value::Int((number >> 1) as i64 ^ -((number & 1) as i64))
            }
            mark::FLOAT => Value::Float(self.float()?),
            mark::BOOL => Value::Bool(self.flag()?),
            mark::TEXT => Value::Text(self.text()?),
            mark::TAG => {
                let parts = self.byte()?;
                let count = (parts & 1 != 0).then(|| self.number()).transpose()?;
                let bytes = (parts & 2 != 0).then(|| self.number()).transpose()?;
                Value::Tag { count, bytes }
            }
            mark::TREE => Value::Tree(self.tree()?),
            mark::TABLE => Value::Table(Table {
                buckets: self.number()?,
                bindings: self.number()?,
                empty: self.number()?,
                longest: self.number()?,
            }),
            mark::HISTOGRAM => Value::Histogram(self.histogram()?),
            mark::SPAN => Value::Span { open: self.number()?, durations: self.histogram()? },
            mark::SITES => {
                let sites = (0..self.length()?).map(|_| {
                    let name = self.text()?;
                    Ok(Site {
                        name,
                        rate: self.float()?,
                        live: self.float()?,
                        samples: self.number()?,
                    })
                });
                Value::Sites(sites.collect::<Taken<_>>()?)
            }
            mark::FAILED => Value::Failed(self.text()?),
            mark::COLLECTED => Value::Collected,
            mark::KILLED => Value::Killed,
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    fn tree(&mut self) -> Taken<Tree> {
        let count = self.length()?;
        let nodes = (0..count).map(|_| {
            let label = self.text()?;
            let children = (0..self.length()?).map(|_| {
                let child = self.small()?;
                let is_node = (child as usize) < count;
                is_node.then_some(child).ok_or_else(|| self.malformed("a child that is not a node"))
            });
            let children = children.collect::<Taken<_>>()?;
            Ok(Node { label, children })
        });
        Ok(Tree { nodes: nodes.collect::<Taken<_>>()? })
    }

    fn histogram(&mut self) -> Taken<Histogram> {
        let (sum, min, max) = (self.number()?, self.number()?, self.number()?);
        let count = self.length()?;
        let mut bucket = 0_usize;
        let mut counts = Vec::with_capacity(count.min(Histogram::BUCKETS));
        for _ in 0..count {
            bucket = bucket.saturating_add(self.small()? as usize);
            if bucket >= Histogram::BUCKETS {
                return Err(self.malformed("a bucket that does not exist"));
            }
            counts.push((bucket, self.number()?));
        }
        Ok(Histogram::from_counts(counts, sum, min, max))
    }
}
