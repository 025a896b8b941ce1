package text

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"retwis/index/text"
	"retwis/internal/cli/shell"
)

// filesHelp describes the format of the input.
const filesHelp = `A file is CSV with a header that names id, text and, optionally, terms, in any order, or
JSON lines with these fields. An id is a number from 1 to 2^53-1, by which results are
sorted. Terms are exact terms, such as from:ann or has:link, with spaces between them, or a
list in JSON. --field names another column for the text.`

// addField adds the flag for the name of the text field.
func addField(c *shell.Command, field *string) {
	c.Flags().StringVar(field, "field", "text", "the `NAME` of the column or field with the text")
}

// document is a document of a file and its position.
type document struct {
	text.Document
	id   int64
	file string
	line int
}

// documents yields the documents of all files, and rejects documents that the index cannot hold.
// The caller counts the accepted documents.
func documents(in *shell.Inputs, field string, x *text.Index) iter.Seq2[document, error] {
	return func(yield func(document, error) bool) {
		for r, err := range in.Objects(shell.Fields{Names: []string{field}, Optional: []string{"terms"}}) {
			if err != nil {
				yield(document{}, err)
				return
			}
			d := document{file: r.File, line: r.Line, Document: text.Document{Text: r.Texts[0], Terms: strings.Fields(r.Texts[1])}}
			if d.id, err = parseID(r.ID); err == nil {
				err = x.Check(d.id, d.Document)
			}
			if err != nil {
				if err := in.Reject(r.File, r.Line, err); err != nil {
					yield(document{}, err)
					return
				}
				continue
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

var errNotID = errors.New("not a number from 1 to 2^53-1")

// parseID parses an ID. Only the canonical form is valid, so that different texts are different
// IDs.
func parseID(digits string) (int64, error) {
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != digits || id < 1 || id > text.MaxID {
		return 0, fmt.Errorf("the id %q: %w", digits, errNotID)
	}
	return id, nil
}
