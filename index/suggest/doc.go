// Package suggest completes what people type with what was searched most.
//
// A sorted set whose members have the same score is in the order of their bytes,
// so that all that begins with "bit" is one range: "[bit" to "[bit\xff". With the
// number of searches in each member the terms of the range can be put in order.
// That is how the secondary indexing tutorial of Redis does it, and it is quick
// where few terms have a prefix, and hopeless for "a", which a third of a million
// may have: all of them have to be read to find the ten that people mean.
//
//	x, err := suggest.New(client, "searches", suggest.Options{})
//	_, err = x.Add(ctx, "Banana", 1)        // somebody searched for it
//	best, err := x.Complete(ctx, "ba", 10)  // somebody types
//
// Here a completion is exact and reads some sixty terms, whatever the prefix.
// Entries are those of the tutorial with the count last, banana:Banana:273; a
// spelling that is the normalised form is left out, banana::273. Beside them the best
// terms of each prefix that more than 64 terms have are kept, without their
// counts, with a floor: the rank that no other term of the prefix is above. A
// count that rises past the floor puts its term there, in the script that changes
// it; one that falls changes nothing, since a completion reads the counts of the
// terms that are there, and knows by the floor how many of them are certain to
// be the best. A list that has grown to 64 is cut down to the best 32, which
// makes the work small on the average; one that lost too many of its best is made
// anew of those of the prefixes that are one byte longer, never of all terms. See
// heads.lua. A million terms take about 1 % more memory for it.
//
// Terms are UTF-8 of up to 512 bytes, and found without regard to case, accents,
// forms of a letter, apostrophes and punctuation: see Index.Normalize. Terms that are
// spelled differently are different terms, which answer to the same normalised form.
// Each may be counted up to 2^53-1.
//
// What nobody searches any more can be forgotten in three ways:
// Options.Cleanup takes a little at each completion, as the tutorial does it;
// Options.HalfLife lets what is old weigh less; Index.Prune removes what is rare.
//
// Each change is one script: an index is whole at every moment, whatever happens
// to its writers. An index lies in one hash slot, or in as many as
// Options.Partitions says; completions then ask all of them in one pipeline.
package suggest
