(* Starts children one after the other, each of which is recorded, and says how many ring buffers the keeper has for them then. A
   child that has ended needs none, nor one that could not map any.
   Usage: ring_buffers plain|full. "full": each child uses up its descriptors first. *)

let kept = ref []
let work () = for i = 1 to 1000 do kept := string_of_int i :: !kept done

let fill () =
  try
    while true do
      ignore (Unix.openfile "/dev/null" [ Unix.O_RDONLY ] 0)
    done
  with Unix.Unix_error _ -> ()

let child is_full =
  match Unix.fork () with
  | 0 ->
      if is_full then fill ();
      work ();
      exit 0
  | child -> ignore (Unix.waitpid [] child)

let is_ring name = String.length name > 5 && String.sub name 0 5 = "ring."

let rings () =
  match Sys.getenv_opt "BACTRIAN_KEEPER" with
  | None -> 0
  | Some folder -> List.length (List.filter is_ring (Array.to_list (Sys.readdir folder)))

(* Its own, the one that is offered, and one that is about to be removed. *)
let rec says tries =
  if rings () <= 3 then print_endline "few"
  else if tries = 0 then Printf.printf "%d ring buffers\n" (rings ())
  else begin
    Unix.sleepf 0.01;
    says (tries - 1)
  end

let () =
  work ();
  for _ = 1 to 12 do
    child (Sys.argv.(1) = "full")
  done;
  says 500
