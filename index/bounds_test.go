package index

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"retwis/index/decimal"
	"retwis/internal/require"
)

// Bounds that a column cannot hold compare correctly.
func TestBoundsBeyondTheColumn(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	huge := new(big.Int).Lsh(big.NewInt(1), 600)
	for column, test := range map[string]struct {
		values []any
		bounds []any
		counts [][2]int // the number of values < and <= each bound
	}{
		"a:int(2)":          {[]any{-99, 0, 5, 99}, []any{100, -100, 4.5, "5.0", uint64(math.MaxUint64), huge, 99}, [][2]int{{4, 4}, {0, 0}, {2, 2}, {2, 3}, {4, 4}, {4, 4}, {3, 4}}},
		"a:int":             {[]any{math.MinInt64, -1, math.MaxInt64}, []any{"9223372036854775808", "-9223372036854775809", -0.5}, [][2]int{{3, 3}, {0, 0}, {2, 2}}},
		"a:uint":            {[]any{0, 1, uint64(math.MaxUint64)}, []any{-1, 0, 0.5, huge}, [][2]int{{0, 0}, {0, 1}, {1, 1}, {3, 3}}},
		"a:decimal(2)":      {[]any{"-0.01", "0.00", "0.01"}, []any{"0.004", -0.004, decimal.New(1, 2), "0.0101", "1000000000000000000000"}, [][2]int{{2, 2}, {1, 1}, {2, 3}, {3, 3}, {3, 3}}},
		"a:bigint(64) desc": {[]any{math.MinInt64, 0, math.MaxInt64}, []any{huge, new(big.Int).Neg(huge), 0.5}, [][2]int{{3, 3}, {0, 0}, {2, 2}}},
	} {
		x := composite(t, c, column, Options{Columns: columns(t, column)})
		for i, v := range test.values {
			require.OK(t)(x.Put(ctx, fmt.Sprint(i), v))
		}
		all := int64(len(test.values))
		for i, bound := range test.bounds {
			less, orEqual := int64(test.counts[i][0]), int64(test.counts[i][1])
			for name, q := range map[string]struct {
				condition Condition
				want      int64
			}{
				"<":  {Below("a", bound), less},
				"<=": {AtMost("a", bound), orEqual},
				">":  {Above("a", bound), all - orEqual},
				">=": {AtLeast("a", bound), all - less},
				"..": {Between("a", bound, bound), orEqual - less},
			} {
				if n, err := x.Count(ctx, q.condition); err != nil || n != q.want {
					t.Errorf("%s %s %v: %d, %v, want %d", column, name, bound, n, err, q.want)
				}
			}
		}
	}
	ages := numeric[int](t, "bounds", NumericOptions{Name: "age"})
	for i, age := range []int{-(1 << 53), 0, 17, 18, 1 << 53} {
		require.OK(t)(ages.Put(ctx, fmt.Sprint(i), age))
	}
	for _, q := range []struct {
		condition Condition
		want      int64 // -1: ErrValue
	}{
		{Below("age", int64(1<<53+1)), 5},
		{AtLeast("age", int64(1<<53+1)), 0},
		{Above("age", -huge.BitLen()), 4},
		{AtMost("age", "-1e0"), -1},
		{AtLeast("age", new(big.Int).Neg(huge)), 5},
		{AtMost("age", new(big.Int).Neg(huge)), 0},
		{Above("age", 17.5), 2},
		{AtLeast("age", 17.5), 2},
		{Below("age", 17.5), 3},
		{AtMost("age", 17.5), 3},
		{Between("age", 16.5, 17.5), 1},
		{Between("age", 17.2, 17.8), 0},
	} {
		if n, err := ages.Count(ctx, q.condition); q.want >= 0 && (err != nil || n != q.want) || q.want < 0 && !isErr(err, ErrValue) {
			t.Errorf("%+v: %d, %v, want %d", q.condition.condition, n, err, q.want)
		}
	}
}
