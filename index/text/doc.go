// Package text is a full-text index: it finds documents by their words, newest first.
//
// The simple way to search in Redis is a sorted set of ids per word: ZADD for each word of a
// document, ZINTER for a query. This takes 70 to 80 bytes for each word of each document, over
// a kilobyte for a short post, and a query of two frequent words reads all ids of both words.
// With a million posts, the query blocks the server for most of a second.
//
//	posts, err := text.New(client, "posts", text.Options{})
//	err = posts.Put(ctx, 7, text.Document{Text: "Redis is fast", Terms: []string{"from:ann"}})
//	e, err := text.Parse(`redis fast -slow from:ann`, "from")
//	page, err := posts.Search(ctx, text.Query{Expr: e})
//
// # Documents
//
// A document has an id from 1 to 2^53-1, which determines its position in results; a text of at
// most 100 KB; and exact terms, such as from:ann or has:link, which match only as a whole and
// never equal a word of the text.
//
// Index.Put, Replace and Remove are one script each: they take effect atomically, and a crash
// leaves no partial change. All three can be repeated, and cost the server about 4 µs for
// each distinct word.
//
// The index does not store texts: Replace and Remove need the indexed text, and compare it with
// a digest. So a late writer changes nothing and gets ErrConflict. The id of a removed document
// stays marked, so that a late Put of interrupted work does not restore it. Ascending ids are
// fastest and smallest, but any order works. The records of documents with nearby ids share
// keys; documents with ids far apart take about 100 bytes more.
//
// # Words
//
// A text is split into words at Unicode word boundaries (UAX #29), and folded as in
// index/suggest: case, accents, full-width forms and kinds of apostrophes do not matter.
// Numbers and emoji are words; links and names with a hyphen or a point are several words.
// Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese are indexed in pairs of characters,
// since they have no spaces between words or, in the case of Korean, attach particles to words.
// A word in these scripts is therefore found anywhere, and a single character only in Chinese.
// A word has at most 64 bytes; longer words are truncated. There are no stop words. With
// Options.Language the stems of words are terms, too: a query then also finds other forms of
// its words.
//
// # Queries
//
// Parse parses the search syntax that people type: words, OR, a minus, phrases in quotes,
// prefixes with an asterisk, exact terms, parentheses. Programs can build an Expr themselves,
// and add exact terms and id bounds to what people type: see Query.
//
// A phrase is matched against the texts that Options.Text returns: the documents that have all
// of its words are read in pages. With Options.Text, a word that is indexed in parts, such as
// example.com or 東京都, is a phrase, too. A prefix matches the word itself and the 8 most
// frequent words with the prefix, but not their other forms; in an index with more than 20,000
// words per partition, these are only words of at least 32 documents in a partition.
//
// # Cost
//
// A search is one round trip if the newest ids of its words fill the page, and a few if not. Its
// work is limited: a page can end early, with Result.Next to continue. With Options.Partitions
// the documents are sharded by id, and a search queries all partitions in parallel.
//
// The ids of a rare term, up to 8, are in one of 65,536 hashes of rare terms. The ids of other
// terms are in a tail, a string of at most about 2,048 ids, to which new ids are appended. Older
// ids are moved to segments of at most 8 KB, which are offsets of 4 bytes or, if that is
// smaller, bitmaps. A million posts take a seventh of the memory of sorted sets, and a post
// costs the server about the same time. A small index saves nothing: the hashes are then almost
// empty, and take up to 8 MB. A search compares the terms of a query 64 ids at a time, and reads
// only segments in which all terms can have ids. No command reads or writes more than about 20
// KB, however large the index is. There is nothing to optimize or compact later.
//
// # Limits
//
// Results are ordered by id only. There is no relevance ranking and no support for synonyms or
// typos. To complete whole terms, use package suggest.
//
// # Maintenance
//
// Verify finds damage, and documents that differ from their objects; Repair corrects the
// documents; Rebuild builds a new index while the old one is in use, whatever the damage. If an
// update of this package or its libraries splits some text differently, a Replace of such a
// document returns ErrConflict until a Repair or Rebuild.
package text
