package takeout

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/storage"
)

// Kind is what a file lists.
type Kind string

// The kinds of files.
const (
	Follows   Kind = "follows"
	Mutes     Kind = "mutes"
	Blocks    Kind = "blocks"
	Bookmarks Kind = "bookmarks"
)

// Kinds are all kinds, in the order of the form.
var Kinds = [...]Kind{Follows, Mutes, Blocks, Bookmarks}

const (
	// MaxEntries is how many entries an import has at the most.
	MaxEntries = 10_000
	// MaxFile bounds a file, in bytes: 10,000 addresses of 100.
	MaxFile = 1 << 20
	// maxEntry bounds an entry, in bytes.
	maxEntry = 256
)

// headings begin the line of headings that a file may have: Mastodon's, and those of the
// archives of Retwis, whose latest entries come first.
var headings = map[string]struct{ latestFirst bool }{
	"account address": {false}, "username": {true}, "post": {true},
}

// Parse reads the entries of a file of a kind, as [Service.Begin] takes them: each once, the
// oldest first where the file says. host is that of this site: an address of a post must be
// here. It returns *InvalidError for what is no such file.
func Parse(kind Kind, file []byte, host string) ([]string, error) {
	if !slices.Contains(Kinds[:], kind) {
		return nil, social.Invalid("kind", "Choose what the file lists.")
	}
	if len(file) > MaxFile {
		return nil, social.Invalid("file", "This file is too large. Use at most 1 MB.")
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(file, []byte("\ufeff"))))
	r.FieldsPerRecord, r.LazyQuotes, r.TrimLeadingSpace = -1, true, true
	var entries []string
	seen := map[string]bool{}
	latestFirst := false
	for line := 0; ; line++ {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, social.Invalid("file", "This is not a CSV file.")
		}
		if heading, ok := headings[strings.ToLower(cells[0])]; ok && line == 0 {
			latestFirst = heading.latestFirst
			continue
		}
		entry, ok := entryOf(kind, cells, host)
		if key := strings.ToLower(entry); ok && !seen[key] {
			seen[key] = true
			entries = append(entries, entry)
		}
	}
	switch {
	case len(entries) == 0:
		return nil, social.Invalid("file", "There is nothing to import in this file.")
	case len(entries) > MaxEntries:
		return nil, social.Invalid("file", fmt.Sprintf("This file has %d entries. Use at most 10,000 at a time.", len(entries)))
	}
	if latestFirst {
		slices.Reverse(entries)
	}
	return entries, nil
}

// entryOf returns the entry of a line: an address, with the end of a mute or a block after a
// space where there is one; the id of a post, or an address that leads elsewhere.
func entryOf(kind Kind, cells []string, host string) (entry string, ok bool) {
	text, err := social.CleanLine(cells[0], "", maxEntry)
	if err != nil || text == "" || len(text) > maxEntry {
		return "", false
	}
	if kind == Bookmarks {
		if id, ok := postOf(text, host); ok {
			return storage.Itoa(id), true
		}
		return text, true
	}
	text = strings.TrimPrefix(text, "@")
	if strings.ContainsAny(text, " ") || text == "" {
		return "", false
	}
	if (kind == Mutes || kind == Blocks) && len(cells) == 2 {
		if end, err := time.Parse(time.RFC3339, cells[1]); err == nil {
			text += " " + storage.Seconds(end)
		}
	}
	return text, true
}

// postOf returns the post of this site that an id or an address leads to.
func postOf(text, host string) (int64, bool) {
	if id, ok := storage.ParseID(text); ok {
		return id, true
	}
	u, err := url.Parse(text)
	if err != nil || !strings.EqualFold(u.Host, host) {
		return 0, false
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case len(parts) == 2 && parts[0] == "post", len(parts) == 3 && parts[0] == "u":
		return storage.ParseID(parts[len(parts)-1])
	}
	return 0, false
}

// nameOf returns the name in an address such as name@example.com, and the end after it, the
// zero time for none.
func nameOf(entry string) (name string, until time.Time) {
	address, end, _ := strings.Cut(entry, " ")
	name, _, _ = strings.Cut(address, "@")
	return name, storage.ParseTime(end)
}
