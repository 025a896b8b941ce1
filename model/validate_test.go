package model_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

// voucher has a rule of every kind.
type voucher struct {
	ID    string             `redis:",id"`
	Title string             `redis:"title,unique,required,max=5"`
	Code  *string            `redis:"code,min=2,max=3"`
	Seats int                `redis:"seats,range,min=1,max=100"`
	Price float64            `redis:"price,min=0.5"`
	Tags  []string           `redis:"tags,index,min=1,max=2"`
	Boss  model.Ref[voucher] `redis:"boss,index,required,restrict"`
	From  time.Time          `redis:"from,required"`
	To    time.Time          `redis:"to"`
	Takes time.Duration      `redis:"takes,max=1h"`
	Size  uint64             `redis:"size,max=10"`
	Photo []byte             `redis:"photo,max=3"`
}

var errOrder = errors.New("it ends before it begins")

func (t *voucher) Validate() error {
	if t.Title == "panic" {
		panic("on purpose")
	}
	if t.Title == "named" {
		return &model.InvalidError{Problems: []model.FieldError{{Field: "title", Err: errOrder}}}
	}
	if !t.To.IsZero() && t.To.Before(t.From) {
		return errOrder
	}
	return nil
}

func validVoucher() voucher {
	return voucher{
		Title: "äöüßé", Seats: 100, Price: 0.5, Tags: []string{"a"}, Boss: model.To[voucher]("7"),
		From: time.Unix(1000, 0).UTC(), Takes: time.Hour, Size: 10, Photo: []byte("abc"),
	}
}

// Every write refuses an invalid record, names the fields, and writes nothing.
func TestInvalidIsRefused(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	vouchers := store[voucher](t, client, model.Options{Name: "voucher"})
	valid := mustCreate(t, vouchers, validVoucher())
	before := dumpAll(t, client)
	for want, change := range map[string]func(*voucher){
		"title is required":                             func(x *voucher) { x.Title = "" },
		"title has 6 characters: at most 5 are allowed": func(x *voucher) { x.Title = "123456" },
		"code has 1 characters: at least 2":             func(x *voucher) { x.Code = ptr("x") },
		"code has 4 characters: at most 3":              func(x *voucher) { x.Code = ptr("xxxx") },
		"seats is 0: the minimum is 1":                  func(x *voucher) { x.Seats = 0 },
		"seats is 101: the maximum is 100":              func(x *voucher) { x.Seats = 101 },
		"price is 0.4: the minimum is 0.5":              func(x *voucher) { x.Price = 0.4 },
		"tags has 0 elements: at least 1":               func(x *voucher) { x.Tags = nil },
		"tags has 3 elements: at most 2":                func(x *voucher) { x.Tags = []string{"a", "b", "c"} },
		"boss is required":                              func(x *voucher) { x.Boss.ID = "" },
		"from is required":                              func(x *voucher) { x.From = time.Time{} },
		"takes is 1h0m1s: the maximum is 1h":            func(x *voucher) { x.Takes += time.Second },
		"size is 18446744073709551615: the maximum":     func(x *voucher) { x.Size = 1<<64 - 1 },
		"photo has 4 bytes: at most 3":                  func(x *voucher) { x.Photo = []byte("abcd") },
		"it ends before it begins":                      func(x *voucher) { x.To = time.Unix(1, 0) },
		"title it ends":                                 func(x *voucher) { x.Title = "named" },
		"panic in Validate: on purpose":                 func(x *voucher) { x.Title = "panic" },
	} {
		bad := valid
		change(&bad)
		fresh := bad
		fresh.ID = ""
		_, createErr := vouchers.Create(t.Context(), fresh)
		_, saveErr := vouchers.Save(t.Context(), bad)
		_, updateErr := vouchers.Update(t.Context(), valid.ID, func(x *voucher) error { change(x); return nil })
		_, createManyErr := vouchers.CreateMany(t.Context(), []voucher{fresh})
		for what, err := range map[string]error{"Create": createErr, "Save": saveErr, "Update": updateErr, "CreateMany": createManyErr} {
			var invalid *model.InvalidError
			if !errors.Is(err, model.ErrInvalid) || !errors.As(err, &invalid) || len(invalid.Problems) != 1 || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want ErrInvalid with one problem, %q", what, err, want)
			} else if field, _, _ := strings.Cut(want, " "); strings.Contains(want, " is ") != (invalid.Problems[0].Field == field) && invalid.Problems[0].Field == "" && !strings.HasPrefix(want, "it ") && !strings.HasPrefix(want, "Validate") {
				t.Errorf("%s: %v names field %q, want %q", what, err, invalid.Problems[0].Field, field)
			}
		}
		if strings.HasPrefix(want, "it ends") && !errors.Is(saveErr, errOrder) {
			t.Errorf("Save: %v; want the error of Validate", saveErr)
		}
	}
	_, err := vouchers.Patch(t.Context(), valid.ID, map[string]any{"title": "", "seats": 0})
	var invalid *model.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Problems) != 2 || invalid.Problems[0].Field != "title" || invalid.Problems[1].Field != "seats" {
		t.Errorf("Patch: %v; want problems of title and seats", err)
	}
	if after := dumpAll(t, client); !reflect.DeepEqual(before, after) {
		t.Error("something was written")
	}
}

