package load

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"retwis/bulk"
	"retwis/internal/cli/shell"
)

// standardInput is the file name of standard input.
const standardInput = "standard input"

// files returns the files to load and their total size, or -1 if unknown. files reports missing
// files before anything is loaded.
func (flags *loadFlags) files(c *shell.Command, names []string) (files []bulk.File, size int64, err error) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	stdin := false
	for _, name := range names {
		var found []bulk.File
		var n int64
		switch info, err := os.Stat(name); {
		case name == "-" && stdin:
			return nil, 0, shell.Usage(errors.New("- is given twice: standard input can be read only once"))
		case name == "-":
			stdin = true
			var in io.ReadCloser
			if in, n, err = shell.OpenFile(c.Stdin, name); err != nil {
				return nil, 0, err
			}
			found = []bulk.File{{Name: standardInput, Open: func() (io.ReadCloser, error) { return in, nil }}}
		case err == nil && info.IsDir():
			if found, err = bulk.AppendOnlyFiles(name); err != nil {
				return nil, 0, shell.Usage(errors.New(shell.OneLine(err)))
			}
			for _, f := range found {
				if info, err := os.Stat(f.Name); err == nil {
					n += info.Size()
				}
			}
		default:
			if found, n, err = flags.file(c, name); err != nil {
				return nil, 0, err
			}
		}
		if size >= 0 {
			size += n
		}
		if n < 0 {
			size = -1
		}
		files = append(files, found...)
	}
	return files, size, nil
}

// file returns a file and its size, and checks that the file can be opened.
func (flags *loadFlags) file(c *shell.Command, name string) ([]bulk.File, int64, error) {
	open := func() (io.ReadCloser, error) {
		f, _, err := shell.OpenFile(c.Stdin, name)
		return f, err
	}
	f, size, err := shell.OpenFile(c.Stdin, name)
	if err != nil {
		return nil, 0, err
	}
	if size < 0 { // a pipe can be opened only once
		open = func() (io.ReadCloser, error) { return f, nil }
	} else if err := f.Close(); err != nil {
		return nil, 0, err
	}
	input := bulk.File{Name: name, Open: open}
	if flags.opt.Format == bulk.Auto {
		input.Format = formatOf(name)
	}
	return []bulk.File{input}, size, nil
}

// formatOf returns the format implied by a file name, or bulk.Auto.
func formatOf(name string) bulk.Format {
	ext := strings.ToLower(filepath.Ext(name))
	if ext == ".gz" || ext == ".zst" || ext == ".zstd" {
		ext = strings.ToLower(filepath.Ext(strings.TrimSuffix(strings.ToLower(name), ext)))
	}
	switch ext {
	case ".resp", ".aof":
		return bulk.RESP
	case ".rdb":
		return bulk.RDB
	case ".csv":
		return bulk.CSV
	case ".tsv", ".tab":
		return bulk.TSV
	case ".ndjson", ".jsonl":
		return bulk.NDJSON
	}
	return bulk.Auto
}

// output is a file for failed commands or bad records.
type output struct{ file *os.File }

// refuseUsed returns an error if an output file is an input file, the checkpoint or the other
// output file: opening it could truncate that file.
func (flags *loadFlags) refuseUsed(c *shell.Command, files []bulk.File) error {
	used := []string{flags.opt.Checkpoint}
	for _, file := range files {
		used = append(used, file.Name)
	}
	for _, out := range [][2]string{{"--skip-bad", flags.skipBad}, {"--errors-to", flags.errorsTo}} {
		for _, other := range used {
			if isSame(c, out[1], other) {
				return shell.Usage(fmt.Errorf("%s: %s is in use by this load: name another file", out[0], out[1]))
			}
		}
		used = append(used, out[1])
	}
	return nil
}

// output creates a file, or returns nil if name is empty. A resumed load appends to the file.
func (flags *loadFlags) output(flag, name string) (*output, error) {
	if name == "" {
		return nil, nil
	}
	mode := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if _, err := os.Stat(flags.opt.Checkpoint); flags.opt.Checkpoint != "" && err == nil {
		mode = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	f, err := os.OpenFile(name, mode, 0o666)
	if err != nil {
		return nil, shell.Usage(fmt.Errorf("%s: %w", flag, err))
	}
	return &output{f}, nil
}

// isSame reports whether name is the same regular file as other, which may be standard input. If
// name does not exist yet, it compares the names.
func isSame(c *shell.Command, name, other string) bool {
	info, err := os.Stat(name)
	if err != nil || name == "" {
		return name != "" && name == other
	}
	if !info.Mode().IsRegular() {
		return false
	}
	stat := func() (os.FileInfo, error) { return os.Stat(other) }
	if in, ok := c.Stdin.(*os.File); ok && other == standardInput {
		stat = in.Stat
	}
	otherInfo, err := stat()
	return err == nil && os.SameFile(info, otherInfo)
}

// close closes the file and removes it if it is empty.
func (o *output) close() error {
	if o == nil {
		return nil
	}
	info, err := o.file.Stat()
	empty := err == nil && info.Mode().IsRegular() && info.Size() == 0
	if err = errors.Join(err, o.file.Close()); err == nil && empty {
		err = os.Remove(o.file.Name())
	}
	return err
}
