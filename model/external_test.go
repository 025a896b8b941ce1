package model_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

type remark struct {
	ID    string           `redis:",id"`
	About model.External   `redis:"about,range"`
	Also  []model.External `redis:"also,index"`
	Text  string
}

func ExampleExternal() {
	about := model.External{Type: "orders", ID: "17"}
	text, err := about.MarshalText()
	fmt.Println(string(text), err)
	// Output: orders:17 <nil>
}

// References to external rows are found by type and id.
func TestExternal(t *testing.T) {
	t.Parallel()
	remarks := store[remark](t, redistest.DB(t).Client(t), model.Options{Name: "remark"})
	ctx := t.Context()
	order := func(id string) model.External { return model.External{Type: "orders", ID: id} }
	a := mustCreate(t, remarks, remark{About: order("17"), Also: []model.External{order("1"), {Type: "customers", ID: "1"}}})
	b := mustCreate(t, remarks, remark{About: order("a:b")})
	mustCreate(t, remarks, remark{})
	mustCreate(t, remarks, remark{About: model.External{Type: "orders2", ID: "17"}})
	for what, test := range map[string]struct {
		query *model.Query[remark]
		want  string
	}{
		"one":     {remarks.Find(model.Eq("about", order("17"))), a.ID},
		"as text": {remarks.Find(model.Eq("about", "orders:a:b")), b.ID},
		"a type":  {remarks.Find(model.Prefix("about", "orders:")).OrderBy("about"), a.ID + " " + b.ID},
		"a list":  {remarks.Find(model.Eq("also", model.External{Type: "customers", ID: "1"})), a.ID},
		"nothing": {remarks.Find(model.Eq("also", order("2"))), ""},
	} {
		ids, err := test.query.IDs(ctx)
		if got := strings.Join(ids, " "); err != nil || got != test.want {
			t.Errorf("%s: %q, %v; want %q", what, got, err, test.want)
		}
	}
	if got, err := remarks.Get(ctx, b.ID); err != nil || got.About != order("a:b") || len(got.Also) != 0 {
		t.Error(got, err)
	}
	for _, bad := range []model.External{{Type: "orders"}, {ID: "17"}, {Type: "a:b", ID: "17"}} {
		if _, err := remarks.Create(ctx, remark{About: bad}); !errors.Is(err, model.ErrValue) || !strings.Contains(err.Error(), "About") {
			t.Errorf("%v: %v; want ErrValue that names About", bad, err)
		}
	}
	require.Fails(t, model.ErrValue)(remarks.Find(model.Eq("about", "orders")).IDs(ctx))
}

// Every text that parses is formatted to the same text.
func TestExternalProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z]{0,2}:[a-z:]{0,2}`)).Draw(rt, "text")
		var e model.External
		if e.UnmarshalText([]byte(text)) != nil {
			return
		}
		if got, err := e.MarshalText(); string(got) != text || err != nil {
			rt.Fatalf("%q is formatted as %q, %v", text, got, err)
		}
	})
}
