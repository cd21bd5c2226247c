(* Closes files that are not its own, as daemons do, goes on allocating, and opens files of its own that
   get the freed numbers: whoever else wrote to those numbers would now write into its files.
   Arguments: the numbers to close, or "all" for 3 to 1023, or "std" for 0 to 2. Writes own-N.txt and
   report.txt into the working folder. *)

let number n : Unix.file_descr = Obj.magic (n : int)
let range from upto = List.init (upto - from + 1) (fun n -> from + n)

let chosen () =
  let choose = function
    | "all" -> range 3 1023
    | "std" -> range 0 2
    | n -> [ int_of_string n ]
  in
  List.concat_map choose (List.tl (Array.to_list Sys.argv))

let churn () = List.fold_left ( + ) 0 (List.concat_map (fun n -> [ n; n ]) (List.init 20_000 Fun.id))

let write file text =
  if Unix.write_substring file text 0 (String.length text) <> String.length text then exit 10

let read name =
  let file = open_in_bin name in
  let text = really_input_string file (in_channel_length file) in
  close_in file;
  text

let () =
  ignore (churn ());
  let close n = try Unix.close (number n) with Unix.Unix_error (EBADF, _, _) -> () in
  List.iter close (chosen ());
  let sum = churn () in
  let names = List.map (Printf.sprintf "own-%d.txt") (range 1 6) in
  let files = List.map (fun name -> Unix.openfile name [ O_WRONLY; O_CREAT; O_TRUNC ] 0o600) names in
  (* Long enough for whoever writes once a second. *)
  for round = 1 to 12 do
    ignore (churn ());
    List.iter (fun file -> write file (Printf.sprintf "round %d\n" round)) files;
    Unix.sleepf 0.1
  done;
  List.iter Unix.close files;
  let expected = String.concat "" (List.map (Printf.sprintf "round %d\n") (range 1 12)) in
  let good = List.for_all (fun name -> read name = expected) names in
  let numbers = List.map (fun (file : Unix.file_descr) -> string_of_int (Obj.magic file)) files in
  let report = open_out "report.txt" in
  Printf.fprintf report "sum %d, numbers %s, unharmed %b\n" sum (String.concat " " numbers) good;
  close_out report;
  (* Standard output may be closed, and that is no failure of this program. *)
  exit (if good then 0 else 11)
