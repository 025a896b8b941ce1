package model

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
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
		c, err := s.o.written(reflect.ValueOf(&member{Email: "a"}).Elem(), "7")
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

// A claim that is void stays so until its deadline, whatever becomes void later.
func TestVoidIsRemembered(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	type member struct {
		ID    string `redis:",id"`
		Email string `redis:"email,unique"`
	}
	s, err := New[member](client, Options{Name: "member", Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour).UnixMilli()
	for _, c := range []claimText{{"7", "ended", "1"}, {"7", "first", strconv.FormatInt(later, 10)}, {"7", "second", strconv.FormatInt(later, 10)}, {"7", "settled", ""}} {
		if has, err := s.t.claims.revoke(t.Context(), entry{s.t.indexes[0], "a"}, c); has || err != nil {
			t.Fatal(has, err)
		}
	}
	voids, err := client.Do(t.Context(), client.B().Zrange().Key(s.t.of("7").voids).Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil || !slices.Equal(voids, []string{"first", "second"}) {
		t.Errorf("%v, %v", voids, err)
	}
}
