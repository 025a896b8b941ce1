package model_test

import (
	"testing"

	"retwis/internal/redistest"
	"retwis/model"
)

type lodging struct {
	ID   string `redis:",id"`
	City string `redis:"city,range,caseinsensitive"`
	Beds int    `redis:"beds,range"`
}

func (lodging) Indexes() []model.Index[lodging] {
	return []model.Index[lodging]{model.Composite[lodging]("city", "beds")} // which does not fold
}

// What a condition means is said by the index of its field, whatever other index
// could lead there sooner.
func TestFindFoldsAsTheFieldDoes(t *testing.T) {
	t.Parallel()
	s := store[lodging](t, redistest.DB(t).Client(t), model.Options{Name: "lodging"})
	for i := range 30 {
		if _, err := s.Create(t.Context(), lodging{City: []string{"Bari", "BARI", "Como"}[i%3], Beds: i / 3}); err != nil {
			t.Fatal(err)
		}
	}
	q := s.Find(model.Eq("city", "bari"), model.Between("beds", 2, 5))
	for _, q := range []*model.Query[lodging]{q, q.OrderBy("beds"), q.OrderBy("beds desc").Limit(8)} {
		all, err := q.Slice(t.Context())
		if err != nil || len(all) != 8 {
			t.Fatal(all, err)
		}
	}
}
