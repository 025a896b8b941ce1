// Package text finds documents by their words, the newest first.
//
// A sorted set of ids for each word is the plain way to search in Redis: ZADD for each
// word of a document, ZINTER for a query. It takes 70 to 80 bytes for each word of each
// document, over a kilobyte for a short post, and a query of two frequent words reads all
// ids of both: of a million posts that takes most of a second, in which the server does
// nothing else.
//
//	posts, err := text.New(client, "posts", text.Options{})
//	err = posts.Put(ctx, 7, text.Document{Text: "Redis is fast", Terms: []string{"from:ann"}})
//	e, err := text.Parse(`redis fast -slow from:ann`, "from")
//	page, err := posts.Search(ctx, text.Query{Expr: e})
//
// It ranks by id only: it knows no relevance, synonyms or typing errors, and it does not store
// the texts. For the completion of whole terms use package suggest.
//
// The ids of a rare term, up to 8, are in one of 65,536 hashes of such terms. Those of
// others are in a tail, a string of at most some 2,048 ids, to which a new id is appended.
// What is older is moved to segments of at most 8 KB, which are offsets of 4 bytes or, if
// that is smaller, bitmaps. A million posts take a seventh of the memory of sorted sets, and
// a post costs the server about the same time. A small index saves nothing: the hashes are
// then almost empty, and take up to 8 MB. A search compares the terms of a query 64 ids at a
// time, and reads only the segments in which all of them can have ids. No command reads or
// writes more than about 20 KB, however large the index is; there is nothing to optimize or
// to compact later.
//
// # Documents
//
// A document has an id from 1 to 2^53-1, which is its place in the order of results; a text
// of at most 100 KB; and exact terms beside it, such as from:ann or has:link, which match
// only as a whole and which no word of the text can equal.
//
// Index.Put, Replace and Remove are one script each: a document is found at once, no longer
// or with other words at once, and a crash leaves nothing half done. All can be repeated.
// They cost the server about 4 µs for each different word.
//
// The index does not store texts: Replace and Remove need the text that it has, and compare
// it with a digest. So a writer that comes late changes nothing, but gets ErrConflict. The
// id of a removed document stays marked, so that a Put of interrupted work does not bring it
// back. Ids that ascend are fastest and smallest, but any order is right. The records of
// documents share keys if their ids are near each other: those far apart take about 100
// bytes more.
//
// # Words
//
// A text is split into words at the boundaries of Unicode (UAX #29), and folded as in
// index/suggest: case, accents, full width and kinds of apostrophes do not matter. Numbers
// and emoji are words, links and names with a hyphen or a point are several. Chinese,
// Japanese, Korean, Thai, Lao, Khmer and Burmese are indexed in pairs of characters, since
// they have no spaces between words, or, as Korean, particles at their ends; so a word of
// them is found anywhere, and a single character only in Chinese. A word has at most 64
// bytes; longer ones are cut. There are no stop words. With Options.Language the stems of
// words are terms, too: a query then finds what it finds without, and other forms of its words.
//
// # Queries
//
// Parse reads what people type: words, OR, a minus, phrases in quotes, prefixes with an
// asterisk, exact terms, brackets. Programs can make an Expr themselves, and add exact terms
// and bounds of ids to what people type: see Query.
//
// A phrase is decided by the texts, which Options.Text returns: the documents that have all
// of its words are read in pages. With Options.Text a word that the index has in parts, such
// as example.com or 東京都, is a phrase too. A prefix matches the word itself and the 8 most
// frequent words that begin with it, not their other forms; in an index of more than 20,000
// words a partition these are only words of at least 32 documents in a partition.
//
// # Cost
//
// A search is one round trip if the newest ids of its words fill the page, and a few if not.
// Its work is bounded: a page can end early, with Result.Next to continue from. With
// Options.Partitions the documents are sharded by their ids, and a search asks all partitions
// at the same time.
//
// # Maintenance
//
// Verify finds damage, and documents that differ from their objects; Repair corrects the
// documents; Rebuild makes the index anew, while it is in use, whatever is damaged. After an
// update of this package or its libraries that splits some text in another way, a Replace of
// such a document returns ErrConflict until a Repair or Rebuild.
package text
