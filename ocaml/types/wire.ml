(* The primitives of docs/formats/types.md. *)

type sink = { bytes : Buffer.t; texts : (string, int) Hashtbl.t }

let sink () = { bytes = Buffer.create 1_000_000; texts = Hashtbl.create 10_000 }
let byte sink value = Buffer.add_uint8 sink.bytes value

let rec varint sink value =
  if value < 0x80 then byte sink value
  else begin
    byte sink (value land 0x7f lor 0x80);
    varint sink (value lsr 7)
  end

let integer sink value = varint sink (if value >= 0 then 2 * value else (-2 * value) - 1)
let bool sink value = byte sink (Bool.to_int value)

(* File names and old sources may not be UTF-8. *)
let utf8 text =
  let length = String.length text in
  let continues i = i < length && Char.code text.[i] land 0xc0 = 0x80 in
  let rec follows i count = count = 0 || (continues i && follows (i + 1) (count - 1)) in
  let rec is_valid i =
    i >= length
    ||
    match Char.code text.[i] with
    | c when c < 0x80 -> is_valid (i + 1)
    | c when c >= 0xc2 && c < 0xe0 -> follows (i + 1) 1 && is_valid (i + 2)
    | 0xe0 -> follows (i + 1) 2 && Char.code text.[i + 1] >= 0xa0 && is_valid (i + 3)
    | 0xed -> follows (i + 1) 2 && Char.code text.[i + 1] < 0xa0 && is_valid (i + 3)
    | c when c >= 0xe1 && c < 0xf0 -> follows (i + 1) 2 && is_valid (i + 3)
    | _ -> false
  in
  if is_valid 0 then text else String.map (fun c -> if Char.code c < 0x80 then c else '?') text

let text sink value =
  match Hashtbl.find_opt sink.texts value with
  | Some number -> varint sink number
  | None ->
      Hashtbl.add sink.texts value (Hashtbl.length sink.texts + 1);
      let value = utf8 value in
      byte sink 0;
      varint sink (String.length value);
      Buffer.add_string sink.bytes value

let option put sink = function
  | None -> byte sink 0
  | Some value ->
      byte sink 1;
      put sink value

let list put sink items =
  varint sink (List.length items);
  List.iter (put sink) items

let array put sink items =
  varint sink (Array.length items);
  Array.iter (put sink) items

let digest sink value = Buffer.add_string sink.bytes value

(* CRC-32 as in zlib. *)
let crc text =
  let table =
    Array.init 256 (fun n ->
        let rec step value = function
          | 0 -> value
          | left -> step (if value land 1 = 1 then 0xedb88320 lxor (value lsr 1) else value lsr 1) (left - 1)
        in
        step n 8)
  in
  let add crc char = table.((crc lxor Char.code char) land 0xff) lxor (crc lsr 8) in
  let crc = ref 0xffffffff in
  String.iter (fun char -> crc := add !crc char) text;
  !crc lxor 0xffffffff

let magic = "\x89TYPES\r\n"

(* The file gets its name only when it is complete. *)
let save sink file =
  let body = Buffer.contents sink.bytes in
  let head = Bytes.create 12 in
  Bytes.set_int64_le head 0 (Int64.of_int (String.length body));
  Bytes.set_int32_le head 8 (Int32.of_int (crc body));
  let temporary, channel =
    Filename.open_temp_file ~mode:[ Open_binary ] ~perms:0o644 ~temp_dir:(Filename.dirname file)
      (Filename.basename file) ".part"
  in
  try
    List.iter (output_string channel) [ magic; Bytes.to_string head; body ];
    close_out channel;
    Sys.rename temporary file
  with error ->
    close_out_noerr channel;
    Sys.remove temporary;
    raise error
