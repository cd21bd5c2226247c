//! Handles what clients send: a greeting, then requests. None of it is trusted.

use bactrian_live::wire::{self, Frame};

use super::audience::Audience;
use super::client::{Client, Fate, LONGEST_GREETING, Protocol};
use super::listen::Speaks;
use super::sampler::Sampler;
use super::{control, own};

impl Audience<'_> {
    /// Reads from a client and acts on it.
    pub(super) fn hear(&mut self, key: u64, client: &mut Client, sampler: &Sampler) -> Fate {
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = client.read(&mut buffer);
        let fate = match read {
            Ok(Some(count)) => self.listen_to(key, client, &buffer[..count], sampler),
            // The client closed its half without greeting, so it is an Ocamlviz client.
            Ok(None) if client.is_half_closed && client.is_silent_stranger() => {
                client.says_nothing();
                self.has_changed = true;
                Fate::Stays
            }
            // A client that closed its half may go on reading, unless it has not even greeted.
            Ok(None) if client.is_half_closed && !client.is_watching() => Fate::Gone,
            Ok(None) => Fate::Stays,
            Err(_) => Fate::Gone,
        };
        self.buffer = buffer;
        fate
    }

    fn listen_to(
        &mut self,
        key: u64,
        client: &mut Client,
        bytes: &[u8],
        sampler: &Sampler,
    ) -> Fate {
        let (Protocol::Stranger { frames, .. }
        | Protocol::Old { frames, .. }
        | Protocol::Own { frames }) = &mut client.protocol;
        frames.push(bytes);
        let mut heard = Vec::new();
        loop {
            match frames.next() {
                Ok(Some(frame)) => heard.push(frame),
                Ok(None) => break,
                Err(_) => return Fate::Gone,
            }
        }
        for frame in &heard {
            if self.obey(key, client, frame, sampler) == Fate::Gone {
                return Fate::Gone;
            }
        }
        // A client that sends more than a greeting without having greeted is disconnected.
        if let Protocol::Stranger { heard, .. } | Protocol::Old { heard, .. } = &mut client.protocol
        {
            *heard += bytes.len();
            if *heard > LONGEST_GREETING {
                return Fate::Gone;
            }
        }
        client.flush()
    }

    fn obey(&mut self, key: u64, client: &mut Client, frame: &Frame, sampler: &Sampler) -> Fate {
        if client.is_leaving {
            return Fate::Stays;
        }
        let at = match &client.protocol {
            Protocol::Stranger { at, .. } => Some(at),
            Protocol::Old { .. } => Some(&Speaks::Old),
            Protocol::Own { .. } => None,
        };
        if let Some(at) = at {
            let Ok(greeting) = wire::take_greeting(frame) else { return Fate::Gone };
            let (reply, is_let_in) = match at {
                Speaks::Own { token } => own::answer(&greeting, token.as_deref()),
                Speaks::Old => (own::elsewhere(self.shared), false),
            };
            let mut bytes = Vec::new();
            wire::put_reply(&mut bytes, &reply);
            client.push_answer(bytes);
            client.greeted(is_let_in);
            self.has_changed = true;
            return Fate::Stays;
        }
        match wire::take_control(frame) {
            Ok(Some(wish)) => control::obey(self.shared, sampler, key, wish.request, wish.action),
            // A frame type of a later version.
            Ok(None) => {}
            Err(_) => return Fate::Gone,
        }
        Fate::Stays
    }
}
