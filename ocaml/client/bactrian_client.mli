(** Reads what a program says of itself while it runs, or a recording of it.

    A program that is linked with Bactrian's library, OCaml's or Rust's, listens on a socket; [bactrian live --record]
    writes down what it hears there, or what it sees of any OCaml program. Both are streams of {!event}s, and {!next} gives
    them one by one:

    {[
      let source = Bactrian_client.of_process 1234 in
      let state = Bactrian_client.State.create () in
      let rec watch () =
        match Bactrian_client.next source with
        | None -> print_endline "it has ended"
        | Some event ->
            Bactrian_client.State.take state event;
            (match (event, Bactrian_client.State.value state "runtime.live") with
             | Tick _, Some (Int bytes) -> Printf.printf "%d bytes live\n%!" bytes
             | _ -> ());
            watch ()
      in
      watch ()
    ]}

    It is written in OCaml alone and needs the library [unix] only. The protocol is described in [docs/protocol/live.md].

    Whole numbers are [int]s: what does not fit 63 bits is [max_int] or [min_int]. Times are nanoseconds since the program's
    start. Texts are bytes as the program wrote them, most often UTF-8. *)

(** {1 What is said} *)

(** What sort of thing is observed. *)
type kind =
  | Point  (** How often the program came by: {!Count}. *)
  | Time  (** A stopwatch: {!Elapsed}. *)
  | Int
  | Float
  | Bool
  | Text
  | Tag  (** Marked values that are still alive: {!Alive}. *)
  | Tree  (** A tree or graph: {!Nodes}. *)
  | Table  (** A hash table: {!Filled}. *)
  | Counter  (** What only grows: {!Count}. *)
  | Gauge  (** What goes up and down: {!Int} or {!Float}. *)
  | Histogram  (** How numbers are distributed: {!Distribution}. *)
  | Span  (** Pieces of work that begin and end: {!Spans}. *)
  | Sites  (** Places of allocation: {!Places}. *)

(** What numbers mean. *)
type measure = Plain | Bytes | Nanoseconds | Percent

