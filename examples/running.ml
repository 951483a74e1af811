(* How the checks run a program. *)

(* The exit code of a program and what it printed on both channels. *)
let outcome program arguments =
  let log = Filename.temp_file "muster_example" ".log" in
  let command = Filename.quote_command program arguments ~stdout:log ~stderr:log in
  let code = Sys.command command in
  let printed = In_channel.with_open_bin log In_channel.input_all in
  Sys.remove log;
  (code, printed)

let contains text part =
  let n = String.length part in
  let rec at i = i + n <= String.length text && (String.sub text i n = part || at (i + 1)) in
  at 0

let expect ~code ~saying program arguments =
  let got, printed = outcome program arguments in
  Alcotest.(check int) (program ^ " exits with\n" ^ printed) code got;
  if not (contains printed saying) then
    Alcotest.failf "%s does not say %S:\n%s" program saying printed

let exe name = Filename.concat Filename.current_dir_name (name ^ ".exe")
