let first_line_with prefix file =
  let matching line = String.starts_with ~prefix line in
  match In_channel.with_open_text file In_channel.input_all with
  | exception Sys_error _ -> None
  | text -> List.find_opt matching (String.split_on_char '\n' text)

let after_colon line =
  match String.index_opt line ':' with
  | Some i -> String.trim (String.sub line (i + 1) (String.length line - i - 1))
  | None -> line

let processor () =
  let line = first_line_with "model name" "/proc/cpuinfo" in
  Option.fold ~none:"unknown" ~some:after_colon line

(* The run queue's length over the last minute: near 0 on a quiet machine. *)
let load () =
  match first_line_with "" "/proc/loadavg" with
  | Some line -> List.hd (String.split_on_char ' ' line)
  | None -> "unknown"

let facts () =
  [
    ("date", Clock.today ());
    ("processor", processor ());
    ("CPUs available", string_of_int (Muster.Cpu.available ()));
    ("load before", load ());
    ("OCaml", Sys.ocaml_version);
    ("dune profile", Build_profile.name);
  ]

let table facts =
  {
    Table.title = "Machine and options";
    header = [ "what"; "value" ];
    rows = List.map (fun (name, value) -> [ name; value ]) facts;
  }

let json facts = `Assoc (List.map (fun (name, value) -> (name, `String value)) facts)
