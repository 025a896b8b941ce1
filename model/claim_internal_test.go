package model

import (
	"errors"
	"testing"
	"time"

	"retwis/internal/redistest"
)

// A write whose claim has ended does not happen, and one that has a moment left
// does.
func TestLateClaim(t *testing.T) {
	t.Parallel()
	type member struct {
		ID    string `redis:",id"`
		Email string `redis:"email,unique"`
	}
	s, err := New[member](redistest.DB(t).Client(t), Options{Name: "member", Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		deadline string
		want     error
	}{
		{"1", errLate},
		{time.Now().Add(time.Minute).Format("20060102150405"), nil}, // as a number far ahead
	} {
		c, err := s.written(&member{Email: "a"}, "7")
		if err != nil {
			t.Fatal(err)
		}
		c.operation = "create"
		c.claims = packClaims("token", []claimed{{entry: c.entries[0], deadline: test.deadline}})
		if err := s.t.write(t.Context(), c); !errors.Is(err, test.want) {
			t.Errorf("deadline %s: %v", test.deadline, err)
		}
	}
}
