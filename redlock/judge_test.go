package redlock

import (
	"errors"
	"testing"
	"time"
)

// A majority of the servers determines the holder of a name.
func TestStatusFollowsMajority(t *testing.T) {
	t.Parallel()
	a := ServerStatus{Holder: Holder{Value: "a", TTL: 2 * time.Second, Waiters: 1}}
	later := ServerStatus{Holder: Holder{Value: "a", TTL: 3 * time.Second, Waiters: 4}}
	b := ServerStatus{Holder: Holder{Value: "b", TTL: time.Second}}
	free := ServerStatus{}
	quarantined := ServerStatus{Holder: Holder{Value: "a", TTL: time.Second}, Quarantined: time.Second}
	silent := ServerStatus{Err: errors.New("silent")}
	list := ServerStatus{Err: ErrNotLock}
	for name, test := range map[string]struct {
		servers         []ServerStatus
		held, undecided bool
	}{
		"all":                            {[]ServerStatus{a, later, a}, true, false},
		"a majority":                     {[]ServerStatus{a, b, later}, true, false},
		"a majority that answers":        {[]ServerStatus{a, silent, later}, true, false},
		"nobody":                         {[]ServerStatus{free, free, free}, false, false},
		"some votes":                     {[]ServerStatus{a, b, free}, false, false},
		"one silent":                     {[]ServerStatus{free, silent, free}, false, false},
		"one silent, one vote":           {[]ServerStatus{free, silent, a}, false, true},
		"all silent":                     {[]ServerStatus{silent, silent, silent}, false, true},
		"one quarantined":                {[]ServerStatus{quarantined, a, free}, false, true},
		"one quarantined, the rest free": {[]ServerStatus{quarantined, free, free}, false, false},
		"all quarantined":                {[]ServerStatus{quarantined, quarantined, quarantined}, false, true},
		"half of an even number":         {[]ServerStatus{a, a, free, free}, false, false},
		"half, and a silent one":         {[]ServerStatus{a, a, free, silent}, false, true},
		"lists":                          {[]ServerStatus{list, list, list}, false, false},
		"one list":                       {[]ServerStatus{list, a, later}, true, false},
		"one list, one silent":           {[]ServerStatus{list, a, silent}, false, true},
	} {
		s := Status{Servers: test.servers, Quorum: len(test.servers)/2 + 1}
		s.judge()
		if s.Held != test.held || s.Undecided != test.undecided {
			t.Errorf("%s: held %v, undecided %v; want %v, %v", name, s.Held, s.Undecided, test.held, test.undecided)
		}
		if want := (Holder{Value: "a", TTL: 2 * time.Second, Waiters: 4}); s.Held && s.Holder != want {
			t.Errorf("%s: %+v", name, s.Holder)
		}
		if s.NotLock != (name == "lists") {
			t.Errorf("%s: not a lock %v", name, s.NotLock)
		}
	}
}
