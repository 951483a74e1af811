type 'b t = { path : string; file : Out_channel.t }

let heading key = Printf.sprintf "muster-mpi checkpoint %s\n" (Digest.to_hex key)

(* A record is the length of its text, the digest of that, and the text. After a crash of the machine
   there may be anything behind the last one that is whole. *)
let prefix_size = 8 + 16

let record text =
  let length = Bytes.create 8 in
  Bytes.set_int64_le length 0 (Int64.of_int (String.length text));
  String.concat "" [ Bytes.to_string length; Digest.string text; text ]

let read_record file =
  let left () = Int64.to_int (Int64.sub (In_channel.length file) (In_channel.pos file)) in
  let text prefix =
    let length = Int64.to_int (String.get_int64_le prefix 0) in
    if length < 0 || length > left () then None else In_channel.really_input_string file length
  in
  let is_whole prefix text = Digest.string text = String.sub prefix 8 16 in
  Option.bind (In_channel.really_input_string file prefix_size) (fun prefix ->
      Option.bind (text prefix) (fun text -> if is_whole prefix text then Some text else None))

(* Where the last record ends that is whole. *)
let rec read_all file f =
  let at = In_channel.pos file in
  match read_record file with
  | None -> Int64.to_int at
  | Some text ->
    let index, result = Marshal.from_string text 0 in
    f index result;
    read_all file f

let read path ~key f =
  In_channel.with_open_bin path @@ fun file ->
  let heading = heading key in
  let found = really_input_string file (Int.min (in_channel_length file) (String.length heading)) in
  if found = heading then read_all file f
  else if String.starts_with ~prefix:found heading then 0
  else Link.invalid "parallel_map_dynamic" "checkpoint %S is one of other jobs or another build" path

(* The system's error for a write does not name the file. *)
let write { path; file } text =
  try
    Out_channel.output_string file text;
    Out_channel.flush file
  with Sys_error why -> raise (Sys_error (path ^ ": " ^ why))

(* All is on its way to the disk before. *)
let close t = Out_channel.close_noerr t.file

let go_on t ~key f =
  let length = read t.path ~key f in
  if Out_channel.length t.file > Int64.of_int length then Unix.truncate t.path length;
  if length = 0 then write t (heading key)

let open_ path ~key f =
  let file = Out_channel.open_gen [ Open_wronly; Open_creat; Open_append; Open_binary ] 0o666 path in
  let t = { path; file } in
  Muster_core.Outcome.on_failure (fun () -> go_on t ~key f) (fun _ -> close t);
  t

let add t index result = write t (record (Marshal.to_string (index, result) [ Closures ]))
