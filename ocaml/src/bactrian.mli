(** Lets a program take snapshots of its heap where it chooses, and show what it does while it runs.

    A program that is linked with this library runs as before and contains only the parts that it uses. The first observer
    starts a server; [bactrian live] connects to it and shows what is observed. While no client is connected, observers are
    not evaluated and the server's thread sleeps. The guide is [docs/observe.md]. *)

(** {1 Snapshots} *)

(** The result of {!snapshot}: it is being written; no snapshots are wanted in this run; or it was skipped, with the
    reason. *)
type snapshot = Taken | Not_wanted | Skipped of string

val snapshot : ?name:string -> unit -> snapshot
(** Takes a snapshot of the heap as it is now: every block and every pointer. Another process writes it while this one
    continues; the call takes about as long as a fork.

    It has an effect only in a program started by [bactrian record --snapshots ..], or with the environment variables
    that [bactrian agent] prints. Otherwise it only tests a pointer and returns [Not_wanted].

    [name] is stored in the file and shown with it. It is cut to 255 bytes, and at its first zero byte.

    If the allowed number of snapshots is still being written, the call waits for one of them, at most ten seconds
    ([--snapshots-when-busy]). A snapshot that would exceed one of the other limits of [--snapshot-limits] is skipped and
    counted.

    It may be called from any thread and any domain. *)

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

(** {1 Messages and clients} *)

module Log = Bactrian_log
module Clients = Bactrian_clients

(** {1 For programs written for Ocamlviz} *)

module Ocamlviz = Bactrian_ocamlviz
module Ocamlviz_threads = Bactrian_ocamlviz_threads
module Protocol = Bactrian_protocol
