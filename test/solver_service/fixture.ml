(* A small repository of opam files, in a folder that goes with the program. *)

let write file text =
  Out_channel.with_open_bin file (fun channel -> Out_channel.output_string channel text)

let run program arguments =
  let command = Filename.quote_command program arguments in
  if Sys.command command <> 0 then Alcotest.failf "%s failed" command

let folder () =
  let folder = Filename.temp_dir "muster_solver" "" in
  at_exit (fun () -> run "rm" [ "-rf"; folder ]);
  folder

let opam_file root name version =
  let folder =
    List.fold_left Filename.concat root [ "packages"; name; name ^ "." ^ version ]
  in
  run "mkdir" [ "-p"; folder ];
  Filename.concat folder "opam"

let add root (name, version, lines) =
  write (opam_file root name version) (String.concat "\n" ("opam-version: \"2.0\"" :: lines))

let packages =
  [
    ("ocaml", "5.4.0", []);
    ("ocaml", "4.14.2", []);
    ("app", "1.0", [ {|depends: [ "lib" {>= "2"} ("left" | "right") ]|} ]);
    ("app", "0.9", [ {|depends: [ "lib" ]|} ]);
    ("lib", "2.1", [ {|depends: [ "ocaml" {>= "5.0"} ]|} ]);
    ("lib", "2.0", [ {|depends: [ "ocaml" "tests" {with-test} "dos" {os = "win32"} ]|} ]);
    ("lib", "1.0", []);
    ("lib", "3.0", [ "flags: avoid-version" ]);
    ("lib", "2.9", [ {|available: os = "macos"|} ]);
    ("left", "1", [ {|conflicts: [ "lib" {>= "2.1"} ]|} ]);
    ("right", "1", [ {|conflict-class: "side"|} ]);
    ("other", "1", [ {|conflict-class: "side"|} ]);
    ("both", "1", [ {|depends: [ "right" "other" ]|} ]);
    ("newest", "1.10", []);
    ("newest", "1.9", []);
    ("newest", "1.10~beta", []);
    ("g++", "1", []);
  ]

let tree () =
  let root = folder () in
  List.iter (add root) packages;
  root

(* A package whose file is a pipe: who asks for it waits until [release]. *)
let add_slow root name = Unix.mkfifo (opam_file root name "1") 0o600

(* What the service reads is closed once; it may begin anew. *)
let release root name =
  Out_channel.with_open_bin (opam_file root name "1") (fun channel ->
      Out_channel.output_string channel "opam-version: \"2.0\"\n")
