package main

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/redis/rueidis"
)

// tutorial queries boxes as the tutorial does.
type tutorial struct {
	set      *spaceSet
	client   rueidis.Client
	together bool // all ranges in one pipeline
}

// exponent returns the size of the squares: the power of two nearest to the shortest
// side.
func (t *tutorial) exponent(box [2][]int64) int {
	shortest := math.Inf(1)
	for k := range box[0] {
		shortest = min(shortest, float64(box[1][k]-box[0][k]+1))
	}
	return int(math.Round(math.Log2(shortest)))
}

// cells returns the number of squares in a box.
func (t *tutorial) cells(box [2][]int64) int {
	exp, n := t.exponent(box), 1
	for k := range box[0] {
		n *= int((box[1][k]-t.set.offset[k])>>exp - (box[0][k]-t.set.offset[k])>>exp + 1)
	}
	return n
}

// ask reads the squares of a box.
func (t *tutorial) ask(ctx context.Context, box [2][]int64, asked *spaceAsked) error {
	exp := t.exponent(box)
	low, high := make([]uint64, len(box[0])), make([]uint64, len(box[0]))
	for k := range low {
		low[k], high[k] = uint64(box[0][k]-t.set.offset[k]), uint64(box[1][k]-t.set.offset[k])
	}
	cell := slices.Clone(low)
	for k := range cell {
		cell[k] = cell[k] >> exp
	}
	var commands rueidis.Commands
	for {
		first := make([]uint64, len(cell))
		for k := range first {
			first[k] = cell[k] << exp
		}
		z := t.weave(first)
		end := z | (1<<(exp*len(cell)) - 1)
		command := t.client.B().Zrangebylex().Key(t.set.name).Min("[" + t.bytes(z)).Max("(" + t.bytes(end+1)).Build()
		if t.together {
			commands = append(commands, command)
		} else if err := t.read(t.client.Do(ctx, command), low, high, asked); err != nil {
			return err
		}
		// The next square, like nested loops.
		k := len(cell) - 1
		for ; k >= 0; k-- {
			if cell[k]++; cell[k] <= high[k]>>exp {
				break
			}
			cell[k] = low[k] >> exp
		}
		if k < 0 {
			break
		}
	}
	for _, reply := range t.client.DoMulti(ctx, commands...) {
		if err := t.read(reply, low, high, asked); err != nil {
			return err
		}
	}
	return nil
}

// read counts the points in the box.
func (t *tutorial) read(reply rueidis.RedisResult, low, high []uint64, asked *spaceAsked) error {
	members, err := reply.AsStrSlice()
	if err != nil {
		return err
	}
	size := (t.set.bits*len(low) + 7) / 8
	codes := make([]uint64, len(low))
	var number [8]byte
	for _, m := range members {
		copy(number[8-size:], m[:size])
		t.unweave(codes, binary.BigEndian.Uint64(number[:]))
		inside := true
		for k, c := range codes {
			inside = inside && c >= low[k] && c <= high[k]
		}
		if inside {
			asked.returned++
		}
	}
	asked.read += int64(len(members))
	return nil
}

func (t *tutorial) weave(codes []uint64) uint64 {
	var z uint64
	for shift := t.set.bits - 1; shift >= 0; shift-- {
		for _, c := range codes {
			z = z<<1 | c>>shift&1
		}
	}
	return z
}

func (t *tutorial) unweave(codes []uint64, z uint64) {
	clear(codes)
	for at := t.set.bits*len(codes) - 1; at >= 0; {
		for k := range codes {
			codes[k] = codes[k]<<1 | z>>at&1
			at--
		}
	}
}

func (t *tutorial) bytes(z uint64) string {
	b := binary.BigEndian.AppendUint64(nil, z)
	return string(b[8-(t.set.bits*len(t.set.widths)+7)/8:])
}
