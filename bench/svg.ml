type t = string
type anchor = Start | Middle | End

let escaped text =
  let escape = function
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

let document ~width ~height ~title ~style shapes =
  let head =
    Printf.sprintf
      {|<svg xmlns="%s" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">|}
      "http://www.w3.org/2000/svg" width height width height
  in
  let parts = [ head; "<title>" ^ escaped title ^ "</title>"; "<style>" ^ style ^ "</style>" ] in
  String.concat "\n" (parts @ shapes @ [ "</svg>"; "" ])
