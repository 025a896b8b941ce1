// Package suggest completes a prefix with the terms that are searched most.
//
// Members of a sorted set with the same score are in byte order, so that all terms
// that begin with "bit" are one range: "[bit" to "[bit\xff". With the number of
// searches in each member, the terms of the range can be sorted by frequency. The Redis
// tutorial on secondary indexing does it this way. It is fast for a rare prefix and slow
// for "a": of a million terms a third may begin with it, and all of them must be read to
// find the ten best.
//
//	x, err := suggest.New(client, "searches", suggest.Options{})
//	_, err = x.Add(ctx, "Banana", 1)        // a search
//	best, err := x.Complete(ctx, "ba", 10)  // a user types
//
// It completes whole terms, from their beginning: package text finds words inside texts. It
// ranks by counts only.
//
// A completion is exact and reads about 64 terms, whatever the prefix. Entries are those of
// the tutorial with a tab as the separator, normalized, frequency, original; an original
// equal to the normalized form is left out. A top-k cache has a list for each prefix of
// more than 64 terms: the best terms without their counts, and a threshold, the highest
// rank of any term that is not in the list. A count that rises above the threshold adds
// its term to the list, in the script that changes the count. A count that falls changes
// nothing: a completion reads the current counts of the terms in the list, and the
// threshold shows how many of them are certain to be the best. A list of 64 terms is cut
// to the best 32, so that the amortized work is small. A list that has lost too many of
// its best terms is rebuilt from the lists of the prefixes one byte longer, never from
// all terms. The cache of a million terms takes about 1 % more memory. See topk.lua.
//
// Terms are UTF-8 of up to 512 bytes, and match regardless of case, accents, forms of a
// letter, apostrophes and punctuation: see Index.Normalize. Spellings of one normalized
// form are one term: they count together, and the term is shown as most searches spell it.
// Eight spellings of a term have counts of their own; a further one replaces the rarest. A
// count is at most 2^53-1. A term may carry a payload, such as an id, which completions
// return: see Index.Put.
//
// Index.AddMany and PutMany sort what they write, so that the terms of a script share
// the lists of their prefixes.
//
// There are three ways to forget old searches: Options.Cleanup removes a little at each
// completion, as in the tutorial; Options.HalfLife lets old searches weigh less;
// Index.Prune removes rare terms.
//
// Each change is one script: an index is consistent at all times, even if its writers
// crash. An index is in one hash slot, or sharded over Options.Partitions slots;
// completions then read all of them in one pipeline.
package suggest
