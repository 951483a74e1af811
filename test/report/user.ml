(* The report in a real browser, where there is one: it loads, zooms, searches, says nothing on the console,
   and can be read and used without a mouse and without eyes. *)

open Muster_cli

let recording = lazy (Made.recording ~lost:true ~tasks:300 ~seed:5 ())

let write recording =
  let spans = Spans.of_recording recording in
  let summary = Summary.of_spans recording spans in
  let file = Filename.temp_file "muster_report" ".html" in
  Out_channel.with_open_bin file (fun oc ->
      output_string oc (Html.to_string recording spans summary));
  (file, spans, summary)

let truth name condition = Alcotest.(check bool) name true condition

let text t expression =
  match Browser.evaluate t expression with
  | `String text -> text
  | json -> Alcotest.failf "%s is %s" expression (Yojson.Basic.to_string json)

let number t expression =
  match Browser.evaluate t expression with
  | `Int n -> float_of_int n
  | `Float x -> x
  | json -> Alcotest.failf "%s is %s" expression (Yojson.Basic.to_string json)

let of_id id = Printf.sprintf "document.getElementById('%s').textContent" id
let status t = text t (of_id "status")
let details t = text t (of_id "details")

let focus t id =
  ignore (Browser.evaluate t (Printf.sprintf "document.getElementById('%s').focus()" id))

let contains text part =
  let n = String.length part in
  let rec at i = i + n <= String.length text && (String.sub text i n = part || at (i + 1)) in
  at 0

let says name part text =
  if not (contains text part) then Alcotest.failf "%s: no %S in %S" name part text

(* {2 Cases} *)

(* How many there are in the timeline. *)
let colours =
  {|(() => {
  const from = document.querySelector("canvas"), copy = document.createElement("canvas");
  copy.width = from.width; copy.height = from.height;
  const pen = copy.getContext("2d", { willReadFrequently: true });
  pen.drawImage(from, 0, 0);
  const d = pen.getImageData(0, 0, copy.width, copy.height).data, seen = new Set();
  for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
  return seen.size;
})()|}

let loads t =
  says "title" "Why ./prog" (text t "document.title");
  says "verdict" "Main cause: made up." (text t "document.querySelector('.verdict').textContent");
  says "status" "whole run" (status t);
  truth "the timeline is drawn" (number t colours > 20.)

let zooms_by_keys t =
  focus t "timeline";
  let whole = status t in
  Browser.press t "+";
  let nearer = status t in
  truth "nearer" (nearer <> whole);
  Browser.press t "ArrowRight";
  truth "moved" (status t <> nearer);
  Browser.press t "-";
  Browser.press t "-";
  Browser.press t "+";
  List.iter (fun _ -> Browser.press t "+") (List.init 20 Fun.id);
  (match String.split_on_char ' ' (status t) with
  | from :: unit :: "to" :: upto :: _ -> truth (from ^ unit ^ " and " ^ upto) (from <> upto)
  | _ -> Alcotest.fail (status t));
  Browser.press t "0";
  Alcotest.(check string) "the whole run again" whole (status t)

let place t =
  let side name = number t ("document.querySelector('canvas').getBoundingClientRect()." ^ name) in
  ignore (Browser.evaluate t "document.getElementById('timeline').scrollIntoView()");
  (side "left", side "top", side "width")

let zooms_by_mouse t =
  let left, top, width = place t in
  let x = left +. (width /. 2.) and y = top +. 120. in
  ignore (Browser.evaluate t "document.activeElement.blur()");
  Browser.wheel t ~x ~y (-300.);
  says "the page's own wheel, as long as it is not clicked" "whole run" (status t);
  let left, top, _ = place t in
  let x = left +. (width /. 2.) and y = top +. 120. in
  focus t "timeline";
  Browser.wheel t ~x ~y (-600.);
  let nearer = status t in
  truth "nearer" (not (contains nearer "whole run"));
  Browser.drag t ~from:(x, y) (x -. 100., y);
  truth "moved" (status t <> nearer);
  ignore (Browser.evaluate t "document.getElementById('whole').click()");
  Browser.settle t;
  says "the button" "whole run" (status t)

let type_into t id text =
  focus t id;
  ignore (Browser.evaluate t (Printf.sprintf "document.getElementById('%s').select()" id));
  String.iter (fun c -> Browser.press t (String.make 1 c)) text

let is_at site (recording : Recording.t) (spans : Spans.t) (span : Spans.what Spans.span) =
  match span.what with
  | Task n -> Recording.name recording (Hashtbl.find spans.tasks n).site = site
  | _ -> false

let searches (spans : Spans.t) (summary : Summary.t) t =
  let site = (List.hd summary.sites).name in
  let count (lane : Spans.lane) =
    List.length (List.filter (is_at site (Lazy.force recording) spans) (Array.to_list lane.spans))
  in
  let count = List.fold_left (fun sum lane -> sum + count lane) 0 spans.lanes in
  type_into t "query" site;
  says "how many" (Printf.sprintf "%d spans found" count) (status t);
  let rec visit seen =
    Browser.press t "Enter";
    let now = details t in
    if contains now "From the beginning" then seen
    else begin
      says "the next" site now;
      visit (now :: seen)
    end
  in
  Alcotest.(check int) "each of them" count (List.length (List.sort_uniq compare (visit [])));
  ignore (Browser.evaluate t "document.getElementById('previous').click()");
  says "round the other way" "From the end" (details t);
  type_into t "query" "#7";
  Browser.press t "Enter";
  says "a task by its number" "task 7:" (details t);
  type_into t "query" "zzz";
  says "nothing" "0 spans found" (status t);
  ignore
    (Browser.evaluate t
       "const q = document.getElementById('query'); q.value = ''; q.dispatchEvent(new \
        Event('input')); document.getElementById('whole').click()");
  ignore (Browser.evaluate t "document.querySelector('#flame button').click()");
  Browser.settle t;
  says "the flame searches" "found" (status t)

let steps t =
  focus t "timeline";
  Browser.press t "0";
  ignore
    (Browser.evaluate t
       "const i = document.getElementById('query'); i.value = ''; i.dispatchEvent(new \
        Event('input'))");
  Browser.press t "Escape";
  List.iter (fun _ -> Browser.press t "ArrowUp") [ 1; 2; 3 ];
  Browser.press t "n";
  says "the first span of the first worker" "domain 0" (details t);
  let first = details t in
  Browser.press t "n";
  truth "the next" (details t <> first);
  Browser.press t "p";
  Alcotest.(check string) "and back" first (details t);
  Browser.press t "0"

let hovers (spans : Spans.t) t =
  let longest best (it : _ Spans.span) =
    match (it.what, best) with
    | Spans.Task _, Some (b : _ Spans.span) when b.stop - b.start >= it.stop - it.start -> best
    | Spans.Task _, _ -> Some it
    | _ -> best
  in
  let span = Option.get (Array.fold_left longest None (List.hd spans.lanes).spans) in
  let left, top, width = place t in
  let middle = float_of_int (span.start + span.stop) /. 2. in
  let x = left +. (width *. middle /. float_of_int (Lazy.force recording).duration) in
  Browser.move t ~x ~y:(top +. 120.);
  let tip = text t (of_id "tip") in
  truth "it is there" (Browser.evaluate t "!document.getElementById('tip').hidden" = `Bool true);
  List.iter (fun part -> says "the tip" part tip) [ "task "; "ran "; "parent"; "step_" ];
  Browser.picture ~whole:false t "tip.png"

