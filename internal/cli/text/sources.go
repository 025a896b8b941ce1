package text

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text"
	"retwis/internal/cli/shell"
)

// hashes returns the hashes that match the pattern of --from, except hashes without a text and
// hashes whose ID is not a document ID.
func hashes(client rueidis.Client, pattern, field string) (index.Source[text.Document], error) {
	src, err := index.Hashes(client, pattern, func(id string, fields map[string]string) (text.Document, bool, error) {
		body, found := fields[field]
		_, err := parseID(id)
		return text.Document{Text: body, Terms: strings.Fields(fields["terms"])}, found && err == nil, nil
	})
	if err != nil {
		err = shell.Usage(errors.New(shell.OneLine(err)))
	}
	return src, err
}

// objects yields the documents of all files as objects.
func objects(in *shell.Inputs, field string, x *text.Index) iter.Seq2[index.Object[text.Document], error] {
	return func(yield func(index.Object[text.Document], error) bool) {
		for d, err := range documents(in, field, x) {
			if err == nil {
				in.Accept()
			}
			if !yield(index.Object[text.Document]{ID: strconv.FormatInt(d.id, 10), Value: d.Document}, err) {
				return
			}
		}
	}
}

// errNotInFiles is the error for a document that the files do not contain. Repair leaves such a
// document unchanged.
var errNotInFiles = errors.New("not in the files")

// load reads the documents of all files into memory. The Lookup of the source returns errNotInFiles
// for other documents.
func load(in *shell.Inputs, field string, x *text.Index) (src index.Source[text.Document], err error) {
	all := map[string]text.Document{}
	for o, err := range objects(in, field, x) {
		if err != nil {
			return src, err
		}
		all[o.ID] = o.Value
	}
	src.All = func(context.Context) iter.Seq2[index.Object[text.Document], error] {
		return func(yield func(index.Object[text.Document], error) bool) {
			for id, d := range all {
				if !yield(index.Object[text.Document]{ID: id, Value: d}, nil) {
					return
				}
			}
		}
	}
	src.Lookup = func(_ context.Context, ids []string) ([]index.Object[text.Document], error) {
		objects := make([]index.Object[text.Document], len(ids))
		for i, id := range ids {
			d, found := all[id]
			objects[i] = index.Object[text.Document]{ID: id, Value: d}
			if !found {
				objects[i].Err = errNotInFiles
			}
		}
		return objects, nil
	}
	return src, nil
}
