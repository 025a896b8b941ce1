package model_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// letter has text in each form stored as JSON.
type letter struct {
	ID    string `redis:",id"`
	Plain string
	Raw   []byte
	Tags  []string `redis:",index"`
	Nicks []string `redis:",unique"`
	Refs  []model.Ref[letter]
	Map   map[string]any
	Sub   struct {
		From  string
		Lines []*string
		By    letterName
	}
	Own   ownJSON
	Given json.RawMessage
}

type letterName struct{ name string }

func (n letterName) MarshalText() ([]byte, error) { return []byte(n.name), nil }

func (n *letterName) UnmarshalText(text []byte) error {
	n.name = string(text)
	return nil
}

// ownJSON marshals itself, using encoding/json for its fields.
type ownJSON struct{ Text string }

func (o ownJSON) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]string{"is": o.Text}) }

func (o *ownJSON) UnmarshalJSON(b []byte) error {
	m := map[string]string{}
	err := json.Unmarshal(b, &m)
	o.Text = m["is"]
	return err
}

// Invalid UTF-8 is refused in values that are stored as JSON, and kept in other values.
func TestInvalidUTF8(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	letters := store[letter](t, client, model.Options{Name: "letter", IDs: model.ClientAssigned})
	good := letter{
		ID: "1", Plain: "\xff\xfe", Raw: []byte("\xff"), Tags: []string{"\ufffd", `\ufffd`}, Nicks: []string{"\ufffd"},
		Map: map[string]any{"\ufffd": "é"}, Given: json.RawMessage(`"\ufffd"`),
	}
	mustCreate(t, letters, good)
	if got, err := letters.Get(t.Context(), "1"); err != nil || got.Plain != good.Plain || !reflect.DeepEqual(got.Tags, good.Tags) ||
		string(got.Raw) != "\xff" || got.Map["\ufffd"] != "é" || string(got.Given) != `"\ufffd"` {
		t.Fatalf("%+v, %v", got, err)
	}
	bad := "caf\xe9"
	for field, change := range map[string]func(l *letter){
		"Tags":  func(l *letter) { l.Tags = []string{"a", bad} },
		"Nicks": func(l *letter) { l.Nicks = []string{bad} },
		"Refs":  func(l *letter) { l.Refs = []model.Ref[letter]{{ID: bad}} },
		"Map":   func(l *letter) { l.Map = map[string]any{bad: 1} },
		"Sub":   func(l *letter) { l.Sub.Lines = []*string{&bad} },
		"Own":   func(l *letter) { l.Own.Text = bad },
		"Given": func(l *letter) { l.Given = json.RawMessage(`"` + bad + `"`) },
	} {
		check := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, model.ErrValue) || !strings.Contains(err.Error(), field+": ") || !strings.Contains(err.Error(), "UTF-8") {
				t.Errorf("%s with invalid %s: %v; want ErrValue that names the field", what, field, err)
			}
		}
		l := letter{ID: "2"}
		change(&l)
		_, err := letters.Create(t.Context(), l)
		check("Create", err)
		_, err = letters.Put(t.Context(), l)
		check("Put", err)
		l.ID = "1"
		_, err = letters.Save(t.Context(), l)
		check("Save", err)
		_, err = letters.Update(t.Context(), "1", func(l *letter) error { change(l); return nil })
		check("Update", err)
		l.ID = "2"
		_, err = letters.CreateMany(t.Context(), []letter{l})
		check("CreateMany", err)
	}
	l := letter{ID: "2", Map: map[string]any{"deep": []any{map[string]any{"x": bad}}}}
	require.Fails(t, model.ErrValue, `"caf\xe9" is not UTF-8`)(letters.Create(t.Context(), l))
	l = letter{ID: "2"}
	l.Sub.By.name = bad
	require.Fails(t, model.ErrValue)(letters.Create(t.Context(), l))
	require.Fails(t, model.ErrValue, "Tags")(letters.Patch(t.Context(), "1", map[string]any{"tags": []string{bad}}))
	for _, field := range []string{"tags", "nicks"} {
		for _, c := range []model.Cond{model.Eq(field, bad), model.In(field, "a", bad), model.Not(model.Eq(field, bad))} {
			if n, err := letters.Count(t.Context(), c); !errors.Is(err, model.ErrValue) || !strings.Contains(err.Error(), field) {
				t.Errorf("%v: %d records, %v; want ErrValue", c, n, err)
			}
		}
	}
	require.Fails(t, model.ErrValue)(letters.GetBy(t.Context(), "nicks", bad))
	if n, err := letters.Len(t.Context()); n != 1 || err != nil {
		t.Errorf("%d records, %v; want 1", n, err)
	}
}

// Invalid UTF-8 stored by other programs is reported, and not replaced.
func TestStoredInvalidUTF8(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "letter", IDs: model.ClientAssigned}
	letters := store[letter](t, client, opt)
	mustCreate(t, letters, letter{ID: "1"})
	d := damager{t, client, opt}
	d.do("HSET", "letter:1", "tags", "[\"caf\xe9\"]")
	var damage *model.RecordError
	if _, err := letters.Get(t.Context(), "1"); !errors.Is(err, model.ErrCorrupt) || !errors.As(err, &damage) || damage.Field != "tags" {
		t.Errorf("Get: %v; want ErrCorrupt of field tags", err)
	}
	if _, err := letters.Update(t.Context(), "1", func(l *letter) error { l.Plain = "x"; return nil }); !errors.Is(err, model.ErrCorrupt) {
		t.Errorf("Update: %v; want ErrCorrupt", err)
	}
	checkErr(t, errOf(letters.Patch(t.Context(), "1", map[string]any{"tags": []string{"café"}})))
}
