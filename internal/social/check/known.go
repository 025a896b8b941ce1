package check

// known caches ids that exist, up to a limit: many timelines contain the same
// posts.
type known struct{ ids map[int64]struct{} }

const maxKnown = 200_000

func (k *known) has(id int64) bool {
	_, ok := k.ids[id]
	return ok
}

func (k *known) add(id int64) {
	if k.ids == nil || len(k.ids) >= maxKnown {
		k.ids = make(map[int64]struct{})
	}
	k.ids[id] = struct{}{}
}
