(* Domains (OCaml 5): values on the stacks of domains that wait, in their local storage, handed over, and left by
   domains that have ended; finalisers and ephemerons of theirs. *)

let never_read, never_written = Unix.pipe ()
let buffer = Bytes.create 1
let key = Domain.DLS.new_key (fun () -> ref [])
let started = Atomic.make 0
let shared = Atomic.make []
let left = ref []

let rec add item =
  let before = Atomic.get shared in
  if not (Atomic.compare_and_set shared before (item :: before)) then add item

let rec hold depth =
  let mine = List.init 50 (fun n -> string_of_int (n + depth)) in
  if depth = 0 then begin
    Atomic.incr started;
    ignore (Unix.read never_read buffer 0 1)
  end
  else begin
    hold (depth - 1);
    Heap_fixture.keep mine
  end

let work id () =
  Domain.DLS.get key := List.init 100 (fun n -> (id, n));
  for n = 1 to 200 do
    add (string_of_int (id * n))
  done;
  let cell = Ephemeron.K1.make buffer (Array.make 10 (string_of_int id)) in
  let finalised = ref id in
  Gc.finalise (fun value -> left := !value :: !left) finalised;
  hold (20 * id);
  Heap_fixture.keep (cell, finalised)

(* One that ended, and left things with finalisers and ephemerons to the others. *)
let heritage =
  let make () =
    let value = ref (string_of_int 1) in
    Gc.finalise (fun value -> left := String.length !value :: !left) value;
    (value, Ephemeron.K1.make value (List.init 100 string_of_int))
  in
  Domain.join (Domain.spawn make)

let domains = List.init 3 (fun id -> Domain.spawn (work (id + 1)))

let () =
  while Atomic.get started < 3 do
    Domain.cpu_relax ()
  done;
  Unix.sleepf 0.2;
  Domain.DLS.get key := List.init 10 (fun n -> (0, n));
  Heap_fixture.keep (heritage, domains, never_written);
  Heap_fixture.ready ()
