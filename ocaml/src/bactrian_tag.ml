module Observer = Bactrian_observer
module Keys = Obj.Ephemeron

(* Marked values are the keys of ephemerons with this many keys each. The stubs rely on the number. *)
let places = 1024

type chunk = {
  keys : Keys.t;
  taken : int Atomic.t; (* the number of keys taken; greater than [places] if the chunk is full *)
  written : int Atomic.t; (* how many of the taken keys have been set *)
}

type traversal

(* The rest of a size computation: the chunks still to visit, and the traversal's stack. *)
type pass = {
  traversal : traversal;
  mutable chunks : chunk list;
  mutable lower : Keys.t;
  mutable upper : Keys.t;
  mutable aside : Keys.t list;
  young : Keys.t;
  mutable minor_collections : int;
}

type t = {
  size : bool;
  count : bool;
  measure : (((Obj.t -> unit) -> unit) -> int) option;
  current : chunk Atomic.t;
  filled : chunk list Atomic.t; (* full chunks, since [busy] was last held *)
  busy : bool Atomic.t; (* a lock for what follows. Its holder may be interrupted, so nobody waits for it *)
  mutable chunks : chunk list;
  mutable tidied : chunk list;
  mutable pass : pass option;
  mutable id : Observer.t;
  mutable is_killed : bool;
}

external make_traversal : unit -> traversal = "bactrian_traversal"
external free_traversal : traversal -> unit = "bactrian_traversal_free"

(* Made by the stubs, which rely on the order of these two types. *)
type stop = Late | Full | Refill | Young | Roots | Moved | No_memory [@@warning "-37"]
type collected = Nothing | Minor | Give_up_young

external traverse : traversal -> Keys.t -> int -> Keys.t -> Keys.t -> Keys.t -> bool -> collected -> int -> stop
  = "bactrian_traverse_bytecode" "bactrian_traverse"

external has_young : traversal -> bool = "bactrian_traversal_has_young" [@@noalloc]
external count : traversal -> int = "bactrian_traversal_count" [@@noalloc]
external words : traversal -> int = "bactrian_traversal_words" [@@noalloc]
external merge : Keys.t -> Keys.t -> int = "bactrian_merge_marks"
external say_tag : Observer.t -> int -> int -> unit = "bactrian_say_tag"

let new_chunk () = { keys = Keys.create places; taken = Atomic.make 0; written = Atomic.make 0 }
let is_written chunk = Atomic.get chunk.written = places

let new_pass chunks =
  let keys () = Keys.create places in
  { traversal = make_traversal (); chunks; lower = keys (); upper = keys (); aside = []; young = keys ();
    minor_collections = 0 }

let rec take cell =
  let chunks = Atomic.get cell in
  if Atomic.compare_and_set cell chunks [] then chunks else take cell

let rec push cell chunk =
  let chunks = Atomic.get cell in
  if not (Atomic.compare_and_set cell chunks (chunk :: chunks)) then push cell chunk

(* Runs [f] with [busy] held; returns [otherwise] if another thread holds it. *)
let alone tag ~otherwise f =
  if not (Atomic.compare_and_set tag.busy false true) then otherwise
  else
    match
      tag.chunks <- List.rev_append (take tag.filled) tag.chunks;
      f ()
    with
    | result -> Atomic.set tag.busy false; result
    | exception error -> Atomic.set tag.busy false; raise error

(* Dead marks leave free keys: whenever a chunk is full, each of two other chunks is merged into the one before it, if
   its marks fit. So the number of chunks follows the number of live values, and nobody has to wait for a complete
   clean-up. *)
let tidy tag =
  for _ = 1 to 2 do
    if tag.chunks = [] then begin
      tag.chunks <- List.rev tag.tidied;
      tag.tidied <- []
    end;
    match tag.chunks with
    | [] -> ()
    | chunk :: rest -> (
        tag.chunks <- rest;
        match tag.tidied with
        | into :: _ when is_written into && is_written chunk && merge chunk.keys into.keys = 0 -> ()
        | tidied -> tag.tidied <- chunk :: tidied)
  done

let rec add tag value =
  let chunk = Atomic.get tag.current in
  let place = Atomic.fetch_and_add chunk.taken 1 in
  if place < places then begin
    Keys.set_key chunk.keys place value;
    Atomic.incr chunk.written
  end
  else begin
    if Atomic.compare_and_set tag.current chunk (new_chunk ()) then begin
      push tag.filled chunk;
      alone tag ~otherwise:() (fun () -> if tag.pass = None then tidy tag)
    end;
    add tag value
  end

let mark tag value =
  let block = Obj.repr value in
  if Obj.is_block block && not tag.is_killed then add tag block;
  value

(* The duration of a slice in nanoseconds. *)
let slice = 2_000_000
let longest_slice = ref 0
let most_minor_collections = 16

let end_pass tag (pass : pass) =
  tag.pass <- None;
  free_traversal pass.traversal

let iter chunks f =
  let chunk { keys; _ } =
    for place = 0 to places - 1 do
      Option.iter f (Keys.get_key keys place)
    done
  in
  List.iter chunk chunks

let rec go_on tag (pass : pass) collected ~until =
  let roots, roots_count = match pass.chunks with [] -> (pass.young, 0) | { keys; _ } :: _ -> (keys, places) in
  let { traversal; lower; upper; young; _ } = pass in
  match traverse traversal roots roots_count lower upper young (tag.size && tag.measure = None) collected until with
  | Late -> Observer.Unfinished
  | Full ->
      pass.aside <- pass.lower :: pass.aside;
      pass.lower <- pass.upper;
      pass.upper <- Keys.create places;
      go_on tag pass Nothing ~until
  | Refill ->
      pass.lower <- List.hd pass.aside;
      pass.aside <- List.tl pass.aside;
      go_on tag pass Nothing ~until
  | Young -> go_on_with_young tag pass ~until
  | Roots -> (
      match pass.chunks with
      | _ :: (_ :: _ as rest) -> pass.chunks <- rest; go_on tag pass Nothing ~until
      | _ when has_young traversal -> go_on_with_young tag pass ~until
      | _ ->
          let all = Atomic.get tag.current :: List.rev_append tag.chunks tag.tidied in
          let bytes =
            match tag.measure with
            | Some measure when tag.size -> measure (iter all)
            | _ -> words traversal * (Sys.word_size / 8)
          in
          say_tag tag.id (if tag.count then count traversal else -1) (if tag.size then bytes else -1);
          end_pass tag pass;
          Observer.Said)
  | Moved -> end_pass tag pass; Observer.Unfinished
  | No_memory -> end_pass tag pass; failwith "there is no memory to find the size"

and go_on_with_young tag (pass : pass) ~until =
  pass.minor_collections <- pass.minor_collections + 1;
  (* Other domains allocate young blocks all the time, so the attempts are limited. *)
  if pass.minor_collections > most_minor_collections then go_on tag pass Give_up_young ~until
  else begin
    Gc.minor ();
    go_on tag pass Minor ~until
  end

let evaluate tag _ ~deadline =
  let begun = Observer.now () in
  let outcome =
    alone tag ~otherwise:Observer.Unfinished (fun () ->
        let pass =
          match tag.pass with
          | Some pass -> pass
          | None ->
              let pass = new_pass (Atomic.get tag.current :: List.rev_append tag.chunks tag.tidied) in
              tag.pass <- Some pass;
              pass
        in
        try go_on tag pass Nothing ~until:(min deadline (begun + slice))
        with error ->
          if tag.pass <> None then end_pass tag pass;
          raise error)
  in
  longest_slice := max !longest_slice (Observer.now () - begun);
  outcome

let create_with ?labels ?(size = false) ?(count = true) ?measure ?period name =
  let measure = Option.map (fun f all -> f (fun use -> all (fun value -> use (Obj.obj value)))) measure in
  let tag =
    { size; count; measure; current = Atomic.make (new_chunk ()); filled = Atomic.make []; busy = Atomic.make false;
      chunks = []; tidied = []; pass = None; id = Observer.none; is_killed = false }
  in
  tag.id <- Observer.asked Observer.Tag ?labels ?period name (evaluate tag);
  tag

let create ?labels ?size ?count ?period name = create_with ?labels ?size ?count ?period name

let kill tag =
  tag.is_killed <- true;
  Observer.kill tag.id;
  alone tag ~otherwise:() (fun () ->
      Option.iter (end_pass tag) tag.pass;
      tag.chunks <- [];
      tag.tidied <- [];
      Atomic.set tag.current (new_chunk ()))

let set_period tag period = Observer.set_period tag.id period