// Verify and Repair report records that other programs have made invalid, and do not change them.
func TestVerifyInvalid(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "voucher", func(t *testing.T, client rueidis.Client, opt model.Options) {
		opt.IDs = model.ClientAssigned
		vouchers := store[voucher](t, client, opt)
		for _, id := range []string{"a", "b", "c"} {
			x := validVoucher()
			x.ID, x.Title = "rec-"+id, id
			mustCreate(t, vouchers, x)
		}
		redisDo(t, client, "HSET", findKey(t, client, "*:rec-a"), "takes", "2h")
		redisDo(t, client, "HSET", findKey(t, client, "*:rec-b"), "seats", "0")
		for _, check := range []func(context.Context, maintain.Options) (model.Report, error){vouchers.Verify, vouchers.Repair, vouchers.Repair} {
			r, err := check(t.Context(), maintain.Options{Examples: 10})
			if err != nil || r.Invalid != 2 {
				t.Errorf("%+v, %v; want 2 invalid records", r, err)
			}
			var found []string
			for _, p := range r.Examples {
				if p.Kind == maintain.Rejected {
					found = append(found, p.ID+" "+p.Found)
				}
			}
			if text := strings.Join(found, "\n"); len(found) != 2 || !strings.Contains(text, "rec-a the record is not valid: takes is 2h0m0s") || !strings.Contains(text, "rec-b the record is not valid: seats is 0") {
				t.Errorf("rejected records: %s", text)
			}
		}
		if n, err := vouchers.Find(model.Eq("seats", 0)).Count(t.Context()); n != 1 || err != nil {
			t.Errorf("the invalid record is not in the index: counted %d, %v", n, err)
		}
		// Patch can change an invalid record if the result is valid.
		require.Fails(t, model.ErrInvalid)(vouchers.Patch(t.Context(), "rec-a", map[string]any{"size": 1}))
		checkErr(t, errOf(vouchers.Patch(t.Context(), "rec-a", map[string]any{"size": 1, "takes": time.Minute})))
	})
}

// findKey returns the only key that matches a pattern.
func findKey(t *testing.T, client rueidis.Client, pattern string) string {
	t.Helper()
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern(pattern).Build()).AsStrSlice()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %q match %s, %v; want one", keys, pattern, err)
	}
	return keys[0]
}

// New refuses invalid rules.
func TestBadRules(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "x"}
	for want, err := range map[string]error{
		`"max" needs a value`: refusedBy[struct {
			ID string `redis:",id"`
			A  string `redis:"a,max"`
		}](client, opt),
		`required takes none`: refusedBy[struct {
			ID string `redis:",id"`
			A  string `redis:"a,required=1"`
		}](client, opt),
		`"-1" is not a number of characters`: refusedBy[struct {
			ID string `redis:",id"`
			A  string `redis:"a,min=-1"`
		}](client, opt),
		`"1.5" is not an integer`: refusedBy[struct {
			ID string `redis:",id"`
			A  int    `redis:"a,min=1.5"`
		}](client, opt),
		`min=3 is more than max=2`: refusedBy[struct {
			ID string `redis:",id"`
			A  int    `redis:"a,min=3,max=2"`
		}](client, opt),
		`use a method Validate`: refusedBy[struct {
			ID string    `redis:",id"`
			A  time.Time `redis:"a,min=3"`
		}](client, opt),
		`false is a valid bool`: refusedBy[struct {
			ID string `redis:",id"`
			A  bool   `redis:"a,required"`
		}](client, opt),
		`leave required`: refusedBy[struct {
			ID string `redis:",id,required"`
		}](client, opt),
		`appears twice`: refusedBy[struct {
			ID string `redis:",id"`
			A  string `redis:"a,max=3,max=4"`
		}](client, opt),
		`"maximum=3" is not an option`: refusedBy[struct {
			ID string `redis:",id"`
			A  string `redis:"a,maximum=3"`
		}](client, opt),
	} {
		if !errors.Is(err, model.ErrDeclaration) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// refusedBy returns the error of New.
func refusedBy[T any](client rueidis.Client, opt model.Options) error {
	_, err := model.New[T](context.Background(), client, opt)
	return err
}
