package model

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// Incr adds n, which may be negative, to a counter of a record and returns what
// it has then: a field with the option counter, which nothing else changes. One
// script. It returns ErrNotFound where there is no such record, and ErrValue,
// with nothing changed, where the number would not fit into the field. The
// version of the record stays.
func (s *Store[T]) Incr(ctx context.Context, id, field string, n int64) (int64, error) {
	sum, err := s.incr(ctx, id, field, n)
	return sum, s.wrap(err)
}

func (s *Store[T]) incr(ctx context.Context, id, field string, n int64) (int64, error) {
	number := s.number(field)
	switch {
	case number < 0 || number >= len(s.goFields):
		return 0, s.unknown(field)
	case !s.t.counters[number]:
		return 0, fmt.Errorf("%w: %s is not a counter: declare it `redis:\"%s,counter\"`", ErrValue, field, field)
	}
	if err := s.checkID(id); err != nil {
		return 0, err
	}
	low, high := "", ""
	if bits := s.goFields[number].bits; bits < 64 {
		most := int64(math.MaxInt64) >> (64 - bits)
		low, high = strconv.FormatInt(-most-1, 10), strconv.FormatInt(most, 10)
	}
	p := s.t.of(id)
	args := []string{id, field, strconv.Itoa(s.t.opt.Changes), strconv.FormatInt(n, 10), low, high}
	defer s.t.writes.add(id)
	list, err := s.t.scripts.counter.Run(ctx, s.t.client, []string{p.of(id), p.changes}, args).ToArray()
	if err != nil {
		return 0, s.t.counterError(id, field, err)
	}
	switch word, _ := list[0].ToString(); word {
	case "NOTFOUND":
		return 0, s.t.outcome(id, word)
	case "OVERFLOW":
		return 0, fmt.Errorf("%w: %s of id %q cannot be changed by %d: the number would not fit into %d bits",
			ErrValue, field, shortened(id), n, s.goFields[number].bits)
	}
	sum, err := list[1].AsInt64()
	if err != nil {
		return 0, s.t.counterError(id, field, err)
	}
	return sum, nil
}

// counterError words an error where the record holds something else.
func (t *table) counterError(id, field string, err error) error {
	if e, ok := rueidis.IsRedisErr(err); ok && strings.Contains(e.Error(), "not an integer") {
		return fmt.Errorf("%w: key %q, field %s: %w", ErrCorrupt, t.of(id).of(id), field, err)
	}
	return t.readError(id, err)
}
