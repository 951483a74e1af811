open Yojson.Basic.Util

type json = Yojson.Basic.t

type t = {
  pid : int;
  input : out_channel;
  output : in_channel;
  mutable session : string option;
  mutable last : int;  (** the number of the last command *)
  mutable loaded : bool;
  mutable complaints : string list;
}

let find () =
  let is_there name =
    let quiet = Filename.quote_command "sh" [ "-c"; "command -v " ^ name ] ~stdout:Filename.null in
    Sys.command quiet = 0
  in
  List.find_opt is_there [ "chromium"; "chromium-browser"; "google-chrome" ]

(* {2 Messages: JSON that ends with a zero byte} *)

let receive t =
  let buffer = Buffer.create 1024 in
  let rec more () =
    match input_char t.output with
    | '\000' -> ()
    | c ->
      Buffer.add_char buffer c;
      more ()
  in
  more ();
  Yojson.Basic.from_string (Buffer.contents buffer)

let text_of json = match json with `String text -> text | json -> Yojson.Basic.to_string json

let note t json =
  let params = member "params" json in
  let complain text = t.complaints <- text :: t.complaints in
  match member "method" json with
  | `String "Page.loadEventFired" -> t.loaded <- true
  | `String "Runtime.exceptionThrown" -> complain (text_of (params |> member "exceptionDetails"))
  | `String "Runtime.consoleAPICalled" -> (
    match member "type" params with
    | `String ("error" | "warning" | "assert") -> complain (text_of (member "args" params))
    | _ -> ())
  | `String "Log.entryAdded" -> (
    let entry = member "entry" params in
    match member "level" entry with
    | `String ("error" | "warning") -> complain (text_of (member "text" entry))
    | _ -> ())
  | _ -> ()

let rec answer t id =
  let json = receive t in
  if member "id" json = `Int id then
    match member "error" json with
    | `Null -> member "result" json
    | error -> failwith (Yojson.Basic.to_string error)
  else begin
    note t json;
    answer t id
  end

let call t name (params : (string * json) list) =
  t.last <- t.last + 1;
  let session = match t.session with Some id -> [ ("sessionId", `String id) ] | None -> [] in
  let json : json =
    `Assoc ([ ("id", `Int t.last); ("method", `String name); ("params", `Assoc params) ] @ session)
  in
  output_string t.input (Yojson.Basic.to_string json);
  output_char t.input '\000';
  flush t.input;
  answer t t.last

let does t name params = ignore (call t name params)

(* {2 What a test does} *)

