(* Makes children without the handlers that libc calls around a fork, and allocates before and afterwards. The first argument says
   which children: "copy" (a copy by a system call, which allocates, too), "confined" (after setting a filter of system calls, a
   child that shares the memory and executes a program), "confines" (such a child that sets a filter first). They are 20.
   Usage: own_children KIND COUNT *)

external copy : unit -> int = "own_children_copy"
external leave : unit -> unit = "own_children_leave"
external ended : int -> int = "own_children_ended"
external set_filter : unit -> unit = "own_children_set_filter"
external execute : bool -> int = "own_children_execute"

let kept = ref []

let[@inline never] allocate count =
  for n = 1 to count do
    kept := [| n; n; n |] :: !kept
  done

let[@inline never] allocate_in_child count =
  for n = 1 to count do
    ignore (Sys.opaque_identity (n, n))
  done

let () =
  let kind = Sys.argv.(1) and count = int_of_string Sys.argv.(2) in
  allocate count;
  if kind = "confined" then set_filter ();
  let statuses =
    List.init 20 (fun _ ->
        if kind = "copy" then begin
          let child = copy () in
          if child = 0 then (allocate_in_child 1_000; leave ());
          allocate count;
          ended child
        end
        else begin
          let status = execute (kind = "confines") in
          allocate count;
          status
        end)
  in
  Printf.printf "%d, %d kept\n" (List.fold_left max 0 statuses) (List.length !kept)
