package suggest

import "retwis/internal/redis/partition"

// keys are the keys of a partition: those of every index, and
//
//	<key>.heads       hash: the top-k cache, prefix -> threshold and best terms;
//	                  \n -> the number of its fields
//	<key>.next.heads  hash: the cache of the new index of a rebuild
//	<key>.blocked     set: normalized forms that are neither counted nor suggested
//
// The index is a sorted set of name:spelling:count, all with score 0, and
// <key>.content a hash of name:spelling -> count, or count, a line feed and a payload.
// <key>.meta has the field payloads once a term had one. The name of a term is its normalized
// form; a spelling equal to the name is left out.
type keys struct {
	*partition.Keys
	cache, nextCache, blocked string
}

func keysOf(p *partition.Keys) keys {
	return keys{Keys: p, cache: p.Index + ".heads", nextCache: p.Next + ".heads", blocked: p.Index + ".blocked"}
}

// reading returns the keys of the scripts that read terms or repair the cache.
func (k keys) reading() []string { return []string{k.Index, k.Content, k.cache, k.Meta} }

// all returns the keys of the other scripts.
func (k keys) all() []string { return append(k.All(), k.cache, k.nextCache, k.blocked) }
