type kind =
  | Point
  | Time
  | Int
  | Float
  | Bool
  | Text
  | Tag
  | Tree
  | Table
  | Counter
  | Gauge
  | Histogram
  | Span
  | Sites

type measure = Plain | Bytes | Nanoseconds | Percent

type observer = {
  id : int;
  kind : kind;
  name : string;
  labels : (string * string) list;
  measure : measure;
  period : int;
}

module Histogram = struct
  (* The indices of non-empty buckets with their counts, in order. *)
  type t = { sum : int; smallest : int; largest : int; counts : (int * int) list }

  let add a b = if a > max_int - b then max_int else a + b
  let count t = List.fold_left (fun sum (_, count) -> add sum count) 0 t.counts
  let sum t = t.sum
  let smallest t = t.smallest
  let largest t = t.largest

  (* As many as 64-bit numbers need. *)
  let all = 16 * 61

  (* The smallest number of a bucket. The last buckets are for numbers that do not fit into an [int]. *)
  let first bucket =
    if bucket < 16 then bucket
    else
      let octave = (bucket / 16) - 1 and mantissa = 16 + (bucket mod 16) in
      if octave > 57 then max_int else mantissa lsl octave

  let last bucket =
    let next = first (bucket + 1) in
    if next = max_int then max_int else next - 1

  let buckets t =
    List.map (fun (bucket, count) -> (first bucket, last bucket, count)) t.counts

  let percentile t percent =
    let all = count t in
    let wanted = int_of_float (Float.ceil (float_of_int all *. percent /. 100.)) in
    let wanted = max 1 wanted in
    let rec find seen = function
      | [] -> t.largest
      | (bucket, count) :: rest ->
          let seen = add seen count in
          if seen >= wanted then min t.largest (last bucket) else find seen rest
    in
    find 0 t.counts
end

type node = { label : string; children : int list }
type table = { buckets : int; bindings : int; empty : int; longest : int }
type site = { place : string; rate : float; live : float; samples : int }

type value =
  | Count of int
  | Elapsed of { nanos : int; runs : int; running : bool }
  | Int of int
  | Float of float
  | Bool of bool
  | Text of string
  | Alive of { count : int option; bytes : int option }
  | Nodes of node array
  | Filled of table
  | Distribution of Histogram.t
  | Spans of { opened : int; durations : Histogram.t }
  | Places of site list
  | Failed of string
  | Collected
  | Killed

type program = {
  name : string;
  pid : int;
  started : int;
  runtime : string;
  controls : bool;
  run : string;
}

type event =
  | Hello of program
  | Declare of observer
  | Tick of { at : int; cpu : int }
  | Update of int * value
  | Log of { at : int; line : string }
  | Marker of string
  | Dropped of { ticks : int; lines : int }
  | Answer of { request : int; result : (string, string) result }
  | End of string

exception Malformed of string
exception Refused of string

let magic = "bactrian"
let version = 1
let recorded = "bactrian live 1\n"
let longest_frame = 16 lsl 20

