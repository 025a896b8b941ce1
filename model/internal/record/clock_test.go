package record

import (
	"reflect"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/model/internal/schema"
)

// The times of records come from the server's clock, whatever the client's clock shows.
func TestClockOfServer(t *testing.T) {
	t.Parallel()
	type page struct {
		ID      string    `redis:",id"`
		Made    time.Time `redis:"made,created,range"`
		Changed time.Time `redis:"changed,updated,unix"`
		Ends    time.Time `redis:"ends,expires,ttl=1h"`
		Text    string    `redis:"text"`
	}
	client := redistest.DB(t).Client(t)
	types := schema.Types{Collection: func(reflect.Type) string { return "" }, Target: func(reflect.Type) reflect.Type { return nil }}
	d, err := schema.Declare(reflect.TypeFor[page](), types, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(client, Options{Name: "page"}, d)
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewObjects(t.Context(), table, d)
	if err != nil {
		t.Fatal(err)
	}
	skewClock := func() { table.clocks[0].ahead.Store(-50 * 3600 * 1000) }
	checkRecent := func(what string, at time.Time) {
		t.Helper()
		if d := time.Since(at); d.Abs() > 25*time.Hour {
			t.Errorf("%s: %v, want about %v", what, at, time.Now())
		}
	}
	skewClock()
	p := page{}
	if err := o.Create(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
	checkRecent("created", p.Made)
	checkRecent("updated", p.Changed)
	checkRecent("ends", p.Ends.Add(-time.Hour))
	skewClock()
	many := make([]page, 120)
	o.CreateMany(t.Context(), len(many), func(i int) any { return &many[i] }, func(i int, err error) { t.Errorf("record %d: %v", i, err) })
	for _, p := range many {
		checkRecent("created by CreateMany", p.Made)
	}
	skewClock()
	made := p.Made
	p.Made = time.Time{}
	if err := o.Save(t.Context(), &p); err != nil || !p.Made.Equal(made) {
		t.Errorf("Save: %+v, %v; want made %v", p, err, made)
	}
	checkRecent("saved", p.Changed)
	skewClock()
	p.Made = time.Time{}
	if err := o.Put(t.Context(), &p); err != nil || !p.Made.Equal(made) {
		t.Errorf("Put: %+v, %v; want made %v", p, err, made)
	}
	skewClock()
	updated, err := o.Update(t.Context(), p.ID, func(ptr any) error { ptr.(*page).Text = "x"; return nil })
	if err != nil || !updated.(*page).Made.Equal(made) {
		t.Fatalf("Update: %+v, %v; want made %v", updated, err, made)
	}
	checkRecent("updated", updated.(*page).Changed)
	skewClock()
	if err := o.Touch(t.Context(), p.ID, time.Hour); err != nil {
		t.Error(err)
	}
	var got page
	if err := o.Get(t.Context(), p.ID, &got); err != nil {
		t.Error(err)
	}
	checkRecent("touched", got.Ends.Add(-time.Hour))
}
