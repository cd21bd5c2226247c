(* Writes marshalled values, one file each, and prints their contents on standard output: blocks are numbered in
   order of appearance, and a block that appeared before is printed as its number, unless sharing is off. *)

let is_sharing = ref true

let seen : (Obj.t * int) list ref = ref []

let hex s = String.concat "" (List.map (fun c -> Printf.sprintf "%02x" (Char.code c))
                                (List.of_seq (String.to_seq s)))

let bits f = Printf.sprintf "%Lx" (Int64.bits_of_float f)

let same_custom x y = Obj.tag x = Obj.custom_tag && Obj.field x 0 == Obj.field (Obj.repr y) 0

let rec show x =
  if Obj.is_int x then Printf.sprintf "%d" (Obj.obj x : int)
  else if Obj.size x = 0 then Printf.sprintf "atom%d" (Obj.tag x)
  else match if !is_sharing then List.assq_opt x !seen else None with
    | Some n -> Printf.sprintf "#%d" n
    | None ->
      let number = List.length !seen in
      seen := (x, number) :: !seen;
      let tag = Obj.tag x in
      let what =
        if tag = Obj.string_tag then "s" ^ hex (Obj.obj x)
        else if tag = Obj.double_tag then "d" ^ bits (Obj.obj x)
        else if tag = Obj.double_array_tag then
          "D" ^ String.concat "," (List.map bits (Array.to_list (Obj.obj x : float array)))
        else if same_custom x 0l then Printf.sprintf "l%ld" (Obj.obj x)
        else if same_custom x 0L then Printf.sprintf "L%Ld" (Obj.obj x)
        else if same_custom x 0n then Printf.sprintf "n%nd" (Obj.obj x)
        else begin
          let fields = Buffer.create 16 in
          for i = 0 to Obj.size x - 1 do
            Buffer.add_char fields ' ';
            Buffer.add_string fields (show (Obj.field x i))
          done;
          Printf.sprintf "<%d%s>" tag (Buffer.contents fields)
        end
      in
      Printf.sprintf "#%d=%s" number what

let written = ref 0

let write flags value =
  let file = Printf.sprintf "%d.value" !written in
  incr written;
  let out = open_out_bin file in
  Marshal.to_channel out value flags;
  close_out out;
  seen := [];
  is_sharing := not (List.mem Marshal.No_sharing flags);
  print_endline (show (Obj.repr value))

type shape = Point | Circle of float | Named of string * shape | Record of { x : float; y : float }

module Names = Map.Make (String)

let () =
  List.iter (write [])
    [0; 63; 64; -1; 127; 128; -128; -129; 32767; 32768; -32768; -32769; 0x3fffffff; 0x40000000; -0x40000000;
     -0x40000001; 0x7fffffff; 0x80000000; max_int; min_int];
  List.iter (write []) [""; "a"; String.make 31 'x'; String.make 32 'y'; String.make 255 'z';
                        String.make 256 '\255'; String.make 70_000 'l'];
  List.iter (write []) [0.; -0.; 1.5; nan; infinity; 4e-324];
  write [] [||];
  write [] [| 1.; 2.; 3. |];
  write [] (Array.init 300 float_of_int);
  write [] (Array.init 7 (fun i -> i));
  write [] (Array.init 8 (fun i -> i));
  write [] (Array.make 5000 "shared");
  write [] (List.init 300 string_of_int);
  write [] [Point; Circle 1.; Named ("n", Circle 2.); Record { x = 1.; y = 2. }];
  write [] (0l, Int32.min_int, 5L, Int64.max_int, -7n, Nativeint.max_int, ref 1.25);
  let rec ring = 1 :: 2 :: ring in
  write [] ring;
  let shared = (Some "text", [| 1; 2 |]) in
  write [] (shared, [shared; shared], snd shared);
  write [] (Array.init 600 (fun i -> if i mod 2 = 0 then shared else (None, [| i |])));
  write [Marshal.No_sharing] (shared, [shared; shared]);
  write [Marshal.Compat_32] (1, "two", 3.);
  write [] (Names.of_seq (List.to_seq (List.init 50 (fun i -> (string_of_int i, i)))));
  write [] (let t = Hashtbl.create 10 in Hashtbl.add t "a" 1; Hashtbl.add t "b" 2; t)