(** Something that is observed. Its number is never used again in the program's life. *)
type observer = {
  id : int;
  kind : kind;
  name : string;  (** For people; need not be unique. *)
  labels : (string * string) list;  (** What tells it apart from others of its name. *)
  measure : measure;
  period : int;  (** Milliseconds between values; 0: it was stopped by a client. *)
}

(** A distribution of numbers that are not negative, in sixteen buckets an octave. *)
module Histogram : sig
  type t

  val count : t -> int
  val sum : t -> int

  (** The smallest, exactly; 0 if there is none. *)
  val smallest : t -> int

  (** The largest, exactly; 0 if there is none. *)
  val largest : t -> int

  (** [percentile t 99.] is a number that 99 in a hundred do not exceed, at most a sixteenth too large. *)
  val percentile : t -> float -> int

  (** The buckets that are not empty: their smallest and largest numbers, and how many are in them. *)
  val buckets : t -> (int * int * int) list
end

type node = { label : string; children : int list  (** Places among the nodes. *) }

type table = {
  buckets : int;
  bindings : int;
  empty : int;  (** Buckets without bindings. *)
  longest : int;  (** Bindings of the fullest bucket. *)
}

type site = {
  place : string;  (** Function, file and line. *)
  rate : float;  (** Bytes a second that it allocates. *)
  live : float;  (** Bytes from there that are alive. *)
  samples : int;  (** What that rests on. *)
}

(** What an observer says at a moment. *)
type value =
  | Count of int
  | Elapsed of { nanos : int; runs : int; running : bool }
  | Int of int
  | Float of float
  | Bool of bool
  | Text of string
  | Alive of { count : int option; bytes : int option }
  | Nodes of node array  (** The root is the first. Sharing and cycles are places that come again. *)
  | Filled of table
  | Distribution of Histogram.t
  | Spans of { opened : int; durations : Histogram.t }
  | Places of site list
  | Failed of string  (** It could not be evaluated, and why. It may come back. *)
  | Collected  (** What was observed is not alive any more. *)
  | Killed  (** The program does not observe it any more. *)

(** Who is observed. *)
type program = {
  name : string;
  pid : int;  (** 0: not known. *)
  started : int;  (** Microseconds since 1970; 0: not known. *)
  runtime : string;
  controls : bool;  (** Whether it hears {!wish}es. *)
  run : string;  (** What tells this run from others; empty: not known. *)
}

(** One thing that is said. *)
type event =
  | Hello of program  (** The first; said again if another program takes its place. *)
  | Declare of observer  (** There is something to observe, or something about it has changed. *)
  | Tick of { at : int; cpu : int }  (** What follows is of this moment. *)
  | Update of int * value  (** A value of the observer of this number. What is not said again has not changed. *)
  | Log of { at : int; line : string }
  | Marker of string  (** The program asks whoever watches to stop here and look. *)
  | Dropped of { ticks : int; lines : int }  (** What this client has not got so far, because it was slow. *)
  | Answer of { request : int; result : (string, string) result }  (** What became of a {!wish}. *)
  | End of string  (** The program has ended, and why. *)

(** {1 Where it comes from} *)

(** A program that is listened to, or a recording. *)
type t

(** It is not what it should be: what is wrong, and where. *)
exception Malformed of string

(** The program does not let us in, and why: most often another token is wanted. *)
exception Refused of string

(** The processes of this user that listen now. *)
val processes : unit -> int list

(** Listens to a process of this user.
    @raise Unix.Unix_error if nobody listens there. *)
val of_process : int -> t

(** Listens to a program elsewhere: [ADDR_UNIX path], or, on the network, [ADDR_INET] with its token. On a port on which a program speaks
    Ocamlviz's protocol it goes to the socket that it is told of, if that is on this machine.
    @raise Refused if we are not let in.
    @raise Malformed if nobody speaks the protocol there. *)
val connect : ?token:string -> Unix.sockaddr -> t

(** Reads a file that [bactrian live --record] wrote.
    @raise Malformed if it is none. *)
val recording : string -> t

(** The next event; waits for it if the program has not said it yet. [None] if the program, or the recording, has ended. What is of a
    later version and not known here is passed over.
    @raise Malformed if what comes is damaged. Nothing can be read after that. *)
val next : t -> event option

(** Whether a recording, or what a program said, ended in the middle of an event. Known when {!next} has given [None]. *)
val is_cut : t -> bool

(** What it is read from: for [Unix.select]. An event may be there already, without anything new to read. *)
val descriptor : t -> Unix.file_descr

val close : t -> unit

(** {1 What can be wished} *)

type wish =
  | Period of int * int  (** So many milliseconds between the values of this observer. *)
  | Stop of int  (** No more values of this observer. *)
  | Resume of int
  | Mark of string  (** A marker for all who watch. *)

(** Asks the program for something. The number is that of the {!Answer} that will come. Who writes to a program that has just ended gets the
    signal SIGPIPE, as always on Unix; where it is ignored ([Sys.set_signal Sys.sigpipe Signal_ignore]), this raises [Unix_error (EPIPE, _, _)].
    @raise Invalid_argument of a recording. *)
val wish : t -> wish -> int

(** {1 What is known} *)

(** What was said last of everything. *)
module State : sig
  type t

  val create : unit -> t

  (** Takes in what comes. *)
  val take : t -> event -> unit

  val program : t -> program option

  (** The last moment, and the processor's time until then. *)
  val at : t -> int

  val cpu : t -> int

  (** What is observed, in the order in which it was declared. *)
  val observers : t -> observer list

  (** What an observer said last. *)
  val value_of : t -> observer -> value option

  (** What the last observer of this name said last. *)
  val value : t -> string -> value option

  (** Why the program has ended, if it has. *)
  val ended : t -> string option
end
