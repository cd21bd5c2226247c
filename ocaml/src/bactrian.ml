type snapshot = Taken | Not_wanted | Skipped of string

(* The C code relies on the order of the constructors. *)
external take_snapshot : string -> snapshot = "bactrian_snapshot"

let snapshot ?(name = "") () = take_snapshot name

(* Only aliases: a program that uses none of these modules is not linked with them. *)

module Observer = Bactrian_observer
module Point = Bactrian_point
module Time = Bactrian_time
module Value = Bactrian_value
module Tree = Bactrian_tree
module Tag = Bactrian_tag
module Hashtable = Bactrian_hashtable
module Counter = Bactrian_counter
module Gauge = Bactrian_gauge
module Histogram = Bactrian_histogram
module Span = Bactrian_span
module Log = Bactrian_log
module Clients = Bactrian_clients
module Protocol = Bactrian_protocol
module Ocamlviz = Bactrian_ocamlviz
module Ocamlviz_threads = Bactrian_ocamlviz_threads
