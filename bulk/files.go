package bulk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"retwis/bulk/internal/input"
)

// File is a file to load.
type File struct {
	// Name identifies the file in messages.
	Name string
	// Format of the file. Default: Options.Format.
	Format Format
	// Open opens the file. It is called after the previous file has been read.
	Open func() (io.ReadCloser, error)
	// MayEndEarly marks the last file of an append-only directory. If a crash has truncated the
	// command or transaction at its end, Load leaves it out, as a server does, and reports it in
	// Report.Truncated.
	MayEndEarly bool
}

// From returns a File that reads from r, which the caller closes.
func From(r io.Reader) File {
	return File{Open: func() (io.ReadCloser, error) { return keepOpen{r}, nil }}
}

// prepareFor validates the options for files and sets defaults.
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

// keepOpen is a reader that the caller closes.
type keepOpen struct{ io.Reader }

func (keepOpen) Close() error { return nil }

// Unwrap returns the underlying reader, which may be a regular file.
func (k keepOpen) Unwrap() io.Reader { return k.Reader }

func inputFiles(files []File) []input.File {
	all := make([]input.File, len(files))
	for i, f := range files {
		all[i] = input.File(f)
	}
	return all
}

// AppendOnlyFiles returns the files to load from a server's append-only directory, appendonlydir
// by default, in the order of the manifest: the base and the increments. It leaves out history
// files.
func AppendOnlyFiles(dir string) ([]File, error) {
	manifests, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.manifest"))
	switch {
	case err != nil:
		return nil, err
	case len(manifests) == 0:
		if inner, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*", "*.manifest")); len(inner) > 0 {
			return nil, fmt.Errorf("bulk: %s has no manifest of an append-only file; did you mean %s?", dir, filepath.Dir(inner[0]))
		}
		return nil, fmt.Errorf("bulk: %s has no manifest (*.manifest), so it is not the directory of an append-only file; name a file", dir)
	case len(manifests) > 1:
		return nil, fmt.Errorf("bulk: %s has %d manifests; move all but one away", dir, len(manifests))
	}
	text, err := os.ReadFile(manifests[0])
	if err != nil {
		return nil, err
	}
	names, err := parseManifest(string(text))
	if err != nil {
		return nil, fmt.Errorf("bulk: %s: %w", manifests[0], err)
	}
	var files []File
	for i, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("bulk: a file that %s lists is missing: %w", filepath.Base(manifests[0]), err)
		}
		files = append(files, File{
			Name: path, Format: RESP, MayEndEarly: i == len(names)-1,
			Open: func() (io.ReadCloser, error) { return os.Open(path) },
		})
	}
	return files, nil
}

// parseManifest returns the names of the files to load. A line has the form: file NAME seq N type
// T, where T is b for the base, i for an increment, and h for a history file.
func parseManifest(text string) ([]string, error) {
	base, names, lastSeq := "", []string(nil), int64(0)
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		wrong := func(reason string) ([]string, error) {
			return nil, fmt.Errorf("line %d: %s: %q", n+1, reason, line)
		}
		words, err := input.SplitWords(line)
		if err != nil || len(words)%2 != 0 {
			return wrong("expected pairs of a name and a value")
		}
		fields := make(map[string]string)
		for i := 0; i < len(words); i += 2 {
			fields[strings.ToLower(words[i])] = words[i+1]
		}
		name := fields["file"]
		if name == "" || name != filepath.Base(name) || name == ".." || name == "." {
			return wrong("expected the name of a file in the same directory")
		}
		seq, err := strconv.ParseInt(fields["seq"], 10, 64)
		if err != nil {
			return wrong("expected a number after seq")
		}
		switch fields["type"] {
		case "b":
			if base != "" {
				return wrong("there is a second base")
			}
			base = name
		case "i":
			if seq <= lastSeq {
				return wrong("the increments are not in order")
			}
			lastSeq = seq
			names = append(names, name)
		case "h":
		default:
			return wrong("expected type b, i or h")
		}
	}
	if base != "" {
		names = append([]string{base}, names...)
	}
	if len(names) == 0 {
		return nil, errors.New("the manifest lists neither a base nor an increment")
	}
	return names, nil
}

// escapeGlob escapes the special characters of filepath.Glob patterns.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
