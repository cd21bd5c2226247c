//! Traces written, read, damaged and made up: what reader and writer promise together.

mod checkpoints;
mod damage;
mod events;
mod following;
mod hostile;
mod packets;
mod parts;
mod round_trips;
mod samples;
mod scripts;
mod single_domain;
mod version_one;
