package check

import "github.com/redis/rueidis"

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

// lookup reports which ids are known to exist, and returns each of the others once,
// with a command that asks for it.
func (k *known) lookup(ids []int64, command func(id int64) rueidis.Completed) (exist map[int64]bool, ask []int64, cmds rueidis.Commands) {
	exist = make(map[int64]bool, len(ids))
	for _, id := range ids {
		if _, twice := exist[id]; twice {
			continue
		}
		if exist[id] = k.has(id); !exist[id] {
			ask = append(ask, id)
			cmds = append(cmds, command(id))
		}
	}
	return exist, ask, cmds
}
