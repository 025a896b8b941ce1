package model_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/model"
)

// Many writers of the same records leave indexes that agree with the records.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		var wg sync.WaitGroup
		for w := range 12 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(w), 1))
				for range 60 {
					checkErr(t, randomWrite(t.Context(), citizens, random))
				}
			})
		}
		wg.Wait()
		if len(agree(t, client, opt, citizens)) == 0 {
			t.Error("no records are left")
		}
	})
}

// randomWrite performs a random write. It ignores expected errors.
func randomWrite(ctx context.Context, citizens *model.Store[citizen], random *rand.Rand) error {
	id := fmt.Sprint(random.IntN(20) + 1)
	record := citizen{
		Name: fmt.Sprint("n", random.IntN(3)), Email: fmt.Sprintf("%d@%d", random.IntN(15), random.IntN(2)),
		Age: random.IntN(5), City: fmt.Sprint("c", random.IntN(3)), Tags: []string{"a", fmt.Sprint(random.IntN(3))},
	}
	if random.IntN(2) == 0 {
		record.Phone = ptr(fmt.Sprint(random.IntN(15)))
	}
	if random.IntN(3) == 0 {
		record.Expires = time.UnixMilli(4_000_000_000_000)
	}
	var err error
	switch random.IntN(8) {
	case 0, 1:
		_, err = citizens.Create(ctx, record)
	case 6:
		record.ID = id
		_, err = citizens.Put(ctx, record)
	case 7:
		other := record
		other.Email, other.Phone, other.ID = fmt.Sprintf("%d@2", random.IntN(15)), nil, id
		_, err = citizens.PutMany(ctx, []citizen{record, other})
	case 2, 3:
		_, err = citizens.Update(ctx, id, func(c *citizen) error {
			record.ID = c.ID
			*c = record
			return nil
		})
	case 4:
		_, err = citizens.Patch(ctx, id, map[string]any{"age": record.Age, "email": record.Email})
	case 5:
		err = citizens.Delete(ctx, id)
	}
	refused := []error{err}
	var many *model.ManyError
	if errors.As(err, &many) {
		refused = many.Unwrap()
	}
	return errors.Join(slices.DeleteFunc(refused, func(err error) bool {
		return errors.Is(err, model.ErrTaken) || errors.Is(err, model.ErrNotFound)
	})...)
}
