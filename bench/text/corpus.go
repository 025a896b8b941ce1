package text

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"retwis/index/text"
)

// corpus is texts as words: document i has the id i+1.
type corpus struct {
	name       string
	documents  [][]string
	vocabulary []string       // sorted
	counts     map[string]int // of documents that have a word
}

// packages of Debian have the texts, and the program sqlite3.
const packages = "sqlite3 bible-kjv bible-kjv-text fortunes fortunes-cs fortunes-de fortunes-es fortunes-it fortunes-pl fortunes-ru"

// source is where the texts of a corpus come from.
type source struct {
	name string
	read func(ctx context.Context) ([][]string, error)
}

func corpora() []source {
	return []source{
		{"King James Bible", readBible},
		{"fortunes in seven languages", readFortunes},
		{"descriptions of Debian packages", readPackages},
	}
}

// readBible reads a verse a line.
func readBible(ctx context.Context) (documents [][]string, err error) {
	out, err := exec.CommandContext(ctx, "bible", "-f", "gen1:1-rev22:21").Output()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		if _, verse, ok := strings.Cut(line, " "); ok {
			documents = append(documents, split(verse))
		}
	}
	return documents, nil
}

// readFortunes reads the fortunes of all languages, which are between lines with a percent
// sign.
func readFortunes(context.Context) (documents [][]string, err error) {
	const dir = "/usr/share/games/fortunes"
	for _, pattern := range []string{"*", "cs/*", "de/*", "es/*", "it/*", "pl/*", "ru/*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			info, err := os.Lstat(path)
			if err != nil {
				return nil, err
			}
			if !info.Mode().IsRegular() || filepath.Ext(path) == ".dat" {
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			if !utf8.Valid(data) {
				continue
			}
			for one := range strings.SplitSeq(string(data), "\n%\n") {
				if words := split(one); len(words) > 0 {
					documents = append(documents, words)
				}
			}
		}
	}
	return documents, nil
}

// readPackages reads the names and descriptions of the packages of the system.
func readPackages(ctx context.Context) (documents [][]string, err error) {
	out, err := exec.CommandContext(ctx, "apt-cache", "dumpavail").Output()
	if err != nil {
		return nil, err
	}
	var about strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	described := false
	for lines.Scan() {
		line := lines.Text()
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "":
			documents = append(documents, split(about.String()))
			about.Reset()
			described = false
		case line[0] == ' ':
			value = line
		default:
			described = name == "Package" || name == "Description" || name == "Description-en"
		}
		if described {
			about.WriteString(value + "\n")
		}
	}
	return documents, lines.Err()
}

// split returns the runs of letters, marks and digits of a text.
func split(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) })
}

// fold replaces words by those that the index makes of them, so that all engines have the
// same, and leaves out what is several words for it, such as Chinese.
func (c *corpus) fold(ctx context.Context, x *text.Index) error {
	folded := map[string]string{}
	for i, words := range c.documents {
		for j, word := range words {
			to, known := folded[word]
			if !known {
				e, err := x.Explain(ctx, text.Query{Expr: text.And(text.Word(word), text.Exact("x"))})
				if err != nil {
					return err
				}
				if len(e.Terms) == 2 {
					to = e.Terms[0].Term
				}
				folded[word] = to
			}
			words[j] = to
		}
		c.documents[i] = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	}
	c.counts = map[string]int{}
	for _, words := range c.documents {
		for _, word := range slices.Compact(slices.Sorted(slices.Values(words))) {
			if c.counts[word]++; c.counts[word] == 1 {
				c.vocabulary = append(c.vocabulary, word)
			}
		}
	}
	slices.Sort(c.vocabulary)
	return nil
}

// texts is text.Options.Text.
func (c *corpus) texts(_ context.Context, ids []int64) (map[int64]string, error) {
	texts := make(map[int64]string, len(ids))
	for _, id := range ids {
		texts[id] = strings.Join(c.documents[id-1], " ")
	}
	return texts, nil
}

// Of an index of more words than it lists, only those that are frequent complete a prefix.
const (
	listed    = 20_000
	frequent  = 32
	completed = 8 // words
)

// completes reports whether a prefix matches all the words that begin with it.
func (c *corpus) completes(prefix string) bool {
	i, _ := slices.BinarySearch(c.vocabulary, prefix)
	n := 0
	for _, word := range c.vocabulary[i:] {
		if !strings.HasPrefix(word, prefix) {
			break
		}
		if n++; n > completed || word != prefix && len(c.vocabulary) > listed && c.counts[word] < frequent {
			return false
		}
	}
	return n > 0
}
