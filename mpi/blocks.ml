let shares n = (n / Link.ranks (), n mod Link.ranks ())

let first n rank =
  let least, longer = shares n in
  (rank * least) + Int.min rank longer

let own n =
  let rank = Link.rank () in
  (first n rank, first n (rank + 1))

let owner n i =
  let least, longer = shares n in
  let of_longer = longer * (least + 1) in
  if i < of_longer then i / (least + 1) else longer + ((i - of_longer) / least)
