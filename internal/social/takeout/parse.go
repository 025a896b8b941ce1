package takeout

import (
	"encoding/csv"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"retwis/internal/social"
	"retwis/internal/social/storage"
)

// Kind is the kind of the entries in a file.
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
	// MaxEntries is the maximum number of entries in an import.
	MaxEntries = 10_000
	// MaxFile limits the size of a file, in bytes: 10,000 addresses of 100 bytes.
	MaxFile = 1 << 20
	// maxEntry limits the length of an entry, in bytes.
	maxEntry = 256
)

// headings are the first cells of an optional heading line: Mastodon's, and those of Retwis
// archives, which list the latest entries first.
var headings = map[string]struct{ latestFirst bool }{
	"account address": {false}, "username": {true}, "post": {true},
}

// unparsedPrefix is the prefix of an entry for a line that is not understood. No name and no
// address starts with it.
const unparsedPrefix = "? "

// Parse returns the entries of a file of a kind in the form that [Imports.Begin] takes: without
// duplicates, oldest first if the heading tells the order. host is the host of this site, in the
// addresses of posts. A line that is not understood becomes an entry that the import reports. Parse
// returns *InvalidError if the kind is unknown, or the file is too large or has no entries or too
// many.
func Parse(kind Kind, file []byte, host string) ([]string, error) {
	if !slices.Contains(Kinds[:], kind) {
		return nil, social.Invalid("kind", "Choose what the list contains.")
	}
	if len(file) > MaxFile {
		return nil, social.Invalid("file", "This file is too large. Use at most 1 MB.")
	}
	var entries []string
	var columns []string
	seen := map[string]bool{}
	latestFirst := false
	for i, line := range lines(file) {
		cells := cellsOf(line)
		if heading, ok := headings[strings.ToLower(cells[0])]; ok && i == 0 {
			latestFirst, columns = heading.latestFirst, cells
			continue
		}
		entry := entryOf(kind, columns, cells, host)
		if entry == unparsedPrefix {
			entry += clipped(line)
		}
		if key := strings.ToLower(entry); entry != "" && !seen[key] {
			seen[key] = true
			entries = append(entries, entry)
		}
	}
	switch {
	case len(entries) == 0:
		return nil, social.Invalid("file", "There is nothing to import in this file.")
	case len(entries) > MaxEntries:
		return nil, social.Invalid("file", "This file has {n} entries. Use at most 10,000 at a time.", len(entries))
	}
	if latestFirst {
		slices.Reverse(entries)
	}
	return entries, nil
}

// lines returns the lines of a file that are not blank. No entry contains a line break, so an
// unclosed quote ends with its line. Spreadsheets also write UTF-16.
func lines(file []byte) []string {
	text, _, err := transform.Bytes(unicode.BOMOverride(unicode.UTF8.NewDecoder()), file)
	if err != nil {
		text = file
	}
	all := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })
	return slices.DeleteFunc(all, func(line string) bool { return strings.TrimSpace(line) == "" })
}

// cellsOf returns the cells of a line, at least one. Cells are separated by commas, tabs or
// semicolons.
func cellsOf(line string) []string {
	r := csv.NewReader(strings.NewReader(line))
	r.LazyQuotes, r.TrimLeadingSpace = true, true
	for _, comma := range "\t;" {
		if strings.ContainsRune(line, comma) && !strings.Contains(line, ",") {
			r.Comma = comma
		}
	}
	cells, err := r.Read()
	if err != nil {
		return []string{strings.TrimSpace(line)}
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// clipped returns a line in the form that is reported: in one line, and truncated.
func clipped(line string) string {
	text := strings.Join(strings.Fields(social.CleanRunes(strings.ToValidUTF8(line, "\ufffd"))), " ")
	if len(text) > maxEntry {
		text = strings.ToValidUTF8(text[:maxEntry], "") + "…"
	}
	return text
}

// entryOf returns the entry of a line: an address, followed by a space and the end of a mute or a
// block if there is one; or the location of a post. It returns unparsedPrefix for a line that is
// not understood, and an empty string for a line without contents.
func entryOf(kind Kind, columns, cells []string, host string) string {
	text, err := social.CleanLine(cells[0], "", maxEntry)
	if err != nil || len(text) > maxEntry {
		return unparsedPrefix
	}
	if kind == Bookmarks {
		return postOf(columns, cells, text, host)
	}
	text = strings.TrimPrefix(text, "@")
	switch {
	case text == "":
		return ""
	case strings.ContainsAny(text, " ") || strings.HasPrefix(text, strings.TrimSpace(unparsedPrefix)):
		return unparsedPrefix
	}
	if (kind == Mutes || kind == Blocks) && len(cells) == 2 {
		if end, err := time.Parse(time.RFC3339, cells[1]); err == nil {
			text += " " + storage.Seconds(end)
		}
	}
	return text
}

// postOf returns the location of a post: a path of this site, or an address elsewhere. An ID alone
// is not enough, because other sites have the same IDs: an archive also names the author, and the
// address if it is known.
func postOf(columns, cells []string, text, host string) string {
	cell := func(name string) string {
		if i := slices.Index(columns, name); i >= 0 && i < len(cells) {
			return cells[i]
		}
		return ""
	}
	if address := cell("address"); address != "" {
		text = address
	} else if author := cell("author"); author != "" {
		text = "/u/" + author + "/" + text
	}
	u, err := url.Parse(text)
	switch {
	case text == "":
		return ""
	case err != nil || len(text) > maxEntry || strings.ContainsAny(text, " "):
		return unparsedPrefix
	case strings.EqualFold(u.Host, host) && u.Path != "":
		return u.Path
	}
	return text
}

// parsePath returns the post that a path of this site leads to, and its author if the path names
// one.
func parsePath(path string) (author string, post int64, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case !strings.HasPrefix(path, "/"):
		return "", 0, false
	case len(parts) == 3 && parts[0] == "u":
		author = parts[1]
	case len(parts) != 2 || parts[0] != "post":
		return "", 0, false
	}
	post, ok = storage.ParseID(parts[len(parts)-1])
	return author, post, ok
}

// nameOf returns the name in an address such as name@example.com, and the end that follows it, or
// the zero time.
func nameOf(entry string) (name string, until time.Time) {
	address, end, _ := strings.Cut(entry, " ")
	name, _, _ = strings.Cut(address, "@")
	return name, storage.ParseTime(end)
}
