//! Decodes messages.

use super::{Message, Uid, VizKind, VizValue};
use crate::wire::{Frame, Malformed};

const KINDS: [VizKind; 12] = [
    VizKind::Point,
    VizKind::Time,
    VizKind::ValueInt,
    VizKind::ValueFloat,
    VizKind::ValueBool,
    VizKind::ValueString,
    VizKind::TagCount,
    VizKind::TagSize,
    VizKind::Special,
    VizKind::Tree,
    VizKind::Hash,
    VizKind::Log,
];

/// Decodes the message in a frame, whose first body byte is its type.
///
/// # Errors
/// If it is not a message of Ocamlviz 1.01.
pub fn take(frame: &Frame) -> Result<Message, Malformed> {
    let mut body = Body { rest: &frame.body, length: frame.body.len() };
    match frame.kind {
        0 => {
            let uid = body.uid()?;
            let kind = KINDS.get(usize::from(body.byte()?)).copied();
            let kind = kind.ok_or_else(|| body.malformed("a kind that Ocamlviz does not have"))?;
            Ok(Message::Declare(uid, kind, body.text()?))
        }
        1 => Ok(Message::Send(body.uid()?, body.value()?)),
        2 => {
            let uids = (0..body.short()?).map(|_| body.uid());
            Ok(Message::Bind(uids.collect::<Result<_, _>>()?))
        }
        _ => Err(body.malformed("a message that Ocamlviz does not have")),
    }
}

struct Body<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Body<'a> {
    fn malformed(&self, reason: &'static str) -> Malformed {
        Malformed { offset: (self.length - self.rest.len()) as u64, reason }
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let short = self.malformed("a message is truncated");
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(short)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.bytes(N)?);
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    fn short(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    fn uid(&mut self) -> Result<Uid, Malformed> {
        self.short().map(Uid)
    }

    fn int64(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_le_bytes)
    }

    fn float(&mut self) -> Result<f64, Malformed> {
        self.array().map(f64::from_le_bytes)
    }

    fn text(&mut self) -> Result<String, Malformed> {
        let length = u32::from_le_bytes(self.array()?);
        Ok(String::from_utf8_lossy(self.bytes(length as usize)?).into_owned())
    }

    fn value(&mut self) -> Result<VizValue, Malformed> {
        Ok(match self.byte()? {
            0 => VizValue::Int(i32::from_le_bytes(self.array()?).into()),
            1 => VizValue::Int(self.int64()?),
            2 => VizValue::Float(self.float()?),
            3 => VizValue::String(self.text()?),
            4 => VizValue::Bool(self.byte()? != 0),
            5 => VizValue::Int64(self.int64()?),
            6 => VizValue::Collected,
            7 => VizValue::Killed,
            8 => VizValue::Tree(self.tree()?),
            9 => VizValue::Hashtable([
                self.number()?,
                self.number()?,
                self.number()?,
                self.number()?,
            ]),
            10 => {
                let lines = (0..self.short()?).map(|_| Ok((self.float()?, self.text()?)));
                VizValue::Log(lines.collect::<Result<_, _>>()?)
            }
            _ => return Err(self.malformed("a value that Ocamlviz does not have")),
        })
    }

    /// A value nested in another one; only integers occur there.
    fn number(&mut self) -> Result<i64, Malformed> {
        match self.byte()? {
            0 => Ok(i32::from_le_bytes(self.array()?).into()),
            1 | 5 => self.int64(),
            _ => Err(self.malformed("a hash table whose statistics are no numbers")),
        }
    }

    fn tree(&mut self) -> Result<Vec<(String, Vec<u16>)>, Malformed> {
        let nodes = (0..self.short()?).map(|position| {
            let label = self.text()?;
            let children = (0..self.short()?).map(|_| {
                let child = self.short()?;
                let is_earlier = child < position;
                is_earlier
                    .then_some(child)
                    .ok_or_else(|| self.malformed("a child after its parent"))
            });
            let children = children.collect::<Result<_, _>>()?;
            Ok((label, children))
        });
        nodes.collect()
    }
}
