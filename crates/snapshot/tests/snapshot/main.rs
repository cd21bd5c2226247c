//! Tests of the format as a whole: what is written reads back, whatever happens to the file.

mod damage;
mod heaps;
mod hostile;
mod misuse;
mod read_back;
mod round_trip;
