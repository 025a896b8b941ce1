// Package suggest completes a prefix with the most searched terms (autocomplete).
//
// Members of a sorted set with the same score are in byte order, so all terms that start with
// "bit" are one range: "[bit" to "[bit\xff". With the number of searches in each member, the
// terms of the range can be sorted by frequency. This is the method of the Redis tutorial on
// secondary indexing. It is fast for a rare prefix and slow for "a": of a million terms a third
// may start with "a", and all of these terms must be read to find the ten best. This package
// keeps a cache of the best terms of each frequent prefix, so that every completion is fast.
//
//	x, err := suggest.New(client, "searches", suggest.Options{})
//	_, err = x.Add(ctx, "Banana", 1)        // a search
//	best, err := x.Complete(ctx, "ba", 10)  // a user types
//
// # Terms
//
// Terms are UTF-8 and match regardless of case, accents, compatibility forms, apostrophes and
// punctuation: see Index.Normalize. Spellings with the same normalized form are one term: they
// are counted together, and the term is shown in its most frequent spelling. Eight spellings of
// a term have counts of their own; a further spelling replaces the rarest. A term may carry a
// payload, such as an id, which completions return: see Index.Put.
//
// There are three ways to forget old searches: Options.Cleanup removes a little at each
// completion, as in the tutorial; Options.HalfLife makes old searches count less; Index.Prune
// removes rare terms.
//
// # Guarantees
//
// A completion is exact. Each change is one script: an index is consistent at all times, even
// if its writers crash. Verify, Repair, Rebuild and Adopt work as described in package
// retwis/maintain.
//
// # Cost
//
// Add is one round trip. AddMany and PutMany sort their terms, so that the terms of a script
// share the lists of their prefixes. A completion reads about 64 terms, whatever the prefix. An
// index is in one hash slot, or sharded over Options.Partitions slots; completions then read
// all slots in one pipeline.
//
// Entries are those of the tutorial with a tab as the separator: normalized, frequency,
// original. An original equal to the normalized form is omitted. The top-k cache has a list for
// each prefix of more than 64 terms: the best terms without their counts, and a threshold, the
// highest rank of any term that is not in the list. If a count rises above the threshold, the
// script that changes the count adds the term to the list. If a count falls, the list does not
// change: a completion reads the current counts of the terms in the list, and the threshold
// shows how many of these terms are certain to be the best. A list of 64 terms is trimmed to
// the best 32, so the amortized cost is small. A list that has lost too many of its best terms
// is rebuilt from the lists of the prefixes one byte longer, never from all terms. The cache of
// a million terms takes about 1 % more memory. See topk.lua.
//
// # Limits
//
// A term or payload has at most 512 bytes, a count is at most 2^53-1, and a completion returns
// at most 1,000 terms. The package completes whole terms from their beginning, and ranks by
// count only: package text finds words inside texts.
package suggest
