(** How a program of commands begins and ends. *)

val main : ?arguments:string array -> int Cmdliner.Cmd.t -> 'a
(** [main command] evaluates [command] on [arguments], by default the program's, and exits with its status: where its
    output cannot be written (a full disk, a closed pipe), it says so in one line on stderr, and the status is
    [Cmdliner.Cmd.Exit.some_error], as after other errors; after any exception it is
    [Cmdliner.Cmd.Exit.internal_error], with the backtrace on stderr. *)
