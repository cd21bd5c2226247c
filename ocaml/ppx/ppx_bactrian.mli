(** Observes what is marked, with the modules of [Bactrian]:

    {[
      let requests = ref 0 [@@observe]                        (* its value; "int" and its like where it is no literal *)
      let cache = Hashtbl.create 1000 [@@observe]             (* its statistics *)
      let answer request = .. [@@observe]                     (* calls and time *)
      let parse line = .. [@@observe calls, "lines parsed"]   (* calls only, under another name *)

      [@@@observe]                                            (* from here on, all that can be observed *)
      let quick x = .. [@@observe off]                        (* but for this *)
    ]}

    Names are those of the module and of the value, such as [Server.answer]. *)
