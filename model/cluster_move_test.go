package model_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redis/keys"
	"retwis/internal/redistest"
	"retwis/model"
)

// While the keys of a model move to another server one by one, the Cluster only refuses scripts
// whose keys are on both servers, and these can be retried: no script uses a key that it does
// not declare.
func TestSlotMovesDuringWrites(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, 2)
	client := c.Client(t)
	opt := model.Options{Name: "{citizen}"}
	citizens := store[citizen](t, client, opt)
	retry := func(do func() error) {
		for {
			err := do()
			var refused *rueidis.RedisError
			if errors.As(err, &refused) && (refused.IsTryAgain() || refused.IsClusterDown()) {
				continue
			}
			if _, moved := movedTo(err); err != nil && !moved {
				t.Error(err)
				return
			} else if err == nil {
				return
			}
		}
	}
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := range 300 {
			if i == 20 {
				close(begun)
			}
			var made citizen
			retry(func() (err error) {
				made, err = citizens.Create(t.Context(), citizen{Name: fmt.Sprint("n", i%7), Email: fmt.Sprint(i, "@x"), Tags: []string{"t", fmt.Sprint(i % 20)}, Age: i})
				return err
			})
			if made.ID == "" {
				return
			}
			retry(func() error {
				_, err := citizens.Update(t.Context(), made.ID, func(c *citizen) error { c.Name, c.Tags = fmt.Sprint("m", i%50), nil; return nil })
				return err
			})
			if i%3 == 0 {
				retry(func() error { return citizens.Delete(t.Context(), made.ID) })
			}
		}
	}()
	<-begun
	slot := keys.Slot([]byte("{citizen}"))
	from := slot * 2 / keys.Slots
	checkErr(t, c.MoveSlot(t.Context(), slot, from, 1-from))
	<-ended
	if t.Failed() {
		return
	}
	checkVerify(t, citizens)
	if all := agree(t, client, opt, citizens); len(all) != 200 {
		t.Errorf("%d records, want 200", len(all))
	}
}

// movedTo returns the slot and the new server from a MOVED error.
func movedTo(err error) (string, bool) {
	if err == nil {
		return "", false
	}
	_, target, ok := strings.Cut(err.Error(), "MOVED ")
	return target, ok
}
