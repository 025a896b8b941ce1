package text

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"retwis/index/text"
	"retwis/internal/cli/shell"
)

// batchSize is the number of documents written together, which is the size of PutMany's pipelines.
const batchSize = 64

// writer writes the documents of files to an index.
type writer struct {
	in  *shell.Inputs
	key string
	// many writes a batch and reports whether all of it was written. If it is nil, documents are
	// written one by one.
	many   func(ctx context.Context, batch []document) (all bool, err error)
	single func(ctx context.Context, d document) error
}

// write writes all documents, rejects those that the index refuses, and prints a summary.
func (w *writer) write(ctx context.Context, all iter.Seq2[document, error]) error {
	var batch []document
	for d, err := range all {
		if err != nil {
			return errors.Join(w.flush(ctx, batch), err)
		}
		if batch = append(batch, d); len(batch) == batchSize {
			if err := w.flush(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if err := w.flush(ctx, batch); err != nil {
		return err
	}
	return w.in.Report()
}

func (w *writer) flush(ctx context.Context, batch []document) error {
	errs := make([]error, len(batch))
	done := false
	if w.many != nil && len(batch) > 0 {
		var err error
		if done, err = w.many(ctx, batch); err != nil {
			return err
		}
	}
	if !done {
		// The client sends concurrent writes in one round trip.
		var writes sync.WaitGroup
		for i, d := range batch {
			writes.Go(func() { errs[i] = w.single(ctx, d) })
		}
		writes.Wait()
	}
	for i, d := range batch {
		if err := w.resolve(d, errs[i]); err != nil {
			return err
		}
	}
	return nil
}

// resolve accepts or rejects a written document. It returns errors that do not concern the
// document.
func (w *writer) resolve(d document, err error) error {
	switch {
	case err == nil:
		w.in.Accept()
		return nil
	case errors.Is(err, text.ErrRemoved):
		return w.in.Reject(d.file, d.line, fmt.Errorf("the document %d was removed; %q puts it again", d.id, "retwis text repair "+w.key+" FILE"))
	case errors.Is(err, text.ErrConflict):
		return w.in.Reject(d.file, d.line, fmt.Errorf("the index does not have the document %d, or has it with another text", d.id))
	}
	return err
}
