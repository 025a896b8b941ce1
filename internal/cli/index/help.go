package index

import "retwis/internal/cli/shell"

var help = map[string]shell.Help{
	"create": {
		Short: "Create an index without entries",
		Long: `Creates an index without entries. "index put --help" explains --columns. If the index
exists, nothing happens. To index hashes that exist already, use "index rebuild --from".`,
		Example: `  retwis index create rooms --columns 'room:int,price:decimal(2)'
  retwis index create ages --numeric --columns age:int`,
	},
	"put": {
		Short: "Put entries from CSV, replacing entries with the same id",
		Long: `Puts the records of CSV files, or of standard input, into an index. The header names
id and every column, in any order; other columns are ignored. --columns creates an
index with columns of these types:
  string  bytes   any text; for equality, ranges and prefixes
  int  uint       64 bits; int(4) has at most four digits
  decimal(2)      two digits after the point, 18 in all; decimal(30,2) 30 in all
  float  bigint(256)  bool
  time            2026-11-21T10:00:00Z, or 2026-11-21
A column is in ascending order, or in descending order with "desc".

A bad record is reported with its file and line, and the other records are put; the
exit code is then 1. Putting a file twice does no harm.`,
		Example: `  retwis index put rooms rooms.csv --columns 'room:int,price:decimal(2)'
  retwis index put rooms more.csv
  retwis index put ages people.csv --numeric --columns age:int`,
	},
	"get": {
		Short:   "Show the entries with these ids",
		Long:    "Shows the entries with these ids. The exit code is 1 if any of them is not found.",
		Example: `  retwis index get rooms 90`,
	},
	"remove": {
		Short:   "Remove ids from an index",
		Long:    "Removes the entries with these ids, and shows how many were removed.",
		Example: `  retwis index remove rooms 90 91`,
	},
	"select": {
		Short: "Show the entries that match all conditions, in order",
		Long: `Shows the entries that match all conditions, in the order of the index:
` + conditionsHelp + `
Conditions that fix the first columns to one value each, with one more condition on
the next column, take the same time in an index of any size. Other conditions are
checked entry by entry.

` + shell.FetchHelp,
		Example: `  retwis index select rooms room=56 price=10..30
  retwis index select rooms room=56 --fetch 'room:{id}'
  retwis index select rooms room=56 --reverse --limit 3
  retwis index select rooms --limit 100 --cursor    then the next 100 with --after CURSOR`,
	},
	"count": {
		Short: "Count the entries that match all conditions",
		Long: `Counts the entries that match all conditions:
` + conditionsHelp,
		Example: `  retwis index count rooms room=56 'price<20'`,
	},
}

const conditionsHelp = `  room=56         this value
  price=10..30    from 10 to 30, both included; 10.. and ..30 are open
  price>10  price>=10  price<30  price<=30     (quote these for your shell)
  name=Ma*        a prefix of a string
  name==Ma*       exactly this string`

var maintenanceHelp = map[shell.Verb]shell.Help{
	shell.Verify: {
		Short: "Check an index against itself and against its objects",
		Long: `Checks that the entries of an index agree with the values stored next to them, and
with --from also with their objects: the hashes whose keys match a pattern, and whose
fields have the names of the columns. It works in short steps while the index is in
use, and changes nothing. It reports
  missing    objects, or entries, that the index does not find
  stale      entries whose values differ from those of their object
  dangling   entries that have no object, or cannot be read
  invalid    objects with a value that the index cannot hold
The exit code is 1 if there is a problem.`,
		Example: `  retwis index verify rooms
  retwis index verify rooms --from 'room:*' --rate 10000`,
	},
	shell.Repair: {
		Short: "Repair what verify finds",
		Long: `Repairs what "index verify" finds, in short steps while the index is in use. With
--from an entry gets the values of its object. Without --from it gets the values stored
in KEY.content; if these are lost, they are restored from the entries. Each entry is
checked again in the step that changes it, so that concurrent writes are kept. Without
--from, several entries with one id stay if KEY.content does not decide which is right.
Leftovers of a killed repair or rebuild are removed.`,
		Example: `  retwis index repair rooms --from 'room:*'`,
	},
	shell.Rebuild: {
		Short: "Rebuild an index from its objects while it is in use",
		Long: `Rebuilds an index from the hashes whose keys match a pattern (--from), or from CSV as
"index put" reads it. The old index serves until the new one replaces it in one step,
with all writes made meanwhile. --columns creates an index that does not exist.

` + shell.RebuildHelp,
		Example: `  retwis index rebuild rooms --from 'room:*'
  retwis index rebuild rooms --from 'room:*' --columns 'room:int,price:decimal(2)'
  retwis index rebuild rooms rooms.csv`,
	},
	shell.Adopt: {
		Short: "Turn a sorted set made by hand into an index",
		Long: `Turns a sorted set made by hand into an index. The set has entries such as
0056:0028.44:90 or, with --numeric, ids with numbers as scores. The command adds
KEY.meta and KEY.content, in short steps, and can be repeated; nothing may write to the
sorted set meanwhile. Entries that cannot be read, and several entries with one id, are
shown and stay as they are; then the exit code is 1.`,
		Example: `  retwis index adopt rooms --columns 'room:int(4),price:decimal(6,2)'
  retwis index adopt ages --columns age:int --numeric`,
	},
}
