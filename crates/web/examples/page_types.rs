//! Prints the page's types of questions and answers.
#![allow(clippy::print_stdout, reason = "it is what this program is for")]

fn main() {
    print!("{}", bactrian_web::page_types());
}
