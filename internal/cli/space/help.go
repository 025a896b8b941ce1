package space

import "retwis/internal/cli/shell"

var help = map[string]shell.Help{
	"create": {
		Short: "Create an index without points",
		Long: `Creates an index with these dimensions, which "space put --help" explains, and without
points. Nothing happens if it exists. The index of hashes that exist is made by
"space rebuild --from".`,
		Example: `  retwis space create points --dims 'x:int(0..400),y:int(0..400)'`,
	},
	"put": {
		Short: "Put points from CSV; those with the same id move",
		Long: `Puts the records of CSV files, or of standard input, into an index. The header names
id and every dimension, in any order; other columns are ignored. --dims creates an
index; a dimension is a name, a type and a range:
  x:int(0..400)                     integers of up to 64 bits, also negative
  price:decimal(2)(0..1000)         two digits after the point
  at:time(2020-01-01..2030-01-01)   2026-11-21T10:00:00Z, or 2026-11-21
  geo                               lat and lon in degrees; distances are metres
A value out of its range is refused.

A bad record is reported with its file and line, and the rest is put; the exit code
is then 1. Putting a file twice does no harm.`,
		Example: `  retwis space put points points.csv --dims 'x:int(0..400),y:int(0..400)'
  retwis space put points more.csv
  retwis space put cities cities.csv --dims geo`,
	},
	"get": {
		Short:   "Show the points of ids",
		Long:    "Shows the points of ids. The exit code is 1 if one of them is not found.",
		Example: `  retwis space get points 90`,
	},
	"remove": {
		Short:   "Remove ids from an index",
		Long:    "Removes the points of ids, and shows how many there were.",
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
The server counts ranges that are wholly in the box, and reads those across its sides.`,
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
  dangling   points without an object, or that cannot be read
  invalid    objects with a value that the index cannot hold
The exit code is 1 if there is a problem.`,
		Example: `  retwis space verify points
  retwis space verify points --from 'point:*' --rate 10000`,
	},
	shell.Repair: {
		Short: "Repair what verify finds",
		Long: `Repairs what "space verify" finds, in short steps while the index is in use. With --from
a point gets the values of its object; without it the values stored next to it in
KEY.content, and if those are lost they are restored from the entries. Each point is
checked again in the step that changes it, so that concurrent writes are kept. What a
killed repair or rebuild left behind is removed.`,
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
		Long: `Turns a sorted set that has the entries of an index, but lost the keys next to it, into
an index again. It adds KEY.meta and KEY.content, in short steps, and can be repeated;
nothing may write to the sorted set meanwhile. Entries that cannot be read stay as they
are; they are shown, and the exit code is 1.`,
		Example: `  retwis space adopt points --dims 'x:int(0..400),y:int(0..400)'`,
	},
}
