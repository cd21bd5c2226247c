//! Tests of the format as a whole: what is written comes back, whatever happens to the file.

mod damage;
mod heaps;
mod misuse;
mod round_trip;
mod specification;
