package storage

import (
	"strings"

	"retwis/internal/redis/keys"
)

// The records of people.Lists: ListsModel, in ListsPartitions partitions; see ListsKey. ListsPrefix
// stands for their keys, which begin with {lists.0}: to {lists.63}:, so that a Cluster can spread
// them over its servers.
const (
	ListsModel      = "lists"
	ListsPartitions = 64
	ListsPrefix     = "{" + ListsModel + "}:"
	// ListsBegin is the common prefix of the keys of all records.
	ListsBegin = "{" + ListsModel + "."

	// ListsMeta exists once a user has had a list.
	ListsMeta = ListsBegin + "0}.meta"
)

// listsBases are the key prefixes of ListsModel.
var listsBases = keys.Spread(ListsModel, ListsPartitions)

// ListsKey is the hash of a user's lists of people and saved searches: a record of package
// model.
func ListsKey(uid int64) string {
	id := Itoa(uid)
	return listsBases[keys.Partition(id, ListsPartitions)] + ":" + id
}

// parseListsKey returns the user ID in a ListsKey.
func parseListsKey(key string) (uid int64, ok bool) {
	if !strings.HasPrefix(key, ListsBegin) {
		return 0, false
	}
	uid, ok = ParseID(key[strings.LastIndexByte(key, ':')+1:])
	return uid, ok && ListsKey(uid) == key
}
