package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/require"
	"retwis/maintain"
)

// objects is a set of hashes KEY:person:ID with the field age, and an index of the ages.
type objects struct {
	t      testing.TB
	client rueidis.Client
	index  *Composite
	source Source[[]any]
}

func newObjects(t testing.TB, c rueidis.Client, key string, partitions int) *objects {
	o := &objects{t: t, client: c, index: composite(t, c, key, Options{Columns: columns(t, "age:int"), Partitions: partitions})}
	var err error
	o.source, err = o.index.Hashes(key + ":person:*")
	require.OK(t)(err)
	return o
}

func (o *objects) key(id string) string { return o.index.Key() + ":person:" + id }

// put writes an object, then its entry.
func (o *objects) put(id string, age int) {
	if err := o.client.Do(o.t.Context(), o.client.B().Hset().Key(o.key(id)).FieldValue().FieldValue("age", strconv.Itoa(age)).Build()).Error(); err != nil {
		o.t.Error(err)
	}
	if err := o.index.Put(o.t.Context(), id, age); err != nil {
		o.t.Error(err)
	}
}

// remove removes an object, then its entry.
func (o *objects) remove(id string) {
	if err := o.client.Do(o.t.Context(), o.client.B().Del().Key(o.key(id)).Build()).Error(); err != nil {
		o.t.Error(err)
	}
	if _, err := o.index.Remove(o.t.Context(), id); err != nil {
		o.t.Error(err)
	}
}

// verify compares the index with the objects.
func (o *objects) verify() maintain.Report {
	o.t.Helper()
	report, err := o.index.Verify(o.t.Context(), &o.source, maintain.Options{})
	if err != nil {
		o.t.Fatal(err)
	}
	return report
}

// verifyWithoutSource checks the index without the objects.
func (o *objects) verifyWithoutSource() maintain.Report {
	o.t.Helper()
	report, err := o.index.Verify(o.t.Context(), nil, maintain.Options{})
	if err != nil {
		o.t.Fatal(err)
	}
	return report
}

// repairWithoutSource repairs the index without the objects.
func (o *objects) repairWithoutSource() maintain.Report {
	o.t.Helper()
	report, err := o.index.Repair(o.t.Context(), nil, maintain.Options{})
	if err != nil {
		o.t.Fatal(err)
	}
	return report
}

// wantKeys fails the test unless the database has exactly these keys and the objects.
func (o *objects) wantKeys(want ...string) {
	o.t.Helper()
	found, err := o.client.Do(o.t.Context(), o.client.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil {
		o.t.Fatal(err)
	}
	found = slices.DeleteFunc(found, func(key string) bool { return strings.Contains(key, ":person:") })
	slices.Sort(found)
	if !slices.Equal(found, want) {
		o.t.Fatalf("keys are %q, want %q", found, want)
	}
}

// do returns the reply of a command. It fails the test on errors.
func (o *objects) do(command ...string) rueidis.RedisMessage {
	o.t.Helper()
	reply, err := o.client.Do(o.t.Context(), o.client.B().Arbitrary(command...).Build()).ToMessage()
	if err != nil && !rueidis.IsRedisNil(err) {
		o.t.Fatal(err)
	}
	return reply
}

// text returns the reply of a command, or "" for nil.
func (o *objects) text(command ...string) string {
	o.t.Helper()
	reply := o.do(command...)
	if reply.IsNil() {
		return ""
	}
	text, err := reply.ToString()
	if err != nil {
		o.t.Fatal(err)
	}
	return text
}

// write starts concurrent writers. stop stops the writers after at least 200 writes. Each ID has a
// single writer, so that its object and entry agree at the end.
func (o *objects) write(prefix string) (stop func()) {
	ctx, cancel := context.WithCancel(o.t.Context())
	var writers sync.WaitGroup
	var writes atomic.Int64
	for w := range 4 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for ctx.Err() == nil {
				id := prefix + fmt.Sprint(w, "-", random.IntN(25))
				if random.IntN(4) == 0 {
					o.remove(id)
				} else {
					o.put(id, random.IntN(100))
				}
				writes.Add(1)
			}
		})
	}
	return func() {
		for writes.Load() < 200 && !o.t.Failed() {
			select {
			case <-o.t.Context().Done():
			default:
				o.put(prefix+"more", 1)
			}
		}
		cancel()
		writers.Wait()
	}
}
