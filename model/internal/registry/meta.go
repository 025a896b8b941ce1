package registry

import "strings"

// Published is the content of the hash <model>.meta in one partition.
type Published struct {
	Digest, Schema       string            // of the declaration in force
	also                 string            // digest of another declaration whose programs may write
	Wanted, WantedDigest string            // schema and digest of the last New with a different declaration since the last Migrate
	token                string            // token of the numbers of the indexes
	migration            string            // "": all records are in all indexes; see migrate_begin.lua
	Indexes              map[string]string // identity to number and key, including dropped indexes
	built                map[string]bool   // by identity
}

// ParsePublished parses the hash <model>.meta.
func ParsePublished(meta map[string]string) Published {
	r := Published{
		Digest: meta["digest"], also: meta["also"], Schema: meta["schema"], Wanted: meta["wanted"], WantedDigest: meta["wanteddigest"],
		token: meta["token"], migration: meta["walk"], Indexes: map[string]string{}, built: map[string]bool{},
	}
	for field, value := range meta {
		if identity, ok := strings.CutPrefix(field, "index:"); ok {
			r.Indexes[identity] = value
		} else if identity, ok := strings.CutPrefix(field, "built:"); ok {
			r.built[identity] = true
		}
	}
	return r
}

// DescribeIndex formats the identity of an index: name (columns and options).
func DescribeIndex(identity string) string {
	name, options, _ := strings.Cut(identity, "=")
	return name + " (" + options + ")"
}
