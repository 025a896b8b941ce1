package graph

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"retwis/index/graph/internal/value"
)

// SortKey is a variable by which a Query sorts its answers.
type SortKey struct {
	Var  string
	Desc bool // descending
}

// Asc sorts by a variable in ascending order. See Query.OrderBy.
func Asc(variable string) SortKey { return SortKey{Var: variable} }

// Desc sorts by a variable in descending order. See Query.OrderBy.
func Desc(variable string) SortKey { return SortKey{Var: variable, Desc: true} }

// String formats the key for the flag --order-by of retwis graph query.
func (k SortKey) String() string {
	if k.Desc {
		return k.Var + " desc"
	}
	return k.Var
}

// ranked is an answer with its sort values.
type ranked struct {
	binding Binding
	values  []value.Value
	names   []string // the names that values were parsed from
	size    int64
}

// ranking collects the first answers in sort order: a heap with the last answer on top.
type ranking struct {
	keys   []SortKey
	limit  int // number of answers to keep; 0: all
	memory *memory
	seen   map[string]struct{} // the answers in the heap, if duplicates must be omitted
	all    []ranked
}

// compare compares two answers. Ties are broken by name, so that the order is deterministic.
func (r *ranking) compare(a, b ranked) int {
	for i, k := range r.keys {
		if c := a.values[i].Order(b.values[i]); c != 0 {
			if k.Desc {
				return -c
			}
			return c
		}
	}
	return cmp.Or(slices.Compare(a.names, b.names), slices.Compare(a.binding.names, b.binding.names))
}

// add adds an answer unless limit other answers come before it. names are the names bound to the
// sort keys.
func (r *ranking) add(b Binding, names []string) error {
	a := ranked{binding: b, names: names, values: make([]value.Value, len(names))}
	for i, name := range names {
		a.values[i] = value.Of(name)
	}
	full := r.limit > 0 && len(r.all) == r.limit
	if full && r.compare(a, r.all[0]) >= 0 {
		return nil
	}
	key := ""
	if r.seen != nil {
		key = b.key()
		if _, ok := r.seen[key]; ok {
			return nil
		}
		r.seen[key] = struct{}{}
	}
	if full {
		last := heap.Pop(r).(ranked)
		r.memory.left += last.size
		if r.seen != nil {
			delete(r.seen, last.binding.key())
		}
	}
	a.size = a.memory(key)
	if err := r.memory.take(a.size); err != nil {
		return err
	}
	// Names are parts of entries: do not keep whole entries in memory.
	for i, name := range b.names {
		b.names[i] = strings.Clone(name)
	}
	for i, name := range names {
		names[i] = strings.Clone(name)
		a.values[i] = value.Of(names[i])
	}
	heap.Push(r, a)
	return nil
}

// memory returns the approximate memory of an answer.
func (a ranked) memory(key string) int64 {
	n := memoryOf(key)
	for _, name := range a.binding.names {
		n += memoryOf(name)
	}
	for _, name := range a.names {
		n += 2 * memoryOf(name)
	}
	return n
}

// sorted returns the answers in sort order.
func (r *ranking) sorted() []ranked {
	slices.SortFunc(r.all, r.compare)
	return r.all
}

// heap.Interface.

func (r *ranking) Len() int           { return len(r.all) }
func (r *ranking) Less(i, j int) bool { return r.compare(r.all[i], r.all[j]) > 0 }
func (r *ranking) Swap(i, j int)      { r.all[i], r.all[j] = r.all[j], r.all[i] }
func (r *ranking) Push(x any)         { r.all = append(r.all, x.(ranked)) }
func (r *ranking) Pop() any {
	last := len(r.all) - 1
	x := r.all[last]
	r.all = r.all[:last]
	return x
}
