package text

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"retwis/index/text/internal/codec"
	"retwis/index/text/internal/words"
)

// Document is the indexed part of an object.
type Document struct {
	// Text is UTF-8 of at most 100 KB.
	Text string
	// Terms are exact terms, such as from:7 or has:link, of 1 to 63 bytes without blanks.
	// They match only as a whole, byte by byte, and never a word of the text.
	Terms []string
}

const (
	maxText = 100 << 10 // bytes
	maxTerm = words.MaxWord - len(exactMark)
	// MaxID is the largest id of a document: all integers up to MaxID are exact in Lua.
	MaxID = codec.MaxID
)

// exactMark is the prefix of exact terms in Redis. No word contains it.
const exactMark = "="

// checkTerm returns an error for an exact term that the index cannot hold.
func checkTerm(term string) error {
	switch {
	case term == "" || len(term) > maxTerm:
		return invalid("the exact term has %d bytes: it must have from 1 to %d", len(term), maxTerm)
	case !utf8.ValidString(term) || strings.ContainsFunc(term, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return invalid("the exact term %q has a blank or is not UTF-8", term)
	}
	return nil
}

// checkID returns an error for an id out of range.
func checkID(id int64) error {
	if id < 1 || id > MaxID {
		return invalid("the id %d is not from 1 to 2^53-1", id)
	}
	return nil
}

// parseID parses the id of an index.Object.
func parseID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != text {
		return 0, invalid("the id %q is not an integer", text)
	}
	return id, checkID(id)
}

// Check returns an error if the index cannot hold a document.
func (*Index) Check(id int64, d Document) error { return cmp.Or(checkID(id), d.check()) }

func (d *Document) check() error {
	switch {
	case len(d.Text) > maxText:
		return invalid("the text has %d bytes: at most %d are allowed", len(d.Text), maxText)
	case !utf8.ValidString(d.Text):
		return invalid("the text is not UTF-8")
	}
	for _, term := range d.Terms {
		if err := checkTerm(term); err != nil {
			return err
		}
	}
	return nil
}

// terms returns the terms of a document, sorted.
func (x *store) terms(d Document) ([]string, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	terms := words.Terms(x.splitter.Atoms(d.Text))
	for _, term := range d.Terms {
		terms = append(terms, exactMark+term)
	}
	slices.Sort(terms)
	return slices.Compact(terms), nil
}

// digest identifies a set of terms. It is the sum of their hashes, so that Verify can compute
// it from the terms in any order.
type digest [2]uint64

// removed is the record of a removed document; other records are digests.
const removed = "-"

// digestSize is the size of a record, in bytes.
const digestSize = 16

func (d *digest) add(term string) {
	sum := sha256.Sum256([]byte(term))
	d[0] += binary.BigEndian.Uint64(sum[:])
	d[1] += binary.BigEndian.Uint64(sum[8:])
}

// String returns the record of a document.
func (d digest) String() string {
	return string(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, d[0]), d[1]))
}

// digestOf returns the record of a document with terms.
func digestOf(terms []string) string {
	var d digest
	for _, term := range terms {
		d.add(term)
	}
	return d.String()
}

// difference returns the elements of a sorted list that are not in another sorted list.
func difference(terms, others []string) []string {
	var missing []string
	for _, term := range terms {
		if _, found := slices.BinarySearch(others, term); !found {
			missing = append(missing, term)
		}
	}
	return missing
}
