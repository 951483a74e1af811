(* Bad arguments of muster.h's functions, called from C. *)

open Bad_case

external for_slices : int -> is_null:bool -> unit = "muster_bad_for_slices"
external for_n_dynamic : int -> is_null:bool -> unit = "muster_bad_for_n_dynamic"
external for_slices_exn : int -> is_null:bool -> unit = "muster_bad_for_slices_exn"
external for_n_dynamic_exn : int -> is_null:bool -> unit = "muster_bad_for_n_dynamic_exn"

let rows ?(how = "") fn call =
  let bad text run message =
    raises (fn ^ text ^ how) run (Invalid_argument (fn ^ ": " ^ message))
  in
  [
    bad "(n, NULL, ctx)" (fun () -> call 1 ~is_null:true) "fn is NULL";
    bad "(0, NULL, ctx)" (fun () -> call 0 ~is_null:true) "fn is NULL";
    bad "(SIZE_MAX, fn, ctx)"
      (fun () -> call (-1) ~is_null:false)
      (Printf.sprintf "n = 18446744073709551615 is above %d" max_int);
    fine (fn ^ "(0, fn, ctx)") () (fun () -> call 0 ~is_null:false);
  ]

let tables =
  [
    {
      title = "muster.h";
      rows =
        rows "muster_for_slices" for_slices
        @ rows "muster_for_n_dynamic" for_n_dynamic
        @ rows ~how:", returned" "muster_for_slices_exn" for_slices_exn
        @ rows ~how:", returned" "muster_for_n_dynamic_exn" for_n_dynamic_exn;
      harmless = [ "muster_workers" ];
    };
  ]
