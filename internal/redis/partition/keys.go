package partition

// Keys are the keys of one partition of an index, all in one hash slot. The keys of an index with
// a single partition start with its name.
type Keys struct {
	Index       string // the index itself; next to it:
	Content     string // .content: hash, what the index needs to change an entry by its ID
	Meta        string // .meta: hash, the declaration and the state of a rebuild
	Next        string // .next: the index that a rebuild creates
	NextContent string // .next.content: the content of that index
	Changed     string // .changed: set, IDs written during a repair or rebuild
}

// All returns the keys in the order in which scripts take them.
func (k *Keys) All() []string {
	return []string{k.Index, k.Content, k.Meta, k.Next, k.NextContent, k.Changed}
}

func keysOf(key string) Keys {
	return Keys{
		Index: key, Content: key + ".content", Meta: key + ".meta",
		Next: key + ".next", NextContent: key + ".next.content", Changed: key + ".changed",
	}
}
