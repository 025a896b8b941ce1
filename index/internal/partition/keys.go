package partition

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// Keys are the keys of one partition of an index, all in one hash slot. An index
// that is not spread is its own only partition.
type Keys struct {
	Index       string // the index itself; beside it:
	Content     string // .content: hash, what the index needs to change an entry by its id
	Meta        string // .meta: hash, the declaration and the state of a rebuild
	Next        string // .next: the index that a rebuild makes
	NextContent string // .next.content: and what is beside that
	Changed     string // .changed: set, ids that were written during a rebuild
}

// All are the keys as scripts take them.
func (k *Keys) All() []string {
	return []string{k.Index, k.Content, k.Meta, k.Next, k.NextContent, k.Changed}
}

func keysOf(key string) Keys {
	return Keys{
		Index: key, Content: key + ".content", Meta: key + ".meta",
		Next: key + ".next", NextContent: key + ".next.content", Changed: key + ".changed",
	}
}

// spread returns the keys of the partitions of an index. The number of each is
// within the hash tag, so that they are in different slots: {ages.0}, {ages.1}.
func spread(key string, n int) []Keys {
	if n == 1 {
		return []Keys{keysOf(key)}
	}
	before, tag, behind := "", key, ""
	if t, at := hashTag(key); t != "" {
		before, tag, behind = key[:at], t, key[at+len(t)+2:]
	}
	all := make([]Keys, n)
	for i := range all {
		all[i] = keysOf(before + "{" + tag + "." + strconv.Itoa(i) + "}" + behind)
	}
	return all
}

// hashTag returns the part of a key that decides its slot and where its brace
// opens, or nothing where the whole key decides.
func hashTag(key string) (tag string, at int) {
	at = strings.IndexByte(key, '{')
	if at < 0 {
		return "", 0
	}
	tag, _, closed := strings.Cut(key[at+1:], "}")
	if !closed {
		return "", 0
	}
	return tag, at
}

// partitionOf returns which of n partitions has an id.
func partitionOf(id string, n int) int {
	if n == 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return int(h.Sum32() % uint32(n))
}
