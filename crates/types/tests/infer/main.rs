//! Types of blocks in small hand-written programs: one test for each rule.

mod captures;
mod nonsense;
mod random;
mod rules;
mod scopes;
mod world;
