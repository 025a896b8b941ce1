package model_test

import (
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// Stored data does not depend on names in Go code: a database of an earlier version must open
// unchanged.
func TestStoredSchema(t *testing.T) {
	t.Parallel()
	type town struct {
		ID string `redis:",id"`
	}
	type dweller struct {
		ID      string          `redis:",id"`
		Name    string          `redis:"name,range,caseinsensitive"`
		Email   *string         `redis:"email,unique"`
		Tags    []string        `redis:"tags,index"`
		Town    model.Ref[town] `redis:"town,index,restrict"`
		Friends model.Set
		Expires time.Time `redis:",expires"`
	}
	client := redistest.DB(t).Client(t)
	store[dweller](t, client, model.Options{Name: "dweller"})
	meta, err := client.Do(t.Context(), client.B().Hgetall().Key("dweller.meta").Build()).AsStrMap()
	require.OK(t)(err)
	for field, want := range map[string]string{
		"digest": "28b4fb9e3c482cb2",
		"fixed":  "each record as hash at dweller:<id>",
		"schema": `{"encoding":"hash","ids":"counter","record":"dweller:","counter":"next_dweller_id","partitions":1,"expires":"expires",` +
			`"fields":[{"name":"name","kind":"string","zero":""},{"name":"email","kind":"string"},{"name":"tags","kind":"json","element":"string"},` +
			`{"name":"town","kind":"string"},{"name":"expires","kind":"time"}],` +
			`"indexes":[{"name":"name","columns":[{"field":"name"}],"fold":true},{"name":"email","columns":[{"field":"email"}],"unique":true},` +
			`{"name":"tags","columns":[{"field":"tags"}],"equal":true},{"name":"town","columns":[{"field":"town"}],"equal":true}],` +
			`"collections":["friends"],"type":"dweller","refs":[{"field":"town","target":"town","rule":"restrict"}]}`,
	} {
		if meta[field] != want {
			t.Errorf("%s is\n%s, want\n%s", field, meta[field], want)
		}
	}
}