(* The rest of a payload. *)
module Body = struct
  type t = { bytes : string; mutable at : int }

  let malformed what = raise (Malformed what)
  let left body = String.length body.bytes - body.at

  let bytes body length =
    if length > left body then malformed "a frame ends before what it has to say";
    let bytes = String.sub body.bytes body.at length in
    body.at <- body.at + length;
    bytes

  let byte body = Char.code (bytes body 1).[0]
  let flag body = byte body <> 0

  (* A 64-bit number: its lower 62 bits, and the upper two. *)
  let wide body =
    let rec go shift low high =
      if shift > 63 then malformed "a number of more than 64 bits";
      let byte = byte body in
      let bits = byte land 0x7f in
      if shift = 63 && bits > 1 then malformed "a number of more than 64 bits";
      let low = if shift < 62 then low lor ((bits lsl shift) land max_int) else low in
      let high =
        (* The byte at 56 ends with bit 62; the one at 63 is bit 63. *)
        if shift = 56 then high lor (bits lsr 6) else if shift = 63 then high lor (bits lsl 1) else high
      in
      if byte < 0x80 then (low, high) else go (shift + 7) low high
    in
    go 0 0 0

  let number body =
    let low, high = wide body in
    if high > 0 then max_int else low

  let signed body =
    let low, high = wide body in
    (* Zigzag coding: the lowest bit is the sign, the other 63 bits are the number. *)
    let half = (low lsr 1) lor ((high land 1) lsl 61) in
    let is_wide = high land 2 <> 0 in
    if low land 1 = 0 then if is_wide then max_int else half else if is_wide then min_int else -half - 1

  let small body =
    let number = number body in
    if number > 0xffff_ffff then malformed "a number of more than 32 bits";
    number

  (* The number of elements that follow: each takes at least one byte. *)
  let length body =
    let length = number body in
    if length > left body then malformed "more elements than the frame has bytes";
    length

  let float body =
    let bytes = bytes body 8 in
    Int64.float_of_bits (String.get_int64_le bytes 0)

  let text body =
    let length = length body in
    bytes body length

  (* Evaluates the elements in order. *)
  let list body length one =
    let rec go left taken = if left = 0 then List.rev taken else go (left - 1) (one body :: taken) in
    go length []

  let many body one =
    let length = length body in
    list body length one
end

let kinds =
  [| Point; Time; Int; Float; Bool; Text; Tag; Tree; Table; Counter; Gauge; Histogram; Span; Sites |]

let measures = [| Plain; Bytes; Nanoseconds; Percent |]

let take_program body =
  let name = Body.text body in
  let pid = Body.small body in
  let started = Body.number body in
  let runtime = Body.text body in
  let controls = Body.flag body in
  (* Older programs do not send it. *)
  let run = if Body.left body = 0 then "" else Body.text body in
  { name; pid; started; runtime; controls; run }

(* None if the kind is unknown. *)
let take_observer body =
  let id = Body.small body in
  let kind = Body.byte body in
  let measure = Body.byte body in
  let period = Body.small body in
  let name = Body.text body in
  let label body =
    let key = Body.text body in
    (key, Body.text body)
  in
  let labels = Body.many body label in
  let measure = if measure < Array.length measures then measures.(measure) else Plain in
  if kind < Array.length kinds then Some { id; kind = kinds.(kind); name; labels; measure; period } else None

let take_histogram body : Histogram.t =
  let sum = Body.number body in
  let smallest = Body.number body in
  let largest = Body.number body in
  let before = ref 0 in
  let bucket body =
    let place = !before + Body.small body in
    if place >= Histogram.all then Body.malformed "a bucket that does not exist";
    before := place;
    (place, Body.number body)
  in
  (* A bucket that occurs twice is one bucket; an empty one is dropped. *)
  let add counts (place, count) =
    match counts with
    | (last, before) :: rest when last = place -> (place, Histogram.add before count) :: rest
    | counts -> if count = 0 then counts else (place, count) :: counts
  in
  let counts = List.rev (List.fold_left add [] (Body.many body bucket)) in
  { sum; smallest; largest; counts }

let take_nodes body =
  let count = Body.length body in
  let child body =
    let child = Body.small body in
    if child >= count then Body.malformed "a child that is no node";
    child
  in
  let node body =
    let label = Body.text body in
    { label; children = Body.many body child }
  in
  Array.of_list (Body.list body count node)

let take_site body =
  let place = Body.text body in
  let rate = Body.float body in
  let live = Body.float body in
  { place; rate; live; samples = Body.number body }

