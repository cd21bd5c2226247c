(* Roots of every kind that OCaml 4 and 5 have in common. The C code beside lets the runtime tell them, and waits. *)

external register : 'a -> unit = "heap_roots_register"
external list_roots : 'a -> unit = "heap_roots_list"

let text n = String.concat "-" [ "text"; string_of_int n ]
let table : (string, int list) Hashtbl.t = Hashtbl.create 16
let first = ref (List.init 10 text)
let last = ref (Some (text 1))

module Inner = struct
  let kept = ref [ text 2 ]
  let more = Array.init 5 text
end

(* More finalisers than the table begins with, some of them young. *)
let finalised = List.init 100 (fun n -> ref (text n))
let () = List.iter (fun value -> Gc.finalise (fun value -> value := text 0) value) finalised
let () = Gc.finalise_last (fun () -> first := []) last
let () = Gc.finalise (fun value -> value := []) Inner.kept
let ephemeron = Obj.Ephemeron.create 1
let weak = Weak.create 3

let never_read, never_written = Unix.pipe ()
let started = ref 0

let rec hold depth thread =
  let mine = List.init depth text in
  if depth = 0 then begin
    incr started;
    ignore (Unix.read never_read (Bytes.create 1) 0 1)
  end
  else hold (depth - 1) thread;
  Hashtbl.replace table (text depth) (List.map String.length mine)

let threads = List.init 3 (fun n -> Thread.create (hold (n + 2)) n)

(* Called from C, so that the stack has several pieces. *)
let rec deep n =
  let here = [ text n; text (n + 1) ] in
  let sum =
    if n = 0 then begin
      let exception Found of string list in
      try raise (Found here) with Found inner -> list_roots inner; List.length inner
    end
    else if n mod 3 = 0 then begin
      let sorted = Array.init 2 (fun k -> (k, here)) in
      Array.stable_sort (fun _ _ -> deep (n - 1)) sorted;
      List.length (snd sorted.(0))
    end
    else deep (n - 1)
  in
  sum + List.length here + match Hashtbl.find_opt table "x" with None -> 0 | Some l -> List.length l

exception Own of string

let () =
  Printexc.record_backtrace true;
  (try raise (Own (text 7)) with Own _ -> ());
  register (text 3);
  Gc.full_major ();
  register (text 4);
  Obj.Ephemeron.set_key ephemeron 0 (Obj.repr Inner.more);
  Obj.Ephemeron.set_data ephemeron (Obj.repr (text 5));
  Weak.set weak 0 (Some (text 6));
  while !started < 3 do Thread.yield () done;
  Thread.delay 0.1;
  (* The sampler, with blocks that are alive. OCaml 5.0 to 5.2 have none. *)
  let tracker =
    { Gc.Memprof.null_tracker with
      alloc_minor = (fun info -> Some info.Gc.Memprof.size);
      alloc_major = (fun info -> Some info.Gc.Memprof.size) }
  in
  (try ignore (Gc.Memprof.start ~sampling_rate:0.05 tracker) with Failure _ -> ());
  Hashtbl.replace table "sampled" (List.init 1000 (fun n -> n));
  (* Called by C, which has not returned. *)
  let result = List.fold_left (fun sum n -> sum + deep n) 0 [ 20 ] in
  Hashtbl.replace table (text result) [ result ];
  ignore (threads, never_written, weak)
