package model_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/model"
)

// Limits of any size are limits.
func TestFindGreatLimits(t *testing.T) {
	t.Parallel()
	s := pupils(t, redistest.DB(t).Client(t), model.Options{Name: "pupil"}, 30, func(i int) pupil { return pupil{Class: i, Grade: float32(-i)} })
	for _, limit := range []int{10_000, 10_001, math.MaxInt / 4, math.MaxInt - 20, math.MaxInt} {
		for what, q := range map[string]*model.Query[pupil]{
			"sorted": s.Find(model.Below("class", 3)).OrderBy("grade").Limit(limit),
			"walked": s.Find(model.Above("class", 26)).OrderBy("class").Limit(limit),
			"all":    s.Find(model.Not(model.Below("class", 27))).Limit(limit),
		} {
			page, err := q.Page(t.Context())
			ids, err2 := q.IDs(t.Context())
			if len(page.Items) != 3 || page.Next != "" || len(ids) != 3 || err != nil || err2 != nil {
				t.Errorf("%s, %d: %v, %v, %v, %v", what, limit, page, ids, err, err2)
			}
		}
	}
}

// Long text is kept as a digest, for which no other text is taken.
func TestFindWhatLooksLikeADigest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 100)
	sum := sha256.Sum256([]byte(long))
	names := []string{long, long[:24] + "…" + hex.EncodeToString(sum[:16]), long[:58], long[:59], long[:60]}
	s := pupils(t, redistest.DB(t).Client(t), model.Options{Name: "pupil"}, len(names), func(i int) pupil { return pupil{Name: names[i]} })
	for i, name := range names {
		if ids, err := s.Find(model.Eq("name", name)).IDs(t.Context()); len(ids) != 1 || ids[0] != strconv.Itoa(i) || err != nil {
			t.Errorf("%q: %q, %v", name, ids, err)
		}
	}
}