(* None if the type of value is unknown. *)
let take_value body =
  match Body.byte body with
  | 0 -> Some (Count (Body.number body))
  | 1 ->
      let nanos = Body.number body in
      let runs = Body.number body in
      Some (Elapsed { nanos; runs; running = Body.flag body })
  | 2 -> Some (Int (Body.signed body))
  | 3 -> Some (Float (Body.float body))
  | 4 -> Some (Bool (Body.flag body))
  | 5 -> Some (Text (Body.text body))
  | 6 ->
      let parts = Body.byte body in
      let part bit = if parts land bit <> 0 then Some (Body.number body) else None in
      let count = part 1 in
      Some (Alive { count; bytes = part 2 })
  | 7 -> Some (Nodes (take_nodes body))
  | 8 ->
      let buckets = Body.number body in
      let bindings = Body.number body in
      let empty = Body.number body in
      Some (Filled { buckets; bindings; empty; longest = Body.number body })
  | 9 -> Some (Distribution (take_histogram body))
  | 10 ->
      let opened = Body.number body in
      Some (Spans { opened; durations = take_histogram body })
  | 11 -> Some (Places (Body.many body take_site))
  | 12 -> Some (Failed (Body.text body))
  | 13 -> Some Collected
  | 14 -> Some Killed
  | _ -> None

(* None if the type of event is unknown. *)
let take_event kind body =
  match kind with
  | 3 -> Some (Hello (take_program body))
  | 4 -> Option.map (fun observer -> Declare observer) (take_observer body)
  | 5 ->
      let at = Body.number body in
      Some (Tick { at; cpu = Body.number body })
  | 6 ->
      let id = Body.small body in
      Option.map (fun value -> Update (id, value)) (take_value body)
  | 7 ->
      let at = Body.number body in
      Some (Log { at; line = Body.text body })
  | 8 -> Some (Marker (Body.text body))
  | 9 ->
      let ticks = Body.number body in
      Some (Dropped { ticks; lines = Body.number body })
  | 10 ->
      let request = Body.small body in
      let is_done = Body.flag body in
      let text = Body.text body in
      Some (Answer { request; result = (if is_done then Ok text else Error text) })
  | 11 -> Some (End (Body.text body))
  | _ -> None

type t = {
  descriptor : Unix.file_descr;
  is_recording : bool;
  (* The run of the program that is expected; empty if any will do. *)
  run : string;
  (* Data that was read and not yet consumed: [bytes] from [start] to [stop]. *)
  mutable bytes : Bytes.t;
  mutable start : int;
  mutable stop : int;
  (* The number of bytes consumed before. *)
  mutable before : int;
  mutable is_over : bool;
  mutable requests : int;
}

let descriptor source = source.descriptor
let close source = Unix.close source.descriptor
let is_cut source = source.is_over && source.stop > source.start

let rec without_interruption call =
  try call () with Unix.Unix_error (Unix.EINTR, _, _) -> without_interruption call

(* Reads until this many bytes are available; false if the stream ended before. *)
let rec fill source wanted =
  source.stop - source.start >= wanted
  || (not source.is_over)
     &&
     let kept = source.stop - source.start in
     if source.start > 0 then (
       Bytes.blit source.bytes source.start source.bytes 0 kept;
       source.before <- source.before + source.start;
       source.start <- 0;
       source.stop <- kept);
     if Bytes.length source.bytes = kept then (
       (* The buffer grows with the data that arrives, not with a length that may be damaged. *)
       let longer = Bytes.create (2 * kept) in
       Bytes.blit source.bytes 0 longer 0 kept;
       source.bytes <- longer);
     let read () = Unix.read source.descriptor source.bytes kept (Bytes.length source.bytes - kept) in
     let count =
       (* A program that was killed closes the connection like this. *)
       try without_interruption read with Unix.Unix_error (Unix.ECONNRESET, _, _) -> 0
     in
     if count = 0 then source.is_over <- true;
     source.stop <- source.stop + count;
     fill source wanted

(* The next frame; None if there are no more. *)
let next_frame source =
  if not (fill source 4) then None
  else
    let length = Int32.to_int (Bytes.get_int32_le source.bytes source.start) land 0xffff_ffff in
    if length = 0 || length > longest_frame then
      raise (Malformed (if length = 0 then "an empty frame" else "a frame that is too long"));
    if not (fill source (4 + length)) then None
    else
      let kind = Char.code (Bytes.get source.bytes (source.start + 4)) in
      let body = Bytes.sub_string source.bytes (source.start + 5) (length - 1) in
      source.start <- source.start + 4 + length;
      Some (kind, { Body.bytes = body; at = 0 })

