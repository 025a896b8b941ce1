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

// batchSize is the number of documents that are written together: the size of PutMany's pipelines.
const batchSize = 64

// writer writes the documents of files to an index.
type writer struct {
	in  *shell.Inputs
	key string
	// writeBatch writes a batch and reports whether all documents were written. If writeBatch is
	// nil, documents are written one by one.
	writeBatch func(ctx context.Context, batch []document) (complete bool, err error)
	writeOne   func(ctx context.Context, d document) error
}

// write writes all documents, rejects documents that the index refuses, and prints a summary.
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
	complete := false
	if w.writeBatch != nil && len(batch) > 0 {
		var err error
		if complete, err = w.writeBatch(ctx, batch); err != nil {
			return err
		}
	}
	if !complete {
		// The client sends concurrent writes in one round trip.
		var wg sync.WaitGroup
		for i, d := range batch {
			wg.Go(func() { errs[i] = w.writeOne(ctx, d) })
		}
		wg.Wait()
	}
	for i, d := range batch {
		if err := w.resolve(d, errs[i]); err != nil {
			return err
		}
	}
	return nil
}

// resolve counts a document as accepted or rejected, given the error of its write, and returns
// errors that do not concern the document.
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
