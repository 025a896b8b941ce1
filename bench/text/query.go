package text

import (
	"encoding/hex"
	"iter"
	"math/rand/v2"
	"strings"

	"github.com/blevesearch/bleve/v2"
	bleveq "github.com/blevesearch/bleve/v2/search/query"

	"retwis/index/text"
)

type operator int

const (
	word operator = iota
	phrase
	prefix
	and
	or
	not // the first argument, but not the others
)

// query is a query in the languages of all engines.
type query struct {
	op    operator
	words []string
	args  []*query
}

// queries returns random queries whose words occur in the texts.
func (c *corpus) queries(r *rand.Rand, n int) []*query {
	all := make([]*query, n)
	for i := range all {
		all[i] = c.query(r, c.some(r), i%4)
	}
	return all
}

// some returns the words of a random document that has any.
func (c *corpus) some(r *rand.Rand) []string {
	for {
		if words := c.documents[r.IntN(len(c.documents))]; len(words) > 0 {
			return words
		}
	}
}

// query returns a random query of words most of which are in one document.
func (c *corpus) query(r *rand.Rand, words []string, depth int) *query {
	if depth == 0 {
		return c.leaf(r, words)
	}
	if r.IntN(4) == 0 {
		words = c.some(r)
	}
	q := &query{op: []operator{and, and, or, not}[r.IntN(4)]}
	for range 2 + r.IntN(2) {
		q.args = append(q.args, c.query(r, words, r.IntN(depth)))
	}
	if q.op == not {
		q.args[len(q.args)-1] = c.leaf(r, c.some(r))
	}
	return q
}

// leaf returns a word, a phrase of 2 to 4 words, or a prefix.
func (c *corpus) leaf(r *rand.Rand, words []string) *query {
	at := r.IntN(len(words))
	one := words[at]
	switch r.IntN(4) {
	case 0:
		if end := min(len(words), at+2+r.IntN(3)); end > at+1 {
			return &query{op: phrase, words: words[at:end]}
		}
		return &query{op: phrase, words: []string{one, c.some(r)[0]}}
	case 1:
		for range 50 {
			runes := []rune(one)
			if p := string(runes[:1+r.IntN(len(runes))]); c.completes(p) {
				return &query{op: prefix, words: []string{p}}
			}
			some := c.some(r)
			one = some[r.IntN(len(some))]
		}
	}
	return &query{op: word, words: []string{one}}
}

// operators yields each operator of a query once.
func (q *query) operators() iter.Seq[operator] {
	return func(yield func(operator) bool) {
		for op := word; op <= not; op++ {
			if q.has(op) && !yield(op) {
				return
			}
		}
	}
}

func (q *query) has(op operator) bool {
	for _, arg := range q.args {
		if arg.has(op) {
			return true
		}
	}
	return q.op == op
}

// expr returns a query for index/text.
func (q *query) expr() *text.Expr {
	args := make([]*text.Expr, len(q.args))
	for i, arg := range q.args {
		if args[i] = arg.expr(); q.op == not && i > 0 {
			args[i] = text.Not(args[i])
		}
	}
	switch q.op {
	case word:
		return text.Word(q.words[0])
	case phrase:
		return text.Phrase(strings.Join(q.words, " "))
	case prefix:
		return text.Prefix(q.words[0])
	case or:
		return text.Or(args...)
	}
	return text.And(args...)
}

// encode returns words for the other engines: in letters and digits that every tokenizer
// leaves as they are. A prefix stays one.
func encode(words []string) string {
	encoded := make([]string, len(words))
	for i, word := range words {
		encoded[i] = hex.EncodeToString([]byte(word))
	}
	return strings.Join(encoded, " ")
}

// fts5 returns a query for SQLite.
func (q *query) fts5() string {
	args := make([]string, len(q.args))
	for i, arg := range q.args {
		args[i] = "(" + arg.fts5() + ")"
	}
	switch q.op {
	case and:
		return strings.Join(args, " AND ")
	case or:
		return strings.Join(args, " OR ")
	case not:
		return strings.Join(args, " NOT ")
	case prefix:
		return `"` + encode(q.words) + `" *`
	}
	return `"` + encode(q.words) + `"`
}

// field is that of a document in bleve.
const field = "text"

// bleve returns a query for bleve.
func (q *query) bleve() bleveq.Query {
	args := make([]bleveq.Query, len(q.args))
	for i, arg := range q.args {
		args[i] = arg.bleve()
	}
	switch q.op {
	case phrase:
		return bleveq.NewPhraseQuery(strings.Fields(encode(q.words)), field)
	case prefix:
		p := bleve.NewPrefixQuery(encode(q.words))
		p.SetField(field)
		return p
	case and:
		return bleve.NewConjunctionQuery(args...)
	case or:
		return bleve.NewDisjunctionQuery(args...)
	case not:
		b := bleve.NewBooleanQuery()
		b.AddMust(args[0])
		b.AddMustNot(args[1:]...)
		return b
	}
	t := bleve.NewTermQuery(encode(q.words))
	t.SetField(field)
	return t
}
