package record

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A write is refused if its claim has expired, and succeeds before that.
func TestLateClaim(t *testing.T) {
	t.Parallel()
	type member struct {
		ID    string `redis:",id"`
		Email string `redis:"email,unique"`
	}
	types := schema.Types{
		Collection: func(reflect.Type) string { return "" },
		Target:     func(reflect.Type) reflect.Type { return nil },
	}
	d, err := schema.Declare(reflect.TypeFor[member](), types, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(redistest.DB(t).Client(t), Options{Name: "member", Partitions: 2}, d)
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewObjects(t.Context(), table, d)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		deadline string
		want     error
	}{
		{"1", unique.ErrLate},
		{time.Now().Add(time.Minute).Format("20060102150405"), nil}, // as a number of milliseconds, far in the future
	} {
		c, err := o.written(reflect.ValueOf(&member{Email: "a"}).Elem(), &change{operation: "create", id: "7"})
		if err != nil {
			t.Fatal(err)
		}
		c.token, c.claimed = "token", []unique.Claim{{Entry: c.entries[0], Deadline: test.deadline}}
		if err := table.write(t.Context(), c); !errors.Is(err, test.want) {
			t.Errorf("deadline %s: %v; want %v", test.deadline, err, test.want)
		}
	}
}
