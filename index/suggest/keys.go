package suggest

import "retwis/internal/partition"

// keys are the keys of a partition. To those of every index come:
//
//	<key>.heads       hash: for each prefix of many terms, which of them are the best
//	<key>.next.heads  hash: the same of the index that a rebuild makes
//	<key>.blocked     set: normalised forms that are neither counted nor suggested
//
// The index itself is a sorted set of name:spelling:count, all scored 0, and
// <key>.content a hash of name:spelling -> count, where the name of a term is its
// normalised form, and the spelling is left out where it is the same.
type keys struct {
	*partition.Keys
	heads, nextHeads, blocked string
}

func keysOf(p *partition.Keys) keys {
	return keys{Keys: p, heads: p.Index + ".heads", nextHeads: p.Next + ".heads", blocked: p.Index + ".blocked"}
}

// reading are the keys as the scripts take them that only read, or mend a head.
func (k keys) reading() []string { return []string{k.Index, k.Content, k.heads} }

// all are those that the other scripts take.
func (k keys) all() []string { return append(k.All(), k.heads, k.nextHeads, k.blocked) }