(* {2 Everyone} *)

(* Of text and what lies behind it, as WCAG has it; those below 4.5. *)
let faint =
  {|(() => {
  const rgb = s => (s.match(/[\d.]+/g) || []).map(Number);
  const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0.99) return c; } return [255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length || ["SCRIPT", "STYLE"].includes(e.tagName)) continue;
    const r = ratio(rgb(getComputedStyle(e).color), behind(e));
    if (r < 4.5) bad.push(`${e.tagName} ${e.textContent.slice(0, 30)}: ${r.toFixed(2)}`);
  }
  const probe = document.createElement("i"); document.body.append(probe);
  const colour = name => { probe.style.color = `var(--${name})`; return rgb(getComputedStyle(probe).color); };
  const check = (text, page, least) => { const r = ratio(colour(text), colour(page)); if (r < least) bad.push(`${text} on ${page}: ${r.toFixed(2)}`); };
  for (let i = 0; i < 10; i++) check("label", `c${i}`, 4.5);
  check("label", "other", 4.5);
  for (const text of ["text", "soft", "select"]) check(text, "page", 4.5);
  check("text", "busy", 4.5);
  for (const mark of ["minor", "major", "stop", "queue", "cpus", "unknown"]) check(mark, "page", 3);
  probe.remove();
  return bad.join("\n");
})()|}

let fits t ~width ~dark =
  Browser.look t ~width ~height:900 ~dark;
  let name = Printf.sprintf "%d-%s" width (if dark then "dark" else "light") in
  Alcotest.(check string) ("contrast, " ^ name) "" (text t faint);
  let wide = number t "document.documentElement.scrollWidth" in
  truth (Printf.sprintf "%s: %g columns" name wide) (wide <= float_of_int width);
  truth (name ^ " is drawn") (number t colours > 20.);
  Browser.picture t (name ^ ".png")

let looks t =
  List.iter
    (fun (width, dark) -> fits t ~width ~dark)
    [ (400, false); (400, true); (1280, true); (1280, false) ]

let named =
  [
    "button";
    "searchbox";
    "textbox";
    "application";
    "region";
    "table";
    "columnheader";
    "rowheader";
    "heading";
    "list";
    "group";
  ]

