type 'b t = Out_channel.t

let heading key = Printf.sprintf "muster-mpi checkpoint %s\n" (Digest.to_hex key)

(* The records that are whole, and where the last of them ends. *)
let read_all file f =
  let rec next at =
    match In_channel.really_input_string file 8 with
    | None -> at
    | Some length -> (
      let length = Int64.to_int (String.get_int64_le length 0) in
      match In_channel.really_input_string file length with
      | None -> at
      | Some record ->
        let index, result = Marshal.from_string record 0 in
        f index result;
        next (at + 8 + length))
  in
  next (Int64.to_int (In_channel.pos file))

let read path ~key f =
  In_channel.with_open_bin path @@ fun file ->
  let heading = heading key in
  match In_channel.really_input_string file (String.length heading) with
  | Some found when found = heading -> read_all file f
  | None when In_channel.length file = 0L -> 0
  | Some _ | None -> Link.invalid "parallel_map_dynamic" "checkpoint %S is one of other jobs" path

let open_ path ~key f =
  let length = if Sys.file_exists path then read path ~key f else 0 in
  if length > 0 then Unix.truncate path length;
  let file = Out_channel.open_gen [ Open_wronly; Open_creat; Open_append; Open_binary ] 0o666 path in
  if length = 0 then Out_channel.output_string file (heading key);
  Out_channel.flush file;
  file

let add file index result =
  let record = Marshal.to_string (index, result) [ Closures ] in
  let length = Bytes.create 8 in
  Bytes.set_int64_le length 0 (Int64.of_int (String.length record));
  Out_channel.output_bytes file length;
  Out_channel.output_string file record;
  Out_channel.flush file

let close = Out_channel.close
