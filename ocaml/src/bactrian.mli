(** For programs that want to be looked at: snapshots of the heap where they choose, and what they do, live.

    A program that is linked with this library runs as it did before, and has in it only what it uses. A server starts with
    the first observer; whoever runs [bactrian live] then sees what is observed. As long as nobody does, observers are not
    evaluated, and the server's thread sleeps. The guide is [docs/observe.md]. *)

(** {1 Snapshots} *)

(** What became of a snapshot: it is being written; none are wanted here; or why there is none. *)
type snapshot = Taken | Not_wanted | Skipped of string

val snapshot : ?name:string -> unit -> snapshot
(** Takes a snapshot of the heap as it is now: every block and who points to it. It is written by another
    process while this one goes on; the call takes the time of a fork.

    It has an effect only when the program is started by [bactrian record --snapshots ..], or with the variables that
    [bactrian agent] prints. Otherwise it is a test of a pointer.

    [name] is kept in the file and shown with it; of a long one the first 255 bytes, of one with a zero byte
    what is before it. When as many are being written as there may be, the call waits for one of them, ten seconds at
    most ([--snapshots-when-busy]). A snapshot that would go past the other limits of [--snapshot-limits] is skipped, and
    that is counted.

    May be called from any thread and domain. Does nothing when no agent is there. *)

(** {1 What the program does} *)

module Point = Bactrian_point
module Time = Bactrian_time
module Value = Bactrian_value
module Tag = Bactrian_tag
module Hashtable = Bactrian_hashtable
module Tree = Bactrian_tree
module Counter = Bactrian_counter
module Gauge = Bactrian_gauge
module Histogram = Bactrian_histogram
module Span = Bactrian_span
module Observer = Bactrian_observer

(** {1 What the program says, and who watches} *)

module Log = Bactrian_log
module Clients = Bactrian_clients

(** {1 For programs that were written for Ocamlviz} *)

module Ocamlviz = Bactrian_ocamlviz
module Ocamlviz_threads = Bactrian_ocamlviz_threads
module Protocol = Bactrian_protocol
