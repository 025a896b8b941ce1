package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// New refuses an invalid declaration with an error that names the field and a solution.
func TestBadDeclarations(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "x"}
	type half struct{ ID string }
	for want, err := range map[string]error{
		"int is not a struct":                                           refused[int](client, opt),
		"half has no id: give":                                          refused[half](client, opt),
		"struct1.A: \"indx\" is not an option":                          refused[struct1](client, opt),
		"struct2.B: another field is called \"a\" too":                  refused[struct2](client, opt),
		"struct3.A: index and range: range includes index":              refused[struct3](client, opt),
		"struct4.F: a func() cannot be stored":                          refused[struct4](client, opt),
		"struct5.M: m cannot be indexed":                                refused[struct5](client, opt),
		"struct6.V: a version is an int64":                              refused[struct6](client, opt),
		"struct7.E: expires is for a time.Time":                         refused[struct7](client, opt),
		"struct8.B: another field has this option too":                  refused[struct8](client, opt),
		"struct9.R: restrict needs to find the records":                 refused[struct9](client, opt),
		"struct10.S: restrict is for a model.Ref":                       refused[struct10](client, opt),
		"struct11.A: caseinsensitive is for text":                       refused[struct11](client, opt),
		"struct12.A: \"a b\" is not a name for a field":                 refused[struct12](client, opt),
		"struct13.a: it has a tag but is not exported":                  refused[struct13](client, opt),
		"struct14.U: unix is for a time.Time":                           refused[struct14](client, opt),
		"struct15.I: an id is a string or an integer":                   refused[struct15](client, opt),
		"struct16.J: another field is the id already":                   refused[struct16](client, opt),
		"has only one of MarshalText and UnmarshalText":                 refused[struct17](client, opt),
		"index \"a,nobody\": column \"nobody\": there is no such field": refused[struct18](client, opt),
		"index \"a up,b\": column \"a up\": \"up\" is not":              refused[struct19](client, opt),
		"index \"b,c\": b and c are both lists":                         refused[struct20](client, opt),
		"C: a counter is a signed integer":                              refused[struct21](client, opt),
		"E: element: a func() cannot be":                                refused[struct22](client, opt),
		"one pointer is enough":                                         refused[struct23](client, opt),
		"the client is nil":                                             refused[valid](nil, opt),
		"struct24.V: a version is an int64":                             refused[struct24](client, opt),
		"struct25.V: a version is an int64":                             refused[struct25](client, opt),
		"struct26.V: version and counter: one field":                    refused[struct26](client, opt),
		"struct27.L: a model_test.nest cannot be stored":                refused[struct27](client, opt),
		"struct28.P: a model_test.chain cannot be stored":               refused[struct28](client, opt),
		"struct29.W: w cannot be indexed":                               refused[struct29](client, opt),
		"index \"n,a\": column \"n\": a counter can only be the last":   refused[struct30](client, opt),
		"struct31.Tagged: Tagged.Email has options":                     refused[struct31](client, opt),
		"struct32.tagged: tagged.Email has options":                     refused[struct32](client, opt),
		"struct33.All: Tagged.Email has options":                        refused[struct33](client, opt),
		"struct34.N: range: netip.Addr marshals itself":                 refused[struct34](client, opt),
		"struct35.N: range: *big.Int marshals itself":                   refused[struct35](client, opt),
		"Options.Name has 0 bytes":                                      refused[valid](client, model.Options{}),
		"Options.Name is \"a b\"":                                       refused[valid](client, model.Options{Name: "a b"}),
		"Options.IDs is \"uuid\"":                                       refused[valid](client, model.Options{Name: "x", IDs: "uuid"}),
		"Options.Partitions is -1":                                      refused[valid](client, model.Options{Name: "x", Partitions: -1}),
		"Options.Cache is -1s":                                          refused[valid](client, model.Options{Name: "x", Cache: -time.Second}),
		"Options.Keys.Unique[\"a\"]: no unique field":                   refused[valid](client, model.Options{Name: "x", Keys: model.Keys{Unique: map[string]string{"a": "k"}}}),
		"Options.Keys cannot be set with":                               refused[valid](client, model.Options{Name: "x", Partitions: 2, Keys: model.Keys{Record: "r:"}}),
		"N: a ULID is text":                                             refused[numbered](client, model.Options{Name: "x", IDs: model.ULID}),
	} {
		if !errors.Is(err, model.ErrDeclaration) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	_ = struct13{}.a // only the tag matters
	// Nothing has been written to the database.
	if n, err := client.Do(t.Context(), client.B().Dbsize().Build()).AsInt64(); n != 0 || err != nil {
		t.Errorf("%d keys, %v; want none", n, err)
	}
}

var errAccepted = errors.New("the declaration was accepted")

// refused returns the error of New, or errAccepted.
func refused[T any](client rueidis.Client, opt model.Options) error {
	if _, err := model.New[T](context.Background(), client, opt); err != nil {
		return err
	}
	return errAccepted
}

