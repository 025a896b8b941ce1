package auth

import (
	"errors"
	"sync"
	"testing"

	"github.com/alexedwards/argon2id"
)

// The hasher limits the waiting calls per place, which it reads from the context.
func TestHasherIsFair(t *testing.T) {
	t.Parallel()
	h, err := NewHasher(&argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 8, KeyLength: 16}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for range waitersPerPlace + 3 {
		wg.Go(func() {
			if _, err := h.Hash(WithPlace(t.Context(), "flood"), "password"); errors.Is(err, ErrHashersBusy) {
				mu.Lock()
				defer mu.Unlock()
				refused++
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		if _, _, err := h.Verify(WithPlace(t.Context(), "ada"), "password", ""); err != nil {
			t.Error(err)
		}
	})
	for {
		mu.Lock()
		ready := refused == 3 && h.Waiting() == waitersPerPlace+1
		mu.Unlock()
		if ready {
			break
		}
	}
	h.release()
	wg.Wait()
	if h.Waiting() != 0 {
		t.Errorf("%d calls are still waiting", h.Waiting())
	}
}
