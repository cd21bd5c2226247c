(** Makes marked definitions publish observers, with the modules of [Bactrian]:

    {[
      let requests = ref 0 [@@observe]                        (* its value; add int, float, bool or string if the initial value is not a literal *)
      let cache = Hashtbl.create 1000 [@@observe]             (* its statistics *)
      let answer request = .. [@@observe]                     (* calls and time *)
      let parse line = .. [@@observe calls, "lines parsed"]   (* only calls, under another name *)

      [@@@observe]                                            (* from here on, everything that can be observed *)
      let quick x = .. [@@observe off]                        (* except this *)
    ]}

    Observers are named after the module and the value, such as [Server.answer]. *)
