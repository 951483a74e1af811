type t = string
type anchor = Start | Middle | End

(* XML is UTF-8, and has no control characters, which arguments may have. *)
let escaped text =
  let text = if String.is_valid_utf_8 text then text else String.escaped text in
  let escape = function
    | '\000' .. '\031' -> " "
    | '&' -> "&amp;"
    | '<' -> "&lt;"
    | '>' -> "&gt;"
    | '"' -> "&quot;"
    | c -> String.make 1 c
  in
  String.concat "" (List.map escape (List.of_seq (String.to_seq text)))

let anchored = function Start -> "start" | Middle -> "middle" | End -> "end"

let text ?(anchor = Start) ~cls ~x ~y content =
  Printf.sprintf {|<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>|} cls x y
    (anchored anchor) (escaped content)

let bar ~cls ~x ~y ~width ~height =
  Printf.sprintf {|<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2"/>|} cls x y
    width height

let vertical ~cls ~x ~top ~bottom =
  Printf.sprintf {|<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>|} cls x top x bottom

let dot ~cls ~x ~y = Printf.sprintf {|<circle class="%s" cx="%.1f" cy="%.1f" r="4"/>|} cls x y

let path ~cls points =
  let point (x, y) = Printf.sprintf "%.1f,%.1f" x y in
  Printf.sprintf {|<polyline class="%s" points="%s"/>|} cls
    (String.concat " " (List.map point points))

let style =
  {|
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 }
.note, .tick { fill: #57606a; font-size: 12px }
.page { fill: #ffffff }
.value { paint-order: stroke; stroke: #ffffff; stroke-width: 4px }
.own { fill: #d9480f }
.other { fill: #8c959f }
.grid { stroke: #d0d7de }
.ideal { stroke: #57606a; stroke-dasharray: 4 3 }
polyline { fill: none; stroke-width: 2px }
polyline.grid, polyline.ideal { stroke-width: 1px }
polyline.own { fill: none; stroke: #d9480f }
polyline.other { fill: none; stroke: #8c959f }
polyline.third { fill: none; stroke: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .note, .tick { fill: #9da7b3 }
  .page { fill: #0d1117 }
  .value { stroke: #0d1117 }
  .own { fill: #ff8c4a }
  .other { fill: #6e7681 }
  .grid { stroke: #30363d }
  .ideal { stroke: #9da7b3 }
  polyline.own { stroke: #ff8c4a }
  polyline.other { stroke: #6e7681 }
  polyline.third { stroke: #58a6ff }
}
|}

let document ~width ~height ~title shapes =
  let head =
    Printf.sprintf
      {|<svg xmlns="%s" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">|}
      "http://www.w3.org/2000/svg" width height width height
  in
  (* Without it, a viewer that knows no schemes shows dark text on its dark page. *)
  let page = bar ~cls:"page" ~x:0. ~y:0. ~width ~height in
  let parts = [ head; "<title>" ^ escaped title ^ "</title>"; "<style>" ^ style ^ "</style>" ] in
  String.concat "\n" (parts @ (page :: shapes) @ [ "</svg>"; "" ])