let rec next source =
  let at = source.before + source.start in
  let event =
    try Option.map (fun (kind, body) -> take_event kind body) (next_frame source)
    with Malformed what ->
      (* Nothing can be read after damage. *)
      source.is_over <- true;
      source.start <- source.stop;
      raise (Malformed (Printf.sprintf "%s (at byte %d)" what at))
  in
  match event with
  | None -> None
  | Some None -> next source
  | Some (Some (Hello { run; _ })) when source.run <> "" && run <> "" && run <> source.run ->
      raise (Malformed "another program than was told of is there")
  | Some event -> event

let make ?(run = "") descriptor is_recording =
  let bytes = Bytes.create 65536 in
  { descriptor; is_recording; run; bytes; start = 0; stop = 0; before = 0; is_over = false; requests = 0 }

(* Runs a function; closes the source if it fails. *)
let or_close source run =
  try run ()
  with error ->
    close source;
    raise error

let recording path =
  let flags = [ Unix.O_RDONLY; Unix.O_CLOEXEC ] in
  let source = make (without_interruption (fun () -> Unix.openfile path flags 0)) true in
  or_close source (fun () ->
      let length = String.length recorded in
      if not (fill source length && Bytes.sub_string source.bytes 0 length = recorded) then
        raise (Malformed (path ^ " is no recording of live numbers"));
      source.start <- length;
      source)

(* The encoding of requests. *)
module Put = struct
  let rec number buffer it =
    if it < 0x80 then Buffer.add_uint8 buffer it
    else (
      Buffer.add_uint8 buffer (0x80 lor (it land 0x7f));
      number buffer (it lsr 7))

  let text buffer it =
    number buffer (String.length it);
    Buffer.add_string buffer it

  (* A frame of this type, whose payload is written by [payload]. *)
  let frame kind payload =
    let body = Buffer.create 64 in
    payload body;
    let frame = Buffer.create 64 in
    Buffer.add_int32_le frame (Int32.of_int (1 + Buffer.length body));
    Buffer.add_uint8 frame kind;
    Buffer.add_buffer frame body;
    Buffer.contents frame
end

let send source text =
  let rec go at =
    if at < String.length text then
      let write () = Unix.write_substring source.descriptor text at (String.length text - at) in
      go (at + without_interruption write)
  in
  go 0

let greeting token =
  Put.frame 0 (fun buffer ->
      Buffer.add_string buffer magic;
      Put.number buffer version;
      Put.number buffer version;
      Put.text buffer token)

(* Whether an address is on this machine, so that the path in a reply refers to a socket here. *)
let is_here = function
  | Unix.ADDR_UNIX _ -> true
  | Unix.ADDR_INET (address, _) ->
      let text = Unix.string_of_inet_addr address in
      text = "::1" || (String.length text > 4 && String.sub text 0 4 = "127.")

let rec connect_to ~may_follow ~run ~token address =
  let domain = Unix.domain_of_sockaddr address in
  let source = make ~run (Unix.socket ~cloexec:true domain Unix.SOCK_STREAM 0) false in
  let reply () =
    without_interruption (fun () -> Unix.connect source.descriptor address);
    send source (greeting token);
    let nobody () = raise (Malformed "nobody speaks Bactrian's protocol there") in
    match next_frame source with
    | Some (((1 | 2 | 12) as kind), body) -> (
        if Body.bytes body (String.length magic) <> magic then nobody ();
        match kind with
        | 1 ->
            let spoken = Body.small body in
            if spoken <> version then
              raise (Malformed (Printf.sprintf "version %d of the protocol is not known here" spoken));
            None
        | 2 -> raise (Refused (Body.text body))
        | _ ->
            let path = Body.text body in
            Some (path, Body.text body))
    | _ -> nobody ()
  in
  match or_close source reply with
  | None -> source
  | Some (path, run) ->
      close source;
      if path = "" || not (may_follow && is_here address) then
        raise (Refused "only Ocamlviz's protocol is spoken there");
      (* The path of a socket is sufficient; the token is not sent to another server. *)
      connect_to ~may_follow:false ~run ~token:"" (Unix.ADDR_UNIX path)

