(* A program that runs on a ['pool] of either library. *)

type 'pool t =
  | Program : {
      name : string;
      fine : bool;  (** takes about as long as Domainslib needs to hand it out *)
      prepare : unit -> 'a;
      run : 'pool -> 'a -> unit;
      digest : 'a -> string;
    }
      -> 'pool t

let make ?(fine = false) name ~prepare ~digest run = Program { name; fine; prepare; run; digest }
let name (Program { name; _ }) = name
let is_fine (Program { fine; _ }) = fine
