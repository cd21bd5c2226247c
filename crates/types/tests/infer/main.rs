//! Types of blocks of small programs that are written down by hand: one test for each rule.

mod captures;
mod nonsense;
mod random;
mod rules;
mod scopes;
mod world;