let connect ?(token = "") address = connect_to ~may_follow:true ~run:"" ~token address

(* The folder of the sockets of this user's programs. *)
let folder () =
  match Sys.getenv_opt "XDG_RUNTIME_DIR" with
  | Some folder when folder <> "" && not (Filename.is_relative folder) -> Filename.concat folder "bactrian-live"
  | _ -> Printf.sprintf "/tmp/bactrian-live-%d" (Unix.getuid ())

let of_process pid =
  connect (Unix.ADDR_UNIX (Filename.concat (folder ()) (Printf.sprintf "%d.sock" pid)))

let processes () =
  let process name =
    match int_of_string_opt (Filename.remove_extension name) with
    | Some pid when pid > 0 && Filename.extension name = ".sock" -> (
        (* Killed programs leave their sockets behind. *)
        match Unix.kill pid 0 with
        | () -> Some pid
        | exception Unix.Unix_error (Unix.EPERM, _, _) -> Some pid
        | exception Unix.Unix_error _ -> None)
    | _ -> None
  in
  let names = try Sys.readdir (folder ()) with Sys_error _ -> [||] in
  List.sort compare (List.filter_map process (Array.to_list names))

type wish = Period of int * int | Stop of int | Resume of int | Mark of string

let wish source wish =
  if source.is_recording then invalid_arg "Bactrian_client.wish: of a recording";
  source.requests <- source.requests + 1;
  let request = source.requests in
  let payload buffer =
    let put mark numbers =
      Buffer.add_uint8 buffer mark;
      List.iter (Put.number buffer) numbers
    in
    Put.number buffer request;
    match wish with
    | Period (observer, milliseconds) -> put 0 [ observer; milliseconds ]
    | Stop observer -> put 1 [ observer ]
    | Resume observer -> put 2 [ observer ]
    | Mark text ->
        put 5 [];
        Put.text buffer text
  in
  send source (Put.frame 64 payload);
  request

module State = struct
  type t = {
    mutable program : program option;
    mutable at : int;
    mutable cpu : int;
    (* The newest is first. *)
    mutable order : int list;
    observers : (int, observer) Hashtbl.t;
    values : (int, value) Hashtbl.t;
    mutable ended : string option;
  }

  let create () =
    let observers = Hashtbl.create 64 and values = Hashtbl.create 64 in
    { program = None; at = 0; cpu = 0; order = []; observers; values; ended = None }

  (* Programs that do not identify their run are distinguished by their process ids. *)
  let is_same_run (one : program) (other : program) =
    one.pid = other.pid && if one.run <> "" && other.run <> "" then one.run = other.run else one.pid <> 0

  let forget state =
    Hashtbl.reset state.observers;
    Hashtbl.reset state.values;
    state.order <- [];
    state.ended <- None

  let take state = function
    | Hello program ->
        (match state.program with
        | Some before when not (is_same_run before program) -> forget state
        | _ -> ());
        state.program <- Some program
    | Declare observer ->
        if not (Hashtbl.mem state.observers observer.id) then state.order <- observer.id :: state.order;
        Hashtbl.replace state.observers observer.id observer
    | Tick { at; cpu } ->
        state.at <- at;
        state.cpu <- cpu
    | Update (id, value) -> Hashtbl.replace state.values id value
    | End why -> state.ended <- Some why
    | Log _ | Marker _ | Dropped _ | Answer _ -> ()

  let program state = state.program
  let at state = state.at
  let cpu state = state.cpu
  let ended state = state.ended

  (* The newest is first. *)
  let newest state = List.filter_map (Hashtbl.find_opt state.observers) state.order
  let observers state = List.rev (newest state)
  let value_of state (observer : observer) = Hashtbl.find_opt state.values observer.id

  let value state name =
    let named = List.find_opt (fun (observer : observer) -> observer.name = name) (newest state) in
    Option.bind named (value_of state)
end