let evaluate t expression =
  let result =
    call t "Runtime.evaluate"
      [
        ("expression", `String expression);
        ("returnByValue", `Bool true);
        ("awaitPromise", `Bool true);
      ]
  in
  match member "exceptionDetails" result with
  | `Null -> result |> member "result" |> member "value"
  | details -> failwith (Yojson.Basic.to_string details)

let settle t =
  ignore (evaluate t "new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")

let press t key =
  let text = if String.length key = 1 then key else if key = "Enter" then "\r" else "" in
  let event kind text : (string * json) list =
    [ ("type", `String kind); ("key", `String key) ]
    @ (if key = "Enter" then [ ("windowsVirtualKeyCode", `Int 13) ] else [])
    @ (if key = "Tab" then [ ("windowsVirtualKeyCode", `Int 9) ] else [])
    @ if text = "" then [] else [ ("text", `String text) ]
  in
  does t "Input.dispatchKeyEvent" (event "keyDown" text);
  does t "Input.dispatchKeyEvent" (event "keyUp" "");
  settle t

let mouse t kind ~x ~y more =
  does t "Input.dispatchMouseEvent"
    ([ ("type", `String kind); ("x", `Float x); ("y", `Float y) ] @ more)

let wheel t ~x ~y delta =
  mouse t "mouseWheel" ~x ~y [ ("deltaX", `Float 0.); ("deltaY", `Float delta) ];
  settle t

let move t ~x ~y =
  mouse t "mouseMoved" ~x ~y [];
  settle t

let drag t ~from:(x, y) (to_x, to_y) =
  let left = [ ("button", `String "left"); ("buttons", `Int 1); ("clickCount", `Int 1) ] in
  mouse t "mousePressed" ~x ~y left;
  mouse t "mouseMoved" ~x:((x +. to_x) /. 2.) ~y:((y +. to_y) /. 2.) left;
  mouse t "mouseMoved" ~x:to_x ~y:to_y left;
  mouse t "mouseReleased" ~x:to_x ~y:to_y left;
  settle t

let accessibility t =
  let nodes = call t "Accessibility.getFullAXTree" [] |> member "nodes" |> to_list in
  let value name node =
    match node |> member name |> member "value" with `String s -> s | _ -> ""
  in
  let seen node = member "ignored" node <> `Bool true in
  List.map (fun node -> (value "role" node, value "name" node)) (List.filter seen nodes)

let picture ?(whole = true) t name =
  match Sys.getenv_opt "MUSTER_PICTURES" with
  | None -> ()
  | Some folder ->
    let shot = call t "Page.captureScreenshot" [ ("captureBeyondViewport", `Bool whole) ] in
    let file = Filename.concat folder name in
    Out_channel.with_open_bin (file ^ ".b64") (fun oc ->
        output_string oc (to_string (member "data" shot)));
    ignore (Sys.command (Filename.quote_command "base64" [ "-d"; file ^ ".b64" ] ~stdout:file));
    Sys.remove (file ^ ".b64")

(* {2 A page} *)

let start program folder =
  let from_us, input = Unix.pipe ~cloexec:true () in
  let output, to_us = Unix.pipe ~cloexec:true () in
  let arguments =
    [
      "--headless";
      "--no-sandbox";
      "--disable-gpu";
      "--disable-dev-shm-usage";
      "--no-first-run";
      "--remote-debugging-pipe";
      "--user-data-dir=" ^ folder;
      "about:blank";
    ]
  in
  (* It reads commands from 3 and answers to 4. *)
  let script = {|exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null|} in
  let argv = Array.of_list ([ "sh"; "-c"; script; "sh"; program ] @ arguments) in
  let pid = Unix.create_process "sh" argv from_us to_us Unix.stderr in
  List.iter Unix.close [ from_us; to_us ];
  {
    pid;
    input = Unix.out_channel_of_descr input;
    output = Unix.in_channel_of_descr output;
    session = None;
    last = 0;
    loaded = false;
    complaints = [];
  }

let attach t =
  let target = call t "Target.createTarget" [ ("url", `String "about:blank") ] in
  let id = ("targetId", member "targetId" target) in
  let session = call t "Target.attachToTarget" [ id; ("flatten", `Bool true) ] in
  t.session <- Some (to_string (member "sessionId" session))

let look t ~width ~height ~dark =
  does t "Emulation.setDeviceMetricsOverride"
    [
      ("width", `Int width);
      ("height", `Int height);
      ("deviceScaleFactor", `Int 1);
      ("mobile", `Bool false);
    ];
  let scheme = if dark then "dark" else "light" in
  let feature : json =
    `Assoc [ ("name", `String "prefers-color-scheme"); ("value", `String scheme) ]
  in
  does t "Emulation.setEmulatedMedia" [ ("features", `List [ feature ]) ];
  settle t

let load t file =
  List.iter (fun name -> does t (name ^ ".enable") []) [ "Page"; "Runtime"; "Log"; "Accessibility" ];
  t.loaded <- false;
  does t "Page.navigate" [ ("url", `String ("file://" ^ file)) ];
  while not t.loaded do
    note t (receive t)
  done

let rec remove path =
  match Sys.is_directory path with
  | true ->
    Array.iter (fun it -> remove (Filename.concat path it)) (Sys.readdir path);
    Sys.rmdir path
  | false -> Sys.remove path
  | exception Sys_error _ -> ( try Sys.remove path with Sys_error _ -> ())

let stop t folder =
  t.session <- None;
  (try does t "Browser.close" [] with End_of_file | Failure _ | Sys_error _ -> ());
  ignore (Unix.waitpid [] t.pid);
  close_out_noerr t.input;
  close_in_noerr t.output;
  try remove folder with Sys_error _ -> ()

let with_page program file f =
  let folder = Filename.temp_dir "muster_browser" "" in
  let t = start program folder in
  Fun.protect ~finally:(fun () -> stop t folder) @@ fun () ->
  attach t;
  load t file;
  f t;
  settle t;
  if t.complaints <> [] then failwith (String.concat "\n" t.complaints)
