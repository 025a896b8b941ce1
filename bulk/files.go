package bulk

import (
	"context"
	"errors"
	"io"

	"github.com/redis/rueidis"

	"retwis/bulk/internal/input"
)

// File is one of several files to load.
type File struct {
	// Name is the name of the file in messages.
	Name string
	// Format of the file. Default: Options.Format.
	Format Format
	// Open opens the file. It is called when the file before it has been read.
	Open func() (io.ReadCloser, error)
	// MayEndEarly says that the file is the last one of an append-only file: what a crash
	// has cut short at its end, part of a command or of a transaction, is left out as a
	// server does, and reported in Report.Truncated.
	MayEndEarly bool
}

// LoadFiles is [LoadInto] for several files, which it loads one after another as one input:
// the numbers of records go on, and a checkpoint is of all of them. Each file has its own
// format, and its commands begin in the database of server. Templates are for those of the
// files that are CSV, TSV, NDJSON or JSON. Errors name the file.
func LoadFiles(ctx context.Context, server rueidis.ClientOption, files []File, opt Options) (Report, error) {
	if err := opt.prepareFor(files); err != nil {
		return Report{}, err
	}
	if len(server.InitAddress) == 0 {
		return Report{}, errors.New("bulk: ClientOption.InitAddress is empty")
	}
	return newLoader(server, opt).run(ctx, files)
}

// EmitFiles is [Emit] for several files. The commands of each file begin in database 0.
func EmitFiles(ctx context.Context, w io.Writer, files []File, opt Options) (Report, error) {
	if err := opt.prepareFor(files); err != nil {
		return Report{}, err
	}
	if opt.Checkpoint != "" {
		return Report{}, input.WrongOption("Options.Checkpoint: Emit sends nothing that it could resume")
	}
	return emit(ctx, w, files, opt)
}

// prepareFor validates the options for some files and sets defaults.
func (o *Options) prepareFor(files []File) error {
	if len(files) == 0 {
		return input.WrongOption("there is no file to load")
	}
	for i, f := range files {
		if f.Open == nil {
			return input.WrongOption("file %d: Open is nil", i+1)
		}
		if err := checkFormat(f.Format); err != nil {
			return err
		}
	}
	return o.prepare()
}

// oneFile returns the file of a reader.
func oneFile(r io.Reader) []File {
	return []File{{Open: func() (io.ReadCloser, error) { return keepOpen{r}, nil }}}
}

// keepOpen is a reader that the caller closes.
type keepOpen struct{ io.Reader }

func (keepOpen) Close() error { return nil }

// Unwrap returns the reader, which may be a regular file.
func (k keepOpen) Unwrap() io.Reader { return k.Reader }

func inputFiles(files []File) []input.File {
	all := make([]input.File, len(files))
	for i, f := range files {
		all[i] = input.File(f)
	}
	return all
}
