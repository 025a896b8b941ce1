package store

import (
	"sync"

	"github.com/redis/rueidis"
)

// Invalidations reports which keys have changed: keys that the client of a Store has read through
// its client-side cache, each once after each read. The zero value is ready to use.
type Invalidations struct {
	mu   sync.RWMutex
	next int
	subs map[int]func(key string)
}

// Subscribe calls changed with each changed key, and with an empty key if any key may have
// changed: after a lost connection, or a flush. The client's connection calls it before it reads
// the next reply, so changed must not wait for the database. The returned function ends the
// subscription. A nil Invalidations reports nothing.
func (i *Invalidations) Subscribe(changed func(key string)) (stop func()) {
	if i == nil {
		return func() {}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.subs == nil {
		i.subs = make(map[int]func(string))
	}
	id := i.next
	i.next++
	i.subs[id] = changed
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.subs, id)
	}
}

// watch returns the options of a client whose invalidations are reported.
func (i *Invalidations) watch(opt rueidis.ClientOption) rueidis.ClientOption {
	opt.OnInvalidations = i.receive
	return opt
}

func (i *Invalidations) receive(messages []rueidis.RedisMessage) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for _, changed := range i.subs {
		if messages == nil {
			changed("")
		}
		for _, message := range messages {
			if key, err := message.ToString(); err == nil {
				changed(key)
			}
		}
	}
}
