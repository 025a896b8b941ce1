package suggest

import "retwis/internal/redis/partition"

// keys are the keys of a partition: the keys of every index, and
//
//	<key>.heads       hash: the top-k cache, prefix -> threshold and best terms
//	<key>.next.heads  hash: the cache of the new index of a rebuild
//	<key>.blocked     set: terms that are neither counted nor suggested
//	<key>.adopted     sorted set: entries created by hand, during their adoption
//
// The index is a sorted set of members term, tab, head. The head is the count, followed by a
// tab and the displayed spelling unless the spelling equals the term. <key>.content is a hash
// of term -> head; a line feed and a payload may follow, and the counts of several spellings:
// see value.lua. <key>.meta has the field payloads once any term has had a payload.
type keys struct {
	*partition.Keys
	cache, nextCache, blocked string
}

// keysOf returns the keys of a partition.
func keysOf(p *partition.Keys) keys {
	return keys{Keys: p, cache: p.Index + ".heads", nextCache: p.Next + ".heads", blocked: p.Index + ".blocked"}
}

// reading returns the keys for scripts that read terms or rebuild a list of the cache.
func (k keys) reading() []string { return []string{k.Index, k.Content, k.cache, k.Meta} }

// all returns the keys for the other scripts.
func (k keys) all() []string { return append(k.All(), k.cache, k.nextCache, k.blocked) }
