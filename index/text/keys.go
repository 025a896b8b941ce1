package text

import (
	"hash/fnv"
	"strconv"

	"retwis/internal/redis/partition"
)

// keys are the keys of a partition: the keys of every index,
//
//	<key>          sorted set: the words for prefix completion, each preceded by its
//	               magnitude, all with score 0
//	<key>.meta     hash: the declaration; generation, which is part of the other keys, and
//	               generations, the number of generations so far; during a rebuild also next,
//	               the generation being built
//	<key>.next     sorted set: <key> of the next generation
//	<key>.changed  set: ids whose writes during a rebuild conflicted in the next generation
//
// and for each generation
//
//	<key>.0.ids:<range>   hash: id within the range -> digest of its terms, or - if removed
//	<key>.0.rare:<n>      hash: term -> its ids, up to 8, of 8 bytes each
//	<key>.0.tail:<term>   string: the number of ids in segments and the largest of them, 8
//	                      bytes each, then the newest ids
//	<key>.0.dir:<term>    sorted set: bases of segments
//	<key>.0.seg:<term>    hash: base of a segment -> segment
//
// Numbers in strings are big endian; ids are ascending. See codec.Segment for the format of
// segments.
type keys struct {
	*partition.Keys
	partitions int
	rares      int // number of hashes of rare terms
}

const (
	// allRares is the number of hashes of rare terms in all partitions.
	allRares = 65536
	// idRange is the number of documents whose records share a hash.
	idRange = 64
)

// names builds the keys of one generation of a partition.
type names struct {
	generation        string
	prefix            string // <key>.0.
	list              string // the words for prefix completion
	partitions, rares int
}

// forGeneration returns the keys of a generation. next indicates that a rebuild is building it.
func (k keys) forGeneration(generation string, next bool) names {
	n := names{generation: generation, prefix: k.Index + "." + generation + ".", list: k.Index, partitions: k.partitions, rares: k.rares}
	if next {
		n.list = k.Next
	}
	return n
}

// rareOf returns the key of a hash of rare terms.
func (n names) rareOf(i int) string { return n.prefix + "rare:" + strconv.Itoa(i) }

func (n names) rare(term string) string { return n.rareOf(n.bucket(term)) }

// bucket returns the number of the hash that has a rare term.
func (n names) bucket(term string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(term)) // never fails
	return int(h.Sum32() % uint32(n.rares))
}

func (n names) tail(term string) string { return n.prefix + "tail:" + term }
func (n names) dir(term string) string  { return n.prefix + "dir:" + term }
func (n names) seg(term string) string  { return n.prefix + "seg:" + term }

// ids returns the hash with the record of a document, and its field.
func (n names) ids(id int64) (key, field string) {
	size := int64(idRange * n.partitions) // the other ids of a range are in other partitions
	return n.prefix + "ids:" + strconv.FormatInt(id/size, 10), strconv.FormatInt(id%size, 10)
}

// ofTerm returns the keys of a term: the first two, or all.
func (n names) ofTerm(term string, all bool) []string {
	if !all {
		return []string{n.rare(term), n.tail(term)}
	}
	return []string{n.rare(term), n.tail(term), n.dir(term), n.seg(term)}
}
