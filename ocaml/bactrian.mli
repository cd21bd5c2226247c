(** For programs that choose when Bactrian looks at them.

    A program that is linked with this library runs as it did before; what is here has an effect only when
    the program is started by [bactrian record --snapshots ..], or with the variables that [bactrian agent]
    prints. Otherwise every call is a test of a pointer. *)

val snapshot : ?name:string -> unit -> unit
(** Takes a snapshot of the heap as it is now: every block and who points to it. It is written by another
    process while this one goes on; the call takes the time of a fork.

    [name] is kept in the file and shown with it; of a long one the first 255 bytes, of one with a zero byte
    what is before it. A snapshot that would go past the limits of [--snapshot-limits] is skipped, and that
    is counted.

    May be called from any thread and domain. Does nothing when no agent is there. *)
