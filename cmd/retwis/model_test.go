package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"
	"github.com/rogpeppe/go-internal/testscript"

	"retwis/internal/redis/store"
	"retwis/model"
)

// modelCmd uses package model on the database at $RETWIS_TOOLKIT_REDIS, as an application would.
func modelCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: model NAME EDITION")
	}
	ctx := context.Background()
	db, err := store.Open(ctx, ts.Getenv("RETWIS_TOOLKIT_REDIS"), store.Options{})
	ts.Check(err)
	defer func() { ts.Check(db.Close()) }()
	switch opt := (model.Options{Name: args[0]}); args[1] {
	case "1":
		err = openPeople(ctx, db.Client(), opt, func(i int) person1 {
			return person1{Name: fmt.Sprint("name", i), Email: "same@example.com", Age: 20 + i}
		})
	case "2":
		err = openPeople(ctx, db.Client(), opt, func(i int) person2 {
			return person2{Name: fmt.Sprint("name", i), Email: fmt.Sprint(i), Age: 20 + i}
		})
	case "3":
		err = openPeople(ctx, db.Client(), opt, func(i int) person3 {
			return person3{Name: fmt.Sprint("name", i)}
		})
	case "4":
		err = openPeople(ctx, db.Client(), opt, func(i int) person4 {
			return person4{Name: fmt.Sprint("name", i)}
		})
	case "found":
		err = openPeople(ctx, db.Client(), opt, func(i int) person5 {
			i++
			return person5{
				Name: fmt.Sprint("name", i), Age: 20 + i, Tags: []string{"all", fmt.Sprint("t", i)}, Awake: time.Duration(i) * time.Hour,
				Born: time.Date(2000+i, 1, 2, 3, 4, 5, 0, time.UTC), Member: i == 1, Weight: float64(i) / 2,
			}
		})
	case "own":
		opt.IDs = model.ClientAssigned
		_, err = model.New[person1](ctx, db.Client(), opt)
	default:
		err = errors.New("no such edition")
	}
	ts.Check(err)
}

type person1 struct {
	ID    string `redis:",id"`
	Name  string `redis:"name,index"`
	Email string `redis:"email"`
	Age   int    `redis:"age,range"`
}

// person5 has fields of many kinds.
type person5 struct {
	ID     string        `redis:",id"`
	Name   string        `redis:"name,range"`
	Age    int           `redis:"age,range"`
	Tags   []string      `redis:"tags,index"`
	Awake  time.Duration `redis:"awake,range"`
	Born   time.Time     `redis:"born,range,unix"`
	Member bool          `redis:"member,index"`
	Weight float64       `redis:"weight,range"`
	Note   *string       `redis:"note"`
}

func (person5) Indexes() []model.Index[person5] {
	return []model.Index[person5]{model.Computed("initial", func(p person5) string { return p.Name[:1] })}
}

type person2 struct {
	ID    string `redis:",id"`
	Name  string `redis:"name,index"`
	Email string `redis:"email,unique"`
	Age   int    `redis:"age"`
}

type person3 struct {
	ID   string `redis:",id"`
	Name string `redis:"name,index"`
}

func (person3) Indexes() []model.Index[person3] {
	return []model.Index[person3]{model.Computed("initial", func(p person3) string { return p.Name[:1] })}
}

type person4 struct {
	ID   string `redis:",id"`
	Name string `redis:"name"`
}

func (person4) Indexes() []model.Index[person4] {
	return []model.Index[person4]{model.Computed("initial", func(p person4) string { return p.Name[:1] })}
}

// openPeople opens a model and creates three records if it has none.
func openPeople[T any](ctx context.Context, client rueidis.Client, opt model.Options, person func(i int) T) error {
	people, err := model.New[T](ctx, client, opt)
	if err != nil {
		return err
	}
	if exists, err := people.Has(ctx, "1"); err != nil || exists {
		return err
	}
	for i := range 3 {
		if _, err := people.Create(ctx, person(i)); err != nil {
			return err
		}
	}
	return nil
}