type (
	valid struct {
		ID string `redis:",id"`
		A  string
	}
	numbered struct {
		N int `redis:",id"`
	}
	struct24 struct {
		ID string `redis:",id"`
		V  *int64 `redis:",version"`
	}
	struct25 struct {
		ID string `redis:",id"`
		V  int8   `redis:",version"`
	}
	struct26 struct {
		ID string `redis:",id"`
		V  int64  `redis:",version,counter"`
	}
	nest     []nest
	struct27 struct {
		ID string `redis:",id"`
		L  nest
	}
	chain    *chain
	struct28 struct {
		ID string `redis:",id"`
		P  chain
	}
	words    []string
	struct29 struct {
		ID string `redis:",id"`
		W  words  `redis:",index"`
	}
	struct30 struct {
		ID string `redis:",id"`
		N  int    `redis:",counter"`
		A  string
	}
	struct1 struct {
		ID string `redis:",id"`
		A  string `redis:"a,indx"`
	}
	struct2 struct {
		ID string `redis:",id"`
		A  string
		B  string `redis:"a"`
	}
	struct3 struct {
		ID string `redis:",id"`
		A  string `redis:",index,range"`
	}
	struct4 struct {
		ID string `redis:",id"`
		F  func()
	}
	struct5 struct {
		ID string         `redis:",id"`
		M  map[string]int `redis:",index"`
	}
	struct6 struct {
		ID string `redis:",id"`
		V  string `redis:",version"`
	}
	struct7 struct {
		ID string `redis:",id"`
		E  int64  `redis:",expires"`
	}
	struct8 struct {
		ID string `redis:",id"`
		A  int64  `redis:",version"`
		B  int64  `redis:",version"`
	}
	struct9 struct {
		ID string             `redis:",id"`
		R  model.Ref[struct9] `redis:",restrict"`
	}
	struct10 struct {
		ID string `redis:",id"`
		S  string `redis:",index,restrict"`
	}
	struct11 struct {
		ID string `redis:",id"`
		A  int    `redis:",range,caseinsensitive"`
	}
	struct12 struct {
		ID string `redis:",id"`
		A  int    `redis:"a b"`
	}
	struct13 struct {
		ID string `redis:",id"`
		a  int    `redis:"a"`
	}
	struct14 struct {
		ID string `redis:",id"`
		U  int    `redis:",unix"`
	}
	struct15 struct {
		I float64 `redis:",id"`
	}
	struct16 struct {
		I string `redis:",id"`
		J string `redis:",id"`
	}
	struct17 struct {
		ID string `redis:",id"`
		H  halfText
	}
	struct18 struct {
		ID string `redis:",id"`
		A  int
	}
	struct19 struct {
		ID   string `redis:",id"`
		A, B int
	}
	struct20 struct {
		ID   string `redis:",id"`
		B, C []string
	}
	struct21 struct {
		ID string `redis:",id"`
		C  string `redis:",counter"`
	}
	struct22 struct {
		ID string `redis:",id"`
		E  []func()
	}
	struct23 struct {
		ID string `redis:",id"`
		E  **int
	}
)

type halfText struct{ A string }

func (halfText) MarshalText() ([]byte, error) { return nil, nil }

func (struct18) Indexes() []model.Index[struct18] {
	return []model.Index[struct18]{model.Composite[struct18]("a", "nobody")}
}

func (struct19) Indexes() []model.Index[struct19] {
	return []model.Index[struct19]{model.Composite[struct19]("a up", "b")}
}

func (struct20) Indexes() []model.Index[struct20] {
	return []model.Index[struct20]{model.Composite[struct20]("b", "c")}
}

// On a Cluster the keys of a record must be in one slot.
func TestKeysOnCluster(t *testing.T) {
	t.Parallel()
	client := redistest.Cluster(t, 3).Client(t)
	for want, opt := range map[string]model.Options{
		`call it "{x}", or set Options.Partitions`:                  {Name: "x"},
		`Options.Keys.Record is "r:": on a Cluster it must`:         {Name: "{x}", Keys: model.Keys{Record: "r:"}},
		`Options.Keys.Unique["email"] is "emails": on a Cluster it`: {Name: "{x}", Keys: model.Keys{Unique: map[string]string{"email": "emails"}}},
	} {
		if err := refused[citizen](client, opt); !errors.Is(err, model.ErrDeclaration) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	for _, opt := range []model.Options{{Name: "{one}"}, {Name: "three", Partitions: 3}} {
		citizens := store[citizen](t, client, opt)
		for i := range 20 {
			mustCreate(t, citizens, citizen{Email: string(rune('a'+i)) + "@x", Tags: []string{"a"}})
		}
		require.Fails(t, model.ErrTaken)(citizens.Create(t.Context(), citizen{Email: "A@x"}))
		for i := range 10 {
			if err := citizens.Delete(t.Context(), string(rune('1'+i%9))); err != nil && i < 9 {
				t.Fatal(err)
			}
		}
		if left := agree(t, client, opt, citizens); len(left) != 11 {
			t.Errorf("%d records are left, want 11", len(left))
		}
	}
}

func (struct30) Indexes() []model.Index[struct30] {
	return []model.Index[struct30]{model.Composite[struct30]("n", "a")}
}

// MarshalJSON encodes words as text rather than as a list.
func (w words) MarshalJSON() ([]byte, error) { return json.Marshal(strings.Join(w, " ")) }

// Tagged and tagged have options that are only valid in a struct embedded by value.
type (
	Tagged struct {
		Email string `redis:"email,unique"`
	}
	tagged struct {
		Email string `redis:"email,required"`
	}
	struct31 struct {
		ID string `redis:",id"`
		*Tagged
	}
	struct32 struct {
		ID string `redis:",id"`
		*tagged
	}
	struct33 struct {
		ID  string `redis:",id"`
		All map[string][]*Tagged
	}
	struct34 struct {
		ID string     `redis:",id"`
		N  netip.Addr `redis:"n,range"`
	}
	struct35 struct {
		ID string   `redis:",id"`
		N  *big.Int `redis:"n,range"`
	}
)

// The type of another model, and a struct without options, can be part of a field.
func TestPartsOfAField(t *testing.T) {
	t.Parallel()
	type version struct {
		ID   string `redis:",id"`
		Was  *valid
		All  []valid
		Next *version
		Note struct {
			Text string `redis:"text"`
		}
	}
	s := store[version](t, redistest.DB(t).Client(t), model.Options{Name: "v"})
	mustCreate(t, s, version{All: []valid{{}}})
}