let readable t =
  let nodes = Browser.accessibility t in
  let nameless =
    List.filter (fun (role, name) -> List.mem role named && String.trim name = "") nodes
  in
  Alcotest.(check (list (pair string string)))
    "all have names" []
    (List.filter (fun (role, _) -> role <> "list") nameless);
  let count role = List.length (List.filter (fun (it, _) -> it = role) nodes) in
  Alcotest.(check int) "one main part" 1 (count "main");
  truth "tables" (count "table" >= 4);
  truth "status lines" (count "status" >= 2);
  truth "the timeline" (List.exists (fun (role, name) -> role = "application" && name <> "") nodes);
  let levels =
    text t "[...document.querySelectorAll('h1,h2,h3,h4')].map(h => h.tagName[1]).join('')"
  in
  let step (last, fine) c = (Char.code c, fine && Char.code c <= last + 1) in
  truth ("levels of headings: " ^ levels) (snd (String.fold_left step (Char.code '0', true) levels));
  Alcotest.(check int)
    "one title" 1
    (List.length (List.filter (( = ) '1') (List.of_seq (String.to_seq levels))));
  Alcotest.(check string) "its language" "en" (text t "document.documentElement.lang")

(* Tab reaches everything in order, shows where it is, and leaves the timeline again. *)
let tabs t =
  ignore
    (Browser.evaluate t
       "const title = document.querySelector('h1'); title.tabIndex = -1; title.focus()");
  let here =
    "document.activeElement.id || document.activeElement.className || \
     document.activeElement.tagName"
  in
  let rec go n =
    if n = 0 then []
    else begin
      Browser.press t "Tab";
      let it = text t here in
      it :: go (n - 1)
    end
  in
  let order = go 9 in
  Alcotest.(check (list string))
    "the order"
    [ "query"; "previous"; "next"; "in"; "out"; "whole"; "timeline" ]
    (List.filteri (fun i _ -> i < 7) order);
  focus t "timeline";
  let outline = text t "getComputedStyle(document.activeElement).outlineStyle" in
  truth ("it shows: " ^ outline) (outline <> "none");
  Browser.press t "Tab";
  truth "it goes on" (text t here <> "timeline");
  Browser.press t "ArrowRight";
  truth "arrows move in the flame"
    (Browser.evaluate t
       "[...document.querySelectorAll('#flame button')].indexOf(document.activeElement)"
    = `Int 1)

let million t =
  truth "drawn" (number t colours > 20.);
  focus t "timeline";
  List.iter (fun key -> Browser.press t key) [ "+"; "+"; "+"; "ArrowRight"; "n"; "n"; "0" ];
  type_into t "query" "step_3.ml";
  Browser.press t "Enter";
  says "found" "step_3.ml" (details t);
  Browser.picture t "million.png"

(* {2 One page, one browser} *)

let cases program =
  let file, spans, summary = write (Lazy.force recording) in
  let all t =
    Browser.look t ~width:1280 ~height:900 ~dark:false;
    loads t;
    zooms_by_keys t;
    zooms_by_mouse t;
    searches spans summary t;
    steps t;
    hovers spans t;
    looks t;
    readable t;
    tabs t
  in
  Fun.protect ~finally:(fun () -> Sys.remove file) (fun () -> Browser.with_page program file all)

let large program =
  let file, _, _ = write (Made.recording ~tasks:330_000 ~seed:1 ()) in
  Fun.protect ~finally:(fun () -> Sys.remove file) @@ fun () ->
  Browser.with_page program file (fun t ->
      Browser.look t ~width:1280 ~height:900 ~dark:true;
      million t)

(* A page that the command has written of a real run. *)
let real_run program =
  let page = Filename.temp_file "muster_report" ".html"
  and trace = Filename.temp_file "muster" ".json" in
  let remove () = List.iter Sys.remove [ page; trace ] in
  Fun.protect ~finally:remove @@ fun () ->
  let fib = "../../examples/fib.exe" in
  let arguments = [ "why"; "--html"; page; "--perfetto"; trace; "--"; fib; "--size"; "25" ] in
  let command = Filename.quote_command "../../cli/main.exe" arguments ~stdout:Filename.null in
  Alcotest.(check int) "status" 0 (Sys.command command);
  let events = Yojson.Basic.Util.(to_list (member "traceEvents" (Yojson.Basic.from_file trace))) in
  truth "Perfetto has events" (List.length events > 10);
  let look program =
    Browser.with_page program page (fun t ->
        Browser.look t ~width:1280 ~height:900 ~dark:false;
        says "title" fib (text t "document.title");
        truth "a verdict" (text t "document.querySelector('.verdict').textContent.trim()" <> "");
        truth "workers" (contains (text t "document.body.textContent") "worker 0");
        Browser.picture t "real.png")
  in
  Option.iter look program

let tests ~full =
  let program = Browser.find () in
  if program = None then print_endline "No Chromium here: the report is not looked at in a browser.";
  let where_possible f () = Option.fold program ~none:() ~some:f in
  let case name f =
    Alcotest.test_case name `Quick (if program = None then Alcotest.skip else where_possible f)
  in
  Alcotest.test_case "of a real run" `Quick (fun () -> real_run program)
  :: case "as a user" cases
  :: (if full then [ case "a million events" large ] else [])
