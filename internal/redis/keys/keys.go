// Package keys computes where keys are stored: the hash tag and slot of a key, the partition of
// an ID, and the keys of a structure in several partitions.
//
// On a Cluster, a script or transaction can only use keys of one hash slot. A structure with several
// keys uses one hash tag for all of them; a structure that must be larger than a server is divided
// into partitions, each with its own tag. The location of stored data depends on these functions,
// so their results never change.
package keys

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// MaxPartitions is the largest number of partitions of one structure.
const MaxPartitions = 1024

// Tag returns the hash tag of a key: the part between the first opening brace and the next closing
// brace. It returns "" if the whole key determines the slot.
func Tag(key string) string {
	_, rest, found := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !found || !closed {
		return ""
	}
	return tag
}

// Spread returns the names of n partitions of a structure. The partition number is inside the
// hash tag, so that the partitions are in different slots: {ages.0}, {ages.1}. The name of a single
// partition is name. A name with a brace but no hash tag cannot be spread: see Spreadable.
func Spread(name string, n int) []string {
	if n == 1 {
		return []string{name}
	}
	prefix, tag, suffix := "", name, ""
	if t := Tag(name); t != "" {
		prefix, suffix, _ = strings.Cut(name, "{"+t+"}")
		tag = t
	}
	all := make([]string, n)
	for i := range all {
		all[i] = prefix + "{" + tag + "." + strconv.Itoa(i) + "}" + suffix
	}
	return all
}

// Spreadable reports whether Spread can put a number into the hash tag of a name.
func Spreadable(name string) bool {
	return Tag(name) != "" || !strings.ContainsAny(name, "{}")
}

// Partition returns which of n partitions holds an ID, or other text by which a structure is
// divided.
func Partition(id string, n int) int {
	if n == 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return int(h.Sum32() % uint32(n))
}
