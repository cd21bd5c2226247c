(* Writes values that cannot be read without their program: functions, and a custom block of a library. *)

let rec even n = n = 0 || odd (n - 1)
and odd n = n <> 0 && even (n - 1)

let write file value =
  let out = open_out_bin file in
  Marshal.to_channel out value [Marshal.Closures];
  close_out out

let () =
  let captured = Sys.argv in
  write "functions.value" (even, odd, (fun n -> n + Array.length captured));
  write "array.value" (1, Bigarray.Array1.create Bigarray.int8_unsigned Bigarray.c_layout 10)
