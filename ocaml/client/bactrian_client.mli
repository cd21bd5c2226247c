(** Reads what a program reports while it runs, or a recording of it.

    A program linked with Bactrian's library for OCaml or Rust listens on a socket. [bactrian live --record] records what
    such a program sends, or what can be observed of any OCaml program. Both are streams of {!event}s, which {!next}
    returns one by one:

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

    The library is written in OCaml only and depends only on [unix]. The protocol is described in
    [docs/protocol/live.md].

    Integers are [int]s; those that do not fit into 63 bits become [max_int] or [min_int]. Times are nanoseconds since the
    program's start. Texts are bytes as the program wrote them, usually UTF-8. *)

(** {1 Contents of the stream} *)

(** The kind of an observer, which determines its values. *)
type kind =
  | Point  (** How often the program reached a point: [Count]. *)
  | Time  (** A stopwatch: [Elapsed]. *)
  | Int
  | Float
  | Bool
  | Text
  | Tag  (** Marked values that are still alive: [Alive]. *)
  | Tree  (** A tree or graph: [Nodes]. *)
  | Table  (** A hash table: [Filled]. *)
  | Counter  (** A number that only grows: [Count]. *)
  | Gauge  (** A number that goes up and down: [Int] or [Float]. *)
  | Histogram  (** A distribution of numbers: [Distribution]. *)
  | Span  (** Pieces of work that begin and end: [Spans]. *)
  | Sites  (** Allocation sites: [Places]. *)

(** The unit of a number. *)
type measure = Plain | Bytes | Nanoseconds | Percent

(** An observer. Its [id] is never reused while the program runs. *)
type observer = {
  id : int;
  kind : kind;
  name : string;  (** For people; not necessarily unique. *)
  labels : (string * string) list;  (** Distinguish it from others of the same name. *)
  measure : measure;
  period : int;  (** Milliseconds between values; 0 if a client stopped it. *)
}

(** A distribution of non-negative numbers, in sixteen buckets per octave. *)
module Histogram : sig
  type t

  (** How many numbers there are. *)
  val count : t -> int

  (** Their sum. *)
  val sum : t -> int

  (** The exact minimum; 0 if there are no numbers. *)
  val smallest : t -> int

  (** The exact maximum; 0 if there are no numbers. *)
  val largest : t -> int

  (** [percentile t 99.] is an upper bound of 99 % of the numbers. It is at most a sixteenth too large. *)
  val percentile : t -> float -> int

  (** The buckets that are not empty: their smallest and largest possible numbers, and how many numbers are in them. *)
  val buckets : t -> (int * int * int) list
end

type node = { label : string; children : int list  (** Indices in the array of nodes. *) }

type table = {
  buckets : int;
  bindings : int;
  empty : int;  (** The number of buckets without bindings. *)
  longest : int;  (** The number of bindings in the fullest bucket. *)
}

type site = {
  place : string;  (** Function, file and line. *)
  rate : float;  (** Bytes that it allocates per second. *)
  live : float;  (** Bytes allocated there that are alive. *)
  samples : int;  (** The number of samples behind these estimates. *)
}

(** The value of an observer at one moment. *)
type value =
  | Count of int
  | Elapsed of { nanos : int; runs : int; running : bool }
  | Int of int
  | Float of float
  | Bool of bool
  | Text of string
  | Alive of { count : int option; bytes : int option }
  | Nodes of node array  (** The first node is the root. An index that occurs more than once is sharing or a cycle. *)
  | Filled of table
  | Distribution of Histogram.t
  | Spans of { opened : int; durations : Histogram.t }
  | Places of site list
  | Failed of string  (** It could not be evaluated, for this reason. Later evaluations may succeed. *)
  | Collected  (** The observed value is no longer alive. *)
  | Killed  (** The program has stopped observing it. *)

(** The observed program. *)
type program = {
  name : string;
  pid : int;  (** 0 if unknown. *)
  started : int;  (** Microseconds since 1970; 0 if unknown. *)
  runtime : string;
  controls : bool;  (** Whether it accepts {!wish}es. *)
  run : string;  (** Identifies this run of the program; empty if unknown. *)
}

(** An element of the stream. *)
type event =
  | Hello of program  (** The first event. It is repeated if another program takes the place of this one. *)
  | Declare of observer  (** A new observer, or a change of a known one. *)
  | Tick of { at : int; cpu : int }
      (** The events that follow belong to the time [at]. [cpu] is the processor time used until then. *)
  | Update of int * value  (** A new value of the observer with this id. Values that are not repeated have not changed. *)
  | Log of { at : int; line : string }
  | Marker of string  (** The program asks its clients to stop here and look. *)
  | Dropped of { ticks : int; lines : int }  (** How much this client has missed so far because it was too slow. *)
  | Answer of { request : int; result : (string, string) result }  (** The result of a {!wish}. *)
  | End of string  (** The program has ended, for this reason. *)

(** {1 Sources} *)

(** A connection to a program, or a recording. *)
type t

(** The data is invalid: what is wrong, and at which byte. *)
exception Malformed of string

(** The program refuses the connection, for this reason: most often the token is wrong. *)
exception Refused of string

(** The processes of this user that are listening now. *)
val processes : unit -> int list

(** Connects to a process of this user.
    @raise Unix.Unix_error if that process is not listening. *)
val of_process : int -> t

(** Connects to any program: [ADDR_UNIX path], or over the network [ADDR_INET] with its token. If the program speaks
    Ocamlviz's protocol on that port, this connects to the socket that the program names, provided that it is on this
    machine.
    @raise Refused if the program refuses the connection.
    @raise Malformed if the other side does not speak the protocol. *)
val connect : ?token:string -> Unix.sockaddr -> t

(** Reads a file written by [bactrian live --record].
    @raise Malformed if it is not a recording. *)
val recording : string -> t

(** The next event; waits until there is one. [None] if the program, or the recording, has ended. Events of a later version
    that this library does not know are skipped.
    @raise Malformed if the data is damaged. Nothing can be read after that. *)
val next : t -> event option

(** Whether the recording, or the connection, ended in the middle of an event. Known once {!next} has returned [None]. *)
val is_cut : t -> bool

(** The file descriptor that is read, for [Unix.select]. Events may already be buffered when there is nothing to read. *)
val descriptor : t -> Unix.file_descr

(** Closes the connection or the file. *)
val close : t -> unit

(** {1 Requests} *)

(** A request to the program. Observers are given by their ids. *)
type wish =
  | Period of int * int  (** Sets the number of milliseconds between values of this observer. *)
  | Stop of int  (** Stops the values of this observer. *)
  | Resume of int  (** Resumes them. *)
  | Mark of string  (** Sends a marker to all clients. *)

(** Sends a request to the program and returns its number, which the [Answer] will repeat. If the program has just ended,
    writing to it raises the signal SIGPIPE, as always on Unix; if that is ignored
    ([Sys.set_signal Sys.sigpipe Signal_ignore]), this raises [Unix_error (EPIPE, _, _)].
    @raise Invalid_argument for a recording. *)
val wish : t -> wish -> int

(** {1 State} *)

(** The latest values of everything, accumulated from events. *)
module State : sig
  type t

  val create : unit -> t

  (** Adds an event. *)
  val take : t -> event -> unit

  (** The program, once it has said [Hello]. *)
  val program : t -> program option

  (** The time of the last [Tick], in nanoseconds since the program's start. *)
  val at : t -> int

  (** The processor time that the program had used by then, in nanoseconds. *)
  val cpu : t -> int

  (** The observers, in the order in which they were declared. *)
  val observers : t -> observer list

  (** The last value of an observer. *)
  val value_of : t -> observer -> value option

  (** The last value of the newest observer with this name. *)
  val value : t -> string -> value option

  (** Why the program has ended, if it has. *)
  val ended : t -> string option
end
