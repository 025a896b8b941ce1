package space

import "retwis/internal/cli/shell"

var help = map[string]shell.Help{
	"create": {
		Short: "Create an index without points",
		Long: `Creates an index without points. "space put --help" explains --dims. If the index exists,
nothing happens. To index hashes that exist already, use "space rebuild --from".`,
		Example: `  retwis space create points --dims 'x:int(0..400),y:int(0..400)'`,
	},
	"put": {
		Short: "Put points from CSV, moving points with the same id",
		Long: `Puts the records of CSV files, or of standard input, into an index. The header names
id and every dimension, in any order; other columns are ignored. --dims creates an
index; a dimension is a name, a type and a range:
  x:int(0..400)                     integers of up to 64 bits, also negative
  price:decimal(2)(0..1000)         two digits after the point
  at:time(2020-01-01..2030-01-01)   2026-11-21T10:00:00Z, or 2026-11-21
  geo                               lat and lon in degrees; distances are metres
A value outside its range is refused.

A bad record is reported with its file and line, and the other records are put; the
exit code is then 1. Putting a file twice does no harm.`,
		Example: `  retwis space put points points.csv --dims 'x:int(0..400),y:int(0..400)'
  retwis space put points more.csv
  retwis space put cities cities.csv --dims geo`,
	},
	"get": {
		Short:   "Show the points with these ids",
		Long:    "Shows the points with these ids. The exit code is 1 if any of them is not found.",
		Example: `  retwis space get points 90`,
	},
	"remove": {
		Short:   "Remove ids from an index",
		Long:    "Removes the points with these ids, and shows how many were removed.",
		Example: `  retwis space remove points 90 91`,
	},
	"select": {
		Short: "Show the points in a box",
		Long: `Shows exactly the points in a box, in the order of the index:
` + boxHelp + `

` + shell.FetchHelp,
		Example: `  retwis space select points x=50..100 y=100..300
  retwis space select points x=50..100 y=100..300 --fetch 'point:{id}'
  retwis space select flats rent=..1000 free=2027-01-01..2027-01-31
  retwis space select points --limit 100 --cursor    then the next 100 with --after CURSOR`,
	},
	"count": {
		Short: "Count the points in a box",
		Long: `Counts the points in a box:
` + boxHelp + `
The server counts ranges inside the box, and reads ranges that cross its sides.`,
		Example: `  retwis space count points x=50..100 y=100..300`,
	},
}

const boxHelp = `  x=50..100     from 50 to 100, both included; 50.. and ..100 are open
  x=75          this value
A dimension without a condition is open. In an index of --dims geo lon=170..-170
crosses the 180th meridian.`

var maintenanceHelp = map[shell.Verb]shell.Help{
	shell.Verify: {
		Short: "Check an index against itself and against its objects",
		Long: `Checks that the points of an index agree with the values stored next to them, and with
--from also with their objects: the hashes whose keys match a pattern, and whose fields
have the names of the dimensions. It works in short steps while the index is in use,
and changes nothing. It reports
  missing    objects, or points, that the index does not find
  stale      points whose values differ from those of their object
  dangling   points that have no object, or cannot be read
  invalid    objects with a value that the index cannot hold
The exit code is 1 if there is a problem.`,
		Example: `  retwis space verify points
  retwis space verify points --from 'point:*' --rate 10000`,
	},
	shell.Repair: {
		Short: "Repair what verify finds",
		Long: `Repairs what "space verify" finds, in short steps while the index is in use. With --from
a point gets the values of its object. Without --from it gets the values stored in
KEY.content; if these are lost, they are restored from the entries. Each point is checked
again in the step that changes it, so that concurrent writes are kept. Leftovers of a
killed repair or rebuild are removed.`,
		Example: `  retwis space repair points --from 'point:*'`,
	},
	shell.Rebuild: {
		Short: "Rebuild an index from its objects while it is in use",
		Long: `Rebuilds an index from the hashes whose keys match a pattern (--from), or from CSV as
"space put" reads it. The old index serves until the new one replaces it in one step,
with all writes made meanwhile. --dims creates an index that does not exist.

` + shell.RebuildHelp,
		Example: `  retwis space rebuild points --from 'point:*'
  retwis space rebuild points --from 'point:*' --dims 'x:int(0..400),y:int(0..400)'
  retwis space rebuild points points.csv`,
	},
	shell.Adopt: {
		Short: "Turn a sorted set of points into an index",
		Long: `Turns a sorted set with the entries of an index, whose other keys are lost, into an index
again. The command adds KEY.meta and KEY.content, in short steps, and can be repeated;
nothing may write to the sorted set meanwhile. Entries that cannot be read are shown and
stay as they are; then the exit code is 1.`,
		Example: `  retwis space adopt points --dims 'x:int(0..400),y:int(0..400)'`,
	},
}
